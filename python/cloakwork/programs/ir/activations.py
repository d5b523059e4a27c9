"""The activation functions that are no polynomials, as numpy computes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from cloakwork.programs.ir.layers import Array

_ERF = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


def silu(x: Array) -> Array:
    """x * sigmoid(x)."""
    return x * sigmoid(x)


def erf(x: Array) -> Array:
    """The error function."""
    return np.asarray(_ERF(x))


def gelu(x: Array) -> Array:
    """x times the probability that a standard normal number is below x."""
    return np.asarray(0.5 * x * (1.0 + erf(x / math.sqrt(2.0))))


def gelu_tanh(x: Array) -> Array:
    """GELU with the error function replaced by a tanh, torch's `approximate="tanh"`."""
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
    return np.asarray(0.5 * x * (1.0 + np.tanh(inner)))


def tanh(x: Array) -> Array:
    """The hyperbolic tangent."""
    return np.asarray(np.tanh(x))


def softplus(x: Array, beta: float) -> Array:
    """log(1 + exp(beta x)) / beta, without overflow."""
    return np.asarray(np.logaddexp(0.0, beta * x) / beta)


def mish(x: Array) -> Array:
    """x * tanh(softplus(x))."""
    return x * tanh(softplus(x, 1.0))


def elu(x: Array) -> Array:
    """x above 0, exp(x) - 1 below: its slope is 1 on both sides of 0."""
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0.0)))


def exp(x: Array) -> Array:
    """e to the power of x."""
    return np.asarray(np.exp(x))


def log(x: Array) -> Array:
    """The natural logarithm, of positive numbers."""
    return np.asarray(np.log(x))


def sin(x: Array) -> Array:
    """The sine."""
    return np.asarray(np.sin(x))


def cos(x: Array) -> Array:
    """The cosine."""
    return np.asarray(np.cos(x))


def sqrt(x: Array) -> Array:
    """The square root, of positive numbers."""
    return np.asarray(np.sqrt(x))


def reciprocal(x: Array) -> Array:
    """1 / x, of positive numbers."""
    return np.asarray(1.0 / x)


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x), of positive numbers."""
    return np.asarray(1.0 / np.sqrt(x))


def relu(x: Array) -> Array:
    """The larger of x and 0."""
    return np.maximum(x, 0.0)


def leaky_relu(x: Array, slope: float) -> Array:
    """x above 0, slope * x below."""
    return np.where(x > 0, x, slope * x)


FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        "cos": cos,
        "elu": elu,
        "erf": erf,
        "exp": exp,
        "gelu": gelu,
        "gelu_tanh": gelu_tanh,
        "leaky_relu": leaky_relu,
        "log": log,
        "mish": mish,
        "reciprocal": reciprocal,
        "relu": relu,
        "rsqrt": rsqrt,
        "sigmoid": sigmoid,
        "silu": silu,
        "sin": sin,
        "softplus": softplus,
        "sqrt": sqrt,
        "tanh": tanh,
    }
)


# The functions with a corner at 0, which no single polynomial comes near.
WITH_CORNER = frozenset({"leaky_relu", "relu"})


# The functions that are defined above 0 alone.
OF_POSITIVE = frozenset({"log", "reciprocal", "rsqrt", "sqrt"})


def steepest(
    function: str, parameters: Sequence[float], low: float = -math.inf, high: float = math.inf
) -> float:
    """A bound on the slopes of an activation over a range.

    Args:
        function: Its name.
        parameters: Its parameters.
        low: The least number that it is taken of.
        high: The largest.

    Example:
        >>> steepest("leaky_relu", (0.1,)), steepest("gelu", ()) >= 1.1289
        (1.0, True)
        >>> steepest("exp", (), high=0.0), steepest("exp", (), high=1e3)
        (1.0, inf)
        >>> steepest("reciprocal", (), 0.5, 2.0), steepest("rsqrt", (), 0.25, 1.0)
        (4.0, 4.0)
    """
    match function:
        case "leaky_relu":
            return max(1.0, *map(abs, parameters))
        case "exp":
            # Where errors may be large, so may the numbers that they are added to.
            with np.errstate(over="ignore"):
                return float(np.exp(high))
        case "reciprocal":
            return low**-2 if low > 0 else math.inf
        case "rsqrt":
            return 0.5 * low**-1.5 if low > 0 else math.inf
        case "sqrt":
            return 0.5 * low**-0.5 if low > 0 else math.inf
        case "log":
            return 1.0 / low if low > 0 else math.inf
        case _:
            # GELU's is the steepest of the others: 1.1289.
            return 1.13

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


def gelu(x: Array) -> Array:
    """x times the probability that a standard normal number is below x."""
    return np.asarray(0.5 * x * (1.0 + _ERF(x / math.sqrt(2.0))))


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


def relu(x: Array) -> Array:
    """The larger of x and 0."""
    return np.maximum(x, 0.0)


def leaky_relu(x: Array, slope: float) -> Array:
    """x above 0, slope * x below."""
    return np.where(x > 0, x, slope * x)


FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        "elu": elu,
        "gelu": gelu,
        "gelu_tanh": gelu_tanh,
        "leaky_relu": leaky_relu,
        "mish": mish,
        "relu": relu,
        "sigmoid": sigmoid,
        "silu": silu,
        "softplus": softplus,
        "tanh": tanh,
    }
)


# The functions with a corner at 0, which no single polynomial comes near.
WITH_CORNER = frozenset({"leaky_relu", "relu"})


def steepest(function: str, parameters: Sequence[float]) -> float:
    """A bound on the slopes of an activation.

    Example:
        >>> steepest("leaky_relu", (0.1,)), steepest("gelu", ()) >= 1.1289
        (1.0, True)
    """
    # GELU's is the steepest of the smooth ones: 1.1289.
    return max(1.0, *map(abs, parameters)) if function == "leaky_relu" else 1.13

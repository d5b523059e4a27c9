"""The functions of single numbers that tensors and networks have, as numpy computes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from cloakwork.programs.error_function import erf
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.phases import REACH

Slope: TypeAlias = Callable[..., float]

# The least range that a function is looked at over: one number is none.
_LEAST_WIDTH = 2.0**-20
_SAMPLES = 4097
# Of the functions whose slopes are bounded GELU's is the steepest: 1.1289.
_STEEPEST = 1.13


def _bounded(_low: float, _high: float, *_parameters: float) -> float:
    return _STEEPEST


def sampled(low: float, high: float) -> Array:
    """Numbers of a range, its ends, its middle and those close to 0 among them."""
    high = max(high, low + _LEAST_WIDTH * (max(abs(low), abs(high)) or 1.0))
    points = (low / 2 + high / 2) - (high / 2 - low / 2) * np.cos(np.linspace(0.0, np.pi, _SAMPLES))
    small = np.geomspace(1e-9, 1.0, 512) * max(abs(low), abs(high))
    points = np.concatenate([points, -small, [0.0], small, [low, high]])
    return np.unique(points[(low <= points) & (points <= high)])


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a number.

    Args:
        value: What computes it, of numbers and as many parameters.
        parameters: How many it takes.
        above: The end below which it is not defined.
        open: Whether it is not defined at that end either, where it grows beyond all bounds.
        below: The end above which it is not defined, which it has all the way to.
        pole: Whether it is defined below `above` again, on the other side of a pole.
        jumps: Whether it has two values and jumps from one to the other at 0.
        corner: Whether it has a corner at 0, which no single polynomial comes near.
        degree: The number d with f(c x) = c^d f(x) for all c above 0; None where there is none.
        slope: A bound on its slopes between two ends, with its parameters.
        numbers: Of a range the numbers that come, but for errors, where it is looked at.
    """

    value: Callable[..., Array]
    parameters: int = 0
    above: float = -math.inf
    open: bool = False
    below: float = math.inf
    pole: bool = False
    jumps: bool = False
    corner: bool = False
    degree: float | None = None
    slope: Slope = _bounded
    numbers: Callable[[float, float], Array] = sampled

    @property
    def of_positive(self) -> bool:
        """Whether it is defined for positive numbers alone, or on both sides of 0."""
        return self.above == 0.0

    def has(self, low: float, high: float) -> bool:
        """Whether the function is defined on a range.

        Example:
            >>> FUNCTIONS["log"].has(0.5, 2.0), FUNCTIONS["log"].has(0.0, 2.0)
            (True, False)
            >>> FUNCTIONS["reciprocal"].has(-2.0, -1.0), FUNCTIONS["reciprocal"].has(-1.0, 1.0)
            (True, False)
        """
        starts = low > self.above if self.open else low >= self.above
        return (starts and high <= self.below) or (self.pole and high < self.above)

    def reached(self, ends: tuple[float, float], error: float) -> tuple[float, float]:
        """A range that errors widen, without what only errors take beyond where it is defined.

        Example:
            >>> FUNCTIONS["sqrt"].reached((-0.125, 2.0), 0.125)
            (0.0, 2.0)
        """
        low, high = ends
        is_error = not self.open and self.above - error <= low < self.above
        return (self.above if is_error else low), high

    def image(self, low: float, high: float) -> tuple[float, float]:
        """The least and the greatest value on a range.

        Example:
            >>> FUNCTIONS["absolute"].image(-2.0, 1.0)
            (0.0, 2.0)
        """
        values = self.value(sampled(low, high))
        return float(values.min()), float(values.max())

    def moved_by(self, low: float, high: float, error: float) -> float:
        """How far the value moves on a range at the most where a number moves by an error."""
        if not error:
            return 0.0
        numbers = self.numbers(low, high)
        there = (np.clip(numbers + sign * error, low, high) for sign in (-1, 1))
        values = self.value(numbers)
        return max(float(np.abs(self.value(each) - values).max()) for each in there)


def _number(x: object) -> Array:
    return np.asarray(x, dtype=np.float64)


def _sigmoid(x: Array) -> Array:
    # Without overflow.
    return _number(np.exp(-np.logaddexp(0.0, -x)))


def _softplus(x: Array, beta: float = 1.0) -> Array:
    return _number(np.logaddexp(0.0, beta * x) / beta)


def _gelu(x: Array) -> Array:
    return _number(0.5 * x * (1.0 + erf(x / math.sqrt(2.0))))


def _gelu_tanh(x: Array) -> Array:
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
    return _number(0.5 * x * (1.0 + np.tanh(inner)))


def _bit_of_phase(x: Array) -> Array:
    return _number(np.sin(math.pi * REACH * x) ** 2)


def _phases_of_bits(low: float, high: float) -> Array:
    numbers = np.arange(math.ceil(2 * REACH * low), math.floor(2 * REACH * high) + 1)
    return _number(numbers / (2 * REACH))


def _elu(x: Array) -> Array:
    # Its slope is 1 on both sides of 0.
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0.0)))


def _falling(factor: float, power: float, above: float = 0.0) -> Slope:
    """Of a function whose slope is a factor times a negative power of how far it is from an end."""

    def slope(low: float, _high: float) -> float:
        return factor * (low - above) ** power if low > above else math.inf

    return slope


def _rising(base: float) -> Slope:
    """Of the powers of a base."""

    def slope(_low: float, high: float) -> float:
        # Where errors may be large, so may the numbers that they are added to.
        with np.errstate(over="ignore"):
            return float(math.log(base) * np.power(base, high))

    return slope


def _of_both_sides(low: float, high: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.cosh(max(abs(low), abs(high))))


def _steep_at_ones(low: float, high: float) -> float:
    most = max(abs(low), abs(high))
    return (1 - most**2) ** -0.5 if most < 1 else math.inf


def _steep_from_one(low: float, _high: float) -> float:
    return float((low**2 - 1) ** -0.5) if low > 1 else math.inf


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "absolute": Function(np.abs, corner=True, degree=1.0),
        # Of phases as `programs.phases` has them, where errors count by their squares.
        "bit_of_phase": Function(_bit_of_phase, numbers=_phases_of_bits),
        "arccos": Function(np.arccos, above=-1.0, below=1.0, slope=_steep_at_ones),
        "arccosh": Function(np.arccosh, above=1.0, slope=_steep_from_one),
        "arcsin": Function(np.arcsin, above=-1.0, below=1.0, slope=_steep_at_ones),
        "arcsinh": Function(np.arcsinh),
        "arctan": Function(np.arctan),
        "cos": Function(np.cos),
        "cosh": Function(np.cosh, slope=_of_both_sides),
        "elu": Function(_elu),
        "erf": Function(erf),
        "exp": Function(np.exp, slope=_rising(math.e)),
        "exp2": Function(np.exp2, slope=_rising(2.0)),
        "expm1": Function(np.expm1, slope=_rising(math.e)),
        "gelu": Function(_gelu),
        # The error function replaced by a tanh, torch's `approximate="tanh"`.
        "gelu_tanh": Function(_gelu_tanh),
        "leaky_relu": Function(
            lambda x, slope: np.where(x > 0, x, slope * x),
            parameters=1,
            corner=True,
            slope=lambda _low, _high, slope: max(1.0, abs(slope)),
        ),
        "log": Function(np.log, above=0.0, open=True, slope=_falling(1.0, -1.0)),
        "log10": Function(np.log10, above=0.0, open=True, slope=_falling(1 / math.log(10.0), -1.0)),
        "log1p": Function(np.log1p, above=-1.0, open=True, slope=_falling(1.0, -1.0, above=-1.0)),
        "log2": Function(np.log2, above=0.0, open=True, slope=_falling(1 / math.log(2.0), -1.0)),
        "mish": Function(lambda x: x * np.tanh(_softplus(x))),
        "reciprocal": Function(
            np.reciprocal,
            above=0.0,
            open=True,
            pole=True,
            degree=-1.0,
            slope=_falling(1.0, -2.0),
        ),
        "relu": Function(lambda x: np.maximum(x, 0.0), corner=True, degree=1.0),
        "rsqrt": Function(
            lambda x: _number(1.0 / np.sqrt(x)),
            above=0.0,
            open=True,
            degree=-0.5,
            slope=_falling(0.5, -1.5),
        ),
        "sigmoid": Function(_sigmoid),
        "sign": Function(lambda x: _number(np.sign(x)), jumps=True, degree=0.0),
        "silu": Function(lambda x: x * _sigmoid(x)),
        "sin": Function(np.sin),
        "sinh": Function(np.sinh, slope=_of_both_sides),
        "softplus": Function(_softplus),
        "sqrt": Function(np.sqrt, above=0.0, degree=0.5, slope=_falling(0.5, -0.5)),
        "step": Function(lambda x: _number(np.heaviside(x, 0.5)), jumps=True, degree=0.0),
        "tanh": Function(np.tanh),
    }
)

"""The functions of single numbers that tensors have, as numpy computes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from cloakwork.programs.ir import activations
from cloakwork.programs.ir.layers import Array

Function: TypeAlias = Callable[[Array], Array]

# The least range that a function is looked at over: one number is none.
_LEAST_WIDTH = 2.0**-20
_SAMPLES = 4097


@dataclass(frozen=True, slots=True)
class Known:
    """A function of a number.

    Args:
        value: What computes it.
        above: The end below which it is not defined.
        open: Whether it is not defined at that end either, where it grows beyond all bounds.
        below: The end above which it is not defined, which it has all the way to.
        pole: Whether it is defined below `above` again, on the other side of a pole.
        jumps: Whether it has two values and jumps from one to the other at 0.
    """

    value: Function
    above: float = -math.inf
    open: bool = False
    below: float = math.inf
    pole: bool = False
    jumps: bool = False

    def has(self, low: float, high: float) -> bool:
        """Whether the function is defined on a range.

        Example:
            >>> KNOWN["log"].has(0.5, 2.0), KNOWN["log"].has(0.0, 2.0)
            (True, False)
            >>> KNOWN["reciprocal"].has(-2.0, -1.0), KNOWN["reciprocal"].has(-1.0, 1.0)
            (True, False)
        """
        starts = low > self.above if self.open else low >= self.above
        return (starts and high <= self.below) or (self.pole and high < self.above)

    def reached(self, ends: tuple[float, float], error: float) -> tuple[float, float]:
        """A range that errors widen, without what only errors take beyond where it is defined.

        Example:
            >>> KNOWN["sqrt"].reached((-0.125, 2.0), 0.125)
            (0.0, 2.0)
        """
        low, high = ends
        is_error = not self.open and self.above - error <= low < self.above
        return (self.above if is_error else low), high

    def image(self, low: float, high: float) -> tuple[float, float]:
        """The least and the greatest value on a range.

        Example:
            >>> KNOWN["absolute"].image(-2.0, 1.0)
            (0.0, 2.0)
        """
        values = self.value(sampled(low, high))
        return float(values.min()), float(values.max())

    def moved_by(self, low: float, high: float, error: float) -> float:
        """How far the value moves on a range at the most where a number moves by an error."""
        if not error:
            return 0.0
        numbers = sampled(low, high)
        there = (np.clip(numbers + sign * error, low, high) for sign in (-1, 1))
        values = self.value(numbers)
        return max(float(np.abs(self.value(each) - values).max()) for each in there)


def sampled(low: float, high: float) -> Array:
    """Numbers of a range, its ends, its middle and those close to 0 among them."""
    high = max(high, low + _LEAST_WIDTH * max(1.0, abs(low)))
    points = (low + high) / 2 - (high - low) / 2 * np.cos(np.linspace(0.0, np.pi, _SAMPLES))
    small = np.geomspace(1e-9, 1.0, 512) * max(abs(low), abs(high))
    points = np.concatenate([points, -small, [0.0], small, [low, high]])
    return np.unique(points[(low <= points) & (points <= high)])


def _sign(x: Array) -> Array:
    return np.asarray(np.sign(x), dtype=np.float64)


def _step(x: Array) -> Array:
    return np.asarray(np.heaviside(x, 0.5), dtype=np.float64)


def _rsqrt(x: Array) -> Array:
    return np.asarray(1.0 / np.sqrt(x))


KNOWN: Mapping[str, Known] = MappingProxyType(
    {
        "absolute": Known(np.abs),
        "arcsinh": Known(np.arcsinh),
        "arctan": Known(np.arctan),
        "cos": Known(np.cos),
        "cosh": Known(np.cosh),
        "exp": Known(np.exp),
        "exp2": Known(np.exp2),
        "expm1": Known(np.expm1),
        "gelu": Known(activations.gelu),
        "gelu_tanh": Known(activations.gelu_tanh),
        "log": Known(np.log, 0.0, open=True),
        "log10": Known(np.log10, 0.0, open=True),
        "log1p": Known(np.log1p, -1.0, open=True),
        "log2": Known(np.log2, 0.0, open=True),
        "reciprocal": Known(np.reciprocal, 0.0, open=True, pole=True),
        "relu": Known(activations.relu),
        "rsqrt": Known(_rsqrt, 0.0, open=True),
        "sigmoid": Known(activations.sigmoid),
        "sign": Known(_sign, jumps=True),
        "silu": Known(activations.silu),
        "sin": Known(np.sin),
        "sinh": Known(np.sinh),
        "softplus": Known(lambda x: activations.softplus(x, 1.0)),
        "sqrt": Known(np.sqrt, 0.0),
        "step": Known(_step, jumps=True),
        "tanh": Known(np.tanh),
    }
)

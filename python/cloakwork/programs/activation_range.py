"""The numbers that come to a place of a program: what an activation or later bounds rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import apart
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.layout import Layout
from cloakwork.programs.matrices import BlockLayout
from cloakwork.programs.places import Places
from cloakwork.programs.slots import Vector

# What rounding may add at the end of a range, as a part of it.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ActivationRange:
    """What a polynomial expects of the numbers that come to it, or a user says of numbers.

    Args:
        layer: The name of its layer.
        values: The values of the program that are its operand, a ciphertext each.
        places: How the operand is packed: as a batch of tensors, as one, or as a matrix in blocks.
        low: The least number expected.
        high: The greatest.
        scale: What the slots hold is a number times this, plus a shift.
        shift: The shift.
        gap: How close to 0 no number may be: a comparison has no value of its two there.

    Raises:
        InvalidProgramError: The range is empty, the scale is not above 0, or a value or the gap is
            below 0.
    """

    layer: str
    values: tuple[int, ...]
    places: Places | Layout | BlockLayout
    low: float
    high: float
    scale: float = 1.0
    shift: float = 0.0
    gap: float = 0.0

    def __post_init__(self) -> None:
        is_scaled = self.scale > 0 and self.gap >= 0
        if not self.low <= self.high or not is_scaled or min(self.values, default=-1) < 0:
            raise InvalidProgramError(
                f"cannot expect numbers from {self.low} to {self.high} at the layer "
                f"{self.layer!r:.40}: expected a range of values of a program, scaled by more "
                "than 0"
            )

    def received(
        self, vectors: Sequence[NDArray[np.float64]], width: int
    ) -> tuple[float, float, float]:
        """The least and the greatest number that comes to the layer, and the least magnitude."""
        if isinstance(self.places, Places):
            operands = self.places.unpack(vectors, width)
        else:
            operands = self.places.unpack(vectors)
        # Imaginary parts hold nothing but errors, if anything.
        numbers = (np.real(operands) - self.shift) / self.scale
        return float(numbers.min()), float(numbers.max()), float(np.abs(numbers).min())

    @property
    def reached(self) -> float:
        """The largest absolute value that a slot holds for numbers of the range."""
        return max(abs(end * self.scale + self.shift) for end in (self.low, self.high))

    def ceilings(self) -> list[float | Vector]:
        """For each of the values what none of its slots exceeds, as `bounds.value_bounds` takes it.

        Of a tensor it says nothing of slots that may hold anything beside elements and copies.
        """
        if not isinstance(self.places, Layout) or not self.places.garbage:
            return [self.reached] * len(self.values)
        return [np.where(filled > 0, self.reached, np.inf) for filled in self.places.occupied()]

    def is_left_by(self, least: float, greatest: float) -> bool:
        """Whether numbers from the least to the greatest leave the range."""
        slack = _ROUNDING * max(abs(self.low), abs(self.high))
        return self.low - least > slack or greatest - self.high > slack

    def has_in_gap(self, nearest: float) -> bool:
        """Whether a number of this absolute value is too close to 0."""
        return nearest < self.gap * (1 - _ROUNDING)


def ceilings_of(
    ranges: Sequence[ActivationRange], known: Mapping[int, float | Vector] = MappingProxyType({})
) -> dict[int, float | Vector]:
    """What no slot of some values exceeds, as `bounds.value_bounds` takes it.

    Example:
        >>> silu = ActivationRange("silu", (3,), Places(2, np.array([0, 1])), -2.0, 1.0)
        >>> ceilings_of([silu], {1: 5.0, 3: 4.0})
        {1: 5.0, 3: 2.0}
    """
    found = dict(known)
    for each in ranges:
        for value, ceiling in zip(each.values, each.ceilings(), strict=True):
            found[value] = _least(ceiling, found[value]) if value in found else ceiling
    return found


def _least(one: float | Vector, other: float | Vector) -> float | Vector:
    if isinstance(one, float) and isinstance(other, float):
        return min(one, other)
    return np.minimum(one, other)


@dataclass(frozen=True, slots=True)
class Left:
    """A layer that receives numbers which it is not meant for.

    Args:
        report: Which, in words.
        in_gap: Whether two numbers are too close to be compared; else they leave its range.
    """

    report: str
    in_gap: bool


def left_ranges(ranges: Sequence[ActivationRange], received: NDArray[np.float64]) -> list[Left]:
    """The layers that receive numbers which they are not meant for.

    Example:
        >>> silu = ActivationRange("silu", (0,), Places(2, np.array([0, 1])), -1.0, 1.0)
        >>> left_ranges([silu], np.array([[-2.0, 0.5, 0.5]]))[0].report
        "layer 'silu' expects numbers from -1 to 1, and got -2 to 0.5"
    """
    found: list[Left] = []
    for each, (least, greatest, nearest) in zip(ranges, received.tolist(), strict=True):
        if each.is_left_by(least, greatest):
            (low, got_least), (high, got_greatest) = (
                apart(each.low, least),
                apart(each.high, greatest),
            )
            report = (
                f"layer {each.layer!r} expects numbers from {low} to {high}, and got {got_least} "
                f"to {got_greatest}"
            )
            found.append(Left(report, in_gap=False))
        elif each.has_in_gap(nearest):
            report = (
                f"layer {each.layer!r} compares numbers that differ by {each.gap:g} or more, and "
                f"got some that differ by {nearest:.4g}"
            )
            found.append(Left(report, in_gap=True))
    return found

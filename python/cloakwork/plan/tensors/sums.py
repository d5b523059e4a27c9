"""Sums along an axis, and copies, in logarithmically many rotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cloakwork.programs.layout import Axis


@dataclass(frozen=True, slots=True)
class SumStep:
    """total = base + rotate(total, rotation), where base is the total or the first value."""

    rotation: int
    onto_first: bool


def sum_steps(axis: Axis) -> tuple[SumStep, ...]:
    """Steps after which slot s holds the sum of slots s + k * stride for all k below size.

    Reads no other slot, so what lies beside the axis may be garbage. Takes
    floor(log2 size) rotations and one more for every further bit set in size. A
    negative stride replicates instead: slot s + k * |stride| receives slot s.

    Example:
        >>> [step.rotation for step in sum_steps(Axis(6, 10))]
        [10, 10, 30]
    """
    steps: list[SumStep] = []
    reached = 1
    for bit in bin(axis.size)[3:]:
        steps.append(SumStep(reached * axis.stride, onto_first=False))
        reached *= 2
        if bit == "1":
            steps.append(SumStep(axis.stride, onto_first=True))
            reached += 1
    return tuple(steps)


def merge(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The same axes with those that continue one another joined into one.

    Example:
        >>> merge([Axis(3, 5), Axis(5, 1)])
        (Axis(size=15, stride=1, name='', tile=0),)
    """
    joined: list[Axis] = []
    for axis in sorted((axis for axis in axes if axis.size > 1), key=lambda axis: axis.stride):
        last = joined[-1] if joined else None
        if last is not None and axis.stride == last.stride * last.size:
            joined[-1] = Axis(last.size * axis.size, last.stride, axis.name + last.name)
        else:
            joined.append(axis)
    return tuple(joined)

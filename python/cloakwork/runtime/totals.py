"""Sums of the results of several runs, number by number, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def estimates_of_total(estimates: Sequence[Any], times: int) -> list[Any]:
    """What is known of the sums of so many results, each of which is as estimated."""
    return [_repeated(each, times) for each in estimates]


def summed(
    left: Sequence[Mapping[int, Any]],
    right: Sequence[Mapping[int, Any]],
    add: Callable[[Any, Any], Any],
) -> list[dict[int, Any]]:
    """For each run the sums of two values of each number."""
    return [
        {number: add(value, other[number]) for number, value in run.items()}
        for run, other in zip(left, right, strict=True)
    ]


def _repeated(estimate: Any, times: int) -> Any:
    """The sum of an estimate with itself, by doubling."""
    if times == 1:
        return estimate
    half = _repeated(estimate, times // 2)
    twice = half.add(half)
    return twice.add(estimate) if times % 2 else twice

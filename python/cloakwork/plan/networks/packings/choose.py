"""The choices of least cost where every price depends on one or two of them.

Choices are made one after another, each for all options of the choices that it shares a price
with: bucket elimination (Dechter, "Bucket elimination: a unifying framework for reasoning",
Artificial Intelligence 113, 1999). On a chain this is dynamic programming.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """What some choices cost together.

    Args:
        choices: The numbers of the choices, rising.
        table: The price of every combination, one axis for each.
    """

    choices: tuple[int, ...]
    table: NDArray[np.float64]


def cheapest(prices: Sequence[Prices]) -> dict[int, int]:
    """For each choice that has a price the option with which all prices sum to the least.

    Example:
        >>> left = Prices((0, 1), np.array([[0.0, 9.0], [9.0, 5.0]]))
        >>> right = Prices((1, 2), np.array([[8.0, 8.0], [1.0, 2.0]]))
        >>> cheapest([left, right])
        {2: 0, 1: 1, 0: 1}
    """
    waiting = list(prices)
    settled: list[tuple[int, tuple[int, ...], NDArray[np.int64]]] = []
    while any(each.choices for each in waiting):
        choice = _loosest(waiting)
        bucket = [each for each in waiting if choice in each.choices]
        waiting = [each for each in waiting if choice not in each.choices]
        others = tuple(sorted({each for price in bucket for each in price.choices} - {choice}))
        total = sum((_spread(price, (*others, choice)) for price in bucket), np.zeros(()))
        settled.append((choice, others, np.asarray(total.argmin(axis=-1))))
        waiting.append(Prices(others, total.min(axis=-1)))
    chosen: dict[int, int] = {}
    for choice, others, best in reversed(settled):
        chosen[choice] = int(best[tuple(chosen[each] for each in others)])
    return chosen


def _loosest(prices: Sequence[Prices]) -> int:
    """The choice that shares prices with the fewest others."""
    neighbours: dict[int, set[int]] = {}
    for each in prices:
        for choice in each.choices:
            neighbours.setdefault(choice, set()).update(each.choices)
    return min(neighbours, key=lambda choice: (len(neighbours[choice]), choice))


def _spread(prices: Prices, choices: tuple[int, ...]) -> NDArray[np.float64]:
    """The table with an axis for each of these choices, of size 1 for those it has not."""
    order = [prices.choices.index(each) for each in choices if each in prices.choices]
    table = prices.table.transpose(order)
    return table.reshape(
        [
            prices.table.shape[prices.choices.index(each)] if each in prices.choices else 1
            for each in choices
        ]
    )

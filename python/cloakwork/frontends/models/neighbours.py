"""The class of most of the nearest points, over encrypted integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.circuit.ordering import parted


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Points with their classes, of which the nearest ones vote.

    Args:
        points: The points, a row for each.
        labels: The number of the class of each.
        classes: How many classes there are.
        count: How many points vote.
    """

    points: NDArray[np.float64]
    labels: NDArray[np.int64]
    classes: int
    count: int


@dataclass(frozen=True, slots=True)
class IntegerNeighbours:
    """Points of integers, of which the nearest ones vote.

    Args:
        points: The points.
        labels: The number of the class of each.
        classes: How many classes there are.
        count: How many points vote.

    Example:
        >>> model = IntegerNeighbours([[0], [4], [5]], [0, 1, 1], 2, 1)
        >>> model.votes([1]), model.votes([3])
        ([1, 0], [0, 1])
    """

    points: list[list[int]]
    labels: list[int]
    classes: int
    count: int

    def votes(self, features: Any) -> list[Any]:
        """How many of the nearest points have each class; of those equally near the lowest."""
        # With its class in the lowest bits, a distance brings it along.
        bits = (self.classes - 1).bit_length()
        keys = [
            _nearness(features, point) * (1 << bits) + label
            for point, label in zip(self.points, self.labels, strict=True)
        ]
        labels = [each & (1 << bits) - 1 for each in parted(keys, self.count - 1)[: self.count]]
        return [sum((each == label) * 1 for each in labels) for label in range(self.classes)]


def _nearness(features: Any, point: Sequence[int]) -> Any:
    """The square of a distance, less that of the features themselves, which all points share."""
    terms = [own * own - 2 * own * each for own, each in zip(point, features, strict=True)]
    return sum(terms[1:], terms[0])

"""Models of integers: what is computed of the integers that features become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.circuit.ordering import first_greatest
from cloakwork.frontends.models.answers import numbers_of_classes
from cloakwork.frontends.models.features import Quantised, Steps
from cloakwork.frontends.models.forests import Forest, IntegerForest
from cloakwork.frontends.models.neighbours import IntegerNeighbours, Neighbours
from cloakwork.frontends.models.polynomials import PolynomialScores
from cloakwork.frontends.models.reading import Computed
from cloakwork.frontends.models.scales import exact_scale, scale_of


@dataclass(frozen=True, eq=False)
class IntegerModel:
    """A model of integers.

    Args:
        by_bits: Its scores of integers, where bits compute them.
        by_products: The same by sums and products alone.
        scale: How much a score of 1 is.
        is_by_row: Whether integers in the clear are computed with a row at a time.
        forest: The forest that it is, if it is one.
        neighbours: The points that it is, if it is nearest neighbours.
    """

    by_bits: Callable[[Any], list[Any]]
    by_products: Callable[[Any], list[Any]]
    scale: float
    is_by_row: bool = False
    forest: IntegerForest | None = None
    neighbours: IntegerNeighbours | None = None

    def scores(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The scores of rows of integers in the clear."""
        if self.is_by_row:
            made = [np.array(self.by_bits(row), dtype=np.int64) for row in rows.tolist()]
            return np.stack(made) if made else np.zeros((0, 1), dtype=np.int64)
        return _as_columns(self.by_bits(rows.T), len(rows))

    def classes(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the class of each row."""
        return numbers_of_classes(self.scores(rows))


def of_integers(computed: Computed, quantised: Quantised, bits: int) -> IntegerModel:
    """A model of integers of so many bits, which features become in some way."""
    if isinstance(computed, Neighbours):
        assert isinstance(quantised, Steps)
        points = quantised.of(computed.points).tolist()
        labels = computed.labels.tolist()
        near = IntegerNeighbours(points, labels, computed.classes, computed.count)
        return IntegerModel(near.votes, near.votes, computed.count, is_by_row=True, neighbours=near)
    if isinstance(computed, Forest):
        scale = exact_scale(computed, bits) or scale_of(computed.greatest, bits)
        forest = computed.scaled(scale)
        return IntegerModel(forest.scores_by_bits, forest.scores_by_products, scale, forest=forest)
    own = computed.in_steps(quantised) if isinstance(quantised, Steps) else computed
    scale = scale_of(float(np.abs(own.leading).max()), bits)
    polynomial = own.scaled(scale)
    return IntegerModel(polynomial.scores, polynomial.scores, scale)


def class_of_scores(scores: Sequence[Any]) -> Any:
    """The number of the class: of one score whether it is above 0, of several the first greatest.

    Example:
        >>> class_of_scores([-3]), class_of_scores([1, 5, 5])
        (False, 1)
    """
    if len(scores) == 1:
        return scores[0] > 0
    return scores[1] > scores[0] if len(scores) == 2 else first_greatest(scores)


def exact_scores(
    computed: Forest | PolynomialScores, quantised: Quantised, rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The scores of rows of features without any rounding."""
    if isinstance(computed, Forest):
        # As many bits as the leaves have themselves, or nearly.
        fine = 2.0**40 / computed.greatest if computed.greatest else 1.0
        made = computed.scaled(fine).scores_by_bits(quantised.of(rows).T)
        return _as_columns(made, len(rows)) / fine
    features = rows if isinstance(quantised, Steps) else quantised.of(rows)
    scores = features @ computed.linear.T + computed.constant
    return scores if computed.square is None else scores + features**2 @ computed.square.T


def _as_columns(scores: Sequence[Any], count: int) -> NDArray[np.int64]:
    """Scores of so many rows, some of them the same for all rows."""
    return np.stack([np.broadcast_to(np.asarray(each), count) for each in scores], axis=1)

"""What a search found, in the clear."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import integer
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.search.metrics import Metric


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a search found, in the clear.

    Args:
        scores: The nearness of each row, `scores[row]`: cosines, dot products, or distances, not
            their squares. Rows that were removed have the least there can be: -1, minus the square
            of the radius, or twice the radius; so have the places behind the rows of a block, where
            there are more or other blocks than those of the index's table. None with a threshold.
        count: How many rows are nearer than the threshold, the first of several; None without one.
        counts: How many are nearer than each threshold, where rows are only counted.
        rows: Their numbers; None without a threshold, or where they are only counted.
        payloads: Their payloads, a row each; None where there are none.
        metric: What the scores are.
    """

    scores: NDArray[np.float64] | None = None
    count: float | None = None
    rows: NDArray[np.int64] | None = None
    payloads: NDArray[np.float64] | None = None
    metric: Metric = "cosine"
    counts: NDArray[np.float64] | None = None

    def nearest(self, count: int) -> NDArray[np.int64]:
        """The numbers of the rows that are nearest, the nearest first, of all scores.

        Args:
            count: How many; rows that were removed come last.

        Raises:
            InvalidArgumentError: The index has a threshold, or there are not as many scores.

        Example:
            >>> Found(scores=np.array([0.1, 0.9, 0.5])).nearest(2).tolist()
            [1, 2]
        """
        if self.scores is None:
            raise InvalidArgumentError(
                "cannot tell the nearest rows: expected all scores, got what lies beyond a "
                "threshold; make the index without one"
            )
        most = integer(count, "count", "tell the nearest rows", least=1, most=len(self.scores))
        falling = self.scores if self.metric == "euclidean" else -self.scores
        return np.argsort(falling, kind="stable")[:most]

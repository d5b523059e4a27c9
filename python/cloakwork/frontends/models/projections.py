"""Features that are sums of others, such as principal components, before a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.models.features import Scaling
from cloakwork.frontends.models.polynomials import PolynomialScores


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Sums of features times factors, and constants.

    Args:
        factors: A row for each of the sums.
        constant: What is added to each.

    Example:
        >>> half = Projection(np.array([[0.5, 0.5]]), np.array([1.0]))
        >>> half.scaled(Scaling("multiply", (4.0,))).scores(PolynomialScores(
        ...     np.array([[10.0]]), np.array([7.0]))).linear.tolist()
        [[20.0, 20.0]]
    """

    factors: NDArray[np.float64]
    constant: NDArray[np.float64]

    def then(self, other: Projection) -> Projection:
        """Another one of these sums."""
        return Projection(
            other.factors @ self.factors, other.factors @ self.constant + other.constant
        )

    def scaled(self, scaling: Scaling) -> Projection:
        """The sums after a step of a scaler."""
        constant = scaling.of(self.constant)
        if scaling.operation in ("add", "subtract"):
            return Projection(self.factors, constant)
        return Projection(scaling.of(self.factors.T).T, constant)

    def scores(self, scores: PolynomialScores) -> PolynomialScores:
        """Scores of these sums as scores of the features.

        Raises:
            InvalidArgumentError: They have squares.
        """
        if scores.square is not None:
            raise InvalidArgumentError(
                "cannot compile a model: expected scores that are sums after a projection such as "
                "PCA, got squares; apply the projection to rows before they are encoded, and "
                "compile what follows"
            )
        return PolynomialScores(
            scores.linear @ self.factors, scores.linear @ self.constant + scores.constant
        )

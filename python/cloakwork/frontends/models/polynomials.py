"""Scores that are sums of features and of their squares, over encrypted integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.models.features import Steps


@dataclass(frozen=True, eq=False)
class PolynomialScores:
    """Scores as sums over features x: a x + b x^2, and a constant.

    Args:
        linear: The factors a, a row for each score.
        constant: The constants.
        square: The factors b; None where there are no squares.
    """

    linear: NDArray[np.float64]
    constant: NDArray[np.float64]
    square: NDArray[np.float64] | None = None

    def in_steps(self, steps: Steps) -> PolynomialScores:
        """The same of the integers that features become."""
        low, step = np.array(steps.low), np.array(steps.step)
        linear = self.linear * step
        constant = self.constant + self.linear @ low
        if self.square is None:
            return PolynomialScores(linear, constant)
        linear = linear + 2 * self.square * step * low
        return PolynomialScores(linear, constant + self.square @ low**2, self.square * step**2)

    @property
    def leading(self) -> NDArray[np.float64]:
        """The factors of the highest power."""
        return self.linear if self.square is None else self.square

    def scaled(self, scale: float) -> IntegerPolynomial:
        """The polynomial with factors that are integers."""

        def rounded(numbers: NDArray[np.float64]) -> list[Any]:
            return [[round(each) for each in row] for row in (numbers * scale).tolist()]

        square = [] if self.square is None else rounded(self.square)
        constant = [round(each) for each in (self.constant * scale).tolist()]
        return IntegerPolynomial(rounded(self.linear), constant, square)


@dataclass(frozen=True, slots=True)
class IntegerPolynomial:
    """A polynomial of integers.

    Args:
        linear: Its factors of features, a row for each score.
        constant: Its constants.
        square: Its factors of squares, if it has any.
    """

    linear: list[list[int]]
    constant: list[int]
    square: list[list[int]]

    def scores(self, features: Any) -> list[Any]:
        """The scores of features."""
        rows = [self.linear, self.square]
        powers = [list(features), [each * each for each in features] if self.square else []]
        return [
            sum(
                factor * feature
                for factors, own in zip(rows, powers, strict=True)
                if factors
                for factor, feature in zip(factors[score], own, strict=True)
                if factor
            )
            + constant
            for score, constant in enumerate(self.constant)
        ]

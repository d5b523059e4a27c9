"""How near vectors are, as inner products: what rows and queries become for that.

Vectors are divided by a radius that none exceeds, so that every product is within [-1, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import positive, shown
from cloakwork.errors import InvalidArgumentError, NotFiniteError, ValueOutOfRangeError

Metric: TypeAlias = Literal["cosine", "dot", "euclidean"]

# What rounding may add to a length.
_ROUNDING = 1e-9
# What squares in a row are multiplied by, so that no product exceeds that of the largest lengths.
_EVEN = math.sqrt(0.5)


@dataclass(frozen=True, slots=True)
class Nearness:
    """A metric and the largest length of a vector.

    Args:
        metric: Its name.
        radius: The largest length; of cosines lengths do not count.
    """

    metric: Metric
    radius: float = 1.0

    def __post_init__(self) -> None:
        if self.metric not in get_args(Metric):
            raise InvalidArgumentError(
                f"cannot search: expected a metric of {', '.join(get_args(Metric))}, got "
                f"{shown(self.metric)}"
            )
        object.__setattr__(self, "radius", positive(self.radius, "radius", "search"))

    @property
    def meaning(self) -> str:
        """What numbers of rows, queries and scores stand for."""
        return f"{self.metric} of vectors divided by {self.radius!r}"

    def width(self, size: int) -> int:
        """How many numbers vectors of so many become."""
        return size + 2 if self.metric == "euclidean" else size

    def rows(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows whose products with what queries become are the nearness within [-1, 1].

        Example:
            >>> Nearness("euclidean").rows(np.array([[0.6, 0.8]])).round(4).tolist()
            [[0.6, 0.8, 0.7071, 0.7071]]
        """
        units = self._scaled(vectors)
        if self.metric != "euclidean":
            return units
        squares = (units**2).sum(1, keepdims=True)
        return np.concatenate([units, _EVEN * squares, np.full_like(squares, _EVEN)], axis=1)

    def query(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a query becomes."""
        unit = np.asarray(self._scaled(vector[None])[0])
        if self.metric != "euclidean":
            return unit
        # -(x - y)^2 / 4 = (2 x y - x^2 - y^2) / 4.
        return np.concatenate([unit / 2, [-0.25 / _EVEN, -(unit**2).sum() / 4 / _EVEN]])

    @property
    def lengths(self) -> tuple[float, float]:
        """How long rows and queries are at most, whose product is 1."""
        return (1 / _EVEN, _EVEN) if self.metric == "euclidean" else (1.0, 1.0)

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest product of a row and a query."""
        return (-1.0, 0.0) if self.metric == "euclidean" else (-1.0, 1.0)

    def product_of(self, nearness: float) -> float:
        """The inner product of vectors of some cosine, dot product, or distance."""
        match self.metric:
            case "cosine":
                return nearness
            case "dot":
                return nearness / self.radius**2
            case "euclidean":
                return -((nearness / self.radius) ** 2) / 4

    def of_products(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cosines, dot products or distances of inner products."""
        match self.metric:
            case "cosine":
                return products
            case "dot":
                return products * self.radius**2
            case "euclidean":
                return np.asarray(2 * self.radius * np.sqrt(np.maximum(-products, 0.0)))

    def _scaled(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if self.metric == "cosine":
            if not lengths.all():
                raise ValueOutOfRangeError(
                    "cannot search: expected vectors with a direction, got one of length 0; leave "
                    "it out, or search by dot products"
                )
            return np.asarray(vectors / lengths)
        if lengths.max() > self.radius * (1 + _ROUNDING):
            raise ValueOutOfRangeError(
                f"cannot search: expected vectors of length {self.radius:g} at most, got one of "
                f"{lengths.max():g}; give a larger radius to cloakwork.index"
            )
        return np.asarray(vectors / self.radius)


def two_axes(given: Any, what: str) -> Any:
    """An array of two axes, which may be in a file."""
    found = given if isinstance(given, np.ndarray) else np.asarray(given)
    if found.ndim != 2 or 0 in found.shape:
        raise InvalidArgumentError(
            f"cannot search: expected {what} as a table, got shape {found.shape}; give a row each"
        )
    return found


def table(given: Any, what: str) -> NDArray[np.float64]:
    """Rows of finite numbers in memory."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"cannot search: expected {what} of numbers, got others: {error}; give real numbers"
        ) from error
    if not np.isfinite(found).all():
        raise NotFiniteError(
            f"cannot search: expected finite {what}, got NaN or an infinity; leave such rows out"
        )
    return found

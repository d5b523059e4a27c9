"""What products with matrices cost between packings, each kind of product priced once.

The price of a product follows from which elements of its matrix are not 0, and from both packings:
the layers of one shape that a deep network has one after another cost the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.itself import Itself
from cloakwork.plan.networks.diagonals import product_cost
from cloakwork.plan.networks.matrix import Matrix
from cloakwork.programs.places import Places
from cloakwork.runtime.costs import Costs, LevelCosts

T = TypeVar("T")
_Kind: TypeAlias = tuple[bytes, bytes, bytes, LevelCosts, LevelCosts]


class ProductPrices:
    """The prices of products with matrices.

    Args:
        costs: What operations cost at each level.

    Example:
        >>> from cloakwork.runtime.costs import modelled
        >>> prices = ProductPrices(modelled([1, 2], 1))
        >>> wide, narrow = Places(16, np.arange(16)), Places(16, np.arange(2))
        >>> one, other = (Matrix.of(np.full((2, 16), weight)) for weight in (1.0, 3.0))
        >>> prices.price(one, wide, narrow, 1) == prices.price(other, wide, narrow, 1)
        True
        >>> prices.kinds
        1
    """

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._prices: dict[_Kind, float] = {}
        self._digests: dict[Itself[Any], bytes] = {}

    @property
    def kinds(self) -> int:
        """How many products were different."""
        return len(self._prices)

    def price(self, matrix: Matrix, operand: Places, result: Places, level: int) -> float:
        """The price of a product whose operand stands at a level."""
        kind = (
            self._digest(matrix, _structure),
            self._digest(operand, _packing),
            self._digest(result, _packing),
            self._costs.at(level),
            self._costs.at(level - 1),
        )
        if kind not in self._prices:
            self._prices[kind] = product_cost(matrix, operand, result, self._costs, level).price
        return self._prices[kind]

    def _digest(self, of: T, parts: Callable[[T], Iterable[NDArray[Any]]]) -> bytes:
        key = Itself(of)
        if key not in self._digests:
            content = hashlib.blake2b(digest_size=16)
            for array in parts(of):
                content.update(repr((array.shape, array.dtype.str)).encode())
                content.update(np.ascontiguousarray(array).data)
            self._digests[key] = content.digest()
        return self._digests[key]


def _structure(matrix: Matrix) -> Iterable[NDArray[Any]]:
    """Which elements of a matrix are not 0."""
    pixels = matrix.pixels
    yield from (np.array(pixels.shape), pixels.rows, pixels.columns, pixels.numbers)
    yield from (matrix.rows.elements, matrix.columns.elements)
    for each in matrix.channels:
        yield from (np.array(each.shape), each.indptr, each.indices, each.data != 0)


def _packing(places: Places) -> Iterable[NDArray[Any]]:
    yield from (np.array([places.slots]), places.places)

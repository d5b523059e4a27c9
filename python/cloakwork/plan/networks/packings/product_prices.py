"""What products with matrices cost between packings, the diagonals of each kind found once.

The diagonals of a product follow from which elements of its matrix are not 0, and from both
packings: they are the same in all layers of one shape that a deep network has, whatever operations
cost, and so is their price at one level.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.itself import Itself
from cloakwork.plan.networks.diagonals import (
    BlockDiagonals,
    cost_of_diagonals,
    diagonals_between,
)
from cloakwork.plan.networks.matrix import Matrix
from cloakwork.programs.places import Places
from cloakwork.runtime.costs import Costs, LevelCosts

T = TypeVar("T")
_Kind: TypeAlias = tuple[bytes, bytes, bytes]


class ProductDiagonals:
    """The diagonals of products with matrices.

    Example:
        >>> known = ProductDiagonals()
        >>> wide, narrow = Places(16, np.arange(16)), Places(16, np.arange(2))
        >>> one, other = (Matrix.of(np.full((2, 16), weight)) for weight in (1.0, 3.0))
        >>> known.of(one, wide, narrow) is known.of(other, wide, narrow)
        True
    """

    def __init__(self) -> None:
        self._diagonals: dict[_Kind, BlockDiagonals] = {}
        self._digests: dict[Itself[Any], bytes] = {}

    def kind(self, matrix: Matrix, operand: Places, result: Places) -> _Kind:
        """The same for products of the same diagonals."""
        before, after = (self._digest(each, _packing) for each in (operand, result))
        return self._digest(matrix, _structure), before, after

    def of(self, matrix: Matrix, operand: Places, result: Places) -> BlockDiagonals:
        """The diagonals of a product, as `diagonals_between` gives them."""
        kind = self.kind(matrix, operand, result)
        if kind not in self._diagonals:
            self._diagonals[kind] = diagonals_between(matrix, operand, result)
        return self._diagonals[kind]

    def count(self, matrix: Matrix, operand: Places, result: Places) -> int:
        """How many diagonals a product takes."""
        return sum(map(len, self.of(matrix, operand, result).values()))

    def _digest(self, of: T, parts: Callable[[T], Iterable[NDArray[Any]]]) -> bytes:
        key = Itself(of)
        if key not in self._digests:
            content = hashlib.blake2b(digest_size=16)
            for array in parts(of):
                content.update(repr((array.shape, array.dtype.str)).encode())
                content.update(np.ascontiguousarray(array).data)
            self._digests[key] = content.digest()
        return self._digests[key]


class ProductPrices:
    """The prices of products with matrices.

    Args:
        costs: What operations cost at each level.
        known: The diagonals that are known.

    Example:
        >>> from cloakwork.runtime.costs import modelled
        >>> prices = ProductPrices(modelled([1, 2], 1), ProductDiagonals())
        >>> wide, narrow = Places(16, np.arange(16)), Places(16, np.arange(2))
        >>> one, other = (Matrix.of(np.full((2, 16), weight)) for weight in (1.0, 3.0))
        >>> prices.price(one, wide, narrow, 1) == prices.price(other, wide, narrow, 1)
        True
        >>> prices.kinds
        1
    """

    def __init__(self, costs: Costs, known: ProductDiagonals) -> None:
        self._costs = costs
        self.known = known
        self._prices: dict[tuple[_Kind, LevelCosts, LevelCosts], float] = {}

    @property
    def kinds(self) -> int:
        """How many products were different."""
        return len(self._prices)

    def price(self, matrix: Matrix, operand: Places, result: Places, level: int) -> float:
        """The price of a product whose operand stands at a level."""
        own = self.known.kind(matrix, operand, result)
        kind = own, self._costs.at(level), self._costs.at(level - 1)
        if kind not in self._prices:
            found = self.known.of(matrix, operand, result)
            made = cost_of_diagonals(found, operand, result, self._costs, level)
            self._prices[kind] = made.price
        return self._prices[kind]


def _structure(matrix: Matrix) -> Iterable[NDArray[Any]]:
    """Which elements of a matrix are not 0."""
    pixels = matrix.pixels
    yield from (np.array(pixels.shape), pixels.rows, pixels.columns, pixels.numbers)
    yield from (matrix.rows.elements, matrix.columns.elements)
    for each in matrix.channels:
        yield from (np.array(each.shape), each.indptr, each.indices, each.data != 0)


def _packing(places: Places) -> Iterable[NDArray[Any]]:
    yield from (np.array([places.slots]), places.places)

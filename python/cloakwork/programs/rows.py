"""How the rows of a block of a table lie in slots, two in each, and what goes with them.

A slot holds a number of one row in its real part and of another one in its imaginary part. Where
slots are more than half of the rows, they hold several coordinates of each row, the shares of a
ciphertext, whose products rotations add up; then every replica of the rows has the sums.

```figure
  slots of a ciphertext, of 4 rows and 2 shares:
  [ x0 + i x2, x1 + i x3 | y0 + i y2, y1 + i y3 | x0 + i x2, x1 + i x3 | y0 + i y2, y1 + i y3 ]
```
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.coefficients import slots_of_coefficients
from cloakwork.programs.slots import Vector

# What a slot reaches whose parts both reach 1.
_BOTH = math.sqrt(2)


@dataclass(frozen=True, slots=True)
class RowSlots:
    """Slots that the rows of a block share.

    Args:
        slots: Slots of a ciphertext.
        half: RowSlots in the real parts, and as many in the imaginary parts; it divides the slots.
        shares: Coordinates of a row in a ciphertext; it divides how often the rows fit.
        size: How many rows there are.

    Example:
        >>> RowSlots(slots=8, half=2, shares=2, size=4).replicas
        4
    """

    slots: int
    half: int
    shares: int
    size: int

    @property
    def replicas(self) -> int:
        """How often the rows fit."""
        return self.slots // self.half

    def in_pairs(self, numbers: NDArray[np.float64]) -> NDArray[np.complex128]:
        """Numbers of all rows along the last axis, those of two rows as one."""
        wide = np.zeros((*numbers.shape[:-1], 2 * self.half))
        wide[..., : self.size] = numbers
        return np.asarray(wide[..., : self.half] + 1j * wide[..., self.half :])

    def repeated(self, pattern: NDArray[Any]) -> Vector:
        """What stands in the slots of some replicas, in all of them."""
        return np.asarray(np.tile(pattern.reshape(-1), self.slots // pattern.size))


@dataclass(frozen=True, slots=True)
class _Coordinates:
    """Where coordinates of rows, or of what they are compared with, share ciphertexts."""

    rows: RowSlots
    width: int

    @property
    def slots(self) -> int:
        """Slots of a ciphertext."""
        return self.rows.slots

    @property
    def ciphertexts(self) -> int:
        """How many there are."""
        return -(-self.width // self.rows.shares)


@dataclass(frozen=True, slots=True)
class ColumnsPlace(_Coordinates):
    """Where the coordinates of rows lie, an array with a column for each row.

    Args:
        rows: The rows.
        width: How many coordinates they have.

    Example:
        >>> place = ColumnsPlace(RowSlots(slots=4, half=2, shares=2, size=3), width=2)
        >>> place.pack(np.array([[1.0, 2, 3], [4, 5, 6]]))[0].tolist()
        [(1+3j), (2+0j), (4+6j), (5+0j)]
    """

    @property
    def most(self) -> float:
        """What a slot reaches of numbers up to 1."""
        return _BOTH

    def pack(self, numbers: NDArray[np.float64]) -> list[Vector]:
        """The vectors of the ciphertexts."""
        wide = np.zeros((self.rows.shares * self.ciphertexts, self.rows.size))
        wide[: self.width] = numbers
        shares = self.rows.in_pairs(wide).reshape(self.rows.shares, self.ciphertexts, -1)
        return [self.rows.repeated(shares[:, number]) for number in range(self.ciphertexts)]


@dataclass(frozen=True, slots=True)
class QueryPlace(_Coordinates):
    """Where a query lies, each coordinate beside all rows.

    Args:
        rows: The rows.
        width: How many coordinates it has.
        factor: What it is multiplied by.

    Example:
        >>> place = QueryPlace(RowSlots(slots=4, half=2, shares=2, size=3), width=3, factor=0.5)
        >>> [vector.tolist() for vector in place.pack(np.array([2.0, 4, 6]))]
        [[1.0, 1.0, 3.0, 3.0], [2.0, 2.0, 0.0, 0.0]]
    """

    factor: float

    @property
    def most(self) -> float:
        """What a slot reaches of numbers up to 1."""
        return self.factor

    def pack(self, numbers: NDArray[np.float64]) -> list[Vector]:
        """The vectors of the ciphertexts."""
        wide = np.zeros(self.rows.shares * self.ciphertexts)
        wide[: self.width] = self.factor * numbers
        shares = wide.reshape(self.rows.shares, self.ciphertexts)
        beside = np.repeat(shares[..., np.newaxis], self.rows.half, axis=-1)
        return [self.rows.repeated(beside[:, number]) for number in range(self.ciphertexts)]


@dataclass(frozen=True, slots=True)
class LivePlace:
    """Where it lies which rows count: what is taken off the others, empty places among them.

    Args:
        rows: The rows.
        penalty: What is taken off.

    Example:
        >>> place = LivePlace(RowSlots(slots=4, half=2, shares=1, size=3), penalty=2.0)
        >>> place.pack(np.array([1.0, 0, 1]))[0].tolist()
        [0j, (2+2j), 0j, (2+2j)]
    """

    rows: RowSlots
    penalty: float

    ciphertexts = 1

    @property
    def slots(self) -> int:
        """Slots of a ciphertext."""
        return self.rows.slots

    @property
    def most(self) -> float:
        """What a slot reaches."""
        return _BOTH * self.penalty

    def pack(self, numbers: NDArray[np.float64]) -> list[Vector]:
        """The vector of the ciphertext."""
        return [self.rows.repeated(self.penalty * ((1 + 1j) - self.rows.in_pairs(numbers)))]


@dataclass(frozen=True, slots=True)
class CoefficientsPlace:
    """Numbers that stand in coefficients, from which a bootstrap takes them to their slots.

    Args:
        place: Where they lie in slots then.

    Example:
        >>> place = CoefficientsPlace(LivePlace(RowSlots(2, 2, 1, size=3), penalty=2.0))
        >>> from cloakwork.programs.coefficients import coefficients_of_slots
        >>> coefficients_of_slots(place.pack(np.array([1.0, 0, 1]))[0]).round(9).tolist()
        [0j, (2+2j)]
    """

    place: ColumnsPlace | LivePlace

    @property
    def slots(self) -> int:
        """Slots of a ciphertext."""
        return self.place.slots

    @property
    def ciphertexts(self) -> int:
        """How many there are."""
        return self.place.ciphertexts

    @property
    def most(self) -> float:
        """What a slot reaches of numbers up to 1: all coefficients, where each is up to 1."""
        return math.sqrt(2) * self.slots * self.place.most

    def pack(self, numbers: NDArray[np.float64]) -> list[Vector]:
        """The vectors of the ciphertexts."""
        return [slots_of_coefficients(each) for each in self.place.pack(numbers)]


@dataclass(frozen=True, slots=True)
class NumbersPlace:
    """Where further numbers of rows lie: those of the rows of each half for themselves.

    So a product with what is known of each row of a half, in all replicas, gives those of the
    rows for which it is 1. A slot holds two numbers of one row.

    Args:
        rows: The rows.
        width: How many numbers a row has.

    Example:
        >>> place = NumbersPlace(RowSlots(slots=2, half=2, shares=1, size=3), width=2)
        >>> packed = place.pack(np.array([[1.0, 2, 3], [4, 5, 6]]))
        >>> [vector.tolist() for vector in packed]
        [[(1+4j), (2+5j)], [(3+6j), 0j]]
        >>> place.unpack(packed).tolist()
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    """

    rows: RowSlots
    width: int

    @property
    def slots(self) -> int:
        """Slots of a ciphertext."""
        return self.rows.slots

    @property
    def of_half(self) -> int:
        """How many ciphertexts there are for the rows of a half."""
        return -(-self.width // (2 * self.rows.replicas))

    @property
    def ciphertexts(self) -> int:
        """How many there are."""
        return 2 * self.of_half

    @property
    def most(self) -> float:
        """What a slot reaches of numbers up to 1."""
        return _BOTH

    def pack(self, numbers: NDArray[np.float64]) -> list[Vector]:
        """The vectors of the ciphertexts, those of the first half first."""
        wide = np.zeros((2 * self.of_half * self.rows.replicas, 2 * self.rows.half))
        wide[: self.width, : self.rows.size] = numbers
        parts = wide.reshape(self.of_half, 2, self.rows.replicas, 2, self.rows.half)
        pairs = np.moveaxis(parts[:, 0] + 1j * parts[:, 1], 2, 0)
        return list(pairs.reshape(self.ciphertexts, self.slots))

    def unpack(self, vectors: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The numbers again, a column for each row."""
        pairs = np.stack(vectors).reshape(2, self.of_half, self.rows.replicas, self.rows.half)
        parts = np.stack([pairs.real, pairs.imag], axis=2)
        wide = np.moveaxis(parts, 0, 3).reshape(-1, 2 * self.rows.half)
        return np.asarray(wide[: self.width, : self.rows.size])


@dataclass(frozen=True, slots=True)
class PairsPlace:
    """Where one number of each row comes out, those of two rows in a slot.

    Args:
        rows: The rows.

    Example:
        >>> place = PairsPlace(RowSlots(slots=2, half=2, shares=1, size=3))
        >>> place.unpack([np.array([1 + 3j, 2])]).tolist()
        [1.0, 2.0, 3.0]
    """

    rows: RowSlots

    ciphertexts = 1

    @property
    def slots(self) -> int:
        """Slots of a ciphertext."""
        return self.rows.slots

    def unpack(self, vectors: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The numbers of the rows."""
        # Of rows that stand several times the errors even out.
        pairs = np.reshape(vectors[0], (self.rows.replicas, self.rows.half)).mean(axis=0)
        return np.concatenate([pairs.real, pairs.imag])[: self.rows.size]


@dataclass(frozen=True, slots=True)
class SumPlace:
    """Where a sum over all rows comes out, which is in all slots.

    Args:
        rows: The rows.
    """

    rows: RowSlots

    ciphertexts = 1

    @property
    def slots(self) -> int:
        """Slots of a ciphertext."""
        return self.rows.slots

    def unpack(self, vectors: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The sum."""
        return np.asarray(np.real(vectors[0][0]))

"""Places: which slot each element of a tensor sits in, repeated to fill the ciphertext.

They give every element a place. Places below the period name one pattern, and the
pattern is repeated over all slots of a ciphertext, so that a rotation within the pattern is
one of the whole. Where the period is longer than a ciphertext, place p is slot p % slots of
ciphertext p // slots.

Several tensors may share the ciphertexts, interleaved: slot s of tensor b is then slot
s * batch + b, and every rotation is `batch` times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Limits
from cloakwork.errors import InvalidLayoutError
from cloakwork.programs.layout import MAX_SLOTS, Layout, power_of_two
from cloakwork.programs.matrices import MatrixPlace

# Where a whole tensor lies that goes into a program, or comes out of it.
TensorPlace: TypeAlias = Layout | MatrixPlace


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where the elements of one tensor sit.

    Args:
        slots: Slots that one tensor has in a ciphertext.
        places: The place of every element, in row-major order.
        name: What it is called in summaries.

    Raises:
        InvalidLayoutError: Two elements share a place, or one is below 0.

    Example:
        >>> packing = Places(8, np.array([0, 1, 3]))
        >>> packing.period, packing.ciphertexts
        (4, 1)
        >>> packing.pack(np.array([[5.0, 6.0, 7.0]]))[0].tolist()
        [5.0, 6.0, 0.0, 7.0, 5.0, 6.0, 0.0, 7.0]
    """

    slots: Annotated[int, Limits(1, MAX_SLOTS)]
    places: NDArray[np.int64]
    name: str = ""

    def __post_init__(self) -> None:
        distinct = np.unique(self.places).shape == self.places.shape
        if not (distinct and len(self.places) and self.places.min() >= 0):
            raise InvalidLayoutError(
                "cannot pack: expected a place from 0 on of its own for every element, got "
                f"{self.places.size} places"
            )

    @property
    def period(self) -> int:
        """After how many slots the pattern repeats: the slots where it is longer than those."""
        return min(self.slots, power_of_two(int(self.places.max()) + 1))

    @property
    def ciphertexts(self) -> int:
        """How many ciphertexts there are."""
        return int(self.places.max()) // self.slots + 1

    def pack(self, tensors: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Put a batch of flat tensors, one a row, into the vectors of their ciphertexts.

        Example:
            >>> Places(2, np.array([0, 1])).pack(np.array([[1.0, 2.0], [3.0, 4.0]]))[0].tolist()
            [1.0, 3.0, 2.0, 4.0]
        """
        patterns = np.zeros((self.ciphertexts * self.slots, len(tensors)))
        patterns[self.places] = tensors.T
        period = self.period
        return [
            np.tile(pattern[:period], (self.slots // period, 1)).ravel()
            for pattern in np.split(patterns, self.ciphertexts)
        ]

    def unpack(self, vectors: Sequence[NDArray[np.float64]], batch: int) -> NDArray[np.float64]:
        """Take the flat tensors of a batch, one a row, out of their vectors.

        Example:
            >>> Places(2, np.array([0, 1])).unpack([np.array([1.0, 3.0, 2.0, 4.0])], 2).tolist()
            [[1.0, 2.0], [3.0, 4.0]]
        """
        whole = np.concatenate([vector.reshape(self.slots, batch) for vector in vectors])
        return np.ascontiguousarray(whole[self.places].T)

    def pack_pairs(self, tensors: NDArray[np.float64]) -> list[NDArray[Any]]:
        """Put a batch of flat tensors in half as many slots, two in the two parts of each.

        A slot holds half of a number of one tensor and, times the imaginary unit, half of one of
        the other: twice the real part and twice the imaginary part are the numbers.

        Example:
            >>> Places(2, np.array([0, 1])).pack_pairs(np.array([[1.0, 2.0], [3.0, 4.0]]))[0]
            array([0.5+1.5j, 1. +2.j ])
        """
        real, imaginary = (self.pack(half) for half in np.split(tensors / 2, 2))
        return [one + 1j * other for one, other in zip(real, imaginary, strict=True)]

    def unpack_pairs(self, vectors: Sequence[NDArray[Any]], batch: int) -> NDArray[np.float64]:
        """Take the flat tensors of a batch out of both parts of their slots, one a row.

        Other than `pack_pairs` it takes numbers as large as they are.

        Example:
            >>> Places(2, np.array([0, 1])).unpack_pairs([np.array([1 + 3j, 2 + 4j])], 2).tolist()
            [[1.0, 2.0], [3.0, 4.0]]
        """
        parts = [vector.real for vector in vectors], [vector.imag for vector in vectors]
        return np.concatenate([self.unpack(part, batch // 2) for part in parts])

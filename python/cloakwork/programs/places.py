"""Places: which slot each element of a tensor sits in, repeated to fill the ciphertext.

They give every element a place. Places below the period name one pattern, and the
pattern is repeated over all slots of a ciphertext, so that a rotation within the pattern is
one of the whole. Where the period is longer than a ciphertext, place p is slot p % slots of
ciphertext p // slots.

Several tensors may share the ciphertexts, interleaved: slot s of tensor b is then slot
s * batch + b, and every rotation is `batch` times as long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Limits
from cloakwork.errors import InvalidLayoutError
from cloakwork.programs.layout import MAX_SLOTS, Layout, power_of_two
from cloakwork.programs.matrices import MatrixPlace
from cloakwork.programs.phases import PhasePlace

# Places for each element up to which they are marked, which is faster than sorting elements.
_MARKED = 16


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
        if not (len(self.places) and self.places.min() >= 0 and _are_distinct(self.places)):
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


def _are_distinct(places: NDArray[np.int64]) -> bool:
    """Whether no number from 0 on comes twice."""
    if places.max() < _MARKED * len(places):
        marks = np.zeros(int(places.max()) + 1, dtype=np.bool_)
        marks[places] = True
        return bool(np.count_nonzero(marks) == len(places))
    return len(np.unique(places)) == len(places)


@dataclass(frozen=True, slots=True, eq=False)
class BatchPlaces:
    """Where the tensors of a batch lie, as one tensor whose first axis numbers them.

    Args:
        places: Where the elements of each lie.
        shape: The shape of the whole.
        batch: How many there are.
        lanes: Numbers, real or complex, that a ciphertext has for every place.
        pairs: Whether every two of them share their slots.

    Example:
        >>> place = BatchPlaces(Places(2, np.array([1, 0])), (4, 2), 4, lanes=2, pairs=True)
        >>> [each.tolist() for each in place.part_places()[::2]]
        [[[0, 0], [0, 0], [1, 1], [1, 1]], [[2, 0], [3, 1], [2, 0], [3, 1]]]
    """

    places: Places
    shape: tuple[int, ...]
    batch: Annotated[int, Limits(1, 2 * MAX_SLOTS)]
    lanes: Annotated[int, Limits(1, MAX_SLOTS)]
    pairs: bool = False

    def __post_init__(self) -> None:
        fits = math.prod(self.shape) == self.batch * len(self.places.places)
        if not fits or self.batch > self.parts * self.lanes or self.slots > MAX_SLOTS:
            raise InvalidLayoutError(
                f"cannot lay out a batch of {self.batch} tensors: expected up to "
                f"{self.parts * self.lanes}, and {math.prod(self.shape)} places for all, got "
                f"{len(self.places.places)} for each"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BatchPlaces):
            return NotImplemented
        return self._sizes == other._sizes and np.array_equal(
            self.places.places, other.places.places
        )

    def __hash__(self) -> int:
        return hash(self._sizes)

    @property
    def _sizes(self) -> tuple[Any, ...]:
        return self.shape, self.batch, self.lanes, self.pairs, self.slots

    @property
    def slots(self) -> int:
        """Slots of a ciphertext."""
        return self.places.slots * self.lanes

    @property
    def ciphertexts(self) -> int:
        """How many ciphertexts there are."""
        return self.places.ciphertexts

    @property
    def parts(self) -> int:
        """Numbers in a slot, of which the second is the imaginary part."""
        return 2 if self.pairs else 1

    @property
    def is_real(self) -> bool:
        """Whether no slot holds anything in its imaginary part."""
        return not self.pairs

    def part_places(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The part, the ciphertext and the slot of every element, in the tensor's shape."""
        part, lane = np.divmod(np.arange(self.batch)[:, np.newaxis], self.lanes)
        tile, slot = np.divmod(self.places.places, self.places.slots)
        found = np.broadcast_arrays(part, tile, slot * self.lanes + lane)
        part, tile, slot = (each.reshape(self.shape) for each in found)
        return part, tile, slot

    def filled(self) -> list[NDArray[np.float64]]:
        """For each ciphertext 1 in the slots that may hold other numbers than 0: in all of them."""
        return [np.ones(self.slots)] * self.ciphertexts

    def pack(self, tensor: NDArray[np.float64]) -> list[NDArray[Any]]:
        """Put a tensor of this shape into vectors of slots, zero where empty."""
        kind = complex if self.pairs else float
        vectors = np.zeros((self.ciphertexts, self.slots), dtype=kind)
        part, tile, slot = self.part_places()
        for number, unit in enumerate((1, 1j)[: self.parts]):
            here = part == number
            vectors[tile[here], slot[here]] += unit * tensor[here]
        return list(vectors)

    def unpack(self, vectors: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Take the tensor back out of its vectors of slots."""
        part, tile, slot = self.part_places()
        found = np.stack(vectors)[tile, slot]
        return np.where(part > 0, np.imag(found), np.real(found))


@dataclass(frozen=True, slots=True, eq=False)
class ScatteredPlace:
    """Where integers lie that no layout describes: in slots of the first rows of vectors.

    Args:
        slots: Slots of a row.
        places: For each element in order its slot, those of the rows of all vectors counted.
        shape: The shape of the whole.

    Example:
        >>> place = ScatteredPlace(4, np.array([6, 1]), (2,))
        >>> [vector.tolist() for vector in place.pack_some(np.array([7, 8]), [0, 1], np.int64)]
        [[0, 8, 0, 0, 0, 0, 0, 0], [0, 0, 7, 0, 0, 0, 0, 0]]
    """

    slots: Annotated[int, Limits(1, MAX_SLOTS)]
    places: NDArray[np.int64]
    shape: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether every element has a slot of its own."""
        distinct = np.unique(self.places).size == self.places.size == math.prod(self.shape)
        return bool(distinct and self.places.size and self.places.min() >= 0)

    @property
    def ciphertexts(self) -> int:
        """How many vectors there are."""
        return int(self.places.max()) // self.slots + 1

    def matrices(self, tensor: NDArray[Any]) -> NDArray[Any]:
        """The tensor itself."""
        return tensor

    def pack_some(
        self, tensor: NDArray[Any], numbers: Sequence[int] | NDArray[np.int64], kind: Any
    ) -> list[NDArray[Any]]:
        """Some of the vectors, of two rows each, zero where empty."""
        vectors, slots = np.divmod(self.places, self.slots)
        made: list[NDArray[Any]] = []
        for number in numbers:
            vector = np.zeros(2 * self.slots, dtype=kind)
            here = vectors == number
            vector[slots[here]] = tensor.ravel()[here]
            made.append(vector)
        return made


# Where a whole tensor lies that goes into a program, or comes out of it.
TensorPlace: TypeAlias = Layout | MatrixPlace | BatchPlaces | PhasePlace

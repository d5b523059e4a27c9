"""The diagonals of a linear transform, kept by their non-zero slots.

A layout change touches every slot about once, whatever the number of its diagonals;
kept densely, a thousand diagonals of 16384 slots would take 131 MB. Where weights are few, an
element is the slot that it goes to and the place of its weight among the different ones, together 4
bytes. The weight of a convolution stands in many slots: it is one element, with the pattern of its
tap, which is held once for all.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloakwork import _native
from cloakwork.programs.patterns import ALONE, SHORTEST, Patterns

# Elements for each different weight from which on weights are stood for by their places.
_FEW = 4
# A table of so many places tells numbers apart; those that share a place are sorted.
_TABLE_BITS = 20
# 2^64 divided by the golden ratio: multiples of it are spread evenly (Knuth, volume 3, 6.4).
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
# Shorter arrays are sorted as fast.
_SHORT = 1 << 12


class DiagonalArrays(NamedTuple):
    """The arrays that diagonals are held as.

    Args:
        numbers: The rotation of each diagonal, from minus the slots up.
        counts: How many elements each has.
        targets: Of every element the slot that it goes to.
        places: Of every element the place of its weight; None where each has a weight of its own.
        weights: The weights; None where every one is 1.
        patterns: The patterns that elements stand in.
        pattern_of: Of every element the number of its pattern; None where all have the first.
    """

    numbers: NDArray[np.int64]
    counts: NDArray[np.int64]
    targets: NDArray[Any]
    places: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    patterns: Patterns
    pattern_of: NDArray[Any] | None

    def fit(self, slots: int) -> bool:
        """Whether they are of diagonals of so many slots.

        Example:
            >>> arrays = SparseDiagonals(4, np.array([0, 1]), np.array([1, 0])).arrays()
            >>> arrays.fit(4), arrays.fit(1)
            (True, False)
        """
        numbers, counts, targets, places, weights, patterns, pattern_of = self
        of_each = weights if places is None else places
        if of_each is not None and len(of_each) != len(targets):
            return False
        if places is not None and (weights is None or bool((places >= len(weights)).any())):
            return False
        if pattern_of is not None and not (
            len(pattern_of) == len(targets) and bool((pattern_of < len(patterns)).all())
        ):
            return False
        return (
            len(numbers) == len(counts) > 0
            and bool((np.abs(numbers) < slots).all() and (np.diff(numbers % slots) > 0).all())
            and bool((counts > 0).all() and counts.sum() == len(targets))
            and int(targets.max()) < slots
            and patterns.fit(slots)
        )


class SparseDiagonals(Mapping[int, NDArray[np.float64]]):
    """Diagonals by number; one is made dense when it is asked for.

    Element k says: target slot `targets[k]` receives `weights[k]` times source slot
    `sources[k]`. It belongs to diagonal (source - target) modulo the slots (Halevi and
    Shoup, "Algorithms in HElib", CRYPTO 2014).

    Args:
        slots: Slots of source and target.
        sources: Source slots.
        targets: Target slots.
        weights: Factors, None for ones. Elements of weight 0 are left out; elements with
            the same source and target sum.

    Example:
        >>> shift = SparseDiagonals(4, np.array([0, 1, 2]), np.array([0, 0, 0]))
        >>> {d: v.tolist() for d, v in shift.items()}
        {0: [1.0, 0.0, 0.0, 0.0], 1: [1.0, 0.0, 0.0, 0.0], 2: [1.0, 0.0, 0.0, 0.0]}
    """

    __slots__ = (
        "_ends",
        "_given",
        "_pattern_of",
        "_patterns",
        "_period",
        "_places",
        "_targets",
        "_weights",
        "numbers",
        "slots",
    )

    def __init__(
        self,
        slots: int,
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self._fill(slots, (sources - targets) % slots, targets, weights, ALONE, None)

    @classmethod
    def repeated(
        cls,
        slots: int,
        distances: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: NDArray[np.float64],
        patterns: Patterns,
        pattern_of: NDArray[Any] | None = None,
    ) -> SparseDiagonals:
        """Diagonals of elements that stand in all slots of their patterns.

        Example:
            >>> both = SparseDiagonals.repeated(
            ...     4, np.array([1]), np.array([0]), np.array([5.0]), Patterns(np.array([0, 2]))
            ... )
            >>> {d: v.tolist() for d, v in both.items()}
            {1: [5.0, 0.0, 5.0, 0.0]}
        """
        made = cls.__new__(cls)
        made._fill(slots, distances % slots, targets, weights, patterns, pattern_of)
        return made

    def _fill(
        self,
        slots: int,
        distances: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        patterns: Patterns,
        pattern_of: NDArray[Any] | None,
    ) -> None:
        if weights is not None and not weights.all():
            used = weights != 0
            distances, targets, weights = distances[used], targets[used], weights[used]
            pattern_of = None if pattern_of is None else pattern_of[used]
        # Short words are sorted by their digits.
        shortest = np.promote_types(SHORTEST, np.min_scalar_type(slots - 1))
        order = np.argsort(distances.astype(shortest), kind="stable")
        sorted_distances = distances[order]
        starts = np.flatnonzero(np.diff(sorted_distances, prepend=-1))
        self.slots = slots
        self.numbers: NDArray[np.int64] = sorted_distances[starts]
        self._ends = np.append(starts, len(order))
        self._targets: NDArray[Any] = targets.astype(shortest)[order]
        self._patterns = patterns
        self._pattern_of: NDArray[Any] | None = None
        if pattern_of is not None:
            number = np.promote_types(SHORTEST, np.min_scalar_type(len(patterns) - 1))
            self._pattern_of = pattern_of.astype(number)[order]
        # The different weights where there are few, and then for each element the place of its own.
        self._weights: NDArray[np.float64] | None = None
        self._places: NDArray[Any] | None = None
        if weights is not None:
            self._weights, self._places = _stored(weights[order])
        # Their numbers as the program has them, some of which may be below 0.
        self._given = self.numbers
        self._period: int | None = None

    def __getitem__(self, number: int) -> NDArray[np.float64]:
        place = int(np.searchsorted(self.numbers, number % self.slots))
        if place == len(self._given) or self._given[place] != number:
            raise KeyError(number)
        span = slice(int(self._ends[place]), int(self._ends[place + 1]))
        targets, weights = self._slots_in(span), self._weights_in(span)
        weights = None if weights is None else np.repeat(weights, self._copies_in(span))
        filled = np.bincount(targets, weights=weights, minlength=self.slots)
        return filled.astype(np.float64, copy=False)

    def __iter__(self) -> Iterator[int]:
        return iter(self._given.tolist())

    def __len__(self) -> int:
        return len(self._given)

    @property
    def targets(self) -> NDArray[np.int64]:
        """The target slot of every element, diagonal by diagonal."""
        return self._slots_in(slice(None))

    @property
    def sources(self) -> NDArray[np.int64]:
        """The source slot of every element, in the same order."""
        copies, counts = self._copies_in(slice(None)), np.diff(self._ends)
        numbers = np.repeat(np.repeat(self.numbers, counts), copies)
        return (self.targets + numbers) % self.slots

    @property
    def weights(self) -> NDArray[np.float64]:
        """The factor of every element, in the same order."""
        found = self._weights_in(slice(None))
        copies = self._copies_in(slice(None))
        return np.ones(self.elements) if found is None else np.repeat(found, copies)

    def _patterns_in(self, span: slice) -> NDArray[Any] | None:
        return None if self._pattern_of is None else self._pattern_of[span]

    def _slots_in(self, span: slice) -> NDArray[np.int64]:
        """All slots of some elements."""
        of = self._patterns_in(span)
        return self._patterns.expanded(self._targets[span], of, self.slots)

    def _copies_in(self, span: slice) -> NDArray[np.int64]:
        """How many slots each of some elements stands in."""
        return self._patterns.counts(self._patterns_in(span), len(self._targets[span]))

    def _weights_in(self, span: slice) -> NDArray[np.float64] | None:
        """The factors of some elements, each once; None where they are ones."""
        if self._weights is None or self._places is None:
            return None if self._weights is None else self._weights[span]
        weights: NDArray[np.float64] = self._weights[self._places[span]]
        return weights

    @property
    def elements(self) -> int:
        """How many elements there are, one for every slot that one stands in."""
        return int(self._copies_in(slice(None)).sum())

    @property
    def stored(self) -> int:
        """How many elements are held, each once whatever its pattern.

        Example:
            >>> first, ones = np.array([0]), np.ones(1)
            >>> both = SparseDiagonals.repeated(4, first, first, ones, Patterns(np.array([0, 2])))
            >>> both.elements, both.stored
            (2, 1)
        """
        return len(self._targets)

    @property
    def patterns(self) -> Patterns:
        """The patterns of the elements, which transforms share."""
        return self._patterns

    @property
    def period(self) -> int:
        """Slots after which all diagonals repeat themselves.

        Example:
            >>> even = np.array([0, 2])
            >>> SparseDiagonals(4, even, even).period, SparseDiagonals(4, even[:1], even[1:]).period
            (2, 4)
        """
        if self._period is None:
            self._period = self.native().period()
        return self._period

    @property
    def nbytes(self) -> int:
        """Bytes in memory, beside the patterns."""
        arrays = (
            self.numbers,
            self._ends,
            self._targets,
            self._weights,
            self._places,
            self._pattern_of,
        )
        return sum(each.nbytes for each in arrays if each is not None)

    def weighted(self, weights: NDArray[np.float64]) -> SparseDiagonals:
        """The same elements with other factors, in the same order."""
        return SparseDiagonals(self.slots, self.sources, self.targets, weights)

    def counted(self, numbers: NDArray[np.int64]) -> SparseDiagonals:
        """The same diagonals under other numbers, each the same modulo the slots.

        Example:
            >>> swap = SparseDiagonals(8, np.array([0, 1]), np.array([1, 0]))
            >>> list(swap), list(swap.counted(np.array([1, -1])))
            ([1, 7], [1, -1])
        """
        renumbered = copy.copy(self)
        renumbered._given = numbers
        return renumbered

    def arrays(self) -> DiagonalArrays:
        """What the diagonals are held as, which `from_arrays` makes them of again."""
        return DiagonalArrays(
            self._given,
            np.diff(self._ends),
            self._targets,
            self._places,
            self._weights,
            self._patterns,
            self._pattern_of,
        )

    @property
    def is_of_ones(self) -> bool:
        """Whether every factor is 1."""
        return self._weights is None

    @classmethod
    def from_arrays(cls, slots: int, arrays: DiagonalArrays) -> SparseDiagonals:
        """Diagonals of what `arrays` gave.

        Example:
            >>> swap = SparseDiagonals(4, np.array([0, 1]), np.array([1, 0]))
            >>> SparseDiagonals.from_arrays(4, swap.arrays()).digest() == swap.digest()
            True
        """
        if not arrays.fit(slots):
            raise ValueError(f"expected diagonals of {slots} slots")
        numbers, counts, targets, places, weights, patterns, pattern_of = arrays
        # They are in order already: sorting them would take several times their memory.
        made = cls.__new__(cls)
        made.slots = slots
        made.numbers = numbers % slots
        made._ends = np.concatenate([[0], np.cumsum(counts)])
        made._targets = targets
        made._places = places
        made._weights = weights
        made._patterns = patterns
        made._pattern_of = pattern_of
        made._given = numbers
        made._period = None
        return made

    def applied(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """The transform of a vector, its diagonals never dense.

        Example:
            >>> swap = SparseDiagonals(4, np.array([0, 1]), np.array([1, 0]))
            >>> swap.applied(np.array([5.0, 6.0, 7.0, 8.0])).tolist()
            [6.0, 5.0, 0.0, 0.0]
        """
        return self._sum(vector, self.numbers, np.zeros_like(self.numbers))

    def applied_to_babies(
        self, steps: NDArray[np.int64], babies: NDArray[np.float64], baby_steps: int
    ) -> NDArray[np.float64]:
        """The transform of a vector that is rotated by these baby steps, a row for each.

        Example:
            >>> swap = SparseDiagonals(4, np.array([0, 1]), np.array([1, 0]))
            >>> vector = np.array([5.0, 6.0, 7.0, 8.0])
            >>> swap.applied_to_babies(np.array([1]), np.roll(vector, -1)[np.newaxis], 2).tolist()
            [6.0, 5.0, 0.0, 0.0]
        """
        taken = self._given % baby_steps
        return self._sum(babies.ravel(), self._given - taken, np.searchsorted(steps, taken))

    def _sum(
        self, vectors: NDArray[np.float64], rotations: NDArray[np.int64], of: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Of each diagonal times one of some vectors, rotated."""
        _, counts, targets, places, weights, patterns, pattern_of = self.arrays()
        return _native.clear_transform(
            self.slots,
            rotations,
            counts,
            targets,
            places,
            weights,
            vectors,
            of,
            patterns.native,
            pattern_of,
        )

    def absolute(self) -> SparseDiagonals:
        """The same elements with the absolute values of their factors."""
        if self._weights is None:
            return self
        made = copy.copy(self)
        made._weights = np.abs(self._weights)
        return made

    def digest(self) -> bytes:
        """The same for the same elements under the same numbers.

        Example:
            >>> swap = SparseDiagonals(8, np.array([0, 1]), np.array([1, 0]))
            >>> swap.digest() == SparseDiagonals(8, np.array([1, 0]), np.array([0, 1])).digest()
            True
        """
        content = hashlib.sha256(repr((self.slots, self._given.tolist())).encode())
        content.update(self._patterns.digest)
        for array in (self._ends, self._targets, self._places, self._weights, self._pattern_of):
            if array is not None:
                content.update(np.ascontiguousarray(array).data)
        return content.digest()

    def native(self) -> _native.SparseDiagonals:
        """The diagonals as the engine takes them.

        Example:
            >>> SparseDiagonals(4, np.array([0, 1]), np.array([1, 0])).native()
            SparseDiagonals(2 diagonals)
        """
        numbers, counts, targets, places, weights, patterns, pattern_of = self.arrays()
        if weights is None:
            weights, places = np.ones(1), np.zeros(len(targets), dtype=SHORTEST)
        elif places is None:
            places = np.arange(len(weights), dtype=np.uint32)
        return _native.SparseDiagonals(
            self.slots,
            numbers,
            counts,
            targets,
            places,
            weights,
            patterns.native,
            pattern_of,
        )

    def is_finite(self) -> bool:
        """Whether every weight is a finite number."""
        return self._weights is None or bool(np.isfinite(self._weights).all())

    def is_of_integers(self) -> bool:
        """Whether every weight is an integer that a double holds exactly.

        Example:
            >>> ends = np.array([0]), np.array([1])
            >>> [SparseDiagonals(4, *ends, np.array([w])).is_of_integers() for w in (-3.0, 0.5)]
            [True, False]
        """
        weights = self._weights
        if weights is None:
            return True
        return bool((np.abs(weights) <= 2.0**53).all() and (weights == np.rint(weights)).all())

    def __repr__(self) -> str:
        return f"SparseDiagonals({len(self)} diagonals, {self.slots} slots)"


def _stored(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    """The different weights and the places of all; all and no places where they are many."""
    if _FEW * _least_distinct(weights) > len(weights):
        return weights, None
    found = distinct_numbers(weights)
    if _FEW * len(found.numbers) > len(weights):
        return weights, None
    places = found.places.astype(np.promote_types(SHORTEST, found.places.dtype))
    return found.numbers, places


def _least_distinct(weights: NDArray[np.float64]) -> int:
    """A number that there are at least as many different weights as, found without sorting."""
    if len(weights) < _SHORT:
        return 0
    in_use = np.zeros(1 << _TABLE_BITS, dtype=bool)
    bits = np.ascontiguousarray(weights, dtype=np.float64).view(np.uint64)
    in_use[_slots_of_table(bits)] = True
    return int(np.count_nonzero(in_use))


class DistinctNumbers(NamedTuple):
    """Numbers, each once, and for each element of an array the place of its number.

    Args:
        numbers: The different numbers, bit by bit, in the order of their bits.
        places: Of every element, in the shortest unsigned type.
    """

    numbers: NDArray[np.float64]
    places: NDArray[Any]


def distinct_numbers(values: NDArray[np.float64]) -> DistinctNumbers:
    """The different numbers of an array of few: in a fifth of the time that sorting it takes.

    Example:
        >>> found = distinct_numbers(np.array([0.5, 2.0, 0.5]))
        >>> found.numbers.tolist(), found.places.tolist(), found.places.dtype.name
        ([0.5, 2.0], [0, 1, 0], 'uint8')
    """
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    if len(bits) < _SHORT:
        found, places = np.unique(bits, return_inverse=True)
    else:
        found, places = _hashed_bits(bits)
    shortest = np.min_scalar_type(max(0, len(found) - 1))
    return DistinctNumbers(found.view(np.float64), places.astype(shortest, copy=False))


def _slots_of_table(bits: NDArray[np.uint64]) -> NDArray[np.uint32]:
    return ((bits * _SPREAD) >> np.uint64(64 - _TABLE_BITS)).astype(np.uint32)


def _hashed_bits(bits: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[Any]]:
    """The different words, rising, and the place of every one."""
    slots = _slots_of_table(bits)
    table = np.zeros(1 << _TABLE_BITS, dtype=np.uint64)
    table[slots] = bits
    in_use = np.zeros(len(table), dtype=bool)
    in_use[slots] = True
    others = np.flatnonzero(table[slots] != bits)
    found = np.unique(np.concatenate([table[in_use], bits[others]]))
    place_of = np.zeros(len(table), dtype=np.uint32)
    place_of[in_use] = np.searchsorted(found, table[in_use])
    places = place_of[slots]
    places[others] = np.searchsorted(found, bits[others])
    return found, places

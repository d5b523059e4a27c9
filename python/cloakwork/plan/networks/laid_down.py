"""Where the weights of a matrix lie between packed tensors: on which diagonals, in which slots.

Where the place of every element is the sum of a place of its channel and a step to its pixel, a
weight between two channels lies as far apart for all pixels that are as far apart. Then the weight
is one element, with the pattern of these pixels, in place of one for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.grouping import Grouping
from cloakwork.plan.networks.matrix import Matrix, Sparse
from cloakwork.programs.patterns import Patterns
from cloakwork.programs.places import Places

_Indices: TypeAlias = NDArray[Any]

# For numbers of 32 bits.
_TOO_LARGE = 1 << 31
# Numbers for each place of a table from which on it is faster to mark them than to sort them.
_MARKED = 16
# Elements for each weight of a pattern from which on patterns are less than elements.
_WORTH = 2


@dataclass(frozen=True, slots=True)
class Periods:
    """How two packings repeat themselves.

    Args:
        slots: Slots of an input in a ciphertext.
        operand: The period of the operand's packing.
        result: The period of the result's.
        batch: Inputs that share the slots.
    """

    slots: int
    operand: int
    result: int
    batch: int

    @property
    def shorter(self) -> int:
        """What diagonals count modulo."""
        return min(self.operand, self.result)

    @property
    def longer(self) -> int:
        """After how many slots all elements stand again."""
        return max(self.operand, self.result)

    @property
    def by_source(self) -> bool:
        """Whether the operand's place says which copy of the result's takes an element."""
        return self.operand >= self.result

    def copies(self, steps: _Indices) -> _Indices:
        """The slots in which what stands at some steps stands in all copies and inputs."""
        repeated = np.add.outer(np.arange(0, self.slots, self.longer), steps).ravel() % self.slots
        made: _Indices = np.add.outer(np.sort(repeated) * self.batch, np.arange(self.batch))
        return made.ravel()


@dataclass(frozen=True, slots=True, eq=False)
class WeightsOfPatterns:
    """Weights by the slots in which they stand.

    Args:
        blocks: The pair of ciphertexts that each stands between.
        distances: The operand's place less the result's, of each.
        places: The slot that the steps of its pattern are counted from: the operand's, or the
            result's.
        weights: The weights.
        patterns: The patterns, in all copies and inputs.
        pattern_of: The number of each one's pattern; None where there is one pattern.
    """

    blocks: _Indices
    distances: _Indices
    places: _Indices
    weights: NDArray[np.float64]
    patterns: Patterns
    pattern_of: _Indices | None

    def by_result(
        self, operands: int, results: int
    ) -> Iterator[tuple[tuple[int, int], WeightsOfPatterns]]:
        """For each pair of ciphertexts, of result and operand, the weights between them, if any."""
        count = operands * results
        if count == 1:
            yield (0, 0), self
            return
        # Short words are sorted by their digits, once for all pairs.
        operand, result = np.divmod(self.blocks, results)
        keys = (result * operands + operand).astype(np.min_scalar_type(count - 1))
        order = np.argsort(keys, kind="stable")
        ends = np.cumsum(np.bincount(keys, minlength=count))
        start = 0
        for block, end in enumerate(ends.tolist()):
            if end > start:
                yield divmod(block, operands), self._taken(order[start:end])
            start = end

    def _taken(self, here: _Indices) -> WeightsOfPatterns:
        return WeightsOfPatterns(
            self.blocks[here],
            self.distances[here],
            self.places[here],
            self.weights[here],
            self.patterns,
            None if self.pattern_of is None else self.pattern_of[here],
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Moves:
    """From places of an operand to places of a result, or steps from such places."""

    sources: _Indices
    targets: _Indices

    @property
    def distances(self) -> _Indices:
        """How much further each source is."""
        return self.sources - self.targets


@dataclass(frozen=True, slots=True, eq=False)
class LaidDown:
    """A matrix between two packings.

    Args:
        matrix: The matrix.
        operand: The operand's packing.
        result: The result's.
        sources: The operand's place of each channel, and the step from there to each pixel.
        targets: The same of the result.
    """

    matrix: Matrix
    operand: Places
    result: Places
    sources: tuple[_Indices, _Indices]
    targets: tuple[_Indices, _Indices]

    def marks(self, modulus: int) -> NDArray[np.bool_]:
        """For every pair of ciphertexts which diagonals there are, the operand's first."""
        blocks = self.operand.ciphertexts * self.result.ciphertexts
        marks = np.zeros(blocks * modulus, dtype=np.bool_)
        for number in range(len(self.matrix.channels)):
            of_channels, _ = self._between_channels(number)
            ours = _distinct(self._keys(of_channels, modulus), len(marks))
            theirs = _distinct(self._keys(self._between_pixels(number), modulus), len(marks))
            distances = np.add.outer(ours % modulus, theirs % modulus) & modulus - 1
            marks[distances + np.add.outer(ours // modulus, theirs // modulus) * modulus] = True
        return marks.reshape(blocks, modulus)

    def weights_of_patterns(self, periods: Periods) -> WeightsOfPatterns:
        """Every weight, once for the pixels that it stands as far apart for."""
        numbers = range(len(self.matrix.channels))
        if self.matrix.is_structured and _WORTH * self._count(periods) > self.matrix.nonzeros:
            flat = laid_down(self.matrix.flat, self.operand, self.result)
            return flat.weights_of_patterns(periods)
        weights = [self._between_channels(number) for number in numbers]
        classes = [self._classes(number, periods) for number in numbers]
        numbered: dict[bytes, int] = {}
        parts: list[tuple[_Indices, ...]] = []
        for (moves, each), those in zip(weights, classes, strict=True):
            own = moves.sources if periods.by_source else moves.targets
            for steps, pattern in those:
                number = numbered.setdefault(pattern.tobytes(), len(numbered))
                parts.append(
                    (
                        self._blocks(moves) + self._blocks(steps),
                        moves.distances + steps.distances,
                        own & self.operand.slots - 1,
                        each,
                        np.full(len(each), number, dtype=np.uint32),
                    )
                )
        blocks, distances, places, found, pattern_of = map(np.concatenate, zip(*parts, strict=True))
        known = [np.frombuffer(each, dtype=np.int64) for each in numbered]
        patterns = Patterns(np.concatenate(known), np.array([*map(len, known)]))
        several = pattern_of if len(known) > 1 else None
        return WeightsOfPatterns(blocks, distances, places, found, patterns, several)

    def _classes(self, number: int, periods: Periods) -> list[tuple[_Moves, _Indices]]:
        """The steps to pixels of one matrix between channels that are as far apart.

        Of each class one pair of steps, and the slots in which all stand.
        """
        moves = self._between_pixels(number)
        keys = self._keys(moves, periods.shorter)
        own = (moves.sources if periods.by_source else moves.targets) & self.operand.slots - 1
        order = np.argsort(keys, kind="stable")
        ends = np.flatnonzero(np.diff(keys[order])) + 1
        found: list[tuple[_Moves, _Indices]] = []
        for here in np.split(order, ends) if len(order) else ():
            first = _Moves(moves.sources[here[:1]], moves.targets[here[:1]])
            found.append((first, periods.copies(own[here])))
        return found

    def _count(self, periods: Periods) -> int:
        """How many weights there are, counted for each distance that pixels are apart."""
        total = 0
        for number, matrix in enumerate(self.matrix.channels):
            keys = self._keys(self._between_pixels(number), periods.shorter)
            total += matrix.count_nonzero() * len(np.unique(keys))
        return total

    def _keys(self, moves: _Moves, modulus: int) -> _Indices:
        """The pair of ciphertexts and the diagonal of each as one number."""
        # Periods and slots are powers of two.
        keys = moves.distances & modulus - 1
        if self.operand.ciphertexts * self.result.ciphertexts > 1:
            keys += self._blocks(moves) * modulus
        return keys

    def _blocks(self, moves: _Moves) -> _Indices:
        """The pair of ciphertexts that each goes between, the operand's first."""
        shift = self.operand.slots.bit_length() - 1
        return (moves.sources >> shift) * self.result.ciphertexts + (moves.targets >> shift)

    def _between_channels(self, number: int) -> tuple[_Moves, NDArray[np.float64]]:
        """The places of the weights of one matrix between channels, and the weights."""
        found = self.matrix.channels[number].tocoo(copy=False)
        rows, columns, weights = found.row, found.col, found.data
        if not weights.all() and self.matrix.nonzeros:
            used = weights != 0
            rows, columns, weights = rows[used], columns[used], weights[used]
        return _Moves(self.sources[0][columns], self.targets[0][rows]), weights

    def _between_pixels(self, number: int) -> _Moves:
        """The steps of the pairs of pixels of one matrix between channels."""
        rows, columns = self.matrix.pixels.of(number)
        return _Moves(self.sources[1][columns], self.targets[1][rows])


def laid_down(matrix: Matrix, operand: Places, result: Places) -> LaidDown:
    """A matrix between two packings; without its structure where these do not have it."""
    if not matrix.nonzeros:
        # An empty matrix takes one element, which is 0.
        matrix = Matrix.of(Sparse(([0.0], ([0], [0])), shape=matrix.shape))
    parted = _both_parted(matrix, operand, result)
    if parted is None:
        matrix = matrix.flat
        parted = (operand.places, np.zeros(1)), (result.places, np.zeros(1))
    word = _word_of(operand, result)
    sources, targets = ((one.astype(word), other.astype(word)) for one, other in parted)
    return LaidDown(matrix, operand, result, sources, targets)


def _both_parted(
    matrix: Matrix, operand: Places, result: Places
) -> tuple[tuple[_Indices, _Indices], tuple[_Indices, _Indices]] | None:
    sources, targets = _parted(operand, matrix.columns), _parted(result, matrix.rows)
    return None if sources is None or targets is None else (sources, targets)


def _word_of(operand: Places, result: Places) -> type[np.int32 | np.int64]:
    """What numbers of diagonals between all pairs of ciphertexts fit in."""
    blocks = operand.ciphertexts * result.ciphertexts
    # A layer of images has millions of elements.
    return np.int32 if blocks * operand.slots < _TOO_LARGE else np.int64


def _parted(places: Places, grouping: Grouping) -> tuple[_Indices, _Indices] | None:
    """The place of each channel and the step to each pixel; None where that is not all.

    Example:
        >>> pairs = Grouping.of_images(2, 2)
        >>> [each.tolist() for each in _parted(Places(8, np.array([0, 1, 4, 5])), pairs)]
        [[0, 4], [0, 1]]
        >>> _parted(Places(8, np.array([0, 1, 4, 6])), pairs)
    """
    table = places.places[grouping.elements]
    first = table[0].argmin()
    channels, steps = table[:, first], table[0] - table[0, first]
    ciphertexts = np.add.outer(channels // places.slots, steps // places.slots)
    if not np.array_equal(np.add.outer(channels, steps), table):
        return None
    # Pixels of a channel that goes on in another ciphertext do not differ by their steps there.
    are_whole = np.array_equal(ciphertexts, table // places.slots)
    return (channels, steps) if are_whole else None


def _distinct(keys: _Indices, size: int) -> _Indices:
    """The different keys, all below a size."""
    if len(keys) * _MARKED < size:
        return np.unique(keys)
    marks = np.zeros(size, dtype=np.bool_)
    marks[keys] = True
    return np.flatnonzero(marks)

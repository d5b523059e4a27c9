"""Where what two sets of tokens make of each other stands: by their distance, beside features.

Attention multiplies each token's query with every token's key. Halves of a head's features share
slots, as real and imaginary parts, and stand in blocks of one length, those of one head after
another. What a head makes of a token and of the one that is d tokens further, counted round, is a
number of that token as well, and stands among as many slots as the head has, d taking their place.
So products for all tokens at one distance are one product of blocks, of which one was rotated by
whole tokens. The order of diagonals is that of Jiang et al., "Secure outsourced matrix computation
and application to neural networks", CCS 2018; distances within the slots of heads are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Band:
    """Heads beside each other, as many as a power of two, whose numbers fill rows by distance.

    Args:
        block: The block of features that they are in.
        first: The first of them, counted in the block.
        count: How many they are.
    """

    block: int
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Distances:
    """Tokens, the features of their heads, and the blocks in which features stand.

    Args:
        tokens: How many tokens there are.
        heads: How many heads a token has.
        features: Features of a head.
        row: Slots of a token in a block.
    """

    tokens: int
    heads: int
    features: int
    row: int

    @property
    def is_possible(self) -> bool:
        """Whether distances fill the slots of heads: sizes are powers of two, in each block."""
        sizes = self.tokens, self.half, self.row
        if self.features % 2 or any(size & (size - 1) for size in sizes):
            return False
        fits = self.half <= self.tokens and self.half <= self.row
        return fits and all(self.tokens * band.count >= self.row for band in self.bands)

    @property
    def half(self) -> int:
        """Slots of a head, of two features each."""
        return self.features // 2

    @property
    def blocks(self) -> int:
        """Blocks that the heads take, of pairs of features."""
        return -(-self.heads * self.half // self.row)

    @property
    def bands(self) -> tuple[Band, ...]:
        """The heads in their order, as few bands as there may be.

        Example:
            >>> Distances(tokens=8, heads=7, features=4, row=8).bands
            (Band(block=0, first=0, count=4), Band(block=1, first=0, count=2), \
Band(block=1, first=2, count=1))
        """
        return tuple(self._bands())

    def _bands(self) -> Iterator[Band]:
        of_block = self.row // self.half
        for block in range(self.blocks):
            first, left = 0, min(of_block, self.heads - block * of_block)
            while left:
                count = 1 << (left.bit_length() - 1)
                yield Band(block, first, count)
                first, left = first + count, left - count

    def result(self, band: Band, distance: int) -> tuple[int, int]:
        """The block that has what a band's heads make at a distance, and the slot of the first.

        Example:
            >>> distances = Distances(tokens=8, heads=3, features=4, row=4)
            >>> [distances.result(band, 5) for band in distances.bands]
            [(2, 1), (5, 1)]
        """
        before = 0
        for each in self.bands:
            if each == band:
                break
            before += self.tokens * each.count // self.row
        number, place = divmod(distance, self.row // band.count)
        part, rest = divmod(place, self.half)
        return before + number, part * band.count * self.half + rest

    @property
    def results(self) -> int:
        """Numbers of a token: one for each head and distance, and no slot of a block empty."""
        return self.heads * self.tokens

    def table(self) -> NDArray[np.int64]:
        """For each head and distance the place among the numbers of a token.

        Example:
            >>> Distances(tokens=4, heads=2, features=4, row=4).table().tolist()
            [[0, 1, 4, 5], [2, 3, 6, 7]]
        """
        made = np.empty((self.heads, self.tokens), dtype=np.int64)
        for band in self.bands:
            first = band.block * (self.row // self.half) + band.first
            heads = np.arange(band.count)
            for distance in range(self.tokens):
                number, slot = self.result(band, distance)
                made[first + heads, distance] = number * self.row + slot + heads * self.half
        return made

    def places_of_results(self) -> NDArray[np.int64]:
        """For each token and number of it a slot, where a ciphertext holds a block of all tokens.

        Example:
            >>> Distances(tokens=2, heads=2, features=2, row=2).places_of_results().tolist()
            [0, 1, 4, 5, 2, 3, 6, 7]
        """
        return self._places(*np.divmod(np.arange(self.results), self.row))

    def places_of_features(self) -> NDArray[np.int64]:
        """For each token and feature a slot, second halves in ciphertexts behind all of the first.

        The features of a token are the first halves of all heads, and the second ones behind.

        Example:
            >>> Distances(tokens=2, heads=1, features=4, row=4).places_of_features().tolist()
            [0, 1, 8, 9, 4, 5, 12, 13]
        """
        halves, heads, slots = np.indices((2, self.heads, self.half)).reshape(3, -1)
        blocks, places = np.divmod(heads, self.row // self.half)
        return self._places(halves * self.blocks + blocks, places * self.half + slots)

    def _places(self, blocks: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        tokens = np.arange(self.tokens) * self.row
        made: NDArray[np.int64] = np.add.outer(tokens, blocks * self.row * self.tokens + places)
        return made.ravel()

    def places_of_heads(self) -> NDArray[np.int64]:
        """For each token and head a slot, where one ciphertext holds all tokens' blocks.

        It is the first of the head's in its band, or near: sums over distances move by as many
        slots for all heads.

        Example:
            >>> Distances(tokens=2, heads=3, features=4, row=4).places_of_heads().tolist()
            [0, 2, 1, 4, 6, 5]
        """
        firsts = [
            number + head * self.half
            for number, band in enumerate(self.bands)
            for head in range(band.count)
        ]
        return np.add.outer(np.arange(self.tokens) * self.row, firsts).ravel()

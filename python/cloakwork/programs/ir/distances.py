"""Where what two sets of tokens make of each other stands: by their distance, beside features.

Attention multiplies each token's query with every token's key. Features of a token, those of one
head after another, stand in blocks of one length. What a head makes of a token and of the one that
is d tokens further, counted round, is a number of that token as well, and stands among as many
slots as the head has features, d taking their place. So products for all tokens at one distance
are one product of blocks, of which one was rotated by whole tokens. The order of diagonals is that
of Jiang et al., "Secure outsourced matrix computation and application to neural networks", CCS
2018; distances within the slots of heads are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Distances:
    """Tokens, the features of their heads, and the blocks in which features stand.

    Args:
        tokens: How many tokens there are.
        features: Features of a token, those of all heads.
        group: Features of a head.
        row: Features of a block.
    """

    tokens: int
    features: int
    group: int
    row: int

    @property
    def is_possible(self) -> bool:
        """Whether distances fill the slots of heads: sizes are powers of two, in each block."""
        sizes = self.tokens, self.group, self.row
        if any(size & (size - 1) for size in sizes) or self.features % self.group:
            return False
        fits = self.group <= self.tokens and self.group <= self.row
        return fits and all(
            not heads & (heads - 1) and self.tokens >= self.group * self.row // (heads * self.group)
            for heads in map(self.heads_of, self.blocks)
        )

    @property
    def heads(self) -> int:
        """How many heads there are."""
        return self.features // self.group

    @property
    def blocks(self) -> range:
        """The numbers of the blocks of features."""
        return range(-(-self.features // self.row))

    def heads_of(self, block: int) -> int:
        """The heads whose features are in a block."""
        return min(self.row, self.features - block * self.row) // self.group

    def distances_of(self, block: int) -> int:
        """The distances that one block has slots for, of the heads of a block of features."""
        return self.row // self.heads_of(block)

    def result(self, block: int, distance: int) -> tuple[int, int]:
        """The block that has what a block's heads make at a distance, and the slot of the first.

        Example:
            >>> distances = Distances(tokens=8, features=6, group=2, row=4)
            >>> distances.result(0, 5), distances.result(1, 5)
            ((2, 1), (5, 1))
        """
        before = sum(self.tokens // self.distances_of(each) for each in range(block))
        number, place = divmod(distance, self.distances_of(block))
        part, rest = divmod(place, self.group)
        return before + number, part * self.heads_of(block) * self.group + rest

    @property
    def results(self) -> int:
        """Numbers of a token: one for each head and distance, and no slot of a block empty."""
        return self.heads * self.tokens

    def table(self) -> NDArray[np.int64]:
        """For each head and distance the place among the numbers of a token.

        Example:
            >>> Distances(tokens=4, features=4, group=2, row=4).table().tolist()
            [[0, 1, 4, 5], [2, 3, 6, 7]]
        """
        made = np.empty((self.heads, self.tokens), dtype=np.int64)
        for block in self.blocks:
            first = block * (self.row // self.group)
            heads = np.arange(self.heads_of(block))
            for distance in range(self.tokens):
                number, slot = self.result(block, distance)
                made[first + heads, distance] = number * self.row + slot + heads * self.group
        return made

    def places_of_heads(self) -> NDArray[np.int64]:
        """For each token and head a slot, where one ciphertext holds all tokens' blocks.

        It is the first of the head's in its block, or near: sums over distances move by as many
        slots for all heads.

        Example:
            >>> Distances(tokens=2, features=6, group=2, row=4).places_of_heads().tolist()
            [0, 2, 1, 4, 6, 5]
        """
        blocks, heads = np.divmod(np.arange(self.heads), self.row // self.group)
        tokens = np.arange(self.tokens) * self.row
        places: NDArray[np.int64] = np.add.outer(tokens, heads * self.group + blocks).ravel()
        return places

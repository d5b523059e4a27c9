"""How the lanes of a ciphertext are shared out among the axes of an expression of matrices.

The products of an expression share one cutting of slots into d rows of lanes, and one of lanes
into row blocks of the result, shares of one inner index, and column blocks of the result:

    lane = (row block * shares + share) * column blocks + column block

A matrix inside is shared out along those of its axes that are one of these three, and copied along
all others. So every product finds both operands where it needs them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from cloakwork.programs.layout import power_of_two
from cloakwork.programs.matrices import BlockLayout, Blocks

# What an axis of a matrix is shared out as; "whole" where it is not.
Digit: TypeAlias = Literal["rows", "summed", "columns", "whole"]
_ORDER: tuple[Digit, ...] = ("rows", "summed", "columns")


@dataclass(frozen=True, slots=True)
class Lanes:
    """How the lanes are shared out.

    Args:
        slots: Slots of a ciphertext.
        side: d, the rotations of every product.
        tall: Row blocks of the result in a ciphertext.
        shares: Shares of one inner index.
        wide: Column blocks of the result in a ciphertext.
        column_parts: Column blocks that share a slot as its real and imaginary part.
        rows: Rows of slots of a ciphertext: one of complex numbers, or two of integers.

    Example:
        >>> lanes = Lanes(64, 4, tall=2, shares=2, wide=4)
        >>> lanes.left("rows", "summed", 1).copies, lanes.left("summed", "whole", 1).copies
        (1, 2)
    """

    slots: int
    side: int
    tall: int = 1
    shares: int = 1
    wide: int = 1
    column_parts: int = 1
    rows: int = 1

    @property
    def has_halves(self) -> bool:
        """Whether a slot has a real and an imaginary part."""
        return self.rows == 1

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Those of row blocks, shares and column blocks."""
        return self.tall, self.shares, self.wide

    @property
    def step(self) -> int:
        """Slots from one row of lanes to the next."""
        return self.slots // self.side

    @property
    def sums(self) -> tuple[int, ...]:
        """The rotations that sum the shares of the inner index, one after the other."""
        return self._shared_out(*self.sizes).lane_sums()

    def size(self, digit: Digit) -> int:
        """Blocks of an axis in a ciphertext."""
        return 1 if digit == "whole" else self.sizes[_ORDER.index(digit)]

    def blocks(self, size: int, digit: Digit) -> int:
        """Ciphertexts along an axis of a product.

        Example:
            >>> Lanes(64, 4, tall=2, wide=4).blocks(20, "rows")
            3
        """
        each = self.side * self.size(digit)
        return -(-size // (each * self.column_parts if digit == "columns" else each))

    def runs(self, size: int, digit: Digit) -> int:
        """Vectors along an inner index of products that lie by diagonals."""
        return -(-size // (self.side * self.size(digit))) * self.side

    def terms(self, size: int, digit: Digit, parts: int) -> int:
        """Vectors along an inner index of two matrices from outside."""
        return -(-size // (self.size(digit) * parts))

    def shown(self, digit: Digit) -> Digit:
        """A digit, or "whole" where there is one block of it: what lies equally, is equal."""
        return digit if self.size(digit) > 1 else "whole"

    def result(self, shape: tuple[int, int]) -> BlockLayout:
        """Where the result lies."""
        return BlockLayout(self._shared_out(*self.sizes), "product", (1, *shape))

    def left(self, rows: Digit, inner: Digit, parts: int) -> Blocks:
        """Those of a left operand from outside, whose rows and inner index are shared out."""
        above, below = self._around(rows, inner)
        return self._shared_out(
            self.size(rows), self.size(inner), below, copies=above, inner_parts=parts
        )

    def right(self, inner: Digit, columns: Digit, parts: int) -> Blocks:
        """Those of a right operand from outside; it is copied along lanes above."""
        above, below = self._around(inner, columns)
        return self._shared_out(
            above, self.size(inner), self.size(columns), copies=below, inner_parts=parts
        )

    def pair(self, rows: Digit, columns: Digit, shape: tuple[int, int]) -> BlockLayout:
        """Where a matrix lies as products do, or its transpose by diagonals, which is the same.

        Example:
            >>> lanes = Lanes(64, 4, tall=2, wide=4)
            >>> lanes.pair("rows", "columns", (8, 16)).role
            'product'
            >>> lanes.pair("whole", "rows", (8, 16)).shape
            (1, 16, 8)
        """
        above, below = self._around(rows, columns)
        if columns == "columns":
            between = self.shares if rows == "rows" else 1
            blocks = self._shared_out(self.size(rows), between, self.wide, copies=above)
            return BlockLayout(blocks, "product", (1, *shape))
        blocks = Blocks(
            self.slots,
            self.side,
            self.rows,
            tall=self.size(columns),
            shares=self.size(rows),
            wide=below,
            run=self.side,
            copies=above,
        )
        return BlockLayout(blocks, "diagonals", (1, *shape[::-1]))

    def _around(self, *digits: Digit) -> tuple[int, int]:
        """Lanes above and below some digits; below all where there are none."""
        places = [_ORDER.index(each) for each in digits if each != "whole"]
        if not places:
            return 1, math.prod(self.sizes)
        above, below = self.sizes[: min(places)], self.sizes[max(places) + 1 :]
        return math.prod(above), math.prod(below)

    def _shared_out(
        self, tall: int, shares: int, wide: int, *, copies: int = 1, inner_parts: int = 1
    ) -> Blocks:
        return Blocks(
            self.slots,
            self.side,
            self.rows,
            tall=tall,
            shares=shares,
            wide=wide,
            copies=copies,
            inner_parts=inner_parts,
            column_parts=self.column_parts,
        )


def lane_choices(
    shape: tuple[int, int],
    inner: Sequence[int],
    slots: int,
    column_parts: int = 1,
    slot_rows: int = 1,
) -> Iterator[Lanes]:
    """Ways to share out lanes that may be worth taking.

    Example:
        >>> Lanes(2048, 16, tall=4, shares=8, wide=4) in set(lane_choices((64, 64), [200], 2048))
        True
    """
    rows, columns = shape
    side = 1
    while side <= min(slots, power_of_two(max(*shape, *inner))):
        lanes = slot_rows * slots // side
        longest = -(-max(inner) // side)
        shares = 1
        while shares <= min(lanes, power_of_two(longest)):
            blocks = -(-rows // side), -(-columns // (side * column_parts))
            for tall in least_blocks(blocks[0], lanes // shares):
                wide = least_blocks(blocks[1], lanes // (shares * tall))[-1]
                # More blocks of rows would lie in lanes that are free.
                if tall < blocks[0] and 2 * tall * shares * wide <= lanes:
                    continue
                # Shares are summed within a row of slots.
                if slot_rows > 1 and shares > 1 and slots // side % (shares * wide):
                    continue
                yield Lanes(slots, side, tall, shares, wide, column_parts, slot_rows)
            shares *= 2
        side *= 2


@lru_cache(maxsize=1 << 12)
def least_blocks(blocks: int, most: int) -> Sequence[int]:
    """For every number of ciphertexts the least blocks of each that hold all of them.

    Example:
        >>> least_blocks(17, 16)
        [1, 2, 3, 4, 5, 6, 9]
    """
    return [
        each for each in range(1, min(blocks, most) + 1) if -(-blocks // -(-blocks // each)) == each
    ]

"""What a product of two batches of matrices is asked to be, and what blocks of it cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from cloakwork.plan.matmul.lanes import least_blocks
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.matrices import Blocks, Counts, counts
from cloakwork.runtime.costs import LevelCosts

# What a vector costs that is encrypted or decrypted, and sent, in additions to it.
HANDLING = 12.0
# What a key costs that is made, sent and held, in rotations.
KEY = 2.0


@dataclass(frozen=True, slots=True)
class Product:
    """Matrices of `rows` x `inner` times matrices of `inner` x `columns`.

    Args:
        batch: How many pairs.
        rows: Rows of the left ones.
        inner: The inner dimension.
        columns: Columns of the right ones.

    Example:
        >>> Product(1, 512, 256, 128).counts(Blocks(2048, side=64, tall=8, wide=2)).left
        256
    """

    batch: int
    rows: int
    inner: int
    columns: int

    @property
    def left_shape(self) -> tuple[int, int, int]:
        """Of the left matrices."""
        return self.batch, self.rows, self.inner

    @property
    def right_shape(self) -> tuple[int, int, int]:
        """Of the right matrices."""
        return self.batch, self.inner, self.columns

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the products."""
        return self.batch, self.rows, self.columns

    @property
    def numbers(self) -> int:
        """Of all matrices, the products among them."""
        shapes = (self.left_shape, self.right_shape, self.shape)
        return sum(math.prod(shape) for shape in shapes)

    @property
    def multiplications(self) -> int:
        """Of numbers, in the clear."""
        return self.batch * self.rows * self.inner * self.columns

    def counts(self, blocks: Blocks) -> Counts:
        """The blocks of its matrices."""
        return counts(blocks, *self.left_shape, self.columns)

    def bound(self, blocks: Blocks, bounds: tuple[float, float]) -> float:
        """What no number of the results exceeds, nor of what is summed to them."""
        summed = self.inner
        if blocks.shares > 1:
            summed = self.counts(blocks).terms * blocks.inner
        return summed * bounds[0] * bounds[1]

    def slot_bound(self, blocks: Blocks, bounds: tuple[float, float]) -> float:
        """What the absolute value of no slot of the results exceeds, two numbers as one complex."""
        return math.sqrt(blocks.column_parts) * self.bound(blocks, bounds)

    def cost(self, blocks: Blocks, top: LevelCosts, bottom: LevelCosts) -> float:
        """What it costs: its operations, and to handle vectors and keys."""
        found = self.counts(blocks)
        each = top.rotated_products(found.terms, blocks.side)
        output = top.product_switch + (top.rescale if top is not bottom else 0.0)
        output += len(blocks.lane_sums()) * (bottom.rotation + bottom.addition)
        handled = HANDLING * (
            top.addition * (found.left + found.right) + bottom.addition * found.products
        )
        keys = KEY * top.rotation * (2 * blocks.side - 1 + len(blocks.lane_sums()))
        return found.groups * each + found.products * output + handled + keys


def families(product: Product, slots: int, rows: int, parts: int) -> Iterator[Blocks]:
    """Ways to share out the lanes of a ciphertext that may be worth taking.

    Example:
        >>> found = list(families(Product(1, 512, 512, 512), 2048, 1, 2))
        >>> Blocks(2048, side=64, tall=8, wide=4, inner_parts=2) in found
        True
    """
    # Where results are more than operands, half as many count for more.
    is_outer = parts > 1 and product.inner <= min(product.rows, product.columns)
    side = 1
    while side <= min(slots, power_of_two(max(product.rows, product.columns))):
        for column_parts in (1, parts) if is_outer else (1,):
            yield from _of_side(product, slots, side, rows, parts, column_parts)
        side *= 2


def _of_side(
    product: Product, slots: int, side: int, rows: int, parts: int, column_parts: int
) -> Iterator[Blocks]:
    """Ways with so many rotations, `column_parts` blocks of columns in a slot."""
    lanes, step = rows * slots // side, slots // side
    tallest, widest = -(-product.rows // side), -(-product.columns // (side * column_parts))
    inner_parts = parts if column_parts == 1 else 1
    longest = power_of_two(-(-product.inner // inner_parts)) if column_parts == 1 else 1
    for batch in least_blocks(product.batch, lanes):
        for shares in _doubling(min(longest, lanes // batch, step)):
            for tall in least_blocks(tallest, lanes // (batch * shares)):
                most = lanes // (batch * shares * tall)
                wide = least_blocks(widest, most)[-1]
                if rows > 1 and shares > 1:
                    # Shares are summed within a row of slots.
                    wide = min(1 << most.bit_length() - 1, power_of_two(widest), step // shares)
                # More blocks of rows would lie in lanes that are free.
                if tall < tallest and 2 * batch * shares * tall * wide <= lanes:
                    continue
                yield Blocks(
                    slots,
                    side,
                    rows,
                    batch,
                    tall,
                    shares,
                    wide,
                    inner_parts=inner_parts,
                    column_parts=column_parts,
                )


def _doubling(most: int) -> Iterator[int]:
    size = 1
    while size <= most:
        yield size
        size *= 2

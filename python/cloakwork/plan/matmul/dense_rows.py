"""Products of two encrypted matrices that lie row by row, in one ciphertext each.

Where they fill it, `skewed_rows` has the plan. Here are smaller ones.

With rows of s slots, s a power of two, A B is the sum over k of U_k V_k: the column k of A in every
slot of its rows, times the row k of B in every row. A rotation takes column k to slot 0 of its row
and row k to row 0, so that the same masks serve all k, and these rotations share their
decomposition. Sums of rotations then fill the rows of U_k.

Of V_k the first rows are enough: rotated products (`programs.operations.products`) multiply them by
each group of rows of U_k. What they give is zero elsewhere, and a rotation for each group puts it
together.

Where a ciphertext has slots for w copies of a matrix, copy q begins with the part q of w of the
inner index, so that w terms are one.

A slot is a complex number. Before all that, half a part of the inner index is put into imaginary
parts, negative ones on the left, so that two terms are one: real parts of products are the sums
over both. The imaginary parts of the sums are taken out in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.matmul.recognise import MatrixContraction, MatrixView, matrix_contraction
from cloakwork.plan.matmul.skewed_rows import skewed_product, with_imaginary
from cloakwork.plan.tensors.lower import Lowered
from cloakwork.plan.tensors.placed import at_one_level, rotated
from cloakwork.programs.ir.tensors import Node, Source
from cloakwork.programs.layout import Axis, Layout, default_layout, power_of_two
from cloakwork.programs.slots import (
    Add,
    Builder,
    Input,
    Mul,
    Output,
    Rescale,
    RotatedProducts,
    SlotProgram,
    Sub,
    SwitchProduct,
    TwiceReal,
)

# Smaller matrices have so many copies in a ciphertext that other ways have fewer rotations.
_LEAST_SIDE = 64
# Rows of B are spread over so many rows; a product for each group of them has its keys switched.
_ROWS_TOGETHER = 16
# One for the masks, one for the products.
_LEVELS = 2
# A session plans the same products again and again.
_PLANS = 8


def product_of_rows(title: str, results: Sequence[Node], slots: int) -> Lowered | None:
    """The plan of a product of two such matrices; None where it is anything else.

    Example:
        >>> from cloakwork.programs.ir.tensors import Contract
        >>> layout = default_layout((64, 64), 8192)
        >>> a, b = (Source(name, (64, 64), layout, level=2) for name in "ab")
        >>> product = Contract((a, b), ("ik", "kj"), "ij", (64, 64))
        >>> plan = product_of_rows("a @ b", [product], 8192)
        >>> sum(isinstance(each, Mul) for each in plan.program.operations)
        64
    """
    found = matrix_contraction(results)
    if found is None:
        return None
    contraction = _of_rows(found)
    if not _lies_by_rows(contraction, slots):
        return None
    places = tuple((source, _layout(source)) for source in contraction.sources)
    rows, side = places[0][1].shape
    levels = tuple(source.level or 0 for source, _ in places)
    program, layout = _planned(title, contraction.origin, rows, side, levels, slots)
    return Lowered(program, places, (layout,))


@lru_cache(maxsize=_PLANS)
def _planned(
    title: str, origin: str, rows: int, side: int, levels: tuple[int, int], slots: int
) -> tuple[SlotProgram, Layout]:
    """The program of a product, and where its result lies."""
    builder = Builder(title, slots)
    builder.origin = origin
    builder.stage = "input"
    layouts = [default_layout(shape, slots) for shape in ((rows, side), (side, side))]
    left, right = at_one_level(
        builder,
        [
            builder.append(Input(f"operand{number}", level), layout)
            for number, (layout, level) in enumerate(zip(layouts, levels, strict=True))
        ],
    )
    copies = min(side, slots // side**2)
    # Of one copy alone, skewed matrices take fewer decompositions.
    total = (
        skewed_product(builder, left, right, rows)
        if copies == 1
        else _spread_product(builder, left, right, rows, side, copies)
    )
    beside = (Axis(copies, side**2),) if copies > 1 else ()
    layout = Layout(slots, layouts[0].axes, beside)
    builder.append(Output(total), layout)
    return builder.finish(), layout


def _spread_product(
    builder: Builder, left: int, right: int, rows: int, side: int, copies: int
) -> int:
    """The product of two values, in each of its copies."""
    work = _Work(builder, side, copies)
    parts = side // copies
    builder.stage = "columns in all of their rows"
    columns = work.spread(work.parted(left, Sub, 1, parts), 1, side)
    group = min(rows, _ROWS_TOGETHER)
    builder.stage = f"rows in {group} rows"
    spread_rows = work.spread(work.parted(right, Add, side, parts), side, group)
    builder.stage = f"products of {group} rows"
    return work.sum_of_products(columns, spread_rows, group * side, rows // group)


def _layout(source: Source) -> Layout:
    assert isinstance(source.place, Layout)
    return source.place


def _of_rows(contraction: MatrixContraction) -> MatrixContraction:
    """The same product, its operands in the other order where every matrix is seen transposed."""
    views = (*contraction.operands, contraction.result)
    if any(view.order != (1, 0) for view in views):
        return contraction
    right, left, result = (MatrixView((0, 1), view.sizes[::-1]) for view in views)
    product = contraction.product
    product = replace(product, rows=product.columns, columns=product.rows)
    sources = (contraction.sources[1], contraction.sources[0])
    return MatrixContraction(product, sources, (left, right), result, contraction.origin)


def _lies_by_rows(contraction: MatrixContraction, slots: int) -> bool:
    product = contraction.product
    rows, side = product.rows, product.inner
    sizes = rows == power_of_two(rows) <= side == power_of_two(side) == product.columns
    # There are two masks of rows.
    fits = product.batch == 1 and rows > 1 and sizes and _LEAST_SIDE <= side <= slots // side
    as_it_is = all(view.order == (0, 1) for view in (*contraction.operands, contraction.result))
    return (
        fits
        and as_it_is
        and all(
            source.place == default_layout(source.shape, slots) and (source.level or 0) >= _LEVELS
            for source in contraction.sources
        )
    )


class _Work:
    """The program so far.

    Args:
        builder: What is written to.
        side: The inner size.
        copies: How many copies of a matrix a ciphertext holds.
    """

    def __init__(self, builder: Builder, side: int, copies: int) -> None:
        self.builder = builder
        self._side = side
        self._square = self._side**2
        self._copies = copies

    def parted(self, value: int, joined: type[Add] | type[Sub], step: int, parts: int) -> list[int]:
        """A matrix and its copies, rotated so that every number k of its half part comes first.

        Before them all, one in which none does but the first number comes second.
        """
        # A copy covers the end of the one before it, in rows or columns of later parts alone.
        value = self._doubled(value, self._copies, parts * step - self._square)
        half = parts // 2
        value = with_imaginary(self.builder, value, joined, half * step)
        return [rotated(self.builder, value, k * step) for k in range(-1, half)]

    def spread(self, parted: Sequence[int], step: int, count: int) -> list[int]:
        """Each first row, or column, in the place of as many as there are."""
        builder = self.builder
        masks = [builder.constant(self._mask(step, place)) for place in range(2)]
        made: list[int] = []
        for before, own in pairwise(parted):
            # Two places by a mask each cost less than one and a rotation.
            first, second = (
                builder.append(Mul(each, mask))
                for each, mask in zip((own, before), masks, strict=True)
            )
            both = builder.append(Rescale(builder.append(Add(first, second))))
            made.append(self._doubled(both, count // 2, -2 * step))
        return made

    def sum_of_products(
        self, left: Sequence[int], right: Sequence[int], step: int, count: int
    ) -> int:
        """The sum over both lists, of every group of rows, and over the copies."""
        builder = self.builder
        products = builder.append(RotatedProducts(tuple(left), tuple(right), step))
        total = None
        for group in range(count):
            rows = builder.append(Rescale(builder.append(SwitchProduct(products, group * step))))
            placed = rotated(builder, rows, -group * step)
            total = placed if total is None else builder.append(Add(total, placed))
        assert total is not None
        return self._doubled(builder.append(TwiceReal(total)), self._copies, self._square)

    def _mask(self, step: int, place: int) -> NDArray[np.float64]:
        """One column of every row where the step is 1, else one row of every copy.

        Columns are halved, as real parts of products are doubled.
        """
        numbers = np.arange(self.builder.slots)
        column, row = numbers % self._side, numbers % self._square // self._side
        chosen, number = (column, 0.5) if step == 1 else (row, 1.0)
        mask: NDArray[np.float64] = np.where(chosen == place, number, 0.0)
        return mask

    def _doubled(self, value: int, count: int, step: int) -> int:
        """The sum of a value and its rotations by multiples of a step, a power of two in all."""
        while count > 1:
            value = self.builder.append(Add(value, rotated(self.builder, value, step)))
            step, count = 2 * step, count // 2
        return value

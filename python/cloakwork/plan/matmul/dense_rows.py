"""Products of two encrypted matrices that lie row by row, in one ciphertext each.

With rows of s slots, s a power of two, A B is the sum over k of U_k V_k: the column k of A in every
slot of its rows, times the row k of B in every row. A rotation takes column k to slot 0 of its row
and row k to row 0, so that one mask of A and one of B serve all k, and rotations share their
decomposition. Sums of rotations then fill rows and columns.

Where a ciphertext has slots for w copies of a matrix, copy q begins with the part q of w of the
inner index, so that w terms are one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.matmul.recognise import MatrixContraction, matrix_contraction
from cloakwork.plan.tensors.lower import Lowered
from cloakwork.programs.ir.tensors import Node, Source
from cloakwork.programs.layout import Axis, Layout, default_layout, power_of_two
from cloakwork.programs.slots import Add, Builder, DropLevel, Input, Mul, Output, Rescale, Rotate

# Smaller matrices have so many copies in a ciphertext that other ways have fewer rotations.
_LEAST_SIDE = 64
# One for the masks, one for the products.
_LEVELS = 2


def product_of_rows(title: str, results: Sequence[Node], slots: int) -> Lowered | None:
    """The plan of a product of two such matrices; None where it is anything else.

    Args:
        title: What is computed, in the user's words.
        results: The nodes wanted.
        slots: Slots of a ciphertext.

    Example:
        >>> from cloakwork.programs.ir.tensors import Contract
        >>> layout = default_layout((64, 64), 8192)
        >>> a, b = (Source(name, (64, 64), layout, level=2) for name in "ab")
        >>> product = Contract((a, b), ("ik", "kj"), "ij", (64, 64))
        >>> plan = product_of_rows("a @ b", [product], 8192)
        >>> sum(isinstance(each, Mul) for each in plan.program.operations)
        96
    """
    contraction = matrix_contraction(results)
    if contraction is None or not _lies_by_rows(contraction, slots):
        return None
    product = contraction.product
    work = _Work(title, contraction, slots)
    left, right = work.operands(contraction.sources)
    side, parts = product.inner, product.inner // work.copies
    work.builder.stage = "columns in all of their rows"
    columns = work.spread(work.parted(left, 1, parts), 1, side)
    work.builder.stage = "rows in all rows"
    rows = work.spread(work.parted(right, side, parts), side, product.rows)
    work.builder.stage = "products"
    total = work.sum_of_products(columns, rows)
    layout = Layout(
        slots,
        default_layout((product.rows, side), slots).axes,
        (Axis(work.copies, side * side),) if work.copies > 1 else (),
    )
    work.builder.append(Output(total), layout)
    places = tuple((source, _layout(source)) for source in contraction.sources)
    return Lowered(work.builder.finish(), places, (layout,))


def _layout(source: Source) -> Layout:
    assert source.layout is not None
    return source.layout


def _lies_by_rows(contraction: MatrixContraction, slots: int) -> bool:
    product = contraction.product
    rows, side = product.rows, product.inner
    sizes = rows == power_of_two(rows) <= side == power_of_two(side) == product.columns
    fits = product.batch == 1 and sizes and side >= _LEAST_SIDE and side * side <= slots
    as_it_is = all(view.order == (0, 1) for view in (*contraction.operands, contraction.result))
    return (
        fits
        and as_it_is
        and all(
            source.layout == default_layout(source.shape, slots) and (source.level or 0) >= _LEVELS
            for source in contraction.sources
        )
    )


class _Work:
    """The program so far.

    Args:
        title: What is computed.
        contraction: The product.
        slots: Slots of a ciphertext.
    """

    def __init__(self, title: str, contraction: MatrixContraction, slots: int) -> None:
        self.builder = Builder(title, slots)
        self.builder.origin = contraction.origin
        self._side = contraction.product.inner
        self._square = self._side**2
        self.copies = min(self._side, slots // self._square)

    def operands(self, sources: Sequence[Source]) -> list[int]:
        """Both matrices at one level."""
        builder = self.builder
        builder.stage = "input"
        made = [
            builder.append(Input(f"operand{number}", source.level or 0), source.layout)
            for number, source in enumerate(sources)
        ]
        level = min(map(builder.level, made))
        return [
            each if builder.level(each) == level else builder.append(DropLevel(each, level))
            for each in made
        ]

    def parted(self, value: int, step: int, parts: int) -> list[int]:
        """A matrix and its copies, rotated so that every number k of its part comes first.

        Args:
            value: The matrix.
            step: Slots from one row, or column, to the next.
            parts: How many are in a part.
        """
        # A copy covers the end of the one before it, in rows or columns of later parts alone.
        value = self._doubled(value, self.copies, parts * step - self._square)
        return [value, *(self._rotated(value, k * step) for k in range(1, parts))]

    def spread(self, parted: Sequence[int], step: int, count: int) -> list[int]:
        """Each first row, or column, in the place of as many as there are.

        Args:
            parted: Rotated matrices.
            step: Slots from one row, or column, to the next.
            count: How many there are.
        """
        builder = self.builder
        mask = builder.constant(self._mask(step))
        first = [builder.append(Rescale(builder.append(Mul(each, mask)))) for each in parted]
        return [self._doubled(each, count, -step) for each in first]

    def sum_of_products(self, left: Sequence[int], right: Sequence[int]) -> int:
        """The sum over both lists, and over the copies."""
        builder = self.builder
        terms = [builder.append(Mul(*pair)) for pair in zip(left, right, strict=True)]
        while len(terms) > 1:
            pairs = zip(terms[::2], terms[1::2], strict=True)
            terms = [builder.append(Add(*pair)) for pair in pairs]
        return self._doubled(builder.append(Rescale(terms[0])), self.copies, self._square)

    def _mask(self, step: int) -> NDArray[np.float64]:
        """The first column of every row where the step is 1, else the first row of every copy."""
        numbers = np.arange(self.builder.slots)
        first = numbers % self._side == 0 if step == 1 else numbers % self._square < self._side
        return first.astype(np.float64)

    def _doubled(self, value: int, count: int, step: int) -> int:
        """The sum of a value and its rotations by multiples of a step, a power of two in all."""
        while count > 1:
            value = self.builder.append(Add(value, self._rotated(value, step)))
            step, count = 2 * step, count // 2
        return value

    def _rotated(self, value: int, steps: int) -> int:
        return self.builder.append(Rotate(value, steps % self.builder.slots))

"""The program of expressions of matrices whose lanes and order are chosen.

Every product is a diagonal pair, of a matrix or of its transpose, as the next one needs it: a left
operand lies by diagonals, which is the diagonal pair of its transpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.matmul.batches import Batch, BatchedSource
from cloakwork.plan.matmul.chain import LoweredChain
from cloakwork.plan.matmul.chain_order import ChainSplit, Ordering, Part
from cloakwork.plan.matmul.chain_order_text import bracketed_part
from cloakwork.plan.matmul.expression import (
    Combination,
    Expression,
    Indexed,
    KnownMatrix,
    Matrix,
    MatrixChain,
    Pointwise,
    Spread,
    Transposed,
    Weighted,
)
from cloakwork.plan.matmul.lanes import Digit
from cloakwork.plan.matmul.lower import entered, given_out, switched
from cloakwork.plan.matmul.recognise import MatrixView
from cloakwork.plan.matmul.spine import Factor
from cloakwork.programs.ir.tensors import Source
from cloakwork.programs.matrices import BlockLayout, MatrixPlace
from cloakwork.programs.slots import (
    Add,
    AddProducts,
    Builder,
    DiagonalProducts,
    DropLevel,
    Fill,
    Mul,
    Neg,
    Operation,
    Rescale,
    Rotate,
    RotatedProducts,
    Sub,
    TimesI,
)
from cloakwork.programs.slots import Numbers as KindOfNumbers

# Above every level that an expression can end up with; the true ones follow from its depth.
_TOP = 200

Numbers: TypeAlias = NDArray[np.int64]
_Ends: TypeAlias = tuple[Digit, Digit]
_Made: TypeAlias = Matrix | Spread | MatrixChain | Combination | Weighted | Pointwise


@dataclass(frozen=True, slots=True)
class Unswitched:
    """Operands of a product: row and column blocks of vectors, terms between them.

    Args:
        by: The operation that multiplies them.
        left: The numbers of left vectors, by row block and term.
        right: Those of right vectors, by term and column block.
        is_shared: Whether shares of the inner index are to be summed.
        text: The product with its brackets.
        origin: The user's line.
    """

    by: type[RotatedProducts]
    left: Numbers
    right: Numbers
    is_shared: bool
    text: str
    origin: str


def lowered_expressions(
    title: str, planned: Sequence[tuple[Ordering, Batch]], numbers: KindOfNumbers = "real"
) -> LoweredChain:
    """The program of expressions, one for each result, in the orders and lanes that are chosen."""
    entered = _Entered(Builder(title, planned[0][0].lanes.slots, numbers))
    made: list[tuple[Numbers, BlockLayout]] = []
    results: list[MatrixPlace] = []
    for ordering, batch in planned:
        work = _TreeWork(entered, ordering, batch)
        shape = ordering.expression.shape
        layout = replace(ordering.lanes.result(shape), shape=(batch.count, *shape))
        made.append((np.stack([work.result(number) for number in range(batch.count)]), layout))
        results.append(batch.result(layout, shape))
    for values, layout in made:
        given_out(entered.builder, values, layout)
    return LoweredChain(entered.builder.finish(), tuple(entered.sources), tuple(results))


@dataclass(frozen=True, slots=True)
class _Entered:
    """A program and what has entered it, which serves all expressions.

    Args:
        builder: The program so far.
        sources: The tensors that have entered, and where they lie.
        vectors: The numbers of their vectors, by the tensor and how it lies.
    """

    builder: Builder
    sources: list[tuple[Source, MatrixPlace]] = field(default_factory=list)
    vectors: dict[tuple[object, ...], Numbers] = field(default_factory=dict)


class _TreeWork:
    """One expression in the program so far."""

    def __init__(self, entered: _Entered, ordering: Ordering, batch: Batch) -> None:
        self.builder = entered.builder
        self._batch = batch
        self._number = 0
        self._sources = entered.sources
        self._ordering = ordering
        self._lanes = ordering.lanes
        self._entered = entered.vectors
        self._values: dict[tuple[object, ...], Numbers] = {}

    def result(self, number: int) -> Numbers:
        """The vectors of the matrix of a number of the batch."""
        self._number = number
        self._values.clear()
        ends: _Ends = ("rows", "columns")
        halves = self._lanes.has_halves
        return self.value(self._ordering.expression, ends, 0, halves=halves, flipped=False)

    def value(
        self, of: Expression, digits: _Ends, level: int, *, halves: bool, flipped: bool
    ) -> Numbers:
        """The vectors of a matrix, or of its transpose: by row block, column block, rotation."""
        if isinstance(of, Transposed):
            turned = (digits[1], digits[0])
            return self.value(of.of, turned, level, halves=halves, flipped=not flipped)
        lying = tuple(map(self._lanes.shown, digits))
        key = of, lying, halves, flipped
        if key not in self._values:
            self._values[key] = self._new(of, digits, level, halves, flipped)
        return self._values[key]

    def _new(self, of: _Made, digits: _Ends, level: int, halves: bool, flipped: bool) -> Numbers:
        match of:
            case Matrix(factor=factor):
                return self._matrix(factor, digits, flipped)
            case Spread():
                return self._spread(of, digits, flipped)
            case MatrixChain(origin=origin):
                whole = self._ordering.whole(of, digits)
                return self._part(whole, level, halves=halves, flipped=flipped, origin=origin)
            case Combination():
                return self._combination(of, digits, level, halves, flipped)
            case Weighted(of=inner, weights=weights, origin=origin):
                values = self.value(inner, digits, level + 1, halves=halves, flipped=flipped)
                self._begin("numbers in the clear", origin)
                return self._weighted(values, weights, digits, flipped)
            case Pointwise(left=left, right=right, origin=origin):
                one, other = (
                    self.value(each, digits, level + 1, halves=False, flipped=flipped)
                    for each in (left, right)
                )
                self._begin("products of single numbers", origin)
                pairs = self._pairs(Mul, one, other)
                return self._each(Rescale, pairs)

    def _part(self, part: Part, level: int, *, halves: bool, flipped: bool, origin: str) -> Numbers:
        """A part of a chain, as a matrix."""
        if part.length == 1:
            ends = part.digits[part.first], part.digits[part.last]
            return self.value(part.factors[0], ends, level, halves=halves, flipped=flipped)
        product = self._unswitched(part, level, halves, flipped, origin)
        return self._switched([(1, product)])

    def _unswitched(
        self, part: Part, level: int, halves: bool, flipped: bool, origin: str
    ) -> Unswitched:
        """The operands of the product at the best cut; of (A B)^T they are B^T and A^T."""
        split = self._ordering.split(part, level, halves=halves)
        text = bracketed_part(self._ordering, part, level, halves=halves)
        if self._ordering.is_of_matrices(part):
            by, operands = RotatedProducts, self._of_matrices(part, split.parts, flipped)
        else:
            by, operands = DiagonalProducts, self._of_products(part, split, level, flipped, origin)
        is_shared = self._lanes.shown(part.digits[split.at]) == "summed"
        return Unswitched(by, *operands, is_shared, text, origin)

    def _of_products(
        self, part: Part, split: ChainSplit, level: int, flipped: bool, origin: str
    ) -> tuple[Numbers, Numbers]:
        # One that lies by diagonals, and one as a pair: A^T and B for either result.
        sides = list(zip(part.cut(split.at), split.halves, (True, False), strict=True))
        pairs = {
            turned: self._part(each, level + 1, halves=may, flipped=turned, origin=origin)
            # Encrypted vectors enter first: those in the clear stand at the level of one of them.
            for each, may, turned in sorted(sides, key=lambda side: side[0].is_known)
        }
        first, second = pairs[not flipped], pairs[flipped]
        left = first.transpose(1, 0, 2).reshape(first.shape[1], -1)
        right = second.transpose(0, 2, 1).reshape(-1, second.shape[1])
        left, right = self._at_one_level(left, right)
        return left, right

    def _of_matrices(self, part: Part, parts: int, flipped: bool) -> tuple[Numbers, Numbers]:
        """Those of two matrices from outside."""
        lanes, (rows, inner, columns) = self._lanes, part.digits[part.first : part.last + 1]
        factors = [each.factor for each in part.factors if isinstance(each, Matrix)]
        if flipped:
            rows, columns = columns, rows
            factors = [each.flipped for each in reversed(factors)]
        one, other = factors
        left = BlockLayout(lanes.left(lanes.shown(rows), inner, parts), "left", (1, *one.shape))
        columns = lanes.shown(columns)
        if not isinstance(one.source, KnownMatrix):
            self._enter(one, left)
        if parts == 1 and columns != "columns":
            # Rows of a right operand lie as columns of its transpose: one matrix may be both.
            turned = BlockLayout(lanes.left(columns, inner, 1), "left", (1, *other.flipped.shape))
            others = self._enter(other.flipped, turned)[0].T
        else:
            right = BlockLayout(lanes.right(inner, columns, parts), "right", (1, *other.shape))
            others = self._enter(other, right)[0]
        return self._enter(one, left)[0], others

    def _switched(self, products: Sequence[tuple[int, Unswitched]]) -> Numbers:
        """The vectors of a sum of products with their signs; keys are switched once."""
        # Where one is of shares that are summed afterwards, others are not added before.
        groups = [
            [each for each in products if each[1].is_shared is shared] for shared in (False, True)
        ]
        made = [self._of_group(group) for group in groups if group]
        return made[0] if len(made) == 1 else self._pairs(Add, *made)

    def _of_group(self, products: Sequence[tuple[int, Unswitched]]) -> Numbers:
        builder, lanes = self.builder, self._lanes
        kinds = RotatedProducts, DiagonalProducts
        joined = self._all_at_one_level(
            [found for kind in kinds if (found := self._joined(products, kind)) is not None]
        )
        sums = lanes.sums if joined[0].is_shared else ()
        text = "".join(f" {'+' if sign > 0 else '-'} {each.text}" for sign, each in products)
        text = text.removeprefix(" + ").lstrip()
        tall, wide = len(joined[0].left), joined[0].right.shape[1]
        made = np.empty((tall, wide, lanes.side), dtype=np.int64)
        for row, column in np.ndindex(tall, wide):
            self._begin(f"{text}: products of {lanes.side} rotations", joined[0].origin)
            numbers = [
                builder.append(
                    each.by(
                        tuple(each.left[row].tolist()),
                        tuple(each.right[:, column].tolist()),
                        lanes.step,
                    )
                )
                for each in joined
            ]
            total = reduce(lambda one, other: builder.append(AddProducts(one, other)), numbers)
            builder.stage = "switch keys"
            for rotation in range(lanes.side):
                steps = rotation * lanes.step
                made[row, column, rotation] = switched(
                    builder, total, steps, sums, rescales=True, layout=None
                )
        return made

    def _joined(
        self, products: Sequence[tuple[int, Unswitched]], by: type[RotatedProducts]
    ) -> Unswitched | None:
        """Those of one kind as one product: of lists one after the other."""
        alike = [each for each in products if each[1].by is by]
        if not alike:
            return None
        signed = self._all_at_one_level([self._with_sign(*each) for each in alike])
        return replace(
            signed[0],
            left=np.concatenate([each.left for each in signed], axis=1),
            right=np.concatenate([each.right for each in signed]),
        )

    def _with_sign(self, sign: int, product: Unswitched) -> Unswitched:
        """A product, or its negative by that of the operand of fewer vectors."""
        if sign > 0:
            return product
        self._begin("signs", product.origin)
        if product.left.size <= product.right.size:
            return replace(product, left=self._each(Neg, product.left))
        return replace(product, right=self._each(Neg, product.right))

    def _all_at_one_level(self, products: Sequence[Unswitched]) -> list[Unswitched]:
        sides = [side for each in products for side in (each.left, each.right)]
        dropped = self._at_one_level(*sides)
        return [
            replace(each, left=left, right=right)
            for each, left, right in zip(products, dropped[::2], dropped[1::2], strict=True)
        ]

    def _combination(
        self, of: Combination, digits: _Ends, level: int, halves: bool, flipped: bool
    ) -> Numbers:
        products: list[tuple[int, Unswitched]] = []
        others: list[tuple[int, Numbers]] = []
        for sign, term in of.terms:
            if isinstance(term, MatrixChain):
                whole = self._ordering.whole(term, digits)
                made = self._unswitched(whole, level, halves, flipped, term.origin)
                products.append((sign, made))
            else:
                made_of = self.value(term, digits, level, halves=halves, flipped=flipped)
                others.append((sign, made_of))
        summands = ([(1, self._switched(products))] if products else []) + others
        self._begin("sum", of.origin)
        (sign, total), *rest = summands
        total = total if sign > 0 else self._each(Neg, total)
        for sign, each in rest:
            total = self._pairs(Add if sign > 0 else Sub, total, each)
        if of.constant is not None:
            total = self._with_constants(Add, total, of.constant, digits, flipped)
        return total

    def _weighted(
        self, values: Numbers, weights: NDArray[np.float64], digits: _Ends, flipped: bool
    ) -> Numbers:
        if (weights == weights.flat[0]).all():
            kind = np.float64 if self.builder.numbers == "real" else np.int64
            number = self.builder.constant(np.full(self._lanes.slots, weights.flat[0], kind))
            made = self._each(lambda value: Mul(value, number), values)
        else:
            made = self._with_constants(Mul, values, weights, digits, flipped)
        return self._each(Rescale, made)

    def _with_constants(
        self,
        by: type[Add | Mul],
        values: Numbers,
        matrix: NDArray[np.float64],
        digits: _Ends,
        flipped: bool,
    ) -> Numbers:
        """Vectors with those of a matrix in the clear that lies as they do."""
        if flipped:
            matrix, digits = matrix.T, digits[::-1]
        layout = self._lanes.pair(*digits, matrix.shape)
        lying = matrix if layout.role == "product" else matrix.T
        packed = layout.pack(np.ascontiguousarray(lying)[np.newaxis])
        numbers = self._by_blocks(np.arange(len(packed)), layout)
        made = np.empty_like(values)
        for place, number in np.ndenumerate(numbers):
            clear = self.builder.constant(packed[number])
            made[place] = self.builder.append(by(int(values[place]), clear))
        return made

    def _matrix(self, factor: Factor, digits: _Ends, flipped: bool) -> Numbers:
        """A matrix from outside as products lie."""
        if flipped:
            factor, digits = factor.flipped, digits[::-1]
        lying = (self._lanes.shown(digits[0]), self._lanes.shown(digits[1]))
        layout = self._lanes.pair(*lying, factor.shape)
        entering = factor if layout.role == "product" else factor.flipped
        return self._by_blocks(self._enter(entering, layout).ravel(), layout)

    def _by_blocks(self, numbers: Numbers, layout: BlockLayout) -> Numbers:
        """Vectors of a matrix by row block, column block and rotation."""
        if layout.role == "product":
            by_block: Numbers = numbers.reshape(layout.grid)[0]
            return by_block
        _, columns, _ = layout.grid
        return numbers.reshape(columns, -1, self._lanes.side).transpose(1, 0, 2)

    def _spread(self, of: Spread, digits: _Ends, flipped: bool) -> Numbers:
        """A vector as every row, or as every column, of which rotations are made."""
        lanes, axis = self._lanes, of.axis ^ flipped
        shape = of.shape[::-1] if flipped else of.shape
        rows, columns = digits[::-1] if flipped else digits
        view = MatrixView(tuple(range(len(of.source.shape))), of.source.shape)
        grid = (lanes.blocks(shape[0], rows), lanes.blocks(shape[1], columns), lanes.side)
        if axis:
            layout = BlockLayout(lanes.right("whole", columns, 1), "right", (1, 1, shape[1]))
            rows_of = self._entered_as(of.source, view, layout).reshape(1, -1, 1)
            return np.broadcast_to(rows_of, grid).copy()
        layout = BlockLayout(lanes.left(rows, "whole", 1), "left", (1, shape[0], 1))
        vectors = self._entered_as(of.source, view, layout).ravel()
        every = [self._turned(vectors, rotation) for rotation in range(lanes.side)]
        return np.broadcast_to(np.stack(every, axis=-1)[:, np.newaxis], grid).copy()

    def _turned(self, values: Numbers, rotation: int) -> Numbers:
        steps = rotation * self._lanes.step
        return self._each(lambda value: Rotate(value, steps), values) if steps else values

    def _enter(self, factor: Factor, layout: BlockLayout) -> Numbers:
        return self._entered_as(factor.source, factor.view, layout)

    def _entered_as(self, source: Source, view: MatrixView, layout: BlockLayout) -> Numbers:
        """The vectors of a tensor in a layout, which enter once."""
        whole, sizes, number = self._whole_of(source)
        key = whole, view.order, layout.role, layout.blocks, layout.shape
        if isinstance(source, KnownMatrix):
            if key not in self._entered:
                self._entered[key] = self._filled(source, view, layout)
            return self._entered[key]
        if key not in self._entered:
            count = math.prod(sizes) if whole.axes else 1
            layout = replace(layout, shape=(count, *layout.shape[1:]))
            place = whole.place(layout, view, sizes)
            self._sources.append((whole.source, place))
            times = sum(each is whole.source for each, _ in self._sources) - 1
            name = f"{whole.source.name}{chr(39) * times}"
            self._entered[key] = entered(self.builder, name, layout, _TOP)
        first = number if whole.axes else 0
        return self._entered[key][first : first + 1]

    def _whole_of(self, source: Source) -> tuple[BatchedSource, tuple[int, ...], int]:
        """The tensor that a matrix is one of, the sizes of its axes for them, and which it is."""
        if isinstance(source, Indexed):
            return BatchedSource(source.whole, source.axes), source.sizes, source.number
        return self._batch.of(source), self._batch.sizes, self._number

    def _filled(self, source: KnownMatrix, view: MatrixView, layout: BlockLayout) -> Numbers:
        """A matrix in the clear as vectors that stand where encrypted ones do."""
        self._begin("matrices in the clear", "")
        lying = np.ascontiguousarray(source.array.transpose(view.order))
        numbers = [self._fill(each) for each in layout.pack(lying[np.newaxis])]
        return np.array(numbers).reshape(layout.grid)

    def _fill(self, vector: NDArray[Any]) -> int:
        builder = self.builder
        # Of all that have entered the first says at which level vectors enter.
        first = int(next(iter(self._entered.values())).flat[0])
        made = builder.append(Fill(first, builder.constant(np.ascontiguousarray(vector.real))))
        if not np.iscomplexobj(vector):
            return made
        other = Fill(first, builder.constant(np.ascontiguousarray(vector.imag)))
        return builder.append(Add(made, builder.append(TimesI(builder.append(other)))))

    def _begin(self, stage: str, origin: str) -> None:
        self.builder.stage, self.builder.origin = stage, origin

    def _each(self, operation: Callable[[int], Operation], values: Numbers) -> Numbers:
        """An operation of every vector; of equal ones once."""
        made = {
            value: self.builder.append(operation(value))
            for value in dict.fromkeys(values.ravel().tolist())
        }
        return np.array([made[value] for value in values.ravel().tolist()]).reshape(values.shape)

    def _pairs(
        self, operation: Callable[[int, int], Operation], left: Numbers, right: Numbers
    ) -> Numbers:
        """An operation of every two vectors in the same place."""
        left, right = self._at_one_level(left, right)
        made = [
            self.builder.append(operation(*pair))
            for pair in zip(left.ravel().tolist(), right.ravel().tolist(), strict=True)
        ]
        return np.array(made).reshape(left.shape)

    def _at_one_level(self, *operands: Numbers) -> list[Numbers]:
        """Vectors as they are, or dropped to the lowest level of all of them."""
        levels = [self.builder.level(int(each.flat[0])) for each in operands]
        low = min(levels)
        return [
            each if level == low else self._each(lambda value: DropLevel(value, low), each)
            for each, level in zip(operands, levels, strict=True)
        ]

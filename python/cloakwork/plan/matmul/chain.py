"""Plans chains of products of matrices: each product stays where it is and is the next operand.

A product lies as a diagonal pair: slot h * step + l of vector t holds C[h + t, h] of the block of
lane l. The next product W C takes it as it is, where W lies by diagonals; see
`programs.operations.products`. It costs one level, and no change of layout. What is a function of
every number by itself is computed on the vectors as they are.

The blocks of columns stay in the lanes that the first product gives them. Its blocks of rows are
the shares of the inner index of the second product, whose sum leaves garbage in all other lanes;
factors have zeros there. A slot holds one number, as functions that are not linear need it.

A convolution Y[(c, p), n] = sum over k of W[c, k] X[windows[k, p], n] needs no rotation. A pixel of
all images is a vector, and so is a number of some kernels, one a share; the vectors of Y at one
position are sums of products of slots. They lie as the right operand of the product that follows,
kernels in the shares of its inner index:

    images   vector pixel     holds  X[pixel, (c' d + h)]
    kernels  vector (k, j)    holds  W[j p2 + b, k], and so do biases, which are added
    Y        vector (j, p)    holds  Y[(j p2 + b, p), (c' d + h)]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.itself import Itself
from cloakwork.plan.matmul.claims import Claim
from cloakwork.plan.matmul.convolution import ADDED, Convolution, Seen
from cloakwork.plan.matmul.lower import blocks_multiplied, entered, given_out, switched
from cloakwork.plan.matmul.product import Product
from cloakwork.plan.matmul.recognise import MatrixView
from cloakwork.plan.matmul.spine import Factor, Plus, Slotwise, Spine, Times
from cloakwork.plan.tensors.placed import at_one_level
from cloakwork.programs.ir.tensors import Contract, Node, Source, Sum, Within
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.matrices import BlockLayout, Blocks, MatrixPlace, Role
from cloakwork.programs.slots import (
    Add,
    Builder,
    DiagonalProducts,
    Mul,
    Neg,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
    Sub,
)
from cloakwork.runtime.costs import LevelCosts

# What an input costs beyond `Product.cost`, in additions: at higher levels than its product's, it
# takes as much longer to encrypt and to send.
_ENTERING = 24.0
# Above every level that a chain can end up with; the true ones follow from its depth.
_TOP = 200


@dataclass(frozen=True, slots=True)
class LoweredChain:
    """A chain as a program, levels not yet lowered.

    Args:
        program: The program.
        sources: For each operand in order its tensor's number among the sources, and its place.
        results: Where each result lies.
        claims: What the user says of products on the way.
    """

    program: SlotProgram
    sources: tuple[tuple[Source, MatrixPlace], ...]
    results: tuple[MatrixPlace, ...]
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Geometry:
    """How the products of a chain lie in slots.

    Args:
        slots: Slots of a ciphertext.
        side: d, the rotations of every product.
        tall: Blocks of rows of the first product in a ciphertext.
        wide: Blocks of columns of all products.
    """

    slots: int
    side: int
    tall: int
    wide: int

    def blocks(self, product: int) -> Blocks:
        """Those of a product of the chain, counted from 0.

        Example:
            >>> Geometry(64, 8, tall=2, wide=4).blocks(1).shares
            2
        """
        if product == 0:
            return Blocks(self.slots, self.side, tall=self.tall, wide=self.wide)
        shares = self.tall if product == 1 else 1
        return Blocks(self.slots, self.side, shares=shares, wide=self.wide, run=self.side)


@dataclass(frozen=True, slots=True)
class WindowGeometry:
    """How a convolution and the products after it lie in slots.

    Args:
        slots: Slots of a ciphertext.
        side: d, the rotations of every product.
        shares: Kernels in a ciphertext; shares and column blocks fill all lanes.
        positions: Windows of an image.
    """

    slots: int
    side: int
    shares: int
    positions: int

    @property
    def wide(self) -> int:
        """Blocks of columns."""
        return self.slots // (self.side * self.shares)

    @property
    def of_images(self) -> Blocks:
        """Those of the images, the same for every share."""
        return Blocks(self.slots, self.side, tall=self.shares, wide=self.wide)

    @property
    def of_kernels(self) -> Blocks:
        """Those of the kernels, the same for every image."""
        return Blocks(self.slots, 1, shares=self.shares, wide=self.wide, copies=self.side)

    def blocks(self, product: int) -> Blocks:
        """Those of a product of the chain, counted from 0, the convolution left out.

        Example:
            >>> WindowGeometry(64, 8, shares=2, positions=9).blocks(0).run
            9
        """
        if product == 0:
            return Blocks(
                self.slots, self.side, shares=self.shares, wide=self.wide, run=self.positions
            )
        return Blocks(self.slots, self.side, wide=self.wide, run=self.side)

    def vectors(self, first: Convolution) -> int:
        """Those of the convolution."""
        columns = -(-first.shape[1] // (self.side * self.wide))
        return -(-first.channels // self.shares) * first.positions * columns


AnyGeometry: TypeAlias = Geometry | WindowGeometry


def geometries(spine: Spine, slots: int) -> Iterator[AnyGeometry]:
    """Ways to lay out a chain that may be worth taking.

    Example:
        >>> a, b = (Factor(Source(name, (64, 64)), False) for name in "ab")
        >>> chain = Spine(a, (Times(b, ""), Times(b, "")), transposed=False)
        >>> Geometry(2048, 16, tall=4, wide=4) in set(geometries(chain, 2048))
        True
    """
    if isinstance(spine.first, Convolution):
        yield from _of_convolution(spine.first, slots)
        return
    first = next(step.factor for step in spine.steps if isinstance(step, Times))
    rows, columns = first.shape[0], spine.first.shape[1]
    side = 1
    while side <= min(slots, power_of_two(max(rows, columns))):
        lanes = slots // side
        widest = min(lanes, power_of_two(-(-columns // side)))
        tallest = power_of_two(-(-rows // side))
        wide = 1
        while wide <= widest:
            tall = 1
            while tall <= min(tallest, lanes // wide):
                yield Geometry(slots, side, tall, wide)
                tall *= 2
            wide *= 2
        side *= 2


def _of_convolution(first: Convolution, slots: int) -> Iterator[WindowGeometry]:
    side = 1
    while side <= min(slots, power_of_two(max(first.shape))):
        shares = 1
        while shares <= min(slots // side, power_of_two(first.channels)):
            yield WindowGeometry(slots, side, shares, first.positions)
            shares *= 2
        side *= 2


def chain_cost(spine: Spine, geometry: AnyGeometry, prices: LevelCosts) -> float:
    """What a chain costs in a geometry, every operation at one level."""
    total, products = 0.0, 0
    columns = spine.first.shape[1]
    grid = spine_rows = 1
    if isinstance(spine.first, Convolution):
        assert isinstance(geometry, WindowGeometry)
        grid = geometry.vectors(spine.first)
        total += _convolution_cost(spine.first, geometry, prices)
    for step in spine.steps:
        if isinstance(step, Slotwise):
            each = prices.product + prices.relinearisation + prices.rescale
            total += step.products * grid * each
            continue
        if isinstance(step, Plus):
            blocks = geometry.blocks(products - 1)
            tall = -(-spine_rows // blocks.left_rows)
            total += len(step.vectors) * tall * blocks.side * prices.rotation
            continue
        blocks = geometry.blocks(products)
        rows, inner = step.factor.shape
        spine_rows = rows
        product = Product(1, rows, inner, columns)
        found = product.counts(blocks)
        enters = products == 0 and isinstance(spine.first, Factor)
        entering = found.left + (found.right if enters else 0)
        total += _ENTERING * prices.addition * entering
        total += product.cost(blocks, prices, prices) + found.products * prices.rescale
        grid, products = found.products, products + 1
    return total


def _convolution_cost(first: Convolution, geometry: WindowGeometry, prices: LevelCosts) -> float:
    sums = prices.rotated_products(first.places, 1) + prices.product_switch + prices.rescale
    layouts = (
        *(_kernel_layout(each, geometry) for each in first.kernels),
        *(_image_layout(each, geometry) for each in first.images),
    )
    entering = sum(each.ciphertexts for each in layouts)
    return geometry.vectors(first) * sums + _ENTERING * prices.addition * entering


def _kernel_layout(kernels: Seen, geometry: WindowGeometry) -> BlockLayout:
    return BlockLayout(geometry.of_kernels, "left", (1, kernels.rows, kernels.columns))


def _image_layout(images: Seen, geometry: WindowGeometry) -> BlockLayout:
    return BlockLayout(geometry.of_images, "right", (1, images.rows, images.columns))


def lowered_chain(title: str, spine: Spine, geometry: AnyGeometry) -> LoweredChain:
    """The program of a chain in a geometry."""
    work = _ChainWork(Builder(title, geometry.slots), geometry, spine.first.shape[1])
    first = spine.first
    value = _Value(first) if isinstance(first, Factor) else work.convolved(first)
    for step in spine.steps:
        match step:
            case Times():
                value = work.times(step, value)
            case Plus():
                value = work.plus(step, value)
            case Slotwise():
                value = work.function(step, value)
    layout = value.layout
    assert layout is not None
    given_out(work.builder, value.values, layout)
    _, rows, columns = layout.shape
    order = (1, 0) if spine.transposed else (0, 1)
    result = MatrixPlace(layout, order, (rows, columns))
    return LoweredChain(work.builder.finish(), tuple(work.sources), (result,), tuple(work.claims))


class _Value:
    """A matrix of the chain: from outside, or its vectors and where they lie."""

    def __init__(
        self,
        factor: Factor | None,
        values: NDArray[np.int64] | None = None,
        layout: BlockLayout | None = None,
        products: int = 0,
    ) -> None:
        self.factor = factor
        self.values = np.empty(0, dtype=np.int64) if values is None else values
        self.layout = layout
        self.products = products


class _ChainWork:
    """The program so far."""

    def __init__(self, builder: Builder, geometry: AnyGeometry, columns: int) -> None:
        self.builder = builder
        self.sources: list[tuple[Source, MatrixPlace]] = []
        self.claims: list[Claim] = []
        self._masked: dict[tuple[int, int], int] = {}
        self._geometry = geometry
        self._columns = columns

    def convolved(self, first: Convolution) -> _Value:
        """A convolution, as the right operand of a product."""
        geometry, builder = self._geometry, self.builder
        assert isinstance(geometry, WindowGeometry)
        builder.origin = first.origin
        kernels, images = (
            np.concatenate(
                [
                    self._entered(each.source, layout(each, geometry), each.view)[0]
                    for each in sources
                ]
            )
            for sources, layout in (
                (first.kernels, _kernel_layout),
                (first.images, _image_layout),
            )
        )
        layout = BlockLayout(geometry.blocks(0), "right", (1, *first.shape))
        values = np.empty((kernels.shape[1], first.positions, images.shape[1]), dtype=np.int64)
        # Position by position, so that pixels are not kept that no further window has.
        for position, wide, channels in np.ndindex(*values.shape[1:], values.shape[0]):
            builder.stage = "convolution"
            pixels = first.windows[:, position]
            sums = builder.append(
                RotatedProducts(
                    tuple(kernels[pixels >= 0, channels].tolist()),
                    tuple(images[pixels[pixels >= 0], wide].tolist()),
                    geometry.slots,
                )
            )
            builder.stage = "switch keys"
            value = switched(builder, sums, 0, (), rescales=True, layout=layout)
            for number in kernels[pixels == ADDED, channels].tolist():
                both = at_one_level(builder, (value, self._biased(number, wide, first)))
                value = builder.append(Add(*both), layout)
            values[channels, position, wide] = value
        values = values.reshape(layout.grid)
        if first.constant is not None:
            values = self._with_constant(values, first.constant, layout)
        return _Value(None, values, layout)

    def _biased(self, number: int, wide: int, first: Convolution) -> int:
        """A vector of biases, which stay out of slots without an image: these may have ranges."""
        geometry, columns = self._geometry, first.shape[1]
        assert isinstance(geometry, WindowGeometry)
        held = geometry.side * geometry.wide
        if columns % held == 0:
            return number
        key = number, wide
        if key not in self._masked:
            one = BlockLayout(geometry.of_images, "right", (1, 1, columns))
            mask = one.pack_some(np.ones((1, 1, columns)), np.array([wide]), np.float64)[0]
            clear = self.builder.constant(mask)
            self._masked[key] = self.builder.append(
                Rescale(self.builder.append(Mul(number, clear)))
            )
        return self._masked[key]

    def times(self, step: Times, before: _Value) -> _Value:
        """A factor times the matrix before."""
        builder, blocks = self.builder, self._geometry.blocks(before.products)
        rows, _ = step.factor.shape
        is_first = before.products == 0
        builder.origin = step.origin
        if before.factor is not None:
            right = self._enter(before.factor, blocks, "right", _TOP)
        else:
            right = before.values if is_first else _by_diagonal(before.values)
        level = builder.level(int(right.flat[0]))
        left = self._enter(step.factor, blocks, "left" if is_first else "diagonals", level)
        layout = BlockLayout(blocks, "product", (1, rows, self._columns))
        by = RotatedProducts if is_first else DiagonalProducts
        values = blocks_multiplied(builder, left, right, layout, rescales=True, by=by)
        return _Value(None, values, layout, before.products + 1)

    def plus(self, step: Plus, before: _Value) -> _Value:
        """The product before and what is added to its columns."""
        builder, layout = self.builder, before.layout
        assert layout is not None
        builder.origin = step.origin
        values = before.values.copy()
        _, rows, columns = layout.shape
        # One number for each row, the first of the inner indices.
        blocks = replace(layout.blocks, run=1)
        held = BlockLayout(blocks, "left", (1, rows, 1))
        masks = None
        if columns % blocks.right_columns:
            masks = layout.pack(np.ones((1, rows, columns)))
        for source in step.vectors:
            axes = tuple(range(len(source.shape)))
            vectors = self._entered(source, held, MatrixView(axes, source.shape)).ravel()
            builder.stage = "biases"
            for number, place in enumerate(np.ndindex(*values.shape)):
                _, tall, _, rotation = place
                bias = int(vectors[tall])
                if rotation:
                    bias = builder.append(Rotate(bias, rotation * blocks.step))
                if masks is not None:
                    # Slots without an element stay so: there may be ranges.
                    clear = builder.constant(masks[number])
                    bias = builder.append(Rescale(builder.append(Mul(bias, clear))))
                both = at_one_level(builder, (int(values[place]), bias))
                values[place] = builder.append(Add(*both), layout)
        if step.constant is not None:
            values = self._with_constant(values, step.constant, layout)
        return _Value(None, values, layout, before.products)

    def _with_constant(
        self, values: NDArray[np.int64], constant: NDArray[np.float64], layout: BlockLayout
    ) -> NDArray[np.int64]:
        """Vectors and those of a matrix in the clear that lies as they do."""
        packed = layout.pack(np.ascontiguousarray(constant)[np.newaxis])
        made = [
            self.builder.append(Add(number, self.builder.constant(each)), layout)
            for number, each in zip(values.ravel().tolist(), packed, strict=True)
        ]
        return np.array(made).reshape(values.shape)

    def function(self, step: Slotwise, before: _Value) -> _Value:
        """A function of every number of the matrix before."""
        self.builder.stage = "function of each number"
        functions = [
            _Function(self.builder, step.of, value) for value in before.values.ravel().tolist()
        ]
        values = np.array([each.of(step.node) for each in functions]).reshape(before.values.shape)
        layout = before.layout
        assert layout is not None
        for node in step.ranges:
            of = f"product {before.products}" if before.products else "convolution"
            name = f"{'' if node.operand is step.of else 'function of '}{of}"
            held = tuple(each.of(node) for each in functions)
            self.claims.append(Claim(name, node.low, node.high, held, layout))
        return _Value(None, values, layout, before.products)

    def _enter(self, factor: Factor, blocks: Blocks, role: Role, level: int) -> NDArray[np.int64]:
        layout = BlockLayout(blocks, role, (1, *factor.shape))
        return self._entered(factor.source, layout, factor.view, level)

    def _entered(
        self, source: Source, layout: BlockLayout, view: MatrixView, level: int = _TOP
    ) -> NDArray[np.int64]:
        self.sources.append((source, MatrixPlace(layout, view.order, view.sizes)))
        return entered(self.builder, source.name, layout, level)


def _by_diagonal(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The vectors of a product as the right operand of the next: its blocks of rows are runs."""
    _, tall, wide, side = values.shape
    return values.transpose(0, 1, 3, 2).reshape(1, tall * side, wide)


class _Function:
    """Evaluates a graph of slotwise operations on one vector."""

    def __init__(self, builder: Builder, argument: Node, value: int) -> None:
        self._builder = builder
        self._made: dict[Node, int] = {argument: value}

    def of(self, node: Node) -> int:
        """The value of a node."""
        if node not in self._made:
            self._made[node] = self._computed(node)
        return self._made[node]

    def _computed(self, node: Node) -> int:
        builder = self._builder
        match node:
            case Contract(operands=(one, other)):
                if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
                    number, factor = (one, other) if isinstance(one, np.ndarray) else (other, one)
                    assert isinstance(number, np.ndarray)
                    assert not isinstance(factor, np.ndarray)
                    clear = builder.constant(np.full(builder.slots, float(number.flat[0])))
                    return builder.append(Rescale(builder.append(Mul(self.of(factor), clear))))
                left, right = at_one_level(builder, (self.of(one), self.of(other)))
                return builder.append(Rescale(builder.append(Mul(left, right))))
            case Sum():
                return self._sum(node)
            case Within(operand=operand):
                return self.of(operand)
            case _:
                raise AssertionError("only slotwise nodes are functions of numbers")

    def _sum(self, node: Sum) -> int:
        builder = self._builder
        total = None
        for term, sign in zip(node.terms, node.signs, strict=True):
            value = self.of(term)
            if total is None:
                total = value if sign > 0 else builder.append(Neg(value))
                continue
            left, right = at_one_level(builder, (total, value))
            total = builder.append((Add if sign > 0 else Sub)(left, right))
        assert total is not None
        if node.constant is not None:
            number = float(node.constant.flat[0])
            clear = builder.constant(np.full(builder.slots, number))
            total = builder.append(Add(total, clear))
        return total


def bounds_in(lowered: LoweredChain, bounds: Mapping[Source, float]) -> list[NDArray[np.float64]]:
    """For each input vector the largest absolute value of each slot."""
    found: list[NDArray[np.float64]] = []
    for source, place in lowered.sources:
        # Vectors that are equally full are one, here as there.
        scaled: dict[Itself[NDArray[np.float64]], NDArray[np.float64]] = {}
        for vector in place.layout.fullness():
            if Itself(vector) not in scaled:
                scaled[Itself(vector)] = bounds[source] * vector
            found.append(scaled[Itself(vector)])
    return found

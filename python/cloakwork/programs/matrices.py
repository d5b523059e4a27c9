"""Where matrices lie for products by rotated products; see `programs.operations.products`.

A vector of n slots is cut into d rows of lanes, slot h * n/d + l for row h and lane l; where a
ciphertext has two rows of slots (BGV), both have these lanes. Lanes are shared out among the
matrices of a batch (their number modulo p0), blocks of rows of the left matrix (p1), shares of the
inner index (p2) and blocks of columns of the right matrix (p3), lane ((e p1 + a) p2 + b) p3 + c:

    left       vector (I, j)     holds  A[(I p1 + a) d + h, inner(j, b)],  the same for every c
    right      vector (j, J)     holds  B[inner(j, b), (J p3 + c) d + h],  the same for every a
    product    vector (I, J, t)  holds  C[(I p1 + a) d + (h + t mod d), (J p3 + c) d + h]
    diagonals  vector (I, k, r)  holds  A[(I p1 + a) d + h, (k p2 + b) d + (h + r mod d)]

The product's is called a diagonal pair, as each vector holds two parts of a diagonal of a block,
above and below. With p2 > 1 its lanes but those of b = 0 hold anything once the shares are summed.
A left matrix that lies by diagonals, inner indices in runs of d, can be multiplied by a product as
that lies: the p1 blocks of rows of the one are the shares p2 of the other.

Where further lanes are free, all of this may be there several times: `copies` times, one after the
other, and of a right matrix in neighbouring lanes. Operands of several products that share lanes
out in different ways are copied along what others are shared out by.

Real numbers leave half of a complex slot free. Either two inner indices share it, k and k + 1 as
real part and imaginary part (negative on the left), so that the real part of a product is the sum
over both; or two blocks of columns of the right matrix, and the product's, do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Limits
from cloakwork.errors import InvalidLayoutError, ShapeMismatchError, SlotMismatchError
from cloakwork.programs.layout import MAX_SLOTS
from cloakwork.programs.port import MAX_SIZE

Role: TypeAlias = Literal["left", "right", "product", "diagonals"]
# What left matrices lie in.
_LEFT: tuple[Role, ...] = ("left", "diagonals")
_NAMES: dict[Role, str] = {
    "left": "left blocks",
    "right": "right blocks",
    "product": "diagonal pair",
    "diagonals": "diagonals",
}
_Size: TypeAlias = Annotated[int, Limits(1, MAX_SLOTS)]
_Extent: TypeAlias = Annotated[int, Limits(1, MAX_SIZE)]
_Half: TypeAlias = Annotated[int, Limits(1, 2)]
# Of a vector in a ciphertext that has two rows.
_MAX_ROWS = 2

# A slot without an element.
EMPTY = -1
# A slot that may hold anything.
GARBAGE = -2


@dataclass(frozen=True, slots=True)
class Blocks:
    """How the slots of a ciphertext are shared out for products of matrices.

    Args:
        slots: Slots of a row.
        side: d, the rotations of a product; a divisor of the slots.
        rows: Rows of slots, one or two.
        batch: p0, matrices of a batch that share a ciphertext.
        tall: p1, blocks of rows of the left matrix.
        shares: p2, shares of the inner index.
        wide: p3, blocks of columns of the right matrix.
        run: Inner indices in a row that one share has.
        inner_parts: Inner indices that share a slot as its real and imaginary part.
        column_parts: Blocks of columns of the right matrix that do.
        copies: Times that all lanes are there.

    Raises:
        InvalidLayoutError: The parts do not fit the lanes, or both halves of slots are given away
            twice.

    Example:
        >>> blocks = Blocks(2048, side=64, tall=8, wide=4, inner_parts=2)
        >>> blocks.lanes, blocks.left_rows, blocks.right_columns, blocks.inner
        (32, 512, 256, 2)
    """

    slots: _Size
    side: _Size
    rows: Annotated[int, Limits(1, _MAX_ROWS)] = 1
    batch: _Size = 1
    tall: _Size = 1
    shares: _Size = 1
    wide: _Size = 1
    run: _Size = 1
    inner_parts: _Half = 1
    column_parts: _Half = 1
    copies: _Size = 1

    def __post_init__(self) -> None:
        sizes = (getattr(self, each) for each in self.__slots__)
        if not all(1 <= size <= MAX_SLOTS for size in sizes) or self.rows > _MAX_ROWS:
            self._refuse(f"expected sizes from 1 up to {MAX_SLOTS}, got {self!r}")
        if self.slots % self.side:
            self._refuse(f"{self.side} rotations do not divide {self.slots} slots")
        if self.used_lanes > self.lanes:
            self._refuse(f"{self.used_lanes} parts do not fit the {self.lanes} slots of a row")
        if self.inner_parts * self.column_parts > 2:
            self._refuse("a slot has two halves")
        if self.rows > 1 and self.shares > 1 and self.step % (self.shares * self.wide):
            self._refuse("shares of the inner index lie in two rows of slots")

    def _refuse(self, reason: str) -> None:
        raise InvalidLayoutError(f"cannot lay out blocks of matrices: {reason}")

    @property
    def step(self) -> int:
        """Slots from one row of lanes to the next, in one row of slots."""
        return self.slots // self.side

    @property
    def lanes(self) -> int:
        """Lanes in all rows of slots."""
        return self.rows * self.step

    @property
    def used_lanes(self) -> int:
        """Lanes that hold something."""
        return self.copies * self.distinct_lanes

    @property
    def distinct_lanes(self) -> int:
        """Lanes in use that are no copies of others along all that is shared out."""
        return self.batch * self.tall * self.shares * self.wide

    @property
    def left_rows(self) -> int:
        """Rows of the left matrix in a ciphertext."""
        return self.side * self.tall

    @property
    def right_columns(self) -> int:
        """Columns of the right matrix in a ciphertext."""
        return self.side * self.wide * self.column_parts

    @property
    def inner(self) -> int:
        """Inner indices in a ciphertext."""
        return self.shares * self.inner_parts

    @property
    def parts(self) -> int:
        """Numbers in a slot of an operand."""
        return self.inner_parts * self.column_parts

    def lane_sums(self) -> tuple[int, ...]:
        """The rotations that sum the shares of the inner index, one after the other.

        Example:
            >>> Blocks(2048, side=8, shares=4, wide=16).lane_sums()
            (16, 32)
        """
        return tuple(self.wide << bit for bit in range((self.shares - 1).bit_length()))

    def __str__(self) -> str:
        shared = [
            f"{count} {name}"
            for count, name in (
                (self.batch, "of a batch"),
                (self.tall, "row blocks"),
                (self.shares, "shares"),
                (self.wide, "column blocks"),
                (self.copies, "copies"),
            )
            if count > 1
        ]
        places = f"{self.lanes} slots"
        if shared:
            places += f" for {' x '.join(shared)}"
        return f"{self.side} rows of {places}"


@dataclass(frozen=True, slots=True)
class Counts:
    """Blocks of two matrices, and what their product takes.

    Args:
        batches: Groups of matrices of a batch.
        tall: Blocks of rows of the left matrix.
        terms: Vectors along the inner index.
        wide: Blocks of columns of the right matrix.
        side: Rotations.
    """

    batches: int
    tall: int
    terms: int
    wide: int
    side: int

    @property
    def left(self) -> int:
        """Vectors of the left matrices."""
        return self.batches * self.tall * self.terms

    @property
    def right(self) -> int:
        """Vectors of the right matrices."""
        return self.batches * self.terms * self.wide

    @property
    def groups(self) -> int:
        """Rotated products."""
        return self.batches * self.tall * self.wide

    @property
    def products(self) -> int:
        """Vectors of the products."""
        return self.groups * self.side

    @property
    def ciphertexts(self) -> int:
        """Vectors that go in and come out."""
        return self.left + self.right + self.products


def counts(blocks: Blocks, batch: int, rows: int, inner: int, columns: int) -> Counts:
    """The blocks of matrices of `rows` x `inner` and `inner` x `columns`, a batch of them.

    Example:
        >>> blocks = Blocks(2048, side=64, tall=8, wide=4, inner_parts=2)
        >>> found = counts(blocks, 1, 512, 512, 512)
        >>> found.left, found.right, found.groups, found.products
        (256, 512, 2, 128)
    """
    runs = -(-inner // (blocks.inner * blocks.run))
    return Counts(
        -(-batch // blocks.batch),
        -(-rows // blocks.left_rows),
        runs * blocks.run,
        -(-columns // blocks.right_columns),
        blocks.side,
    )


@dataclass(frozen=True)
class BlockLayout:
    """Where a batch of matrices lies as an operand of a product, or as a product.

    Args:
        blocks: How slots are shared out.
        role: Which of the three it is.
        shape: Matrices, rows and columns.

    Example:
        >>> layout = BlockLayout(Blocks(4, side=2, wide=2), "right", (1, 1, 4))
        >>> layout.pack(np.array([[[1.0, 2.0, 3.0, 4.0]]]))[0].tolist()
        [1.0, 3.0, 2.0, 4.0]
    """

    blocks: Blocks
    role: Role
    shape: tuple[_Extent, _Extent, _Extent]

    def __post_init__(self) -> None:
        if min(self.shape) < 1 or math.prod(self.shape) > MAX_SIZE:
            raise InvalidLayoutError(
                f"cannot lay out matrices of shape {self.shape}: expected sizes from 1 on and up "
                f"to {MAX_SIZE} elements"
            )
        if self.role == "diagonals" and self.blocks.run != self.blocks.side:
            raise InvalidLayoutError(
                f"cannot lay out diagonals of {self.blocks.side} rows: expected runs of as many "
                f"inner indices, got {self.blocks.run}"
            )

    @property
    def slots(self) -> int:
        """Slots of a row of a vector."""
        return self.blocks.slots

    @property
    def parts(self) -> int:
        """Numbers in a slot."""
        return self.blocks.column_parts if self.role == "product" else self._operand_parts

    @property
    def _operand_parts(self) -> int:
        return self.blocks.inner_parts if self.role in _LEFT else self.blocks.parts

    @property
    def garbage(self) -> bool:
        """Whether slots without an element may hold anything."""
        return self.role == "product" and self.blocks.shares > 1

    def garbage_slots(self) -> NDArray[np.bool_]:
        """For each slot of a vector whether it may hold anything."""
        _, _, shares, _, _ = self._lanes
        held = np.broadcast_to(self.garbage & (shares > 0), (self.blocks.side, self.blocks.lanes))
        return self._by_slot(held)

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Vectors by group of the batch, and along each index of the role."""
        blocks, (batch, rows, columns) = self.blocks, self.shape
        match self.role:
            case "left" | "diagonals":
                found = counts(blocks, batch, rows, columns, 1)
                return found.batches, found.tall, found.terms
            case "right":
                found = counts(blocks, batch, 1, rows, columns)
                return found.batches, found.terms, found.wide
            case _:
                found = counts(blocks, batch, rows, 1, columns)
                return found.batches, found.tall, found.wide, blocks.side

    @property
    def ciphertexts(self) -> int:
        """How many vectors there are."""
        return math.prod(self.grid)

    def elements(self, numbers: NDArray[np.int64], part: int = 0) -> NDArray[np.int64]:
        """The element, counted in C order, in each slot of some vectors.

        Example:
            >>> pair = BlockLayout(Blocks(4, side=2, tall=2), "product", (1, 4, 2))
            >>> pair.elements(np.array([0, 1])).tolist()
            [[0, 4, 3, 7], [2, 6, 1, 5]]
        """
        blocks, (_, rows, columns) = self.blocks, self.shape
        matrix, row, column = self._coordinates(np.unravel_index(numbers, self.grid), part)
        elements = (matrix * rows + row) * columns + column
        _, _, shares, used, _ = self._lanes
        for coordinate, size in zip((matrix, row, column), self.shape, strict=True):
            # Mostly all are inside, and coordinates are far fewer than slots.
            if coordinate.max() >= size:
                elements = np.where(coordinate < size, elements, EMPTY)
        if not used.all():
            elements = np.where(used, elements, EMPTY)
        if self.garbage:
            elements = np.where(shares > 0, GARBAGE, elements)
        # Rows of slots come first, then rows of lanes, then lanes.
        count = len(numbers)
        by_row = elements.reshape(count, blocks.side, blocks.rows, blocks.step)
        return by_row.swapaxes(1, 2).reshape(count, -1)

    @cached_property
    def _lanes(self) -> tuple[NDArray[Any], ...]:
        """Of each lane the matrix of the batch, (a, c) and so on, whether in use, which copy."""
        blocks = self.blocks
        lanes = np.arange(blocks.lanes)
        if self.role == "right":
            lanes, copy = np.divmod(lanes, blocks.copies)
        else:
            copy, lanes = np.divmod(lanes, blocks.distinct_lanes)
        rest, c = np.divmod(lanes, blocks.wide)
        rest, b = np.divmod(rest, blocks.shares)
        e, a = np.divmod(rest, blocks.tall)
        return e, np.stack([a, c]), b, (e < blocks.batch) & (copy < blocks.copies), copy

    def _coordinates(
        self, vectors: Sequence[NDArray[Any]], part: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Matrix, row and column in each lane of each row of lanes of vectors."""
        blocks = self.blocks
        e, (a, c), b, _, _ = self._lanes
        group, first, second, *rotation = (each[:, np.newaxis, np.newaxis] for each in vectors)
        h = np.arange(blocks.side)[:, np.newaxis]

        def inner(term: NDArray[Any]) -> NDArray[Any]:
            start, place = np.divmod(term, blocks.run)
            index: NDArray[Any] = (start * blocks.shares + b) * blocks.run + place
            return index * blocks.inner_parts + part % blocks.inner_parts

        def column(block: NDArray[Any]) -> NDArray[Any]:
            first: NDArray[Any] = (block * blocks.wide + c) * blocks.column_parts
            return (first + part % blocks.column_parts) * blocks.side + h

        matrix = group * blocks.batch + e
        match self.role:
            case "left":
                return matrix, (first * blocks.tall + a) * blocks.side + h, inner(second)
            case "right":
                return matrix, inner(first), column(second)
            case "diagonals":
                start, turn = np.divmod(second, blocks.run)
                turned_column = start * blocks.run + (h + turn) % blocks.run
                row = (first * blocks.tall + a) * blocks.side + h
                return matrix, row, inner(turned_column)
            case _:
                turned = (h + rotation[0]) % blocks.side
                row = (first * blocks.tall + a) * blocks.side + turned
                return matrix, row, column(second)

    def is_copy(self) -> NDArray[np.bool_]:
        """For each slot of a vector whether it holds what another slot holds as well."""
        blocks = self.blocks
        _, (a, c), _, _, copy = self._lanes
        copies: NDArray[np.bool_] = copy > 0
        if self.role != "product":
            copies |= (c if self.role in _LEFT else a) > 0
        return self._by_slot(np.broadcast_to(copies, (blocks.side, blocks.lanes)))

    def _by_slot(self, by_row: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """What is known of each lane of each row of lanes, in the order of slots."""
        blocks = self.blocks
        return by_row.reshape(blocks.side, blocks.rows, blocks.step).swapaxes(0, 1).reshape(-1)

    def fullness(self) -> list[NDArray[np.float64]]:
        """For each vector how large the absolute value in each slot is where elements are 1.

        No more than one block of rows and of columns is looked at: others may be emptier.
        """
        _, *along = self.grid
        terms = along[0] if self.role == "right" else along[-1]
        # All but the last run of inner indices fill their vectors alike; of products none.
        ragged_terms = self.blocks.side if self.role == "product" else self.blocks.run
        first_ragged = max(0, terms - ragged_terms)
        seen = [0, *range(first_ragged, terms)]
        stride = along[1] if self.role == "right" else 1
        numbers = np.array(seen) * stride
        held = sum((self.elements(numbers, part) >= 0).astype(float) for part in range(self.parts))
        full, *ragged = np.sqrt(held)
        of_terms = [full] * first_ragged + ragged
        if self.role == "right":
            repeated = [vector for vector in of_terms for _ in range(along[1])]
        else:
            repeated = of_terms * math.prod(along[:-1])
        return repeated * self.grid[0]

    def pack(self, matrices: NDArray[Any]) -> NDArray[Any]:
        """The vectors of matrices, a row each; zero where there is no element.

        Complex where slots hold two numbers: the imaginary parts of left operands are negative.
        """
        if matrices.shape != self.shape:
            raise ShapeMismatchError(
                f"cannot pack: expected shape {self.shape}, got {matrices.shape}"
            )
        return np.stack(self.pack_some(matrices, np.arange(self.ciphertexts), matrices.dtype))

    def pack_some(
        self, matrices: NDArray[Any], numbers: NDArray[np.int64], kind: Any
    ) -> list[NDArray[Any]]:
        """Some of the vectors of matrices; see `pack`.

        No more of the matrices is read than these vectors hold.

        Example:
            >>> layout = BlockLayout(Blocks(4, side=2, wide=2), "right", (1, 2, 4))
            >>> matrices = np.arange(8, dtype=np.float32).reshape(1, 2, 4)
            >>> layout.pack_some(matrices, np.array([1]), np.float64)[0].tolist()
            [4.0, 6.0, 5.0, 7.0]
        """
        parts = [_taken(matrices, self.elements(numbers, part)) for part in range(self.parts)]
        if len(parts) == 1:
            return list(parts[0].astype(kind, copy=False))
        made = np.empty(parts[0].shape, dtype=np.complex128)
        made.real = parts[0]
        np.multiply(parts[1], -1.0 if self.role in _LEFT else 1.0, out=made.imag)
        return list(made)

    def unpack(self, vectors: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The matrices of their vectors."""
        length = self.blocks.rows * self.slots
        if len(vectors) != self.ciphertexts or {each.size for each in vectors} != {length}:
            raise SlotMismatchError(
                f"cannot unpack: expected {self.ciphertexts} vector(s) of {length} slots, got "
                f"{len(vectors)} of {sorted({each.size for each in vectors})}"
            )
        kind = np.result_type(*{each.dtype for each in vectors})
        found = np.empty(self.shape, dtype=np.float64 if kind.kind == "c" else kind)
        self.put(found, dict(enumerate(vectors)))
        return found

    def put(self, matrices: NDArray[Any], vectors: Mapping[int, NDArray[Any]]) -> None:
        """Put the elements of some vectors to their places in the matrices."""
        stacked = np.stack([each.reshape(-1) for each in vectors.values()])
        numbers = np.array([*vectors])
        halves = (stacked,) if stacked.dtype.kind != "c" else (stacked.real, stacked.imag)
        for part in range(self.parts):
            elements = self.elements(numbers, part)
            held = elements >= 0
            sign = -1 if part and self.role in _LEFT else 1
            target, places = _found(matrices, elements[held])
            target[places] = sign * halves[part][held]

    def tensor_text(self) -> str:
        """The matrices in words."""
        batch, rows, columns = self.shape
        matrices = f"{rows} x {columns}"
        return f"{batch} matrices of {matrices}" if batch > 1 else matrices

    def __str__(self) -> str:
        halves = f", {self.parts} numbers a slot" if self.parts > 1 else ""
        return f"{_NAMES[self.role]} of {self.tensor_text()}, {self.blocks}{halves}"


@dataclass(frozen=True)
class MatrixPlace:
    """Where a tensor lies, seen as a batch of matrices.

    Args:
        layout: The layout of the matrices.
        order: The axes of the tensor, those of the batch, of rows and of columns in turn.
        sizes: The sizes of the axes in that order.

    Example:
        >>> layout = BlockLayout(Blocks(4, side=2, wide=2), "right", (1, 2, 3))
        >>> place = MatrixPlace(layout, (1, 0), (2, 3))
        >>> place.pack(np.arange(6.0).reshape(3, 2))[0].tolist()
        [0.0, 4.0, 2.0, 0.0]
    """

    layout: BlockLayout
    order: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def slots(self) -> int:
        """Slots of a row of a vector."""
        return self.layout.slots

    @property
    def ciphertexts(self) -> int:
        """How many vectors there are."""
        return self.layout.ciphertexts

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return tuple(self.sizes[self.order.index(axis)] for axis in range(len(self.order)))

    @property
    def is_whole(self) -> bool:
        """Whether the order is one of all axes, and the sizes are those of the matrices."""
        axes = sorted(self.order) == [*range(len(self.sizes))]
        return axes and math.prod(self.sizes) == math.prod(self.layout.shape)

    def matrices(self, tensor: NDArray[Any]) -> NDArray[Any]:
        """A tensor as matrices, which share its memory where axes that are one lie in a row."""
        return tensor.transpose(self.order).reshape(self.layout.shape)

    def pack(self, tensor: NDArray[Any]) -> NDArray[Any]:
        """The vectors of a tensor, a row each."""
        return self.layout.pack(self.matrices(tensor))

    def unpack(self, vectors: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The tensor of its vectors."""
        matrices = self.layout.unpack(vectors).reshape(self.sizes)
        return matrices.transpose(np.argsort(self.order))

    def pack_some(
        self, matrices: NDArray[Any], numbers: NDArray[np.int64], kind: Any
    ) -> Sequence[NDArray[Any]]:
        """Some of the vectors of matrices, of numbers of a kind."""
        return self.layout.pack_some(matrices, numbers, kind)

    @property
    def parts(self) -> int:
        """Numbers in a slot, of which the second is the imaginary part."""
        return self.layout.parts

    @property
    def is_real(self) -> bool:
        """Whether no slot holds anything in its imaginary part."""
        return self.layout.blocks.parts == 1

    def part_places(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The part, the ciphertext and the slot of every element, in the tensor's shape.

        Example:
            >>> pair = BlockLayout(Blocks(4, side=2, tall=2), "product", (1, 4, 2))
            >>> place = MatrixPlace(pair, (0, 1), (4, 2))
            >>> [each.tolist() for each in place.part_places()[1:]]
            [[[0, 1], [1, 0], [0, 1], [1, 0]], [[0, 2], [0, 2], [1, 3], [1, 3]]]
        """
        found = np.zeros((3, math.prod(self.layout.shape)), dtype=np.int64)
        numbers = np.arange(self.ciphertexts)
        for part in range(self.parts):
            elements = self.layout.elements(numbers, part)
            vectors, slots = np.nonzero(elements >= 0)
            found[:, elements[vectors, slots]] = np.full_like(slots, part), vectors, slots
        back = np.argsort(self.order)
        of_part, in_vector, in_slot = (each.reshape(self.sizes).transpose(back) for each in found)
        return of_part, in_vector, in_slot

    def filled(self) -> list[NDArray[np.float64]]:
        """For each vector 1 in the slots that may hold other numbers than 0: in all of them."""
        return [np.ones(self.layout.blocks.rows * self.slots)] * self.ciphertexts

    def __str__(self) -> str:
        return str(self.layout)


def _taken(matrices: NDArray[Any], elements: NDArray[np.int64]) -> NDArray[Any]:
    """Elements by their number in C order, zero for what is `EMPTY` or `GARBAGE`."""
    known = elements >= 0
    source, places = _found(matrices, np.maximum(elements, 0))
    found: NDArray[Any] = source[places]
    if not known.all():
        found[~known] = 0
    return found


def _found(matrices: NDArray[Any], elements: NDArray[np.int64]) -> tuple[NDArray[Any], Any]:
    """An array of the same memory, and what indexes elements in it by their number in C order."""
    if matrices.flags.c_contiguous:
        return matrices.reshape(-1), elements
    return matrices, np.unravel_index(elements, matrices.shape)

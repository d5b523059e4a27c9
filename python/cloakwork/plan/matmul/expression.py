"""Finds expressions of matrices among tensor operations: products of several, sums, weights.

Transposes are taken to the matrices from outside: (A B)^T is B^T A^T. A product that is used once
is part of the product that uses it, so that A (B C) is a chain of three, whose order is open.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.itself import Itself
from cloakwork.plan.matmul.recognise import matrix_pair, without_transposes
from cloakwork.plan.matmul.spine import Factor, whole_source
from cloakwork.programs.ir.tensors import (
    Contract,
    Node,
    Rearrange,
    Source,
    Sum,
    operand_nodes,
)

_MATRIX_AXES = 2
_OPERANDS = 2
# Factors of one chain, whose orders are all compared.
_MOST_FACTORS = 12
# The part of a tensor's matrices that is read at the least where they are read one by one.
_LEAST_READ = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class KnownMatrix(Source):
    """A matrix in the clear, where one from outside may stand.

    Args:
        array: The matrix.
    """

    array: NDArray[np.float64] = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Indexed(Source):
    """One of the matrices of a tensor from outside.

    Args:
        whole: The tensor, whose axes before the last two number its matrices.
        number: Which of them it is, counted in C order.
    """

    whole: Source = field(kw_only=True)
    number: int = field(kw_only=True)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of the tensor that number its matrices."""
        return tuple(range(len(self.whole.shape) - _MATRIX_AXES))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Their sizes."""
        return self.whole.shape[:-_MATRIX_AXES]


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """A matrix from outside, or one in the clear."""

    factor: Factor

    @property
    def is_known(self) -> bool:
        """Whether it is in the clear."""
        return isinstance(self.factor.source, KnownMatrix)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.factor.shape


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """A vector from outside as every row of a matrix, or as every column.

    Args:
        source: The vector.
        axis: Along which its numbers differ: 1 where it is every row.
        shape: Of the matrix.
    """

    source: Source
    axis: int
    shape: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class MatrixChain:
    """The product of two or more matrices.

    Args:
        factors: The matrices, from left to right.
        origin: The user's line.
    """

    factors: tuple[Expression, ...]
    origin: str

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of the first factor and columns of each."""
        return (self.factors[0].shape[0], *(each.shape[1] for each in self.factors))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the product."""
        return self.sizes[0], self.sizes[-1]


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """A sum of matrices, each with a sign, and of one in the clear.

    Args:
        terms: Signs, +1 or -1, and matrices.
        constant: The matrix in the clear, if any.
        shape: Of all of them.
        origin: The user's line.
    """

    terms: tuple[tuple[int, Expression], ...]
    constant: NDArray[np.float64] | None
    shape: tuple[int, int]
    origin: str


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """A matrix, every number of it times one in the clear.

    Args:
        of: The matrix.
        weights: The numbers in the clear.
        origin: The user's line.
    """

    of: Expression
    weights: NDArray[np.float64]
    origin: str

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.of.shape


@dataclass(frozen=True, slots=True, eq=False)
class Pointwise:
    """Every number of one matrix times that of another in the same place.

    Args:
        left: The one matrix.
        right: The other, or the same again.
        origin: The user's line.
    """

    left: Expression
    right: Expression
    origin: str

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.left.shape


@dataclass(frozen=True, slots=True, eq=False)
class Transposed:
    """The transpose of a matrix that is used in several places, and computed once for all."""

    of: Expression

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.of.shape
        return columns, rows


Expression: TypeAlias = (
    Matrix | Spread | MatrixChain | Combination | Weighted | Pointwise | Transposed
)


def matrix_expression(results: Sequence[Node]) -> Expression | None:
    """The expression of matrices that a graph of one result is; None where it is anything else.

    Example:
        >>> a, b, c = (Source(name, (3, 3)) for name in "abc")
        >>> first = Contract((a, b), ("ik", "kj"), "ij", (3, 3))
        >>> found = matrix_expression([Contract((first, c), ("ik", "kj"), "ij", (3, 3))])
        >>> [each.factor.source.name for each in found.factors]
        ['a', 'b', 'c']
    """
    if len(results) != 1 or len(results[0].shape) != _MATRIX_AXES:
        return None
    found = _ExpressionReader(results[0]).read(results[0], transposed=False)
    has_products = found is not None and any(map(_multiplies_encrypted, parts(found)))
    return found if has_products else None


def read_most(expressions: Iterable[Expression]) -> bool:
    """Whether expressions read half of the matrices of every tensor or more: all are encrypted.

    Example:
        >>> whole = Source("t", (3, 2, 2))
        >>> read = [
        ...     Matrix(Factor(Indexed("", (2, 2), whole=whole, number=number), False))
        ...     for number in range(2)]
        >>> read_most(read), read_most(read[:1])
        (True, False)
    """
    read: dict[Source, set[int]] = {}
    for each in chain.from_iterable(map(parts, expressions)):
        if isinstance(each, Matrix) and isinstance(each.factor.source, Indexed):
            indexed = each.factor.source
            read.setdefault(indexed.whole, set()).add(indexed.number)
    return all(
        _LEAST_READ * math.prod(whole.shape[:-_MATRIX_AXES]) <= len(numbers)
        for whole, numbers in read.items()
    )


def _multiplies_encrypted(expression: Expression) -> bool:
    """Whether it is a product of two encrypted matrices, or more."""
    if not isinstance(expression, MatrixChain):
        return False
    known = [isinstance(each, Matrix) and each.is_known for each in expression.factors]
    return known.count(False) > 1


def parts(expression: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of, each once.

    Example:
        >>> x = Matrix(Factor(Source("x", (2, 2)), False))
        >>> len(list(parts(MatrixChain((x, x), ""))))
        2
    """
    waiting, seen = [expression], set[Expression]()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        yield each
        waiting += operands(each)


def are_transposes(one: Expression, other: Expression) -> bool:
    """Whether one matrix is known to be the transpose of another.

    Example:
        >>> x = Source("x", (2, 3))
        >>> are_transposes(Matrix(Factor(x, False)), Matrix(Factor(x, True)))
        True
    """
    if isinstance(one, Matrix) and isinstance(other, Matrix):
        same = one.factor.source is other.factor.source
        return same and one.factor.transposed != other.factor.transposed
    of_one, of_other = (each.of if isinstance(each, Transposed) else each for each in (one, other))
    return of_one is of_other and isinstance(one, Transposed) != isinstance(other, Transposed)


def least_multiplications(expression: Expression) -> int:
    """Of numbers by all products, in the order of the fewest.

    Example:
        >>> a, b = (Matrix(Factor(Source(name, (2, 3)), name == "b")) for name in "ab")
        >>> least_multiplications(MatrixChain((a, b, a), ""))
        24
    """
    return sum(_fewest(each.sizes) for each in parts(expression) if isinstance(each, MatrixChain))


def _fewest(sizes: tuple[int, ...]) -> int:
    @cache
    def between(first: int, last: int) -> int:
        if last - first == 1:
            return 0
        return min(
            between(first, at) + between(at, last) + sizes[first] * sizes[at] * sizes[last]
            for at in range(first + 1, last)
        )

    return between(0, len(sizes) - 1)


def operands(expression: Expression) -> tuple[Expression, ...]:
    """What an expression is made of directly."""
    match expression:
        case MatrixChain(factors=factors):
            return factors
        case Combination(terms=terms):
            return tuple(each for _, each in terms)
        case Weighted(of=of) | Transposed(of=of):
            return (of,)
        case Pointwise(left=left, right=right):
            return left, right
        case _:
            return ()


class _ExpressionReader:
    """Reads nodes of a graph as expressions, each once for each way that it stands."""

    def __init__(self, root: Node) -> None:
        self._uses = _uses_below(root)
        self._made: dict[tuple[Node, bool], Expression | None] = {}
        self._known: dict[Itself[Node | NDArray[np.float64]], KnownMatrix] = {}
        self._matrices: dict[tuple[Source, int], Indexed] = {}

    def read(self, node: Node, *, transposed: bool) -> Expression | None:
        """What a node, or its transpose, is; None where it is nothing of the kind."""
        inner, flipped = without_transposes(node)
        inner = self._indexed(inner)
        transposed ^= flipped
        key = inner, transposed
        if key not in self._made:
            self._made[key] = self._new(inner, transposed)
        return self._made[key]

    def _new(self, node: Node, transposed: bool) -> Expression | None:
        if transposed and self._uses[node] > 1 and not isinstance(node, Source):
            found = self.read(node, transposed=False)
            return None if found is None else Transposed(found)
        node = self._with_sources(node)
        match node:
            case Source(shape=shape):
                is_matrix = len(shape) == _MATRIX_AXES
                return Matrix(Factor(node, transposed)) if is_matrix else None
            case Sum():
                return self._sum(node, transposed)
            case Contract() if matrix_pair(node) is not None:
                return self._chain(node, transposed)
            case Contract(operands=(_, _)):
                return self._pointwise(node, transposed)
            case _:
                return None

    def _indexed(self, node: Node) -> Node:
        """A matrix of a tensor from outside as one; other nodes as they are."""
        if not isinstance(node, Rearrange) or not isinstance(node.operand, Source):
            return node
        whole, count = node.operand, node.elements.size
        number, rest = divmod(int(node.elements.flat[0]), count)
        is_whole = whole.shape[-_MATRIX_AXES:] == node.shape and len(node.shape) == _MATRIX_AXES
        if not is_whole or rest or not _is_run(node.elements):
            return node
        made = Indexed(f"{whole.name}[{number}]", node.shape, whole=whole, number=number)
        return self._matrices.setdefault((whole, number), made)

    def _with_sources(self, node: Node) -> Node:
        """A product with a matrix in the clear as one of two matrices; others as they are."""
        if not isinstance(node, Contract) or len(node.operands) != _OPERANDS:
            return node
        made = replace(node, operands=tuple(map(self._as_source, node.operands)))
        if matrix_pair(made) is None:
            return node
        pairs = zip(node.operands, made.operands, strict=True)
        self._known |= {
            Itself(array): each for array, each in pairs if isinstance(each, KnownMatrix)
        }
        return made

    def _as_source(self, operand: Node | NDArray[np.float64]) -> Node:
        if not isinstance(operand, np.ndarray):
            return operand
        new = KnownMatrix(f"clear{len(self._known) + 1}", operand.shape, array=operand)
        return self._known.get(Itself(operand), new)

    def _chain(self, node: Contract, transposed: bool) -> MatrixChain | None:
        pair = matrix_pair(node)
        assert pair is not None
        factors: list[Expression] = []
        for operand, flip in reversed(pair) if transposed else pair:
            found = self.read(operand, transposed=transposed ^ flip)
            if found is None:
                return None
            factors += self._opened(operand, found)
        # What fills the places beyond a matrix must meet zeros there.
        if sum(map(_fills_padding, factors)) > 1:
            return None
        return MatrixChain(tuple(factors), node.origin)

    def _opened(self, operand: Node, found: Expression) -> tuple[Expression, ...]:
        """A factor, or those of one that is part of the chain that it stands in."""
        if not isinstance(found, MatrixChain) or not self._is_used_once(operand):
            return (found,)
        return found.factors if len(found.factors) < _MOST_FACTORS else (found,)

    def _is_used_once(self, node: Node) -> bool:
        inner = without_transposes(node)[0]
        return self._uses[node] == 1 and self._uses[inner] == 1

    def _pointwise(self, node: Contract, transposed: bool) -> Expression | None:
        one, other = node.operands
        if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
            return self._weighted(node, transposed)
        if node.labels != (node.output, node.output) or one.shape != other.shape:
            return None
        left, right = (self.read(each, transposed=transposed) for each in (one, other))
        if left is None or right is None:
            return None
        return Pointwise(left, right, node.origin)

    def _weighted(self, node: Contract, transposed: bool) -> Weighted | None:
        pairs = list(zip(node.operands, node.labels, strict=True))
        (array, names), (factor, labels) = sorted(
            pairs, key=lambda pair: not isinstance(pair[0], np.ndarray)
        )
        if not isinstance(array, np.ndarray) or isinstance(factor, np.ndarray):
            return None
        is_whole = labels == node.output and factor.shape == node.shape
        if not is_whole or len(set(names)) < len(names) or not set(names) <= set(labels):
            return None
        of = self.read(factor, transposed=transposed)
        if of is None:
            return None
        ordered = array.transpose([names.index(each) for each in labels if each in names])
        missing = tuple(axis for axis, each in enumerate(labels) if each not in names)
        weights = np.broadcast_to(np.expand_dims(ordered, missing), node.shape)
        return Weighted(of, weights.T if transposed else weights, node.origin)

    def _sum(self, node: Sum, transposed: bool) -> Combination | None:
        shape = node.shape[::-1] if transposed else node.shape
        if len(shape) != _MATRIX_AXES:
            return None
        rows, columns = shape
        terms: list[tuple[int, Expression]] = []
        constant = node.constant
        if constant is not None and transposed:
            constant = constant.T
        for term, sign in zip(node.terms, node.signs, strict=True):
            found = self._term(term, node.shape, transposed)
            if found is None:
                return None
            if isinstance(found, Combination) and self._is_used_once(term):
                terms += [(sign * inner, each) for inner, each in found.terms]
                if found.constant is not None:
                    constant = sign * found.constant + (0.0 if constant is None else constant)
            else:
                terms.append((sign, found))
        return Combination(tuple(terms), constant, (rows, columns), node.origin)

    def _term(self, term: Node, shape: tuple[int, ...], transposed: bool) -> Expression | None:
        if term.shape == shape:
            return self.read(term, transposed=transposed)
        axis = {(shape[1],): 1, (1, shape[1]): 1, (shape[0], 1): 0}.get(term.shape)
        vector = whole_source(term)
        if vector is None or axis is None:
            return None
        rows, columns = shape[::-1] if transposed else shape
        return Spread(vector, axis ^ transposed, (rows, columns))


def _is_run(elements: NDArray[np.int64]) -> bool:
    """Whether elements are neighbours in their order."""
    first = int(elements.flat[0])
    return np.array_equal(elements.ravel(), np.arange(first, first + elements.size))


def _uses_below(root: Node) -> Counter[Node]:
    """How often each node of a graph is an operand; the root is once."""
    uses = Counter([root])
    waiting, seen = [root], {root}
    while waiting:
        for each in operand_nodes(waiting.pop()):
            uses[each] += 1
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return uses


def _fills_padding(expression: Expression) -> bool:
    """Whether rows or columns beyond a matrix may hold anything but zeros."""
    match expression:
        case Spread():
            return True
        case Pointwise(left=left, right=right):
            return _fills_padding(left) and _fills_padding(right)
        case _:
            return any(map(_fills_padding, operands(expression)))

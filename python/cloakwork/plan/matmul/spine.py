"""Finds networks among tensor operations: products of matrices, functions of slots between them.

A chain is a spine X_0, X_1, ... of matrices: each is a matrix from outside times the one before,
W X, or the same function of every number of the one before, or the one before and a bias. What is
multiplied from the right is a chain of transposes: (X W)^T = W^T X^T. The first may be a
convolution of tensors from outside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.matmul.convolution import Convolution, kernel_product
from cloakwork.plan.matmul.recognise import MatrixView, matrix_pair, without_transposes
from cloakwork.programs.ir.tensors import (
    Contract,
    Node,
    Rearrange,
    Source,
    Sum,
    Within,
    operand_nodes,
)

_MATRIX_AXES = 2


@dataclass(frozen=True, slots=True)
class Factor:
    """A matrix from outside.

    Args:
        source: The tensor.
        transposed: Whether its transpose is meant.
    """

    source: Source
    transposed: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.source.shape
        return (columns, rows) if self.transposed else (rows, columns)

    @property
    def view(self) -> MatrixView:
        """How the tensor is seen as this matrix."""
        return MatrixView((1, 0) if self.transposed else (0, 1), self.shape)

    @property
    def flipped(self) -> Factor:
        """The transpose."""
        return Factor(self.source, not self.transposed)


@dataclass(frozen=True, slots=True)
class Times:
    """The next matrix is a factor times the one before.

    Args:
        factor: The factor.
        origin: The user's line.
    """

    factor: Factor
    origin: str


@dataclass(frozen=True, slots=True)
class Slotwise:
    """The next matrix has a function of each number of the one before.

    Args:
        node: What is computed.
        of: The node of the matrix before.
    """

    node: Node
    of: Node

    @property
    def nodes(self) -> list[Node]:
        """What is computed of the matrix before, each node once and after its operands."""
        found: dict[Node, None] = {}

        def visit(node: Node) -> None:
            if node is self.of or node in found:
                return
            for each in operand_nodes(node):
                visit(each)
            found[node] = None

        visit(self.node)
        return list(found)

    @property
    def products(self) -> int:
        """Products of a number that it takes."""
        return sum(isinstance(each, Contract) for each in self.nodes)

    @property
    def ranges(self) -> list[Within]:
        """What the user says of numbers on the way."""
        return [each for each in self.nodes if isinstance(each, Within)]

    @property
    def pads_within_ranges(self) -> bool:
        """Whether no absolute value exceeds these ranges in slots without an element: 0 before."""
        return all(
            abs(_at_zero(each, self.of)) <= max(abs(each.low), abs(each.high))
            for each in self.ranges
        )


@dataclass(frozen=True, slots=True, eq=False)
class Plus:
    """The next matrix is the one before and what is added to its columns.

    Args:
        vectors: Vectors from outside that are added to every column.
        constant: A matrix in the clear that is added, if any.
        origin: The user's line.
    """

    vectors: tuple[Source, ...]
    constant: NDArray[np.float64] | None
    origin: str


Step: TypeAlias = Times | Slotwise | Plus
_Begun: TypeAlias = tuple[Factor | Convolution, list[Step]]


@dataclass(frozen=True, slots=True)
class Spine:
    """A chain of products of matrices.

    Args:
        first: The matrix that it begins with.
        steps: What becomes of it.
        transposed: Whether the result is the transpose of the last matrix.
    """

    first: Factor | Convolution
    steps: tuple[Step, ...]
    transposed: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Of the last matrix."""
        products = [step.factor for step in self.steps if isinstance(step, Times)]
        return products[-1].shape[0], self.first.shape[1]

    @property
    def multiplications(self) -> int:
        """Of numbers by products, in the clear."""
        columns = self.first.shape[1]
        products = [step.factor.shape for step in self.steps if isinstance(step, Times)]
        convolved = self.first.multiplications if isinstance(self.first, Convolution) else 0
        return convolved + sum(rows * inner * columns for rows, inner in products)

    @property
    def has_biases(self) -> bool:
        """Whether anything is added to a product on the way."""
        return any(isinstance(step, Plus) for step in self.steps)

    @property
    def least_depth(self) -> int:
        """Levels that it takes at least: one a product."""
        products = sum(isinstance(step, Times) for step in self.steps)
        return products + isinstance(self.first, Convolution)


def spines(results: Sequence[Node]) -> list[Spine]:
    """The chains that a graph of one result may be computed as; none where it is no chain.

    Of products alone, without a function, there is none: see `plan.matmul.expression`.

    Example:
        >>> v, w, x = (Source(name, (3, 3)) for name in "vwx")
        >>> hidden = Contract((w, x), ("ik", "kj"), "ij", (3, 3))
        >>> square = Contract((hidden, hidden), ("ij", "ij"), "ij", (3, 3))
        >>> (found,) = spines([Contract((v, square), ("ik", "kj"), "ij", (3, 3))])
        >>> found.first.source.name, len(found.steps)
        ('x', 3)
    """
    if len(results) != 1 or len(results[0].shape) != _MATRIX_AXES:
        return []
    if _factors(results[0], transposed=False) is not None:
        return []
    found = (_spine(results[0], transposed=each) for each in (False, True))
    return [
        Spine(first, tuple(steps), transposed)
        for transposed, each in zip((False, True), found, strict=True)
        if each is not None
        for first, steps in [each]
        if any(isinstance(step, Times) for step in steps)
    ]


def _factors(node: Node, *, transposed: bool) -> list[Factor] | None:
    """The matrices that a node is the product of; None where there is anything else."""
    inner, flipped = without_transposes(node)
    transposed ^= flipped
    if isinstance(inner, Source):
        return [Factor(inner, transposed)] if len(inner.shape) == _MATRIX_AXES else None
    pair = matrix_pair(inner)
    if pair is None:
        return None
    made: list[Factor] = []
    for operand, turned_over in reversed(pair) if transposed else pair:
        found = _factors(operand, transposed=transposed ^ turned_over)
        if found is None:
            return None
        made += found
    return made


def _spine(node: Node, *, transposed: bool) -> _Begun | None:
    """The chain that ends in a node, or in its transpose."""
    inner, flipped = without_transposes(node)
    transposed ^= flipped
    if isinstance(inner, Source):
        return None
    pair = matrix_pair(inner)
    if pair is None:
        convolved = kernel_product(inner, transposed=transposed)
        if convolved is not None:
            return convolved, []
        sum_of = _biased(inner, transposed=transposed)
        if sum_of is not None:
            of, bias = sum_of
            begun = _spine(of, transposed=transposed)
            # What lies as a convolution has its biases there.
            is_product = begun is not None and any(isinstance(each, Times) for each in begun[1])
            return (begun[0], [*begun[1], bias]) if begun is not None and is_product else None
        return _through_function(inner, transposed=transposed)
    (left, left_turned), (right, right_turned) = pair
    if transposed:
        (left, left_turned), (right, right_turned) = (
            (right, not right_turned),
            (left, not left_turned),
        )
    factors = [
        _factors(each, transposed=flip)
        for each, flip in ((left, left_turned), (right, right_turned))
    ]
    if factors[0] is None or len(factors[0]) > 1:
        return None
    assert isinstance(inner, Contract)
    step = Times(factors[0][0], inner.origin)
    if factors[1] is not None and len(factors[1]) == 1:
        return factors[1][0], [step]
    before = _spine(right, transposed=right_turned)
    return None if before is None else (before[0], [*before[1], step])


def _through_function(node: Node, *, transposed: bool) -> _Begun | None:
    of = _argument(node, transposed=transposed)
    if of is None:
        return None
    step = Slotwise(node, of)
    before = _spine(of, transposed=transposed)
    if before is None or not step.pads_within_ranges:
        return None
    return before[0], [*before[1], step]


def _biased(node: Node, *, transposed: bool) -> tuple[Node, Plus] | None:
    """A matrix, and what is added to all of its columns: vectors, and numbers that differ."""
    if not isinstance(node, Sum) or min(node.signs) < 0:
        return None
    shape = node.shape[::-1] if transposed else node.shape
    column = {(1, shape[0]), (shape[0],)} if transposed else {(shape[0], 1)}
    vectors, others = list[Source](), list[Node]()
    for term in node.terms:
        found = whole_source(term) if term.shape in column and term.shape != node.shape else None
        if found is None:
            others.append(term)
        else:
            vectors.append(found)
    constant = node.constant
    is_of_one = len(others) == 1 and others[0].shape == node.shape
    if not is_of_one or not (vectors or (constant is not None and not _uniform(constant))):
        return None
    if constant is not None and transposed:
        constant = constant.T
    return others[0], Plus(tuple(vectors), constant, node.origin)


def whole_source(node: Node) -> Source | None:
    """The tensor from outside that has the numbers of a node in the same order, if there is one.

    Example:
        >>> x = Source("x", (4,))
        >>> whole_source(Rearrange(x, np.arange(4).reshape(4, 1))) is x
        True
    """
    if isinstance(node, Source):
        return node
    if not isinstance(node, Rearrange) or not isinstance(node.operand, Source):
        return None
    count = math.prod(node.operand.shape)
    is_same = node.elements.size == count and np.array_equal(node.elements.ravel(), range(count))
    return node.operand if is_same else None


def _argument(node: Node, *, transposed: bool) -> Node | None:
    """The one product of matrices or convolution that a node is a function of slot by slot."""
    found: Node | None = None
    waiting = [node]
    seen: set[Node] = set()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        is_product = matrix_pair(each) is not None
        is_product = is_product or _biased(each, transposed=transposed) is not None
        if is_product or kernel_product(each, transposed=transposed) is not None:
            if found is not None and found is not each:
                return None
            found = each
        elif is_slotwise(each):
            waiting += operand_nodes(each)
        else:
            return None
    return found


def is_slotwise(node: Node) -> bool:
    """Whether a node works on each number by itself, with numbers in the clear that are all equal.

    Example:
        >>> x = Source("x", (2, 2))
        >>> is_slotwise(Contract((x, x), ("ij", "ij"), "ij", (2, 2)))
        True
    """
    match node:
        case Contract(operands=operands, labels=labels, output=output):
            distinct = len(set(output)) == len(output)
            whole = all(
                names == output if not isinstance(each, np.ndarray) else _uniform(each)
                for each, names in zip(operands, labels, strict=True)
            )
            return distinct and whole and len(operands) == 2
        case Sum(terms=terms, constant=constant, shape=shape):
            alike = all(each.shape == shape for each in terms)
            return alike and (constant is None or _uniform(constant))
        case Within():
            return True
        case _:
            return False


def _at_zero(node: Node, of: Node) -> float:
    """What a function of each number comes to where these are 0."""
    if node is of:
        return 0.0
    match node:
        case Contract(operands=operands):
            return math.prod(
                float(each.flat[0]) if isinstance(each, np.ndarray) else _at_zero(each, of)
                for each in operands
            )
        case Sum(terms=terms, signs=signs, constant=constant):
            total = 0.0 if constant is None else float(constant.flat[0])
            for term, sign in zip(terms, signs, strict=True):
                total += sign * _at_zero(term, of)
            return total
        case Within(operand=operand):
            return _at_zero(operand, of)
        case _:
            raise AssertionError("only slotwise nodes are functions of numbers")


def _uniform(array: NDArray[np.float64]) -> bool:
    return bool((array == array.flat[0]).all())

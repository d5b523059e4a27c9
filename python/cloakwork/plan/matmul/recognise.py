"""Finds products of matrices among tensor operations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cloakwork.plan.matmul.product import Product
from cloakwork.programs.ir.tensors import Contract, Node, Source


@dataclass(frozen=True, slots=True)
class MatrixView:
    """A tensor seen as a batch of matrices.

    Args:
        order: Its axes, those of the batch, of rows and of columns in turn.
        sizes: Their sizes in that order.
    """

    order: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MatrixContraction:
    """A contraction of two encrypted tensors that is a product of batches of matrices.

    Args:
        product: The product.
        sources: The tensors that go in, left and right.
        operands: How these are seen as matrices.
        result: How the result is.
        origin: The user's line.
    """

    product: Product
    sources: tuple[Source, Source]
    operands: tuple[MatrixView, MatrixView]
    result: MatrixView
    origin: str


@dataclass(frozen=True, slots=True)
class Turned:
    """A node, and which of its axes each axis of what is made of it is."""

    node: Node
    axes: tuple[int, ...]


def matrix_contraction(results: Sequence[Node]) -> MatrixContraction | None:
    """The product that a graph of one result is; None where it is anything else.

    Axes may be in any order before and after. Labels that both tensors and the result have number
    the matrices of a batch, those that both have and the result has not are the inner index.

    Example:
        >>> x, y = Source("x", (2, 3)), Source("y", (4, 3))
        >>> matrix_contraction([Contract((x, y), ("ik", "jk"), "ij", (2, 4))]).product
        Product(batch=1, rows=2, inner=3, columns=4)
    """
    if len(results) != 1:
        return None
    outer = turned(results[0])
    if not isinstance(outer.node, Contract) or len(outer.node.operands) != 2:
        return None
    contraction = outer.node
    operands = [turned(each) for each in contraction.operands if not isinstance(each, np.ndarray)]
    sources = [each.node for each in operands if isinstance(each.node, Source)]
    sizes = _label_sizes(contraction)
    if len(sources) != 2 or sizes is None:
        return None
    one, other = contraction.labels
    output = contraction.output
    batch = [label for label in output if label in one and label in other]
    rows = [label for label in output if label not in other]
    columns = [label for label in output if label not in one]
    inner = [label for label in one if label in other and label not in output]
    summed_alone = (set(one) ^ set(other)) - set(output)
    if summed_alone or not inner or not rows or not columns:
        return None
    groups = {"batch": batch, "rows": rows, "inner": inner, "columns": columns}
    product = Product(
        **{name: math.prod(sizes[label] for label in each) for name, each in groups.items()}
    )
    views = (
        _view(one, batch + rows + inner, operands[0].axes, sizes),
        _view(other, batch + inner + columns, operands[1].axes, sizes),
    )
    placed = np.argsort(outer.axes).tolist()
    result = _view(output, batch + rows + columns, tuple(placed), sizes)
    return MatrixContraction(product, (sources[0], sources[1]), views, result, contraction.origin)


def turned(node: Node) -> Turned:
    """A node without the transposes that end in it."""
    axes = tuple(range(len(node.shape)))
    while isinstance(node, Contract) and len(node.operands) == 1:
        (labels,), output = node.labels, node.output
        inner = node.operands[0]
        if sorted(labels) != sorted(output) or len(set(labels)) < len(labels):
            break
        if isinstance(inner, np.ndarray):
            break
        axes = tuple(labels.index(output[axis]) for axis in axes)
        node = inner
    return Turned(node, axes)


def without_transposes(node: Node) -> tuple[Node, bool]:
    """A node without the transposes that end in it, and whether they transpose it.

    Example:
        >>> x = Source("x", (2, 3))
        >>> without_transposes(Contract((x,), ("ij",), "ji", (3, 2))) == (x, True)
        True
    """
    found = turned(node)
    return found.node, found.axes == (1, 0)


def matrix_pair(node: Node) -> tuple[tuple[Node, bool], tuple[Node, bool]] | None:
    """The left and the right operand of a product of two matrices, and whether each is transposed.

    None of what is no such product.

    Example:
        >>> x = Source("x", (2, 3))
        >>> matrix_pair(Contract((x, x), ("ik", "jk"), "ij", (2, 2))) == ((x, False), (x, True))
        True
    """
    if not isinstance(node, Contract) or len(node.operands) != 2:
        return None
    one, other = node.operands
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return None
    terms, output = node.labels, node.output
    shapes = [len(each.shape) for each in (one, other)]
    inner = set(terms[0]) & set(terms[1]) - set(output)
    whole = shapes == [2, 2] and len(inner) == 1 and len(set(output)) == 2
    if not whole or any(len(set(each)) < len(each) for each in terms):
        return None
    if {*terms[0], *terms[1]} != {*output, *inner} or set(terms[0]) == set(terms[1]):
        return None
    sizes = dict(zip(terms[0], one.shape, strict=True))
    if any(
        sizes.get(label, size) != size for label, size in zip(terms[1], other.shape, strict=True)
    ):
        return None
    pairs = [(one, terms[0]), (other, terms[1])]
    if output[0] not in terms[0]:
        pairs.reverse()
    (left, of_left), (right, of_right) = pairs
    return (left, of_left[0] != output[0]), (right, of_right[1] != output[1])


def _label_sizes(contraction: Contract) -> Mapping[str, int] | None:
    """The size of every label; None where one comes twice in a term, or an axis is stretched."""
    sizes: dict[str, int] = {}
    for operand, labels in zip(contraction.operands, contraction.labels, strict=True):
        if len(set(labels)) < len(labels):
            return None
        for label, size in zip(labels, operand.shape, strict=True):
            if sizes.setdefault(label, size) != size:
                return None
    return sizes


def _view(
    term: str, labels: Sequence[str], axes: tuple[int, ...], sizes: Mapping[str, int]
) -> MatrixView:
    return MatrixView(
        tuple(axes[term.index(label)] for label in labels),
        tuple(sizes[label] for label in labels),
    )

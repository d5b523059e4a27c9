"""Brings the rearrangements of a graph as near to the tensors from outside as they go.

What is a reshape of a square is a square of a reshape, and rearrangements of one another are one.
So products of matrices are seen however their operands came to be matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.matmul.recognise import matrix_pair
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.ir.elementwise import LABELS
from cloakwork.programs.ir.tensors import (
    Contract,
    Node,
    Rearrange,
    Source,
    Sum,
    Within,
    on_operands,
)

_MATRIX_AXES = 2
_OPERANDS = 2
_Elements = NDArray[np.int64]


def rearranged_sources(results: Sequence[Node]) -> list[Node]:
    """The same results, rearranged before functions of single numbers rather than after them.

    Example:
        >>> x = Source("x", (2, 2))
        >>> square = Contract((x, x), ("ij", "ij"), "ij", (2, 2))
        >>> (found,) = rearranged_sources([Rearrange(square, np.arange(4))])
        >>> found.operands[0].operand is x
        True
    """
    made: dict[Node, Node] = {}
    for node in in_order(results):
        new = on_operands(node, made.__getitem__)
        if isinstance(new, Rearrange):
            made[node] = _rearranged(new.operand, new.elements, new.origin, {})
        else:
            made[node] = _as_matrices(new) if isinstance(new, Contract) else new
    return [made[each] for each in results]


def _rearranged(node: Node, elements: _Elements, origin: str, made: dict[Node, Node]) -> Node:
    """Elements of a node, of which others may be known by what they are rearranged of."""
    if node not in made:
        made[node] = _new(node, elements, origin, made)
    return made[node]


def _new(node: Node, elements: _Elements, origin: str, made: dict[Node, Node]) -> Node:
    match node:
        case Rearrange(operand=operand, elements=inner):
            return _rearranged(operand, inner.ravel()[elements], origin, {})
        case Contract(operands=(operand,), labels=(labels,), output=output) if not isinstance(
            operand, np.ndarray
        ) and sorted(labels) == sorted(output):
            numbers = np.arange(math.prod(operand.shape)).reshape(operand.shape)
            turned = numbers.transpose([labels.index(each) for each in output])
            return _rearranged(operand, turned.ravel()[elements], origin, {})
        case _ if is_identity(node, elements):
            return node
        case Contract(operands=operands, labels=labels, output=output) if len(
            operands
        ) == _OPERANDS and all(
            each.size == 1
            if isinstance(each, np.ndarray)
            else names == output and each.shape == node.shape
            for each, names in zip(operands, labels, strict=True)
        ):
            axes = LABELS[: elements.ndim]
            return Contract(
                tuple(
                    each.reshape(())
                    if isinstance(each, np.ndarray)
                    else _rearranged(each, elements, origin, made)
                    for each in operands
                ),
                tuple("" if isinstance(each, np.ndarray) else axes for each in operands),
                axes,
                elements.shape,
                node.origin,
            )
        case Sum(terms=terms, constant=constant) if all(each.shape == node.shape for each in terms):
            return Sum(
                tuple(_rearranged(each, elements, origin, made) for each in terms),
                node.signs,
                None if constant is None else constant.ravel()[elements],
                elements.shape,
                node.origin,
            )
        case Within(operand=operand):
            return on_operands(node, lambda each: _rearranged(each, elements, origin, made))
        case _:
            return _transposed(node, elements) or Rearrange(node, elements, origin)


def is_identity(node: Node, elements: _Elements) -> bool:
    """Whether elements of a node are all of them, where they are.

    Example:
        >>> is_identity(Source("x", (2, 2)), np.arange(4).reshape(2, 2))
        True
    """
    is_whole = elements.shape == node.shape
    return is_whole and bool((elements.ravel() == np.arange(elements.size)).all())


def _transposed(node: Node, elements: _Elements) -> Contract | None:
    """The transpose of a matrix, if that is what its elements are."""
    if len(node.shape) != _MATRIX_AXES or elements.shape != node.shape[::-1]:
        return None
    return (
        Contract((node,), ("ij",), "ji", elements.shape) if is_identity(node, elements.T) else None
    )


def _as_matrices(node: Contract) -> Node:
    """A product over several axes at once as one of two matrices, where both are whole."""
    if len(node.operands) != _OPERANDS or matrix_pair(node) is not None:
        return node
    one, other = node.operands
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return node
    (left, right), output = node.labels, node.output
    sizes = dict(zip(left + right, one.shape + other.shape, strict=True))
    is_stretched = any(
        sizes[label] != size
        for labels, operand in ((left, one), (right, other))
        for label, size in zip(labels, operand.shape, strict=True)
    )
    is_repeated = any(len({*labels}) < len(labels) for labels in node.labels)
    rows = "".join(each for each in output if each not in right)
    columns = "".join(each for each in output if each not in left)
    inner = "".join(each for each in left if each in right and each not in output)
    is_product = rows and columns and inner and sorted(rows + columns) == sorted(output)
    if not is_product or is_stretched or is_repeated:
        return node
    if sorted(rows + inner) != sorted(left) or sorted(inner + columns) != sorted(right):
        return node
    row_count, inner_count, column_count = (
        math.prod(sizes[label] for label in labels) for labels in (rows, inner, columns)
    )
    of_left = _matrix(one, left, rows + inner, (row_count, inner_count))
    of_right = _matrix(other, right, inner + columns, (inner_count, column_count))
    # What has more than the elements of one tensor, or fewer, is not a matrix from outside.
    if any(
        isinstance(each, Rearrange) and isinstance(each.operand, Source)
        for each in (of_left, of_right)
    ):
        return node
    whole = Contract(
        (of_left, of_right), ("ik", "kj"), "ij", (row_count, column_count), node.origin
    )
    placed = np.arange(row_count * column_count).reshape([sizes[each] for each in rows + columns])
    elements = placed.transpose([(rows + columns).index(each) for each in output])
    return _rearranged(whole, elements, node.origin, {})


def _matrix(node: Node, labels: str, order: str, shape: tuple[int, int]) -> Node:
    numbers = np.arange(math.prod(node.shape)).reshape(node.shape)
    elements = numbers.transpose([labels.index(each) for each in order]).reshape(shape)
    return _rearranged(node, elements, "", {})

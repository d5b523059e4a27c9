"""Finds batches of matrices: tensor operations that do the same with each matrix of a batch.

What is left once the axes of the batch are taken away are operations on matrices, which are planned
once and done for each matrix. Tensors without these axes are the same for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.matmul.recognise import MatrixView
from cloakwork.programs.ir.tensors import Contract, Node, Source, Sum
from cloakwork.programs.matrices import BlockLayout, MatrixPlace

_MATRIX_AXES = 2
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class BatchedSource:
    """A tensor from outside.

    Args:
        source: The tensor.
        axes: Those of its axes that number the matrices of the batch; none where it is one for all.
        ones: Axes of size 1 in their place, where it is one for all.
    """

    source: Source
    axes: tuple[int, ...]
    ones: tuple[int, ...] = ()

    def place(self, layout: BlockLayout, view: MatrixView, sizes: tuple[int, ...]) -> MatrixPlace:
        """Where the tensor lies, given how it is seen as a matrix without the axes of the batch."""
        leading = self.axes or self.ones
        rest = [each for each in range(len(self.source.shape)) if each not in leading]
        order = (*leading, *(rest[each] for each in view.order))
        of_leading = sizes if self.axes else (1,) * len(self.ones)
        return MatrixPlace(layout, order, (*of_leading, *view.sizes))


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of matrices.

    Args:
        sizes: Those of its axes; none where there is one matrix.
        axes: Those of the result that they are.
        sources: For each source of the operations on one matrix the tensor that it is part of.
    """

    sizes: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    sources: Mapping[Source, BatchedSource] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many matrices.

        Example:
            >>> Batch((2, 3)).count, Batch().count
            (6, 1)
        """
        return math.prod(self.sizes)

    def of(self, source: Source) -> BatchedSource:
        """The tensor that a source is part of."""
        return self.sources.get(source, BatchedSource(source, ()))

    def result(self, layout: BlockLayout, shape: tuple[int, int]) -> MatrixPlace:
        """Where the result lies, given the shape of one matrix of it."""
        ndim = len(self.sizes) + len(shape)
        rest = [each for each in range(ndim) if each not in self.axes]
        return MatrixPlace(layout, (*self.axes, *rest), (*self.sizes, *shape))


def batches(results: Sequence[Node]) -> Iterator[tuple[Node, Batch]]:
    """The ways to see a graph of one result as a batch: what is done with a matrix, and the batch.

    Example:
        >>> x, y = Source("x", (5, 2, 3)), Source("y", (5, 3, 4))
        >>> product = Contract((x, y), ("bik", "bkj"), "bij", (5, 2, 4))
        >>> [(node.output, batch.sizes) for node, batch in batches([product])]
        [('ij', (5,)), ('bj', (2,)), ('bi', (4,))]
    """
    if len(results) != 1:
        return
    (root,) = results
    ndim = len(root.shape)
    if ndim <= _MATRIX_AXES:
        return
    # Mostly the last axes are those of matrices.
    for kept in sorted(combinations(range(ndim), _MATRIX_AXES), reverse=True):
        axes = tuple(each for each in range(ndim) if each not in kept)
        sizes = tuple(root.shape[each] for each in axes)
        cutter = _Cutter(sizes)
        node = cutter.cut(root, axes)
        if node is not None:
            yield node, Batch(sizes, axes, cutter.sources)


class _Cutter:
    """Takes the axes of a batch away from nodes, each once for each way that it stands."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sources: dict[Source, BatchedSource] = {}
        self._sizes = sizes
        self._made: dict[tuple[Node, tuple[int, ...]], Node | None] = {}

    def cut(self, node: Node, axes: tuple[int, ...]) -> Node | None:
        """A node without some axes; None where these are no batch of it."""
        key = node, axes
        if key not in self._made:
            sizes = tuple(node.shape[each] for each in axes)
            # What has size 1 there is one for all of the batch.
            fits = sizes == self._sizes or all(size == 1 for size in sizes)
            self._made[key] = self._cut(node, axes) if fits else None
        return self._made[key]

    def _cut(self, node: Node, axes: tuple[int, ...]) -> Node | None:
        match node:
            case Source():
                made = replace(node, shape=_without(node.shape, axes))
                is_batch = tuple(node.shape[each] for each in axes) == self._sizes
                ways = (axes, ()) if is_batch else ((), axes)
                self.sources[made] = BatchedSource(node, *ways)
                return made
            case Contract():
                return self._contraction(node, axes)
            case Sum():
                return self._sum(node, axes)
            case _:
                return None

    def _contraction(self, node: Contract, axes: tuple[int, ...]) -> Node | None:
        of_batch = [node.output[each] for each in axes]
        operands: list[Node | NDArray[np.float64]] = []
        labels: list[str] = []
        for operand, term in zip(node.operands, node.labels, strict=True):
            places = tuple(term.index(label) for label in of_batch if label in term)
            once = all(term.count(label) == 1 for label in of_batch if label in term)
            if not once or len(places) not in (0, len(of_batch)):
                return None
            if isinstance(operand, np.ndarray):
                if any(operand.shape[each] > 1 for each in places):
                    return None
                operands.append(operand.reshape(_without(operand.shape, places)))
            else:
                found = self.cut(operand, places)
                if found is None:
                    return None
                operands.append(found)
            labels.append("".join(_without(term, places)))
        output = "".join(_without(node.output, axes))
        shape = _without(node.shape, axes)
        return Contract(tuple(operands), tuple(labels), output, shape, node.origin)

    def _sum(self, node: Sum, axes: tuple[int, ...]) -> Node | None:
        ndim = len(node.shape)
        terms: list[Node] = []
        for term in node.terms:
            # Axes stretch from the last one.
            missing = ndim - len(term.shape)
            places = tuple(each - missing for each in axes if each >= missing)
            found = self.cut(term, places) if len(places) in (0, len(axes)) else None
            if found is None:
                return None
            terms.append(found)
        constant = node.constant
        if constant is not None:
            one, every = slice(1), slice(None)
            first = constant[tuple(one if each in axes else every for each in range(ndim))]
            if not (constant == first).all():
                return None
            constant = first.reshape(_without(node.shape, axes))
        return replace(
            node, terms=tuple(terms), constant=constant, shape=_without(node.shape, axes)
        )


def _without(each: Sequence[_T], axes: Sequence[int]) -> tuple[_T, ...]:
    return tuple(item for place, item in enumerate(each) if place not in axes)

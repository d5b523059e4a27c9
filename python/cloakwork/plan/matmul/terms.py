"""Reads nodes as sums of products of single numbers with rows: windows of images times kernels.

A row has a number for each image: what lies along the axis of the images. However a sum is spelled,
as a loop, by slices, stacks, einsums or axes that are summed, each row of the result is a sum of
some numbers times some rows, of numbers alone, and of numbers in the clear.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.ir.elementwise import LABELS
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Source, Sum

Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]

_Axes = TypeVar("_Axes", str, tuple[int, ...])
_MATRIX_AXES = 2

# In place of a number or a row: a product without it. Without both there is no product.
ONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """For each row of a node the products that it is the sum of.

    Args:
        numbers: Which number of all, or `ONE`; the last axis counts products.
        rows: Which row of all, or `ONE`.
        constant: What is added in the clear, in the node's shape.
    """

    numbers: Indices
    rows: Indices
    constant: Numbers | None = None

    def rearranged(self, by: Callable[[Indices], Indices]) -> Terms:
        """The same of both kinds of indices, without what is added in the clear."""
        return Terms(by(self.numbers), by(self.rows))

    @property
    def held(self) -> NDArray[np.bool_]:
        """Where there is a product."""
        found: NDArray[np.bool_] = (self.numbers != ONE) | (self.rows != ONE)
        return found

    @property
    def without_gaps(self) -> Terms:
        """The same, with no more places than the row of the most products has."""
        held = self.held
        if held.all():
            return self
        order = np.argsort(~held, axis=-1, kind="stable")[..., : max(1, held.sum(axis=-1).max())]
        return Terms(
            np.take_along_axis(self.numbers, order, -1),
            np.take_along_axis(self.rows, order, -1),
            self.constant,
        )


@dataclass(slots=True)
class TermReader:
    """Reads nodes of a graph by the axis that their images lie along.

    Args:
        numbers: The tensors whose numbers are single, and the first number of each.
        images: The tensors that have rows, the first row of each, and the axis of its images.
    """

    numbers: dict[Source, int] = field(default_factory=dict)
    images: dict[Source, tuple[int, int]] = field(default_factory=dict)
    _count: int = 0
    _count_of_rows: int = 0
    _read: dict[tuple[Node, int | None], Terms | None] = field(default_factory=dict)

    def read(self, node: Node, axis: int | None) -> Terms | None:
        """What a node is the sum of, by rows along an axis, or by numbers without one.

        Example:
            >>> w, x = Source("w", (2,)), Source("x", (2, 5))
            >>> found = TermReader().read(Contract((w, x), ("k", "kn"), "n", (5,)), 0)
            >>> found.numbers.tolist(), found.rows.tolist()
            ([0, 1], [0, 1])
        """
        key = node, axis
        if key not in self._read:
            self._read[key] = self._new(node, axis)
        return self._read[key]

    def _new(self, node: Node, axis: int | None) -> Terms | None:
        match node:
            case Source():
                return self._source(node, axis)
            case Sum():
                return self._sum(node, axis)
            case Rearrange():
                return self._rearranged(node, axis)
            case Contract(operands=(operand,)) if not isinstance(operand, np.ndarray):
                return self._summed(node, operand, axis)
            case Contract(operands=(_, _), labels=(one, other)) if len({*one}) == len(one) and len(
                {*other}
            ) == len(other):
                return self._contracted(node, axis)
            case _:
                return None

    def _source(self, source: Source, axis: int | None) -> Terms | None:
        count = math.prod(source.shape)
        if axis is None:
            if source in self.images:
                return None
            if source not in self.numbers:
                self.numbers[source] = self._count
                self._count += count
            first, shape = self.numbers[source], source.shape
        else:
            count //= source.shape[axis]
            if source not in self.images and source not in self.numbers:
                self.images[source] = self._count_of_rows, axis
                self._count_of_rows += count
            first, known_axis = self.images.get(source, (0, -1))
            if known_axis != axis:
                return None
            shape = (*source.shape[:axis], *source.shape[axis + 1 :])
        indices = (first + np.arange(count)).reshape(*shape, 1)
        nothing = np.full_like(indices, ONE)
        return Terms(indices, nothing) if axis is None else Terms(nothing, indices)

    def _sum(self, node: Sum, axis: int | None) -> Terms | None:
        summands = _summands(node)
        if summands is None:
            return None
        terms, constant = summands
        shape = _without(node.shape, axis)
        numbers: list[Indices] = []
        rows: list[Indices] = []
        for term in terms:
            found = self._stretched(term, node.shape, axis)
            if found is None:
                return None
            if found.constant is not None:
                constant = constant + found.constant
            for made, each in ((numbers, found.numbers), (rows, found.rows)):
                made.append(np.broadcast_to(each, (*shape, each.shape[-1])))
        return Terms(
            np.concatenate(numbers, axis=-1),
            np.concatenate(rows, axis=-1),
            np.broadcast_to(constant, node.shape) if np.any(constant) else None,
        ).without_gaps

    def _stretched(self, term: Node, shape: tuple[int, ...], axis: int | None) -> Terms | None:
        """A summand, whose axes of size 1 may stretch to those of the sum."""
        missing = len(shape) - len(term.shape)
        if axis is None:
            return self.read(term, None)
        own = axis - missing
        if own >= 0 and term.shape[own] == shape[axis]:
            return self.read(term, own)
        found = self.read(term, None)
        if found is None or own < 0:
            return found
        squeezed = found.rearranged(lambda each: each.squeeze(own))
        return replace(squeezed, constant=found.constant)

    def _rearranged(self, node: Rearrange, axis: int | None) -> Terms | None:
        elements, operand = node.elements, node.operand
        if isinstance(operand, Rearrange):
            composed = operand.elements.ravel()[elements]
            return self.read(replace(node, operand=operand.operand, elements=composed), axis)
        if axis is None:
            return _taken(self.read(operand, None), elements, elements)
        size = elements.shape[axis]
        first = np.asarray(elements.take(0, axis))
        step = int((elements.take(1, axis) - first).flat[0]) if size > 1 else 1
        along = step * np.arange(size).reshape(-1, *(1,) * (elements.ndim - axis - 1))
        if not (elements == np.expand_dims(first, axis) + along).all():
            return None
        if step == 0:
            found = self.read(operand, None)
            return None if found is None or found.constant is not None else _taken(found, first)
        strides = [math.prod(operand.shape[each + 1 :]) for each in range(len(operand.shape))]
        places = [*zip(strides, operand.shape, strict=True)]
        if (step, size) not in places:
            split = _with_axis_split(operand, step, size)
            return None if split is None else self.read(replace(node, operand=split), axis)
        # Of one image the last axis.
        own, stride = len(places) - 1 - places[::-1].index((step, size)), step
        if (first // stride % size).any():
            return None
        found = self.read(operand, own)
        return _taken(found, first // (stride * size) * stride + first % stride, elements)

    def _summed(self, node: Contract, operand: Node, axis: int | None) -> Terms | None:
        """Axes in another order, and some summed."""
        (labels,), output = node.labels, node.output
        if len(set(labels)) < len(labels) or not set(output) <= set(labels):
            return None
        own = None if axis is None else labels.index(output[axis])
        found = self.read(operand, own)
        if found is None:
            return None
        summed = "".join(sorted(set(labels) - set(output)))
        shape = _without(node.shape, axis)
        made = found.rearranged(
            lambda each: _aligned(each, _without(labels, own), _without(output, axis) + summed)
        )
        made = made.rearranged(lambda each: each.reshape(*shape, -1))
        constant = found.constant
        if constant is not None:
            constant = constant.transpose([labels.index(each) for each in output + summed])
            constant = constant.sum(axis=tuple(range(len(output), len(labels))))
        return Terms(made.numbers, made.rows, constant)

    def _contracted(self, node: Contract, axis: int | None) -> Terms | None:
        one, other = node.operands
        if isinstance(one, np.ndarray):
            return None if isinstance(other, np.ndarray) else self._placed(node, other, one, axis)
        if isinstance(other, np.ndarray):
            return self._placed(node, one, other, axis)
        if axis is None:
            return None
        read = [_shrunk(*each) for each in zip((one, other), node.labels, strict=True)]
        label, columns = node.output[axis], node.shape[axis]
        images = [
            number
            for number, (operand, labels, _) in enumerate(read)
            if label in labels and operand.shape[labels.index(label)] == columns
        ]
        if len(images) != 1:
            return None
        (image,) = images
        own = read[image][1].index(label)
        rows = self.read(read[image][0], own)
        numbers = self.read(read[1 - image][0], None)
        if rows is None or numbers is None or rows.constant is not None:
            return None
        if numbers.constant is not None or (rows.numbers != ONE).any():
            return None
        summed = sorted({*read[0][2], *read[1][2]} - {*node.output})
        output = _without(node.output, axis)
        axes = output + "".join(summed)
        left = _along(numbers.numbers, read[1 - image][1], read[1 - image][2], axes)
        right = _along(rows.rows, _without(read[image][1], own), read[image][2], axes)
        left, right = np.broadcast_arrays(left[..., np.newaxis], right[..., np.newaxis, :])
        is_held = (left != ONE) & (right != ONE)
        shape = _without(node.shape, axis)
        if left.shape[: len(shape)] != shape:
            return None
        made = Terms(np.where(is_held, left, ONE), np.where(is_held, right, ONE))
        return made.rearranged(lambda each: each.reshape(*shape, -1)).without_gaps

    def _placed(
        self, node: Contract, operand: Node, places: Numbers, axis: int | None
    ) -> Terms | None:
        """A tensor within zeros along an axis, by a product with part of an identity."""
        labels, of_places = node.labels if node.operands[0] is operand else node.labels[::-1]
        if places.ndim != _MATRIX_AXES:
            return None
        old, new = sorted(of_places, key=lambda each: each not in labels)
        matrix = places if of_places[0] == old else places.T
        is_moved = old in labels and old not in node.output and new not in labels
        if not is_moved or labels.replace(old, new) != node.output:
            return None
        at = labels.index(old)
        if axis == at or not np.isin(matrix, (0.0, 1.0)).all() or (matrix.sum(axis=0) > 1).any():
            return None
        found = self.read(operand, axis)
        if found is None:
            return None
        place, is_there = matrix.argmax(axis=0), matrix.any(axis=0)
        own = at - (axis is not None and axis < at)

        def moved(each: Indices) -> Indices:
            shape = [-1 if number == own else 1 for number in range(each.ndim)]
            return np.where(is_there.reshape(shape), each.take(place, own), ONE)

        made, constant = found.rearranged(moved), found.constant
        if constant is not None:
            shape = [-1 if number == at else 1 for number in range(constant.ndim)]
            constant = np.where(is_there.reshape(shape), constant.take(place, at), 0.0)
        return Terms(made.numbers, made.rows, constant)


def _summands(node: Sum) -> tuple[list[Node], Numbers] | None:
    """What a sum adds up, the summands of sums of its own shape in their place."""
    found: list[Node] = []
    constant: Numbers = np.zeros(())
    waiting: list[Node] = [node]
    while waiting:
        each = waiting.pop()
        if not isinstance(each, Sum) or each.shape != node.shape:
            found.append(each)
            continue
        if min(each.signs) < 0:
            return None
        if each.constant is not None:
            constant = constant + each.constant
        waiting += reversed(each.terms)
    return found, constant


def _taken(found: Terms | None, indices: Indices, elements: Indices | None = None) -> Terms | None:
    """Rows by their number in C order, and of what is in the clear elements by theirs."""
    if found is None:
        return None
    made = found.rearranged(lambda each: each.reshape(-1, each.shape[-1])[indices])
    constant = found.constant
    if constant is not None and elements is not None:
        constant = constant.ravel()[elements]
    return Terms(made.numbers, made.rows, constant)


def _with_axis_split(node: Node, step: int, size: int) -> Contract | None:
    """A contraction with an axis in three, the middle one of a size, its elements a step apart."""
    if not isinstance(node, Contract):
        return None
    for axis, label in enumerate(node.output):
        stride, whole = math.prod(node.shape[axis + 1 :]), node.shape[axis]
        inner, rest = divmod(step, stride)
        if rest or not inner or whole == size or whole % (inner * size):
            continue
        parts = "".join(each for each in LABELS if each not in "".join(node.labels))[:3]
        sizes = whole // (inner * size), size, inner
        read = [
            _split(operand, labels, label, parts, sizes)
            for operand, labels in zip(node.operands, node.labels, strict=True)
        ]
        shape = (*node.shape[:axis], *sizes, *node.shape[axis + 1 :])
        output = node.output.replace(label, parts)
        return Contract(
            tuple(each for each, _ in read), tuple(each for _, each in read), output, shape
        )
    return None


def _split(
    operand: Node | Numbers, labels: str, label: str, parts: str, sizes: tuple[int, ...]
) -> tuple[Node | Numbers, str]:
    """An operand whose axis of a label is split into parts."""
    if label not in labels:
        return operand, labels
    axis = labels.index(label)
    if operand.shape[axis] == 1:
        sizes = (1,) * len(sizes)
    shape = (*operand.shape[:axis], *sizes, *operand.shape[axis + 1 :])
    split = labels.replace(label, parts)
    if isinstance(operand, np.ndarray):
        return operand.reshape(shape), split
    return Rearrange(operand, np.arange(math.prod(shape)).reshape(shape)), split


def _shrunk(operand: Node, labels: str) -> tuple[Node, str, str]:
    """An operand, its labels, and those of its axes that do not stretch."""
    kept = "".join(label for label, size in zip(labels, operand.shape, strict=True) if size > 1)
    return operand, labels, kept


def _along(indices: Indices, labels: str, kept: str, axes: str) -> Indices:
    """Indices by other axes, of size 1 where there are none; axes that stretch are left out."""
    alone = tuple(axis for axis, label in enumerate(labels) if label not in kept)
    return _aligned(indices.squeeze(alone), "".join(each for each in labels if each in kept), axes)


def _aligned(indices: Indices, labels: str, axes: str) -> Indices:
    """Indices whose axes have labels by other axes; the last, of products, stays."""
    ordered = indices.transpose([labels.index(each) for each in axes if each in labels] + [-1])
    return np.expand_dims(
        ordered, tuple(axis for axis, each in enumerate(axes) if each not in labels)
    )


def _without(each: _Axes, axis: int | None) -> _Axes:
    """Sizes or labels of axes without one of them."""
    return each if axis is None else each[:axis] + each[axis + 1 :]

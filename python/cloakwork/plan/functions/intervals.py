"""Between which ends the elements of a graph's tensors lie, and how far off they may be.

Interval arithmetic, element by element: each end is an array that numpy stretches to the tensor's
shape, so that tensors whose elements have one range take no time. Squares, and no other
dependences between numbers, are seen for what they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import (
    Apply,
    Contract,
    Evaluate,
    Node,
    Rearrange,
    Source,
    Sum,
    Within,
)
from cloakwork.programs.spec import PlacedSpec, Spec

# Of functions that are off by nothing that a double holds.
NO_ERRORS_BITS = 2000
# Products of two intervals that are written out before they are summed, at most.
_MOST_CORNERS = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """The range of a tensor's elements.

    Args:
        low: The least that each may be; an axis of size 1 stands for all along it.
        high: The greatest.
        error: How far each may be off by the functions that it is made with, where no numbers
            that are compared on the way are closer than a comparison's gap; the same axes.
        error_in_gaps: How far where some are.
        claimed: Whether this rests on what a user says of numbers on the way.
    """

    low: Array
    high: Array
    error: Array
    error_in_gaps: Array
    claimed: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest number that any element may be, errors included."""
        return float((self.low - self.error).min()), float((self.high + self.error).max())

    @property
    def size(self) -> float:
        """The largest absolute value that any element may be, errors included."""
        low, high = self.ends
        return max(abs(low), abs(high))

    def made_by(self, change: Callable[[Array], Array], claimed: bool) -> Interval:
        """What becomes of it where elements are rearranged, or those of a clear sign added."""
        ends = change(self.low), change(self.high)
        return Interval(*ends, change(self.error), change(self.error_in_gaps), claimed)

    @property
    def largest_error(self) -> float:
        """How far any element may be off, where no compared numbers are in a gap."""
        return float(self.error.max())

    @property
    def largest_error_in_gaps(self) -> float:
        """How far any element may be off, whatever is compared on the way."""
        return float(self.error_in_gaps.max())


def uniform(
    ndim: int,
    low: float,
    high: float,
    error: float = 0.0,
    error_in_gaps: float = 0.0,
    claimed: bool = False,
) -> Interval:
    """The same range for all elements of a tensor."""

    def filled(number: float) -> Array:
        return np.full((1,) * ndim, number)

    ends = filled(low), filled(high)
    return Interval(*ends, filled(error), filled(error_in_gaps), claimed)


def of_spec(spec: Spec) -> Interval:
    """The range of an argument's elements."""
    error = spec.error if isinstance(spec, PlacedSpec) else 0.0
    return uniform(len(spec.shape), *spec.ends, error, error)


def intervals_of(
    nodes: Sequence[Node],
    sources: Callable[[Source], Interval],
    bits: int,
    known: Mapping[Node, Interval] = MappingProxyType({}),
) -> dict[Node, Interval]:
    """The interval of every node.

    Example:
        >>> x = Source("x", (4, 3))
        >>> total = Contract((x,), ("ij",), "i", (4,))
        >>> root = Apply("sqrt", total)
        >>> found = intervals_of([x, total, root], lambda _: uniform(2, 0.0, 3.0), 20)
        >>> found[total].ends, [round(end) for end in found[root].ends]
        ((0.0, 9.0), [0, 3])
    """
    found = dict(known)
    for node in nodes:
        if node not in found:
            found[node] = _interval(node, found, sources, bits)
    return found


def _interval(
    node: Node, found: Mapping[Node, Interval], sources: Callable[[Source], Interval], bits: int
) -> Interval:
    match node:
        case Source():
            return sources(node)
        case Contract():
            return _contracted(node, found)
        case Sum():
            return _summed(node, found)
        case Rearrange():
            return _rearranged(node, found[node.operand])
        case Within(low=low, high=high, claimed=claimed):
            of = found[node.operand]
            narrow = np.clip(of.low, low, high), np.clip(of.high, low, high)
            return Interval(*narrow, of.error, of.error_in_gaps, of.claimed or claimed)
        case Apply(function=function, bits=own, gap=gap):
            return applied_interval(
                function, found[node.operand], bits if own is None else own, gap
            )
        case Evaluate():
            raise AssertionError("polynomials come after ranges")


def applied_interval(
    function: str, operand: Interval, bits: int, gap: float | None = None
) -> Interval:
    """The interval of a function's values, each right to so many bits after the point."""
    known, ndim, claimed = FUNCTIONS[function], operand.low.ndim, operand.claimed
    low, high = known.reached(operand.ends, operand.largest_error)
    if not known.has(low, high):
        return uniform(ndim, -math.inf, math.inf, math.inf, math.inf, claimed)
    own = 2.0**-bits
    with np.errstate(over="ignore"):
        least, greatest = known.image(low, high)
        if known.jumps:
            # Halfway between the two values at most, where the number itself is as near as it is
            # outside gaps.
            jump = greatest - least
            near = operand.largest_error_in_gaps <= operand.largest_error
            in_gaps = (0.0 if gap is not None else jump / 2) if near else jump
            return uniform(ndim, least, greatest, own, own + in_gaps, claimed)
        error = own + known.moved_by(low, high, operand.largest_error)
        in_gaps = own + known.moved_by(low, high, operand.largest_error_in_gaps)
    return uniform(ndim, least, greatest, error, in_gaps, claimed)


def _of_clear(array: NDArray[np.float64]) -> Interval:
    if array.size and array.min() == array.max():
        array = array.reshape(-1)[:1].reshape((1,) * array.ndim)
    none = np.zeros((1,) * array.ndim)
    return Interval(array, array, none, none)


def _contracted(node: Contract, found: Mapping[Node, Interval]) -> Interval:
    operands = [
        _of_clear(each) if isinstance(each, np.ndarray) else found[each] for each in node.operands
    ]
    claimed = any(each.claimed for each in operands)
    sizes: dict[str, int] = {}
    for operand, term in zip(node.operands, node.labels, strict=True):
        for label, size in zip(term, operand.shape, strict=True):
            sizes[label] = max(size, sizes.get(label, 1))
    contraction = _Contraction(node.labels, node.output, sizes)
    if len(operands) == 1:
        (only,) = operands
        return only.made_by(contraction.of, claimed)
    left, right = operands
    with np.errstate(over="ignore", invalid="ignore"):
        if node.operands[0] is node.operands[1] and node.labels[0] == node.labels[1]:
            low, high = contraction.of_squares(left)
        else:
            low, high = contraction.of_products(left, right)
        sides = [np.maximum(np.abs(each.low), np.abs(each.high)) for each in operands]
        errors = [(left.error, right.error), (left.error_in_gaps, right.error_in_gaps)]
        error, in_gaps = (
            contraction.of(sides[0], other) + contraction.of(one, sides[1] + other)
            for one, other in errors
        )
    return Interval(low, high, error, in_gaps, claimed)


@dataclass(frozen=True, slots=True)
class _Contraction:
    """Sums of products over labels, of arrays whose axes of size 1 stand for all along them."""

    labels: tuple[str, ...]
    output: str
    sizes: Mapping[str, int]

    def of(self, *arrays: Array) -> Array:
        """The sum of the products."""
        terms = list(zip(arrays, self.labels, strict=True))
        full = {
            label
            for array, term in terms
            for label, size in zip(term, array.shape, strict=True)
            if size > 1
        }
        arguments: list[object] = []
        numbers = {label: number for number, label in enumerate(self.sizes)}
        for array, term in terms:
            shape = [self.sizes[label] if label in full else 1 for label in term]
            arguments += [np.broadcast_to(array, shape), [numbers[label] for label in term]]
        summed = set(self.sizes) - set(self.output)
        times = math.prod(self.sizes[label] for label in summed - full)
        output = [numbers[label] for label in self.output]
        total = np.einsum(*arguments, output, optimize=len(terms) > 1)  # type: ignore[call-overload]
        return np.asarray(total * times, dtype=np.float64)

    def of_squares(self, operand: Interval) -> tuple[Array, Array]:
        """The ends of a sum of squares."""
        ends = np.square(operand.low), np.square(operand.high)
        crosses = (operand.low < 0) & (operand.high > 0)
        low = np.where(crosses, 0.0, np.minimum(*ends))
        once = _Contraction(self.labels[:1], self.output, self.sizes)
        return once.of(low), once.of(np.maximum(*ends))

    def of_products(self, left: Interval, right: Interval) -> tuple[Array, Array]:
        """The ends of a sum of products."""
        together = "".join(self.sizes)
        wide = [
            self._along(each, term) for each, term in zip((left, right), self.labels, strict=True)
        ]
        if wide[0] is not None and wide[1] is not None:
            one, other = wide[0], wide[1]
            if math.prod(np.broadcast_shapes(one[0].shape, other[0].shape)) <= _MOST_CORNERS:
                corners = [a * b for a in one for b in other]
                summed = _Contraction((together,), self.output, self.sizes)
                low = np.minimum(np.minimum(*corners[:2]), np.minimum(*corners[2:]))
                high = np.maximum(np.maximum(*corners[:2]), np.maximum(*corners[2:]))
                return summed.of(low), summed.of(high)
        middles = [(each.low + each.high) / 2 for each in (left, right)]
        radii = [(each.high - each.low) / 2 for each in (left, right)]
        middle = self.of(*middles)
        radius = (
            self.of(np.abs(middles[0]), radii[1])
            + self.of(radii[0], np.abs(middles[1]))
            + self.of(*radii)
        )
        return middle - radius, middle + radius

    def _along(self, operand: Interval, term: str) -> tuple[Array, Array] | None:
        """The ends with an axis for every label; None where a label comes twice."""
        if len(set(term)) < len(term):
            return None
        order = [term.index(label) for label in self.sizes if label in term]
        shape = [operand.low.shape[term.index(each)] if each in term else 1 for each in self.sizes]
        low, high = (each.transpose(order).reshape(shape) for each in (operand.low, operand.high))
        return low, high


def _summed(node: Sum, found: Mapping[Node, Interval]) -> Interval:
    ndim = len(node.shape)
    low, high, error, in_gaps = (np.zeros((1,) * ndim) for _ in range(4))
    claimed = False
    for term, sign in zip(node.terms, node.signs, strict=True):
        of = found[term]
        lower, upper = (of.low, of.high) if sign > 0 else (-of.high, -of.low)
        low, high = low + lower, high + upper
        error, in_gaps = error + of.error, in_gaps + of.error_in_gaps
        claimed = claimed or of.claimed
    if node.constant is not None:
        constant = _of_clear(node.constant).low
        low, high = low + constant, high + constant
    return Interval(low, high, error, in_gaps, claimed)


def _rearranged(node: Rearrange, operand: Interval) -> Interval:
    def taken(array: Array) -> Array:
        if array.size == 1:
            return array.reshape((1,) * node.elements.ndim)
        whole = np.broadcast_to(array, node.operand.shape).ravel()
        return whole[node.elements]

    return operand.made_by(taken, operand.claimed)

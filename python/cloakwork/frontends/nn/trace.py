"""The graph of a network while its operations are read, one after another.

A polynomial that is written out takes many operations: x**2, times 0.5, plus x. So a
value is a polynomial of a node until another kind of operation takes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import polynomial as monomials

from cloakwork.frontends.nn.written_out import named_activation
from cloakwork.programs.ir import layers as g

# A product of more is a node of its own: coefficients of high powers lose all precision.
_MAX_MERGED_DEGREE = 15

_IDENTITY = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Term:
    """A polynomial of a node: its number, coefficients from degree 0 up, the layer it is of."""

    number: int
    coefficients: tuple[float, ...]
    name: str


class Trace:
    """Nodes read so far, and the values made of them."""

    def __init__(self) -> None:
        """Begin with no node."""
        self.nodes: list[g.Node] = []
        self._settled: dict[tuple[int, tuple[float, ...]], int] = {}
        self._sums: dict[tuple[int, tuple[float, ...], int, tuple[float, ...]], Term] = {}

    def append(self, name: str, operation: g.Operation, *values: Term) -> Term:
        """The value of a new node."""
        inputs = [self.settled(value) for value in values]
        self.nodes.append(g.node(name, operation, inputs, self.nodes))
        return Term(len(self.nodes) - 1, _IDENTITY, name)

    def finish(self, results: Mapping[str, Term]) -> None:
        """Append the results by name, after all that they are computed from, which alone stays."""
        settled = [self.settled(value) for value in results.values()]
        needed = self._needed(settled)
        places = {number: place for place, number in enumerate(needed)}
        self.nodes = [
            replace(each, inputs=tuple(places[number] for number in each.inputs))
            for each in map(self.nodes.__getitem__, needed)
        ]
        for name, number in zip(results, settled, strict=True):
            self.nodes.append(g.node(name, g.OutputLayer(), (places[number],), self.nodes))

    def _needed(self, numbers: Sequence[int]) -> list[int]:
        """The nodes that some are computed from, all inputs of the network before them."""
        found = {number for number in range(len(self.nodes)) if self._is_input(number)}
        left = [*numbers]
        while left:
            number = left.pop()
            if number not in found:
                found.add(number)
                left += self.nodes[number].inputs
        return sorted(found, key=lambda number: (not self._is_input(number), number))

    def _is_input(self, number: int) -> bool:
        return isinstance(self.nodes[number].operation, g.InputLayer)

    def of_node(self, number: int, name: str) -> Term:
        """What a node makes, as a value of a layer."""
        return Term(number, _IDENTITY, name)

    def shape(self, value: Term) -> g.Shape:
        """A value's shape, without the batch."""
        return self.nodes[value.number].shape

    def settled(self, value: Term) -> int:
        """The number of the node that holds a value; one is appended where none does."""
        if is_of_node(value):
            return value.number
        key = (value.number, value.coefficients)
        if key not in self._settled:
            operation = _operation(value.coefficients, len(self.shape(value)))
            self.nodes.append(g.node(value.name, operation, (value.number,), self.nodes))
            self._settled[key] = len(self.nodes) - 1
        return self._settled[key]

    def scaled(self, name: str, value: Term, scale: float, shift: float) -> Term:
        """value * scale + shift."""
        coefficients = [scale * each for each in value.coefficients]
        coefficients[0] += shift
        return Term(value.number, _trimmed(coefficients), name)

    def sum(self, name: str, left: Term, right: Term) -> Term:
        """left + right, of one shape."""
        if left.number == right.number:
            total = monomials.polyadd(left.coefficients, right.coefficients)
            return Term(left.number, _trimmed(total), name)
        key = (left.number, left.coefficients, right.number, right.coefficients)
        if key not in self._sums:
            self._sums[key] = self._as_named(self.append(name, g.AddLayer(), left, right))
        return self._sums[key]

    def product(self, name: str, left: Term, right: Term) -> Term:
        """left * right, of one shape."""
        degree = len(left.coefficients) + len(right.coefficients) - 2
        if left.number == right.number and degree <= _MAX_MERGED_DEGREE:
            product = monomials.polymul(left.coefficients, right.coefficients)
            return Term(left.number, _trimmed(product), name)
        if left == right:
            return self.power(name, left, 2)
        return self._as_named(self.append(name, g.Multiply(), left, right))

    def _as_named(self, value: Term) -> Term:
        """The value made last, as the activation that it is where one is written out."""
        found = named_activation(self.nodes)
        if found is None:
            return value
        source = Term(found.source, (0.0, found.inner), value.name)
        made = self.append(value.name, g.Activation(found.function), source)
        return self.scaled(value.name, made, found.outer, 0.0)

    def power(self, name: str, value: Term, exponent: int) -> Term:
        """value ** exponent, the exponent at least 0."""
        if (len(value.coefficients) - 1) * exponent > _MAX_MERGED_DEGREE:
            value = Term(self.settled(value), _IDENTITY, name)
        power = monomials.polypow(value.coefficients, exponent)
        return Term(value.number, _trimmed(power), name)


def is_of_node(value: Term) -> bool:
    """Whether a value is what its node makes, and no other polynomial of it."""
    return value.coefficients == _IDENTITY


def _operation(coefficients: tuple[float, ...], axes: int) -> g.Operation:
    if len(coefficients) > 2:
        return g.PolynomialLayer(coefficients, "monomial", -np.inf, np.inf)
    shift, scale = (*coefficients, 0.0)[:2]
    return g.Affine(np.full((1,) * axes, scale), np.full((1,) * axes, shift))


def _trimmed(coefficients: Iterable[float]) -> tuple[float, ...]:
    return tuple(map(float, monomials.polytrim([*coefficients])))

"""Results of a function over integers that are products of whole matrices, sums and multiples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.circuit.matrices import Whole
from cloakwork.frontends.circuit.symbols import Vector
from cloakwork.plan.circuits.function_ranges import Range
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Source, Sum, operand_nodes
from cloakwork.programs.packing.results import Form, Keyed, Leaf, Sequenced, filled


@dataclass(frozen=True, eq=False)
class Products:
    """What a function returns, as operations on whole matrices.

    Args:
        title: The function's name.
        results: What it returns, in order.
        form: How results stand in lists, tuples and dicts.
        sources: The name of the input that each matrix from outside is.
    """

    title: str
    results: tuple[Whole, ...]
    form: Form
    sources: Mapping[Source, str]

    @property
    def multiplications(self) -> int:
        """Of numbers, that all products take."""
        return sum(each.multiplications for each in self.results)

    def in_clear(self, inputs: Mapping[str, Sequence[int]]) -> Any:
        """What the function returns for integers, of each input all in a row."""
        known: dict[Node, Any] = {
            source: np.array(inputs[name], dtype=object).reshape(source.shape)
            for source, name in self.sources.items()
        }
        found = [_computed(each.node, known).reshape(each.shape) for each in self.results]
        return filled(self.form, [each.tolist() for each in found])

    def ranges(self, bounds: Mapping[str, Range]) -> tuple[Range, ...]:
        """The least and the greatest integer of each result by those of the inputs."""
        known: dict[Node, Range] = {source: bounds[name] for source, name in self.sources.items()}
        return tuple(_range_of(each.node, known) for each in self.results)


def products_of(title: str, returned: Any, sources: Mapping[Source, str]) -> Products | None:
    """What a function has returned, if all of it is products of whole matrices."""
    results: list[Whole] = []
    form = _form(returned, results)
    if form is None or not all(each.multiplications for each in results):
        return None
    if not _sources_of([each.node for each in results]) <= sources.keys():
        return None
    return Products(title, tuple(results), form, sources)


def _form(part: Any, results: list[Whole]) -> Form | None:
    if isinstance(part, Vector):
        if part.whole is None:
            return None
        results.append(part.whole)
        return Leaf(len(results) - 1)
    if not isinstance(part, list | tuple | dict) or not part:
        return None
    named = part if isinstance(part, dict) else dict(enumerate(part))
    made = {name: _form(each, results) for name, each in named.items()}
    parts = {name: each for name, each in made.items() if each is not None}
    if len(parts) < len(made):
        return None
    if isinstance(part, dict):
        is_named = all(isinstance(name, str) for name in parts)
        return Keyed({str(name): each for name, each in parts.items()}) if is_named else None
    return Sequenced(tuple(parts.values()), is_tuple=isinstance(part, tuple))


def _sources_of(nodes: Sequence[Node]) -> set[Source]:
    waiting, seen = [*nodes], set[Node](nodes)
    while waiting:
        new = set(operand_nodes(waiting.pop())) - seen
        seen |= new
        waiting += new
    return {each for each in seen if isinstance(each, Source)}


def _computed(node: Node, known: dict[Node, Any]) -> Any:
    """The matrix of a node, of Python's integers."""
    if node not in known:
        known[node] = _of_operands(node, [_computed(each, known) for each in operand_nodes(node)])
    return known[node]


def _of_operands(node: Node, operands: Sequence[NDArray[Any]]) -> Any:
    match node:
        case Contract(operands=(_, np.ndarray() as factor)):
            return operands[0] * int(factor)
        case Contract(operands=(_,)):
            return operands[0].T
        case Contract(labels=(one, _)):
            left, right = operands
            # The inner index comes last on the left, or first where it is transposed.
            return (left if one == "ik" else left.T) @ right
        case Sum(signs=signs):
            return sum(sign * each for sign, each in zip(signs, operands, strict=True))
        case Rearrange(elements=elements):
            return operands[0].ravel()[elements]
        case _:
            raise AssertionError("a function over integers has no other operations of matrices")


def _range_of(node: Node, known: dict[Node, Range]) -> Range:
    if node not in known:
        known[node] = _range_by(node, [_range_of(each, known) for each in operand_nodes(node)])
    return known[node]


def _range_by(node: Node, operands: Sequence[Range]) -> Range:
    match node:
        case Contract(operands=(_, np.ndarray() as factor)):
            return _product(operands[0], (int(factor), int(factor)))
        case Contract(operands=(left, _)) if not isinstance(left, np.ndarray):
            low, high = _product(*operands)
            inner = math.prod(left.shape) // node.shape[0]
            return inner * low, inner * high
        case Sum(signs=signs):
            terms = zip(signs, operands, strict=True)
            ends = [sorted((sign * low, sign * high)) for sign, (low, high) in terms]
            return sum(low for low, _ in ends), sum(high for _, high in ends)
        case _:
            return operands[0]


def _product(left: Range, right: Range) -> Range:
    ends = [one * other for one in left for other in right]
    return min(ends), max(ends)

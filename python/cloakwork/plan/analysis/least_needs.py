"""What the numbers of tensor operations need at the least, however they are planned.

Whoever plans asks this first: what no parameters can hold is refused before ways of computing it
are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloakwork.plan.functions.intervals import intervals_of, uniform
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.ir.tensors import (
    Contract,
    Evaluate,
    Node,
    Rearrange,
    Source,
    Sum,
    Within,
    operand_nodes,
)
from cloakwork.programs.slots import polynomial_depth

# Intervals depend on it where there are functions: operations that have needs have no function.
_BITS = 0


@dataclass(frozen=True, slots=True)
class LeastNeeds:
    """What every plan has to cope with.

    Args:
        of_inputs: The largest absolute value that an element of an input may have.
        of_results: That an element of a result may have.
        gain: By what some error of an input is multiplied on its way to a result.
        depth: Products of encrypted numbers in a row.
    """

    of_inputs: float
    of_results: float
    gain: float
    depth: int

    @property
    def largest(self) -> float:
        """The largest absolute value of any of them, and 1 at the least."""
        return max(1.0, self.of_inputs, self.of_results)


def least_needs(results: Sequence[Node], bounds: Mapping[Source, float]) -> LeastNeeds | None:
    """The least needs of results; None where nothing is known of them, as of functions.

    Sums count as their largest term, as nobody knows in which order they are made, and products as
    those of an order that takes the fewest in a row.

    Example:
        >>> a, b = (Source(name, (3, 3)) for name in "ab")
        >>> product = Contract((a, b), ("ik", "kj"), "ij", (3, 3))
        >>> least_needs([product], {a: 2.0, b: 5.0})
        LeastNeeds(of_inputs=5.0, of_results=30.0, gain=5.0, depth=1)
    """
    nodes = in_order(results)
    found: dict[Node, _Reach] = {}
    for node in nodes:
        reach = _reach(node, found, bounds)
        if reach is None:
            return None
        found[node] = reach
    intervals = intervals_of(
        nodes, lambda source: uniform(len(source.shape), -bounds[source], bounds[source]), _BITS
    )
    of_inputs = [bounds[each] for each in nodes if isinstance(each, Source)]
    ends = [abs(end) for each in results for end in intervals[each].ends]
    gain = max(found[each].gain for each in results)
    depth = max((found[each].factors - 1).bit_length() for each in results)
    return LeastNeeds(max(of_inputs, default=0.0), max(ends), gain, depth)


def least_depth(results: Sequence[Node]) -> int:
    """Levels that results take at the least: of products, of factors in the clear, of polynomials.

    A factor in the clear may take none where it does nothing.

    Example:
        >>> x = Source("x", (3,))
        >>> halved = Contract((x, np.array(0.5)), ("i", ""), "i", (3,))
        >>> least_depth([Contract((x, halved), ("i", "i"), "i", (3,))])
        2
    """
    found: dict[Node, int] = {}
    for node in in_order(results):
        before = max((found[each] for each in operand_nodes(node)), default=0)
        found[node] = before + _own_depth(node)
    return max(found[each] for each in results)


def _own_depth(node: Node) -> int:
    match node:
        case Evaluate(coefficients=coefficients):
            return polynomial_depth(coefficients)
        case Contract(operands=(_, _) as operands, labels=labels, output=output):
            for factor, names, others in zip(operands, labels, labels[::-1], strict=True):
                if isinstance(factor, np.ndarray):
                    # Numbers that are summed first may come to 1.
                    is_summed = not set(names) <= {*others, *output}
                    return int(not is_summed and bool(((factor != 0) & (factor != 1)).any()))
            return 1
        case _:
            return 0


@dataclass(frozen=True, slots=True)
class _Reach:
    """What is known of a node.

    Args:
        largest: The largest absolute value but for sums.
        gain: That of some input's error.
        factors: How many encrypted numbers are multiplied.
    """

    largest: float
    gain: float
    factors: int


def _reach(
    node: Node, found: Mapping[Node, _Reach], bounds: Mapping[Source, float]
) -> _Reach | None:
    match node:
        case Source():
            return _Reach(bounds[node], 1.0, 1)
        case Rearrange(operand=operand):
            return found[operand]
        case Within(operand=operand, low=low, high=high):
            of = found[operand]
            return _Reach(min(of.largest, max(abs(low), abs(high))), of.gain, of.factors)
        case Sum(terms=terms):
            of_terms = [found[each] for each in terms]
            return _Reach(
                max(each.largest for each in of_terms),
                max(each.gain for each in of_terms),
                max(each.factors for each in of_terms),
            )
        case Contract(operands=operands):
            # One number in the clear; matrices in the clear may be multiplied by one another first.
            factors = [
                (_Reach(abs(float(each.flat[0])), 0.0, 0) if each.size == 1 else None)
                if isinstance(each, np.ndarray)
                else found[each]
                for each in operands
            ]
            total = _Reach(1.0, 0.0, 0)
            for each in factors:
                if each is None:
                    return None
                gain = max(total.gain * each.largest, each.gain * total.largest)
                factors_so_far = total.factors + each.factors
                total = _Reach(total.largest * each.largest, gain, factors_so_far)
            # Both factors of a square are off by the same.
            is_square = (
                len(operands) == 2 and operands[0] is operands[1] and len(set(node.labels)) == 1
            )
            return replace(total, gain=2 * total.gain) if is_square else total
        case _:
            return None

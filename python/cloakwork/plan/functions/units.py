"""Functions of numbers of any magnitude, computed on numbers near 1.

Every tensor is held divided by a power of two, its unit, as fixed-point numbers have it: products
multiply units, sums bring their terms to one, and functions that are homogeneous take and give
units. Factors that are clear take up what that needs, so that it costs a level where there are
none. Scales then need no bits for how large numbers are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cloakwork.plan.functions.intervals import NO_ERRORS_BITS, Interval, intervals_of, of_spec
from cloakwork.plan.parameters.ckks import fits_a_scale
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir.elementwise import multiple, plus, scaled
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import (
    Apply,
    Contract,
    Evaluate,
    Node,
    Rearrange,
    Source,
    Sum,
    TensorFunction,
    Within,
)
from cloakwork.programs.port import MAX_EXPONENT

# Exponents are multiples, so that roots of roots have whole ones.
_STEP = 4
# Logarithms take a unit off, and add its own.
_OF_TWO = {"log": math.log(2), "log10": math.log10(2), "log2": 1.0}
# By how many bits numbers may be smaller than their unit: products add up what each factor is.
_SLACK = 8


@dataclass(frozen=True, slots=True)
class InUnits:
    """A function of arguments and results in units.

    Args:
        function: The function, of arguments divided by theirs.
        inputs: The base-2 logarithms of the units of the arguments.
        results: Those of the results.
        sizes: The largest absolute values that results may have, in their units.
    """

    function: TensorFunction
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    sizes: tuple[float, ...]

    @property
    def largest(self) -> int:
        """The exponent of the largest unit of a result."""
        return max(self.results)

    @property
    def bits_of_sizes(self) -> int:
        """By how many bits results are smaller than their units, at the most."""
        return max((0, *(-math.floor(math.log2(each)) for each in self.sizes if each)))


def has_magnitudes(function: TensorFunction, precision: int) -> bool:
    """Whether no scale has the precision for numbers as large as those of a function, or 1.

    Example:
        >>> from cloakwork.programs.packing.results import Leaf
        >>> from cloakwork.programs.spec import Spec
        >>> x = Source("x", (2,))
        >>> square = Contract((x, x), ("a", "a"), "a", (2,))
        >>> [has_magnitudes(TensorFunction((x,), (Spec((2,), bound),), (square,), Leaf(0)), 20)
        ...  for bound in (1.0, 1e6)]
        [False, True]
    """
    largest = max(1.0, *(each.size for each in _intervals(function).values()))
    return largest < math.inf and not fits_a_scale(precision, bound=largest)


def outgrows_doubles(function: TensorFunction) -> str | None:
    """The line of the first numbers that no double may hold; None where there are none.

    Functions beyond where they are defined are not meant: whoever computes them says so.
    """
    found = _intervals(function)
    for node, interval in found.items():
        if not math.isfinite(interval.size):
            of_function = isinstance(node, Apply) and math.isfinite(found[node.operand].size)
            return None if of_function else getattr(node, "origin", "")
    return None


def sizes_of_results(function: TensorFunction) -> list[float]:
    """The largest absolute value that each result may have."""
    found = _intervals(function)
    return [found[each].size for each in function.results]


def in_units(function: TensorFunction, *, apart: bool) -> InUnits:
    """A function in units.

    Args:
        function: The function.
        apart: Whether each result has a unit of its own; else all have the largest.

    Example:
        >>> from cloakwork.programs.packing.results import Leaf
        >>> from cloakwork.programs.spec import Spec
        >>> x = Source("x", (2,))
        >>> square = Contract((x, x), ("a", "a"), "a", (2,))
        >>> function = TensorFunction((x,), (Spec((2,), 1e6),), (square,), Leaf(0))
        >>> made = in_units(function, apart=True)
        >>> made.inputs, made.results, [round(each, 3) for each in made.sizes]
        ((20,), (40,), [0.909])
    """
    work = _Units(_intervals(function))
    held = {source: work.source(source) for source in function.sources}
    for node in in_order(function.results):
        work.make(node)
    exponents = [work.made[each][1] for each in function.results]
    if not apart:
        exponents = [max(exponents)] * len(exponents)
    pairs = list(zip(function.results, exponents, strict=True))
    specs = [
        replace(
            spec,
            low=math.ldexp(spec.ends[0], -work.made[source][1]),
            high=math.ldexp(spec.ends[1], -work.made[source][1]),
        )
        for source, spec in function.spec_of.items()
    ]
    return InUnits(
        replace(
            function,
            sources=tuple(held.values()),
            specs=tuple(specs),
            results=tuple(work.at(node, exponent) for node, exponent in pairs),
            samples=tuple(
                {
                    held[source]: np.asarray(np.ldexp(array, -work.made[source][1]))
                    for source, array in each.items()
                }
                for each in function.samples
            ),
        ),
        tuple(work.made[source][1] for source in function.sources),
        tuple(exponents),
        tuple(math.ldexp(work.intervals[node].size, -exponent) for node, exponent in pairs),
    )


def _intervals(function: TensorFunction) -> Mapping[Node, Interval]:
    nodes = in_order(function.results)
    # Arguments that no result needs have units as well.
    found = {source: of_spec(spec) for source, spec in function.spec_of.items()}
    # Numbers may be as small as any error.
    with np.errstate(over="ignore", invalid="ignore"):
        return intervals_of([*found, *nodes], found.__getitem__, NO_ERRORS_BITS)


def _exponent(size: float) -> int:
    """The exponent of the unit for numbers of a size."""
    if not 0 < size < math.inf:
        return 0
    exponent = _STEP * math.ceil(math.log2(size) / _STEP)
    return max(-MAX_EXPONENT, min(MAX_EXPONENT, exponent))


class _Units:
    """Nodes on operands in units, each with the exponent of its own.

    Args:
        intervals: Between which ends the elements of the nodes lie.
    """

    def __init__(self, intervals: Mapping[Node, Interval]) -> None:
        self.intervals = intervals
        self.made: dict[Node, tuple[Node, int]] = {}
        self._at: dict[tuple[Node, int], Node] = {}

    def source(self, source: Source) -> Source:
        """An argument in its unit."""
        held = replace(source)
        self.made[source] = held, _exponent(self.intervals[source].size)
        return held

    def make(self, node: Node) -> None:
        """A node in the unit that costs nothing, its operands being made."""
        if node not in self.made:
            exponent = self._own_exponent(node)
            made = self._in_unit(node, exponent)
            small = exponent - _exponent(self.intervals[node].size)
            if small >= _SLACK:
                # Doubled they are as large as their unit again, at no level.
                made, exponent = multiple(made, 1 << small, ""), exponent - small
            self.made[node] = made, exponent

    def at(self, node: Node, exponent: int) -> Node:
        """A node in a unit."""
        made, own = self.made[node]
        if own == exponent:
            return made
        if (node, exponent) not in self._at:
            self._at[node, exponent] = (
                self._in_unit(node, exponent)
                if self._is_free(node)
                else scaled(made, math.ldexp(1.0, own - exponent), "")
            )
        return self._at[node, exponent]

    def _is_free(self, node: Node) -> bool:
        """Whether a node may have any unit, as a clear factor takes it up."""
        match node:
            case Contract(operands=operands):
                nodes = [each for each in operands if not isinstance(each, np.ndarray)]
                return len(nodes) < len(operands) or (len(nodes) == 1 and self._is_free(nodes[0]))
            case Sum(terms=terms):
                return all(map(self._is_free, terms))
            case Rearrange(operand=operand):
                return self._is_free(operand)
            case _:
                return False

    def _own_exponent(self, node: Node) -> int:
        match node:
            case Contract() if self._is_free(node):
                return _exponent(self.intervals[node].size)
            case Contract(operands=operands):
                return sum(
                    self.made[each][1] for each in operands if not isinstance(each, np.ndarray)
                )
            case Sum(terms=terms):
                largest = max(self.made[each][1] for each in terms)
                constant = _exponent(self.intervals[node].size)
                return max(largest, constant) if node.constant is not None else largest
            case Apply(function=function, operand=operand):
                degree = FUNCTIONS[function].degree
                return 0 if degree is None else int(degree * self._of_root(operand, degree))
            case Rearrange(operand=operand) | Within(operand=operand):
                return self.made[operand][1]
            case Source() | Evaluate():
                raise AssertionError("arguments are made first, and polynomials come later")

    def _of_root(self, operand: Node, degree: float) -> int:
        """The exponent of an operand that is a whole number times the degree, too."""
        own = self.made[operand][1]
        return own if float(own * degree).is_integer() else own + 1

    def _in_unit(self, node: Node, exponent: int) -> Node:
        match node:
            case Contract():
                return self._contracted(node, exponent)
            case Sum(terms=terms, constant=constant):
                held = None if constant is None else np.asarray(np.ldexp(constant, -exponent))
                summed = tuple(self.at(each, exponent) for each in terms)
                return replace(node, terms=summed, constant=held)
            case Apply(function=function, operand=operand) if function in _OF_TWO:
                held_operand, own = self.made[operand]
                return plus(replace(node, operand=held_operand), own * _OF_TWO[function], "")
            case Apply(function=function, operand=operand, bits=bits, gap=gap, closest=closest):
                degree = FUNCTIONS[function].degree
                taken = 0 if degree is None else self._of_root(operand, degree)
                return replace(
                    node,
                    operand=self.at(operand, taken),
                    bits=None if bits is None else bits + exponent,
                    gap=None if gap is None else math.ldexp(gap, -taken),
                    closest=None if closest is None else math.ldexp(closest, -taken),
                )
            case Within(operand=operand, low=low, high=high):
                ends = math.ldexp(low, -exponent), math.ldexp(high, -exponent)
                held_operand = self.at(operand, exponent)
                return replace(
                    node, operand=held_operand, low=ends[0], high=ends[1], exponent=exponent
                )
            case Rearrange(operand=operand):
                return replace(node, operand=self.at(operand, exponent))
            case Source() | Evaluate():
                raise AssertionError("arguments are made first, and polynomials come later")

    def _contracted(self, node: Contract, exponent: int) -> Contract:
        nodes = [each for each in node.operands if not isinstance(each, np.ndarray)]
        if len(nodes) == len(node.operands) == 1:
            return replace(node, operands=(self.at(nodes[0], exponent),))
        lacking = sum(self.made[each][1] for each in nodes) - exponent
        held: list[Node | Array] = []
        for each in node.operands:
            if isinstance(each, np.ndarray):
                held.append(np.asarray(np.ldexp(each, lacking)))
                lacking = 0
            else:
                held.append(self.made[each][0])
        return replace(node, operands=tuple(held))

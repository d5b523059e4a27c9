"""Between which integers the results of a circuit lie, by the ranges of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cloakwork.plan.circuits.function_ranges import MOST_BITS, Range, function_range
from cloakwork.programs.ir.circuits import (
    Applied,
    Difference,
    Integer,
    Negative,
    Scalar,
    ScalarCircuit,
    ScalarOperation,
    ScalarProduct,
    Sum,
)


def result_ranges(circuit: ScalarCircuit, inputs: Mapping[str, Range]) -> tuple[Range, ...]:
    """For each result the least and the greatest value; see `value_ranges`.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitBuilder, CircuitInput
        >>> builder = CircuitBuilder("square of a difference")
        >>> x, y = builder.input(CircuitInput("v", (2,)))
        >>> difference = builder.append(Difference(x, y))
        >>> builder.output("s", (), (builder.append(ScalarProduct(difference, difference)),))
        >>> result_ranges(builder.finish(), {"v": (0, 10)})
        ((0, 100),)
    """
    ranges = value_ranges(circuit, inputs)
    return tuple(ranges[value] for output in circuit.outputs for value in output.values)


def value_ranges(circuit: ScalarCircuit, inputs: Mapping[str, Range]) -> list[Range]:
    """For each value of a circuit the least and the greatest integer, by interval arithmetic.

    They may be wider than what values come to, never narrower. A choice by a bit, y + bit * (x -
    y), is as wide as x and y together.

    Raises:
        ValueOutOfRangeError: The count of a shift, or an exponent, may be negative.
        IndexOutOfRangeError: The number of an item may be of none.
    """
    ranges: list[Range] = []
    for operation in circuit.operations:
        match operation:
            case Scalar(input=name):
                found = inputs[name]
            case Integer(value=value):
                found = (value, value)
            case Negative(operand=operand):
                found = (-ranges[operand][1], -ranges[operand][0])
            case Sum(left=left, right=right):
                choice = choice_of(circuit.operations, ranges, left, right)
                found = (
                    _around(ranges[choice.one], ranges[choice.zero])
                    if choice
                    else (ranges[left][0] + ranges[right][0], ranges[left][1] + ranges[right][1])
                )
            case Difference(left=left, right=right):
                found = (ranges[left][0] - ranges[right][1], ranges[left][1] - ranges[right][0])
            case ScalarProduct(left=left, right=right):
                ends = [a * b for a in ranges[left] for b in ranges[right]]
                is_square = left == right
                low = min(abs(a) for a in ranges[left]) ** 2 if is_square else min(ends)
                crosses = ranges[left][0] <= 0 <= ranges[left][1]
                found = (0 if is_square and crosses else low, max(ends))
            case Applied(function=function, operands=operands):
                line = circuit.origins[len(ranges)]
                taken = [ranges[each] for each in operands]
                found = function_range(function, taken, f" at {line}" if line else "")
        ranges.append(_bounded(found))
    return ranges


@dataclass(frozen=True, slots=True)
class Selection:
    """A sum that is one of two values by a bit, or a part of the way between them.

    Args:
        bit: The value that is 0 or 1.
        one: What it is where that is 1.
        zero: What it is where that is 0.
    """

    bit: int
    one: int
    zero: int


def choice_of(
    operations: Sequence[ScalarOperation], ranges: Sequence[Range], left: int, right: int
) -> Selection | None:
    """The choice that a sum is, if it is one: y + bit * (x - y)."""
    for start, step in ((left, right), (right, left)):
        product = operations[step]
        if not isinstance(product, ScalarProduct):
            continue
        for part, way in ((product.left, product.right), (product.right, product.left)):
            apart = operations[way]
            is_part = ranges[part][0] >= 0 and ranges[part][1] <= 1
            if is_part and isinstance(apart, Difference) and apart.right == start:
                return Selection(part, apart.left, start)
    return None


def _around(left: Range, right: Range) -> Range:
    return min(left[0], right[0]), max(left[1], right[1])


def _bounded(found: Range) -> Range:
    limit = 1 << MOST_BITS
    # Both ends, so that what is added and taken away later does not make it narrower.
    return found if -limit <= found[0] and found[1] <= limit else (-limit, limit)

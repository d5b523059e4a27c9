"""Circuits of integers with comparisons, tables and conditions as sums and products modulo primes.

A function of one integer of a small range is a polynomial (`polynomials`); what takes several
integers is written by such functions, of differences for example. So slots compute what else is for
bits, in thousands of evaluations at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cloakwork.errors import EncryptedConditionError
from cloakwork.plan.circuits.digits import DigitComparisons
from cloakwork.plan.circuits.function_ranges import Range
from cloakwork.plan.circuits.polynomials import Column, Polynomials, step_column, unit_column
from cloakwork.plan.circuits.ranges import value_ranges
from cloakwork.plan.circuits.small_functions import MOST_POINTS, SmallFunctions
from cloakwork.plan.circuits.split_inputs import SplitInputs, split_inputs
from cloakwork.programs.ir.circuits import (
    Applied,
    CircuitBuilder,
    Difference,
    Integer,
    Negative,
    Scalar,
    ScalarCircuit,
    ScalarProduct,
    Sum,
    operands_of,
)
from cloakwork.programs.ir.exact_functions import ExactFunction
from cloakwork.programs.packing.scalar import MAX_BITS, InputDigits

# Of the product of the primes, so that squares of numbers of small ranges differ modulo each.
LEAST_BITS = 16
_BOOLEAN = (0, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Arithmetic:
    """A circuit of sums and products, and the inputs that it takes as digits.

    Args:
        circuit: The circuit, in which these inputs have an axis more.
        digits: The digits.
    """

    circuit: ScalarCircuit
    digits: tuple[InputDigits, ...]


def arithmetic_of(
    circuit: ScalarCircuit,
    bounds: Mapping[str, Range],
    primes: Sequence[int],
    digit_bits: int = MAX_BITS,
) -> Arithmetic:
    """What computes the same by sums and products modulo primes.

    Args:
        circuit: The circuit.
        bounds: The ranges of its inputs.
        primes: The primes, whose product has `LEAST_BITS` or more.
        digit_bits: Inputs of more bits that are compared with one another, or with clear integers
            where their range is not small, are taken as digits of so many.

    Raises:
        EncryptedConditionError: A function takes integers of too large a range, or several.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitInput, evaluate
        >>> builder = CircuitBuilder("less")
        >>> (x, y) = builder.input(CircuitInput("v", (2,)))
        >>> less = builder.append(Applied(ExactFunction.LESS, (x, y)))
        >>> builder.output("z", (), (less,))
        >>> made = arithmetic_of(builder.finish(), {"v": (0, 15)}, [65537])
        >>> evaluate(made.circuit, {"v": [3, 9]})["z"][0] % 65537
        1
    """
    ranges = value_ranges(circuit, bounds)
    functions = SmallFunctions(circuit, ranges)
    digits = split_inputs(circuit, functions, bounds, digit_bits)
    made = _Lowering(circuit, functions, ranges, primes, digits).circuit()
    return Arithmetic(made, digits)


class _Lowering:
    """What the values of a circuit are in a circuit of sums and products."""

    def __init__(
        self,
        circuit: ScalarCircuit,
        functions: SmallFunctions,
        ranges: Sequence[Range],
        primes: Sequence[int],
        digits: Sequence[InputDigits],
    ) -> None:
        self._circuit = circuit
        self._ranges = ranges
        self._functions = functions
        self._builder = CircuitBuilder(circuit.title)
        self._inputs = SplitInputs(circuit, functions, ranges, self._builder, digits)
        self._polynomials = Polynomials(self._builder, primes)
        self._comparisons = DigitComparisons(self._builder, self._polynomials)
        self._numbers: dict[int, int] = {}
        self._sharing = Counter(
            self._functions.root(each)
            for each in functions.needed
            if self._functions.is_function(each)
        )

    def circuit(self) -> ScalarCircuit:
        """The circuit of sums and products."""
        for value in sorted(self._functions.needed):
            self._builder.origin = self._circuit.origins[value]
            self._numbers[value] = self._made(value)
        for output in self._circuit.outputs:
            numbers = [self._number(each) for each in output.values]
            self._builder.output(output.name, output.shape, numbers)
        return self._builder.finish()

    def _made(self, value: int) -> int:
        known = self._functions.known(value)
        if known is not None:
            return self._known(known)
        root = self._functions.root(value)
        is_function = self._functions.is_function(value) and not self._inputs.are_compared(value)
        if root is not None and is_function:
            column = self._functions.column(value)
            return self._polynomials.value(self._number(root), column, self._sharing[root])
        match self._circuit.operations[value]:
            case Scalar():
                return self._inputs.whole(value)
            case Integer(value=number):
                return self._known(number)
            case Negative(operand=operand):
                return self._builder.append(Negative(self._number(operand)))
            case Applied(function=function, operands=operands):
                return self._applied(value, function, operands)
            case operation:
                left, right = (self._number(each) for each in operands_of(operation))
                return self._builder.append(type(operation)(left, right))

    def _applied(self, value: int, function: ExactFunction, operands: Sequence[int]) -> int:
        """A function of several integers."""
        match function:
            case ExactFunction.LESS:
                return self._less(value, *operands)
            case ExactFunction.EQUAL:
                return self._equal(value, *operands)
            case ExactFunction.LEAST | ExactFunction.GREATEST:
                return self._extreme(value, function, *operands)
            case ExactFunction.AND | ExactFunction.OR | ExactFunction.XOR:
                return self._connected(value, function, *operands)
            case ExactFunction.ABSOLUTE:
                return self._absolute(value, *operands)
            case ExactFunction.CHOSEN:
                return self._chosen(value, *operands)
            case _:
                raise self._refusal(value)

    def _less(self, value: int, left: int, right: int) -> int:
        pair = self._inputs.pair(left, right)
        if pair:
            return self._comparisons.less(*pair)
        column = step_column(self._furthest(value, left, right))
        return self._polynomials.value(self._difference(left, right), column)

    def _equal(self, value: int, left: int, right: int) -> int:
        pair = self._inputs.pair(left, right)
        if pair:
            return self._comparisons.equal(*pair)
        column = unit_column(self._furthest(value, left, right))
        return self._polynomials.value(self._difference(left, right), column)

    def _extreme(self, value: int, function: ExactFunction, left: int, right: int) -> int:
        """The lesser or the greater of two: half of their sum, less or more their distance."""
        is_least = function is ExactFunction.LEAST
        pair = self._inputs.pair(left, right)
        if pair:
            ends = (left, right) if is_least else (right, left)
            return self._selected(self._comparisons.less(*pair), *ends)
        most = self._furthest(value, left, right)
        column = Column(-most, tuple(map(abs, range(-most, most + 1))))
        distance = self._polynomials.value(self._difference(left, right), column)
        total = self._plus(self._number(left), self._number(right))
        twice = self._builder.append((Difference if is_least else Sum)(total, distance))
        return self._times(twice, self._known(self._polynomials.half))

    def _absolute(self, value: int, operand: int) -> int:
        """A number of a wide range, or its opposite where it is less than 0."""
        digits = self._inputs.digits_of(operand)
        if digits is None:
            raise self._refusal(value)
        zero = self._inputs.known_digits(0, len(digits))
        is_negative = self._comparisons.less(digits, zero)
        number = self._number(operand)
        twice = self._times(self._known(2), self._times(is_negative, number))
        return self._builder.append(Difference(number, twice))

    def _selected(self, bit: int, one: int, zero: int) -> int:
        """One of two numbers by a bit."""
        return self._plus(self._number(zero), self._times(bit, self._difference(one, zero)))

    def _connected(self, value: int, function: ExactFunction, left: int, right: int) -> int:
        """A connective of two Booleans."""
        if any(not self._is_boolean(each) for each in (left, right)):
            raise self._refusal(value)
        one, other = self._number(left), self._number(right)
        both = self._times(one, other)
        if function is ExactFunction.AND:
            return both
        if function is ExactFunction.XOR:
            both = self._plus(both, both)
        return self._builder.append(Difference(self._plus(one, other), both))

    def _chosen(self, value: int, index: int, *items: int) -> int:
        """One of several items: the sum of each times whether the index is its own."""
        if not self._functions.is_small(index):
            raise self._refusal(value)
        low, high = self._ranges[index]
        made = self._known(0)
        for place in range(low, high + 1):
            column = Column(low, tuple(int(each == place) for each in range(low, high + 1)))
            sharing = high - low + 1
            is_own = self._polynomials.value(self._number(index), column, sharing)
            made = self._plus(self._times(is_own, self._number(items[place])), made)
        return made

    def _furthest(self, value: int, left: int, right: int) -> int:
        """How far two integers may be apart, where that is little."""
        (least, greatest), (low, high) = self._ranges[left], self._ranges[right]
        most = max(greatest - low, high - least)
        if most > MOST_POINTS:
            raise self._refusal(value)
        return most

    def _is_boolean(self, value: int) -> bool:
        low, high = self._ranges[value]
        return _BOOLEAN[0] <= low and high <= _BOOLEAN[1]

    def _difference(self, left: int, right: int) -> int:
        return self._builder.append(Difference(self._number(left), self._number(right)))

    def _plus(self, left: int, right: int) -> int:
        return self._builder.append(Sum(left, right))

    def _times(self, left: int, right: int) -> int:
        return self._builder.append(ScalarProduct(left, right))

    def _number(self, value: int) -> int:
        """What a value of the other circuit is in this one."""
        known = self._functions.known(value)
        return self._numbers[value] if known is None else self._known(known)

    def _known(self, number: int) -> int:
        return self._builder.append(Integer(number))

    def _refusal(self, value: int) -> EncryptedConditionError:
        operation, line = self._circuit.operations[value], self._circuit.origins[value]
        assert isinstance(operation, Applied)
        operands = [each for each in operation.operands if self._functions.known(each) is None]
        ranges = " and ".join(
            f"{low} to {high}" for low, high in (self._ranges[each] for each in operands[:2])
        )
        return EncryptedConditionError(
            f"cannot compile {self._circuit.title} on slots: expected comparisons of integers at "
            f"most {MOST_POINTS} apart, operators on Booleans, and other functions of one integer "
            f"from a range of up to {MOST_POINTS}, got {operation.function}"
            f"{f' at {line}' if line else ''} of integers from {ranges}; declare narrower bounds, "
            "or say on='bits', an evaluation a run"
        )

"""Which inputs of a circuit a client encrypts as digits, and the scalars that these are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cloakwork.plan.circuits.digits import Digit, digit_count, digit_range
from cloakwork.plan.circuits.function_ranges import Range
from cloakwork.plan.circuits.small_functions import SmallFunctions
from cloakwork.programs.ir.circuits import (
    Applied,
    CircuitBuilder,
    CircuitInput,
    Integer,
    Scalar,
    ScalarCircuit,
    ScalarProduct,
    Sum,
)
from cloakwork.programs.ir.exact_functions import ExactFunction
from cloakwork.programs.packing.scalar import InputDigits

# Functions by the order of what they take.
_ORDERED = (
    ExactFunction.LESS,
    ExactFunction.EQUAL,
    ExactFunction.LEAST,
    ExactFunction.GREATEST,
    ExactFunction.ABSOLUTE,
)


def split_inputs(
    circuit: ScalarCircuit, functions: SmallFunctions, bounds: Mapping[str, Range], bits: int
) -> tuple[InputDigits, ...]:
    """The inputs that are compared and have more bits than a digit, as the same number of digits.

    Inputs are compared with one another, or with clear integers.
    """
    free = {each.name for each in circuit.inputs if each.slots is None}
    compared: set[str] = set()
    for value in functions.needed:
        names = _compared(circuit, functions, value)
        if names <= free:
            compared |= names
    count = max((digit_count(bounds[name], bits) for name in compared), default=1)
    if count == 1:
        return ()
    return tuple(InputDigits(name, bits, count) for name in sorted(compared))


def _compared(circuit: ScalarCircuit, functions: SmallFunctions, value: int) -> set[str]:
    """The inputs whose scalars a value compares, with one another or with clear integers."""
    operation = circuit.operations[value]
    if not isinstance(operation, Applied) or operation.function not in _ORDERED:
        return set()
    if operation.function is ExactFunction.ABSOLUTE and functions.is_function(value):
        return set()
    encrypted = [each for each in operation.operands if functions.known(each) is None]
    operands = [circuit.operations[each] for each in encrypted]
    names = {each.input for each in operands if isinstance(each, Scalar)}
    return names if all(isinstance(each, Scalar) for each in operands) else set()


class SplitInputs:
    """The scalars of inputs in a circuit that is made of another, some of them as digits.

    Args:
        circuit: The other circuit.
        functions: What is known of its values.
        ranges: The ranges of its values.
        builder: The circuit.
        digits: The inputs that lie as digits.
    """

    def __init__(
        self,
        circuit: ScalarCircuit,
        functions: SmallFunctions,
        ranges: Sequence[Range],
        builder: CircuitBuilder,
        digits: Sequence[InputDigits],
    ) -> None:
        self._circuit = circuit
        self._functions = functions
        self._ranges = ranges
        self._builder = builder
        self._digits = {each.input: each for each in digits}
        self._scalars = {each.name: builder.input(self._declared(each)) for each in circuit.inputs}

    def whole(self, value: int) -> int:
        """A scalar, by its digits where it lies so."""
        digits = self.digits_of(value)
        if digits is None:
            operation = self._scalar(value)
            return self._scalars[operation.input][operation.index]
        bits = self._digits[self._scalar(value).input].bits
        made = digits[0].value
        for place, digit in enumerate(digits[1:], start=1):
            factor = self._builder.append(Integer(1 << bits * place))
            term = self._builder.append(ScalarProduct(digit.value, factor))
            made = self._builder.append(Sum(term, made))
        return made

    def digits_of(self, value: int) -> list[Digit] | None:
        """The digits of a value, the lowest first; None of what does not lie so."""
        operation = self._circuit.operations[value]
        if not isinstance(operation, Scalar) or operation.input not in self._digits:
            return None
        own = self._digits[operation.input]
        scalars = self._scalars[operation.input][operation.index * own.count :]
        found = [
            digit_range(self._ranges[value], own.bits, place, own.count)
            for place in range(own.count)
        ]
        return [
            self._known_digit(low) if low == high else Digit(scalar, (low, high))
            for scalar, (low, high) in zip(scalars, found, strict=False)
        ]

    def pair(self, left: int, right: int) -> tuple[list[Digit], list[Digit]] | None:
        """Two values as digits: inputs that lie so, and at most one clear integer."""
        found = [self.digits_of(each) for each in (left, right)]
        counts = [len(each) for each in found if each is not None]
        if not counts:
            return None
        for place, each in enumerate((left, right)):
            known = self._functions.known(each)
            if known is not None:
                found[place] = self.known_digits(known, counts[0])
        one, other = found
        return None if one is None or other is None else (one, other)

    def are_compared(self, value: int) -> bool:
        """Whether a value compares inputs that lie as digits."""
        names = _compared(self._circuit, self._functions, value)
        return bool(names) and names <= self._digits.keys()

    def known_digits(self, number: int, count: int) -> list[Digit]:
        """A clear integer as so many digits."""
        bits = next(iter(self._digits.values())).bits
        last = (1 << bits) - 1
        low = [self._known_digit(number >> bits * place & last) for place in range(count - 1)]
        return [*low, self._known_digit(number >> bits * (count - 1))]

    def _declared(self, given: CircuitInput) -> CircuitInput:
        digits = self._digits.get(given.name)
        return given if digits is None else replace(given, shape=(*given.shape, digits.count))

    def _scalar(self, value: int) -> Scalar:
        operation = self._circuit.operations[value]
        assert isinstance(operation, Scalar)
        return operation

    def _known_digit(self, number: int) -> Digit:
        return Digit(self._builder.append(Integer(number)), (number, number))

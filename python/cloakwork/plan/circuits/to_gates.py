"""Scalar circuits as gates on bits: every number as wide as its range asks for.

What is added up is added up at once: a sum whose only use is another sum is a part of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cloakwork.errors import ResultOverflowError
from cloakwork.plan.boolean.division import quotient_and_remainder
from cloakwork.plan.boolean.lookup import chosen_entry
from cloakwork.plan.boolean.words import Number, WordGates
from cloakwork.plan.circuits.function_ranges import MOST_BITS, Range
from cloakwork.plan.circuits.ranges import choice_of
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.ir.circuits import (
    Applied,
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
from cloakwork.programs.packing.scalar import bits_of
from cloakwork.programs.port import Port

# A number that is added up later: numbers of values with factors, and a known number.
_Sum = tuple[dict[int, int], int]


def width_of(found: Range) -> int:
    """Bits of the numbers of a range, with a sign where some are below 0; none of 0 alone.

    Example:
        >>> width_of((0, 255)), width_of((-1, 255)), width_of((0, 0))
        (8, 9, 0)
    """
    return bits_of(found) - (found[0] >= 0)


def gates_of(
    circuit: ScalarCircuit,
    inputs: Sequence[Port],
    ranges: Sequence[Range],
    outputs: Sequence[tuple[Port, Sequence[int]]],
) -> GateProgram:
    """The gates that compute a circuit.

    Args:
        circuit: The circuit.
        inputs: Its inputs as numbers of bits.
        ranges: The range of every value; see `value_ranges`.
        outputs: The outputs, each with the values that its elements are.

    Raises:
        ResultOverflowError: A number may have more bits than any may have.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitBuilder, CircuitInput
        >>> builder = CircuitBuilder("less")
        >>> (x, y) = builder.input(CircuitInput("v", (2,)))
        >>> less = builder.append(Applied(ExactFunction.LESS, (x, y)))
        >>> builder.output("z", (), (less,))
        >>> port = Port("v", "unsigned", 4, shape=(2,))
        >>> out = (Port("z", "unsigned", 1), [less])
        >>> gates_of(builder.finish(), [port], [(0, 15), (0, 15), (0, 1)], [out]).output_bits
        1
    """
    lowering = _Lowering(circuit, inputs, ranges)
    for port, values in outputs:
        rows = [lowering.words.extended(lowering.number(value), port.width) for value in values]
        lowering.words.output(port, [bit for row in rows for bit in row])
    return lowering.words.finish()


class _Lowering:
    """The numbers that the values of a circuit are.

    Attributes:
        words: What the gates are built by.
        ranges: The range of every value.
    """

    def __init__(
        self, circuit: ScalarCircuit, inputs: Sequence[Port], ranges: Sequence[Range]
    ) -> None:
        self.words = WordGates(circuit.title, inputs)
        self.ranges = ranges
        self._circuit = circuit
        self._places: dict[str, tuple[int, Port]] = {}
        first = 0
        for port in inputs:
            self._places[port.name] = first, port
            first += port.bits
        self._numbers: dict[int, Number] = {}
        self._sums: dict[int, _Sum] = {}
        self._lower()

    def number(self, value: int) -> Number:
        """The number that a value is."""
        return self._numbers[value]

    def _lower(self) -> None:
        needed = self._needed()
        later = self._added_later(needed)
        for value in sorted(needed):
            self._require_width(value)
            low, high = self.ranges[value]
            if low == high:
                self._numbers[value] = self.words.known(low)
            elif value in later:
                self._sums[value] = self._sum(value)
            else:
                self._numbers[value] = self._fitted(self._made(value), value)

    def _needed(self) -> set[int]:
        """The values that the outputs are made of as bits."""
        needed = {each for output in self._circuit.outputs for each in output.values}
        for value in range(len(self._circuit.operations) - 1, -1, -1):
            if value in needed:
                needed.update(self._parts(value))
        return needed

    def _added_later(self, needed: set[int]) -> set[int]:
        """The sums whose only use is in another sum."""
        users: dict[int, list[int]] = {}
        outputs = {each for output in self._circuit.outputs for each in output.values}
        for value in needed:
            for operand in self._parts(value):
                users.setdefault(operand, []).append(value)
        return {
            value
            for value, found in users.items()
            if len(found) == 1
            and value not in outputs
            and self._is_sum(value)
            and self._is_sum(found[0])
        }

    def _parts(self, value: int) -> Sequence[int]:
        """The values that one is made of as bits: of a choice those that it chooses from."""
        operation = self._circuit.operations[value]
        if isinstance(operation, Sum):
            choice = self._choice(operation)
            if choice is not None:
                return choice
        return operands_of(operation)

    def _choice(self, operation: Sum) -> tuple[int, int, int] | None:
        found = choice_of(self._circuit.operations, self.ranges, operation.left, operation.right)
        return None if found is None else (found.bit, found.one, found.zero)

    def _is_sum(self, value: int) -> bool:
        """Whether a value is a sum of others times known numbers."""
        match self._circuit.operations[value]:
            case Sum() as operation:
                return self._choice(operation) is None
            case Difference() | Negative():
                return True
            case ScalarProduct(left=left, right=right):
                return self._is_known(left) or self._is_known(right)
        return False

    def _is_known(self, value: int) -> bool:
        low, high = self.ranges[value]
        return low == high

    def _sum(self, value: int) -> _Sum:
        """A sum as numbers times known factors."""
        match self._circuit.operations[value]:
            case Sum(left=left, right=right):
                return _joined(self._term(left, 1), self._term(right, 1))
            case Difference(left=left, right=right):
                return _joined(self._term(left, 1), self._term(right, -1))
            case Negative(operand=operand):
                return self._term(operand, -1)
            case ScalarProduct(left=left, right=right) if self._is_known(left):
                return self._term(right, self.ranges[left][0])
            case ScalarProduct(left=left, right=right):
                return self._term(left, self.ranges[right][0])
        return {value: 1}, 0

    def _term(self, value: int, factor: int) -> _Sum:
        if self._is_known(value):
            return {}, factor * self.ranges[value][0]
        if value not in self._sums:
            return {value: factor}, 0
        terms, constant = self._sums.pop(value)
        if factor == 1:
            return terms, constant
        return {each: own * factor for each, own in terms.items()}, constant * factor

    def _require_width(self, value: int) -> None:
        if bits_of(self.ranges[value]) > MOST_BITS:
            line = self._circuit.origins[value]
            raise ResultOverflowError(
                f"cannot compile {self._circuit.title}{f' at {line}' if line else ''}: expected "
                f"numbers of up to {MOST_BITS} bits, got one that may have more; declare narrower "
                "bounds of inputs"
            )

    def _fitted(self, bits: Sequence[int], value: int) -> Number:
        """The bits of a value, as many as its range asks for."""
        found = self.ranges[value]
        return Number(tuple(bits[: width_of(found)]), signed=found[0] < 0)

    def _made(self, value: int) -> Sequence[int]:
        """The bits of a value, modulo 2 to its width or more."""
        operation = self._circuit.operations[value]
        width = width_of(self.ranges[value])
        match operation:
            case Scalar(input=name, index=index):
                first, port = self._places[name]
                start = first + index * port.width
                own = Number(tuple(range(start, start + port.width)), port.kind == "signed")
                return self.words.extended(own, width)
            case Integer(value=known):
                return self.words.constant(known, width)
            case Sum() as total if (choice := self._choice(total)) is not None:
                bit, one, zero = (self._numbers[each] for each in choice)
                rows = (self.words.extended(each, width) for each in (one, zero))
                return self.words.choose(self.words.extended(bit, 1)[0], *rows)
            case ScalarProduct(left=left, right=right) if not self._is_sum(value):
                return self.words.product(self._numbers[left], self._numbers[right], width)
            case Applied(function=ExactFunction.CHOSEN, operands=(index, *items)):
                return self._chosen(index, items, width)
            case Applied(function=function, operands=operands):
                made = _OF_FUNCTION[function]
                numbers = [self._numbers[each] for each in operands]
                ranges = [self.ranges[each] for each in operands]
                return made(self.words, numbers, ranges, width)
        terms, constant = self._sum(value)
        numbered = [(self._numbers[each], factor) for each, factor in terms.items()]
        return self.words.total(numbered, constant, width)

    def _chosen(self, index: int, items: Sequence[int], width: int) -> Sequence[int]:
        """The item that an index says, by its bits of two's complement."""
        low, high = self.ranges[index]
        bits = self._numbers[index].bits
        places = [
            place if low <= place <= high else None
            for place in (_signed(each, len(bits), low < 0) for each in range(1 << len(bits)))
        ]
        if all(map(self._is_known, items)):
            known = [0 if place is None else self.ranges[items[place]][0] for place in places]
            return chosen_entry(self.words, bits, [each % (1 << width) for each in known], width)
        rows = [
            None if place is None else self.words.extended(self._numbers[items[place]], width)
            for place in places
        ]
        found = self.words.one_of_many(bits, rows)
        assert found is not None
        return found


def _signed(pattern: int, width: int, signed: bool) -> int:
    """The number that bits are."""
    return pattern - (1 << width) if signed and pattern >> width - 1 else pattern


def _joined(one: _Sum, two: _Sum) -> _Sum:
    """The sum of two sums; the longer is changed and becomes that."""
    (terms, constant), (fewer, more) = sorted((one, two), key=lambda each: -len(each[0]))
    for value, factor in fewer.items():
        terms[value] = terms.get(value, 0) + factor
    return terms, constant + more


_Made = Callable[[WordGates, Sequence[Number], Sequence[Range], int], Sequence[int]]


def _quotient(
    words: WordGates, numbers: Sequence[Number], ranges: Sequence[Range], width: int
) -> Sequence[int]:
    exponent = _exponent(ranges[1])
    if exponent is not None:
        return words.extended(_without_low(numbers[0], exponent), width)
    quotient, _ = quotient_and_remainder(words, *numbers)
    return _zero_by_zero(words, words.extended(quotient, width), numbers[1], ranges[1])


def _remainder(
    words: WordGates, numbers: Sequence[Number], ranges: Sequence[Range], width: int
) -> Sequence[int]:
    exponent = _exponent(ranges[1])
    if exponent is not None:
        low = words.extended(numbers[0], exponent)
        return words.extended(Number(tuple(low)), width)
    _, remainder = quotient_and_remainder(words, *numbers)
    return _zero_by_zero(words, words.extended(remainder, width), numbers[1], ranges[1])


def _exponent(found: Range) -> int | None:
    """The exponent of the power of 2 that a range has alone; None where it is another."""
    low, high = found
    return low.bit_length() - 1 if low == high and low > 0 and not low & low - 1 else None


def _without_low(number: Number, count: int) -> Number:
    """A number shifted to the right by a known count."""
    left = number.bits[count:]
    return Number(left or number.bits[-1:], number.signed) if number.signed else Number(left)


def _zero_by_zero(
    words: WordGates, bits: Sequence[int], divisor: Number, found: Range
) -> Sequence[int]:
    """The bits, but 0 where the divisor is."""
    if not found[0] <= 0 <= found[1]:
        return bits
    holds = words.opposite(words.all_of(words.opposite(each) for each in divisor.bits))
    return [words.both(holds, each) for each in bits]


def _on_bits(gate: Callable[[WordGates, int, int], int]) -> _Made:
    """A function of the bits of two numbers."""

    def made(
        words: WordGates, numbers: Sequence[Number], _: Sequence[Range], width: int
    ) -> Sequence[int]:
        rows = (words.extended(each, width) for each in numbers)
        return [gate(words, *pair) for pair in zip(*rows, strict=True)]

    return made


def _power(
    words: WordGates, numbers: Sequence[Number], _: Sequence[Range], width: int
) -> Sequence[int]:
    base, exponent = numbers
    made, square = words.known(1), base
    for place, bit in enumerate(exponent.bits):
        if place:
            own = min(width, 2 * len(square.bits))
            square = Number(tuple(words.product(square, square, own)))
        factor = words.choose(bit, words.extended(square, width), words.constant(1, width))
        step = Number(tuple(factor))
        made = Number(tuple(words.product(made, step, width))) if place else step
    return words.extended(made, width)


def _extreme(*, greatest: bool) -> _Made:
    """The greater or the lesser of two numbers."""

    def made(
        words: WordGates, numbers: Sequence[Number], _: Sequence[Range], width: int
    ) -> Sequence[int]:
        left, right = (words.extended(each, width) for each in numbers)
        rows = (right, left) if greatest else (left, right)
        return words.choose(words.less(*numbers), *rows)

    return made


def _absolute(
    words: WordGates, numbers: Sequence[Number], _: Sequence[Range], width: int
) -> Sequence[int]:
    (number,) = numbers
    sign = number.bits[-1] if number.signed else words.zero
    return words.negated_where(sign, number, width)


_OF_FUNCTION: Mapping[ExactFunction, _Made] = {
    ExactFunction.LESS: lambda words, numbers, *_: [words.less(*numbers)],
    ExactFunction.EQUAL: lambda words, numbers, *_: [words.equal(*numbers)],
    ExactFunction.QUOTIENT: _quotient,
    ExactFunction.REMAINDER: _remainder,
    ExactFunction.AND: _on_bits(WordGates.both),
    ExactFunction.OR: _on_bits(WordGates.either),
    ExactFunction.XOR: _on_bits(WordGates.differ),
    ExactFunction.LEFT: lambda words, numbers, _, width: words.shifted_left(
        numbers[0], numbers[1].bits, width
    ),
    ExactFunction.RIGHT: lambda words, numbers, _, width: words.extended(
        Number(tuple(words.shifted_right(numbers[0], numbers[1].bits)), numbers[0].signed), width
    ),
    ExactFunction.POWER: _power,
    ExactFunction.ABSOLUTE: _absolute,
    ExactFunction.LEAST: _extreme(greatest=False),
    ExactFunction.GREATEST: _extreme(greatest=True),
}

"""Scalar circuits: integers under addition, subtraction, multiplication, and other functions.

A circuit is a list of operations in order. Each makes one integer and names the values it
works on by their number; `CircuitInput` says how the client may place the scalars of an input
in slots. Integers are exact and do not wrap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from cloakwork.errors import InvalidArgumentError, InvalidProgramError
from cloakwork.programs.ir.exact_functions import ExactFunction, exact_value


@dataclass(frozen=True, slots=True)
class CircuitInput:
    """A named encrypted input: a scalar, a vector, a matrix.

    Args:
        name: The name.
        shape: Its shape; a scalar's is empty.
        replicated: Whether the client may put a scalar in as many slots as the plan wants;
            otherwise each scalar lies in one slot of one ciphertext.
        grouped: Whether all its scalars, every copy included, lie in one ciphertext of its own;
            otherwise they may lie in any ciphertexts, also beside scalars of other inputs.
        slots: The slot of every scalar in order, where the caller fixes them in the one
            ciphertext of a grouped input; None leaves them to the plan.

    Raises:
        InvalidProgramError: The name is no text, a length is below 1, or the slots do not fit.

    Example:
        >>> print(CircuitInput("a", (2, 3), replicated=True))
        a: 2 x 3, replicated
    """

    name: str
    shape: tuple[int, ...] = ()
    replicated: bool = False
    grouped: bool = True
    slots: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        _require_port(self.name, self.shape, "input")
        if self.slots is None:
            return
        if self.replicated or not self.grouped:
            _refuse(f"input {self.name!r} has fixed slots, so it is grouped and not replicated")
        if len(self.slots) != self.count or len(set(self.slots)) != self.count:
            _refuse(f"input {self.name!r} takes {self.count} different slots, got {self.slots}")
        if any(type(slot) is not int or slot < 0 for slot in self.slots):
            _refuse(f"input {self.name!r} takes integers from 0 up as slots, got {self.slots}")

    @property
    def count(self) -> int:
        """Its scalars."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        words = [_shape_text(self.shape)]
        words += ["replicated"] if self.replicated else []
        words += [] if self.grouped else ["ungrouped"]
        words += [] if self.slots is None else [f"slots {' '.join(map(str, self.slots))}"]
        return f"{self.name}: {', '.join(words)}"


@dataclass(frozen=True, slots=True)
class CircuitOutput:
    """A named result: the values that its scalars are, in order.

    Raises:
        InvalidProgramError: The name is no text, a length is below 1, or the values do not fill
            the shape.

    Example:
        >>> CircuitOutput("y", (2,), (4, 7)).count
        2
    """

    name: str
    shape: tuple[int, ...]
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        _require_port(self.name, self.shape, "output")
        if len(self.values) != self.count:
            _refuse(f"output {self.name!r} has {self.count} scalars, got {len(self.values)} values")

    @property
    def count(self) -> int:
        """Its scalars."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar of an input: the name, and its number in order."""

    input: str
    index: int


@dataclass(frozen=True, slots=True)
class Integer:
    """A clear integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Sum:
    """left + right."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Difference:
    """left - right."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class ScalarProduct:
    """left * right."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Negative:
    """-operand."""

    operand: int


@dataclass(frozen=True, slots=True)
class Applied:
    """A function beyond addition and multiplication of some values."""

    function: ExactFunction
    operands: tuple[int, ...]


ScalarOperation: TypeAlias = (
    Scalar | Integer | Sum | Difference | ScalarProduct | Negative | Applied
)

_NAMES: Mapping[type[ScalarOperation], str] = {
    Sum: "+",
    Difference: "-",
    ScalarProduct: "*",
}


def operands_of(operation: ScalarOperation) -> tuple[int, ...]:
    """The numbers of the values that an operation works on.

    Example:
        >>> operands_of(ScalarProduct(3, 3))
        (3, 3)
    """
    match operation:
        case Scalar() | Integer():
            return ()
        case Negative(operand=operand):
            return (operand,)
        case Applied(operands=operands):
            return operands
        case _:
            return (operation.left, operation.right)


@dataclass(frozen=True, eq=False)
class ScalarCircuit:
    """A legal list of scalar operations between named inputs and outputs.

    Args:
        title: What the circuit computes, in the words of who wrote it.
        inputs: The inputs.
        operations: The operations in order; value k is what operation k makes.
        outputs: The results.
        origins: The line of the user's program that asked for each operation; empty where
            unknown, and all of them where none are given.

    Raises:
        InvalidProgramError: Two inputs or two outputs share a name, there is no output, or an
            operation uses a value that is not before it or a scalar that does not exist.

    Example:
        >>> builder = CircuitBuilder("square of a sum")
        >>> x, y = builder.input(CircuitInput("x")) + builder.input(CircuitInput("y"))
        >>> total = builder.append(Sum(x, y))
        >>> builder.output("z", (), (builder.append(ScalarProduct(total, total)),))
        >>> print(builder.finish())
        square of a sum
          input x: scalar
          input y: scalar
          %0 = x
          %1 = y
          %2 = %0 + %1
          %3 = %2 * %2
          output z: scalar = %3
    """

    title: str
    inputs: tuple[CircuitInput, ...]
    operations: tuple[ScalarOperation, ...]
    outputs: tuple[CircuitOutput, ...]
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.title, str):
            _refuse(f"its title is of type {type(self.title).__name__}, not text")
        for ports in (self.inputs, self.outputs):
            names = [port.name for port in ports]
            if len(set(names)) != len(names):
                _refuse(f"two inputs or two outputs share a name: {', '.join(names)}")
        if not self.outputs:
            _refuse("it has no output")
        counts = {each.name: each.count for each in self.inputs}
        for number, operation in enumerate(self.operations):
            _require_operation(number, operation, counts)
        for output in self.outputs:
            for value in output.values:
                _require_value(value, len(self.operations), f"output {output.name!r}")
        origins = self.origins or ("",) * len(self.operations)
        if len(origins) != len(self.operations):
            _refuse("expected one origin per operation")
        object.__setattr__(self, "origins", origins)

    def __str__(self) -> str:
        lines = [self.title]
        lines += [f"  input {each}" for each in self.inputs]
        lines += [f"  {self.line(number)}" for number in range(len(self.operations))]
        for output in self.outputs:
            values = " ".join(f"%{value}" for value in output.values)
            lines.append(f"  output {output.name}: {_shape_text(output.shape)} = {values}")
        return "\n".join(lines)

    def line(self, number: int) -> str:
        """The text of one operation."""
        operation = self.operations[number]
        match operation:
            case Scalar(input=name, index=index):
                shape = next(each.shape for each in self.inputs if each.name == name)
                text = name + _index_text(index, shape)
            case Integer(value=value):
                text = str(value)
            case Negative(operand=operand):
                text = f"-%{operand}"
            case Applied(function=function, operands=operands):
                text = f"{function} of {' '.join(f'%{each}' for each in operands)}"
            case _:
                text = f"%{operation.left} {_NAMES[type(operation)]} %{operation.right}"
        return f"%{number} = {text}"


def evaluate(circuit: ScalarCircuit, inputs: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """What the circuit computes, exactly.


    Example:
        >>> builder = CircuitBuilder("difference")
        >>> x, y = builder.input(CircuitInput("x", (2,)))
        >>> builder.output("d", (), (builder.append(Difference(x, y)),))
        >>> evaluate(builder.finish(), {"x": [3, 10]})
        {'d': [-7]}
    """
    if set(inputs) != {each.name for each in circuit.inputs}:
        wanted = ", ".join(each.name for each in circuit.inputs)
        raise InvalidArgumentError(
            f"cannot evaluate {circuit.title}: expected the inputs {wanted}, got "
            f"{', '.join(inputs)}"
        )
    for each in circuit.inputs:
        if len(inputs[each.name]) != each.count:
            raise InvalidArgumentError(
                f"cannot evaluate {circuit.title}: expected {each.count} scalars of "
                f"{each.name!r}, got {len(inputs[each.name])}"
            )
    values: list[int] = []
    for operation in circuit.operations:
        match operation:
            case Scalar(input=name, index=index):
                values.append(int(inputs[name][index]))
            case Integer(value=value):
                values.append(value)
            case Sum(left=left, right=right):
                values.append(values[left] + values[right])
            case Difference(left=left, right=right):
                values.append(values[left] - values[right])
            case ScalarProduct(left=left, right=right):
                values.append(values[left] * values[right])
            case Negative(operand=operand):
                values.append(-values[operand])
            case Applied(function=function, operands=operands):
                values.append(exact_value(function, [values[each] for each in operands]))
    return {each.name: [values[value] for value in each.values] for each in circuit.outputs}


def beyond_arithmetic(circuit: ScalarCircuit) -> int | None:
    """The first needed value that is neither a sum nor a product; None where there is none.

    Example:
        >>> builder = CircuitBuilder("greater")
        >>> x, y = builder.input(CircuitInput("x", (2,)))
        >>> less = builder.append(Applied(ExactFunction.LESS, (y, x)))
        >>> builder.output("z", (), (less,))
        >>> beyond_arithmetic(builder.finish())
        2
    """
    needed = needed_values(circuit)
    for number, operation in enumerate(circuit.operations):
        if number in needed and isinstance(operation, Applied):
            return number
    return None


def needed_values(circuit: ScalarCircuit) -> set[int]:
    """The values that the outputs are computed from.

    Example:
        >>> builder = CircuitBuilder("first")
        >>> x, y = builder.input(CircuitInput("x", (2,)))
        >>> builder.output("z", (), (x,))
        >>> needed_values(builder.finish())
        {0}
    """
    needed = {value for output in circuit.outputs for value in output.values}
    for number in range(len(circuit.operations) - 1, -1, -1):
        if number in needed:
            needed.update(operands_of(circuit.operations[number]))
    return needed


class CircuitBuilder:
    """Collects inputs, operations and outputs into a circuit.

    An operation that is there already is not made again. Set `origin` to the line of the user's
    program that the next operations come from.

    Example:
        >>> builder = CircuitBuilder("twice")
        >>> (x,) = builder.input(CircuitInput("x"))
        >>> builder.append(Sum(x, x)) == builder.append(Sum(x, x))
        True
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._inputs: list[CircuitInput] = []
        self._outputs: list[CircuitOutput] = []
        self._operations: list[ScalarOperation] = []
        self._numbers: dict[ScalarOperation, int] = {}
        self._origins: list[str] = []
        self._counts: dict[str, int] = {}
        self.origin = ""
        # Numbers of values that are Booleans: 0 or 1, and turned round by ~.
        self.booleans: set[int] = set()

    def input(self, declared: CircuitInput) -> list[int]:
        """Declare an input; the numbers of its scalars in order."""
        if declared.name in self._counts:
            _refuse(f"two inputs are named {declared.name!r}")
        self._inputs.append(declared)
        self._counts[declared.name] = declared.count
        return [self.append(Scalar(declared.name, index)) for index in range(declared.count)]

    def append(self, operation: ScalarOperation) -> int:
        """The number of an operation's value."""
        known = self._numbers.get(operation)
        if known is not None:
            return known
        number = len(self._operations)
        _require_operation(number, operation, self._counts)
        self._operations.append(operation)
        self._origins.append(self.origin)
        self._numbers[operation] = number
        if isinstance(operation, Applied) and self._is_boolean(operation):
            self.booleans.add(number)
        return number

    def _is_boolean(self, operation: Applied) -> bool:
        if operation.function in (ExactFunction.LESS, ExactFunction.EQUAL):
            return True
        is_on_bits = operation.function in (ExactFunction.AND, ExactFunction.OR, ExactFunction.XOR)
        return is_on_bits and self.booleans.issuperset(operation.operands)

    def output(self, name: str, shape: tuple[int, ...], values: Sequence[int]) -> None:
        """Declare a result."""
        self._outputs.append(CircuitOutput(name, shape, tuple(values)))

    @property
    def operations(self) -> Sequence[ScalarOperation]:
        """The operations so far."""
        return self._operations

    def finish(self) -> ScalarCircuit:
        """The circuit so far."""
        return ScalarCircuit(
            self._title,
            tuple(self._inputs),
            tuple(self._operations),
            tuple(self._outputs),
            tuple(self._origins),
        )


def _require_operation(number: int, operation: ScalarOperation, counts: Mapping[str, int]) -> None:
    match operation:
        case Scalar(input=name, index=index):
            if name not in counts:
                _refuse(f"%{number} is a scalar of {name!r}, which is not an input")
            if type(index) is not int or not 0 <= index < counts[name]:
                _refuse(f"%{number} is scalar {index!r} of {name!r}, which has {counts[name]}")
        case Integer(value=value):
            if type(value) is not int:
                _refuse(f"%{number} is of type {type(value).__name__}, not an integer")
        case Sum() | Difference() | ScalarProduct() | Negative() | Applied():
            for operand in operands_of(operation):
                _require_value(operand, number, f"%{number}")
        case _:
            _refuse(f"%{number} is of type {type(operation).__name__}, which is not an operation")


def _require_value(value: int, before: int, who: str) -> None:
    if type(value) is not int or not 0 <= value < before:
        _refuse(f"{who} uses %{value}, which is not before it")


def _require_port(name: str, shape: tuple[int, ...], what: str) -> None:
    if not isinstance(name, str):
        _refuse(f"the name of an {what} is of type {type(name).__name__}, not text")
    if not isinstance(shape, tuple) or any(type(n) is not int or n < 1 for n in shape):
        _refuse(f"{what} {name!r} has shape {shape!r}: expected lengths of 1 or more")


def _shape_text(shape: tuple[int, ...]) -> str:
    if not shape:
        return "scalar"
    return f"vector of {shape[0]}" if len(shape) == 1 else " x ".join(map(str, shape))


def _index_text(index: int, shape: tuple[int, ...]) -> str:
    places: list[int] = []
    for length in reversed(shape):
        index, place = divmod(index, length)
        places.insert(0, place)
    return f"[{','.join(map(str, places))}]" if places else ""


def _refuse(reason: str) -> NoReturn:
    raise InvalidProgramError(f"cannot make the circuit: {reason}")

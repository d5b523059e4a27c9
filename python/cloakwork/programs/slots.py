"""The slot program: the one form in which vectors of numbers are computed on.

A program is a list of operations in order. Each makes one value, a vector of n
slots, and names the values it works on by their number. `state_after` is the
whole of what makes an operation legal.

Conventions, the same on every backend: after `Rotate` by k, slot i holds what
slot i + k held (to the left, cyclic); `Linear` computes the sum over d of
diagonal d times its operand rotated by d. Levels are explicit. Over reals a product
(`Mul`, `Linear`) waits for a `Rescale`, which takes it one level down. Integers have no scale:
a product of them waits for nothing, and a `Rescale` takes away noise wherever it stands.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, assert_never, get_args

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.layout import MAX_SLOTS, Layout

Vector: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
# What a program computes with.
Numbers: TypeAlias = Literal["real", "integer"]
Basis: TypeAlias = Literal["monomial", "chebyshev"]

_INTEGERS = (int, np.integer)
DTYPES: Mapping[Numbers, np.dtype[Any]] = {
    "real": np.dtype(np.float64),
    "integer": np.dtype(np.int64),
}
# Its negative is an int64 as well.
MAX_INTEGER = (1 << 63) - 1

# Far above every chain of moduli: a program may be deeper than its chain while it is planned.
MAX_LEVEL = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """An encrypted vector from outside, at the given level."""

    name: str
    level: int


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A clear vector; only `Add`, `Sub` and `Mul` take one, beside an encrypted operand.

    It is of float64 in a program over reals, of int64 in one over integers.
    """

    vector: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Add:
    """left + right, slot by slot."""

    left: int
    right: int


@dataclass(frozen=True, slots=True, eq=False)
class Sub:
    """left - right, slot by slot."""

    left: int
    right: int


@dataclass(frozen=True, slots=True, eq=False)
class Mul:
    """left * right, slot by slot; over reals it waits for a rescale."""

    left: int
    right: int


@dataclass(frozen=True, slots=True, eq=False)
class Neg:
    """-operand, slot by slot."""

    operand: int


@dataclass(frozen=True, slots=True, eq=False)
class Rotate:
    """Slot i receives slot i + steps, cyclically."""

    operand: int
    steps: int


@dataclass(frozen=True, slots=True, eq=False)
class RotateSum:
    """The sum of rotations by each of `added`, less those by each of `subtracted`.

    0 stands for the operand itself. Programs over integers have it, where it costs little more
    than one rotation.
    """

    operand: int
    added: tuple[int, ...]
    subtracted: tuple[int, ...] = ()

    @property
    def moving(self) -> tuple[int, ...]:
        """The steps that are not 0."""
        return tuple(step for step in self.added + self.subtracted if step)


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """The sum over d of diagonals[d] * rotate(operand, d); waits for a rescale.

    `baby_steps` says how the diagonals are split: d is rotated by
    d % baby_steps and by the rest of d. A diagonal may be counted from minus the slots up, so
    that those of a transpose are multiples of one number.
    """

    operand: int
    diagonals: Mapping[int, Vector]
    baby_steps: int


@dataclass(frozen=True, slots=True, eq=False)
class Polynomial:
    """A real polynomial of every slot, coefficients from degree 0 up; rescaled already.

    In the Chebyshev basis the slots lie in [-1, 1].
    """

    operand: int
    coefficients: tuple[float, ...]
    basis: Basis


@dataclass(frozen=True, slots=True, eq=False)
class Rescale:
    """The same numbers one level down: at that level's scale, or with less noise."""

    operand: int


@dataclass(frozen=True, slots=True, eq=False)
class DropLevel:
    """The same numbers at a lower level."""

    operand: int
    level: int


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """A result of the program."""

    operand: int


Operation: TypeAlias = (
    Input
    | Constant
    | Add
    | Sub
    | Mul
    | Neg
    | Rotate
    | RotateSum
    | Linear
    | Polynomial
    | Rescale
    | DropLevel
    | Output
)


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a value before anything runs.

    Args:
        level: Level of the value; a clear one has none.
        waiting: Whether it is a product that waits for its rescale.
    """

    level: int | None
    waiting: bool = False


def operands(operation: Operation) -> tuple[int, ...]:
    """The numbers of the values that an operation works on."""
    match operation:
        case Input() | Constant():
            return ()
        case Add() | Sub() | Mul():
            return (operation.left, operation.right)
        case _:
            return (operation.operand,)


def with_operands(operation: Operation, numbers: Sequence[int]) -> Operation:
    """The same operation on the values with these numbers.

    Example:
        >>> operands(with_operands(Sub(0, 1), [4, 7]))
        (4, 7)
    """
    match operation:
        case Input() | Constant():
            return operation
        case Add() | Sub() | Mul() | Neg() | Rescale() | Output():
            return type(operation)(*numbers)
        case _:
            return replace(operation, operand=numbers[0])


def polynomial_depth(coefficients: Sequence[float]) -> int:
    """Levels that a polynomial takes: the least for its degree, zeros at the end not counted.

    Example:
        >>> polynomial_depth([0.0, 0.5, 0.0, 0.25])
        2
    """
    return max((n for n, c in enumerate(coefficients) if c), default=0).bit_length()


def state_after(
    operation: Operation, states: Sequence[State], slots: int, numbers: Numbers = "real"
) -> State:
    """The state of the value that an operation makes out of operands in these states.

    This is the one list of rules; an operation that it passes is legal.

    Args:
        operation: The operation.
        states: States of its operands, in order.
        slots: Slots of every value of the program.
        numbers: What the program computes with.

    Raises:
        InvalidProgramError: The operation is not legal on these operands.

    Example:
        >>> state_after(Rescale(0), [State(3, waiting=True)], 8)
        State(level=2, waiting=False)
    """
    match operation:
        case Input(name=name, level=level):
            _require(isinstance(name, str), operation, f"its name is {_kind(name)}, not text")
            _require_integer(level, "its level", operation)
            _require(level >= 0, operation, f"level {level} is below 0")
            _require(level <= MAX_LEVEL, operation, f"its level is above {MAX_LEVEL}")
            return State(level)
        case Constant(vector=vector):
            _require_vector(vector, slots, operation, numbers)
            return State(None)
        case Add() | Sub():
            return _joined(operation, states)
        case Mul() if numbers == "integer":
            return _joined(operation, states)
        case Mul():
            state = _joined(operation, states)
            _require_ready(operation, state, levels=1)
            return State(state.level, waiting=True)
        case Output():
            _require_ready(operation, states[0], levels=0)
            return states[0]
        case Neg():
            _require_encrypted(operation, states[0])
            return states[0]
        case Rotate() | RotateSum():
            _require_encrypted(operation, states[0])
            _require_steps(operation, slots, numbers)
            return states[0]
        case Linear() | Polynomial() if numbers == "integer":
            raise InvalidProgramError(
                f"cannot use {name_of(operation)}: programs over integers have none; expand it "
                "into rotations, products and sums"
            )
        case Linear(diagonals=diagonals, baby_steps=baby_steps):
            _require_ready(operation, states[0], levels=1)
            _require(isinstance(diagonals, Mapping), operation, "its diagonals are no mapping")
            _require(bool(diagonals), operation, "it has no diagonals")
            _require_integer(baby_steps, "its number of baby steps", operation)
            _require(baby_steps >= 1, operation, f"{baby_steps} baby steps are fewer than 1")
            _require(
                baby_steps <= slots, operation, f"{baby_steps} baby steps are more than the slots"
            )
            _require_diagonals(diagonals, slots, operation)
            return State(states[0].level, waiting=True)
        case Polynomial(coefficients=coefficients, basis=basis):
            is_known = isinstance(basis, str) and basis in get_args(Basis)
            _require(is_known, operation, f"its basis is not of {get_args(Basis)}")
            _require(isinstance(coefficients, tuple), operation, "its coefficients are no tuple")
            for coefficient in coefficients:
                _require_finite(coefficient, operation)
            depth = polynomial_depth(coefficients)
            _require(depth >= 1, operation, "its degree is below 1")
            return State(_require_ready(operation, states[0], levels=depth) - depth)
        case Rescale() if numbers == "integer":
            return State(_require_ready(operation, states[0], levels=1) - 1)
        case Rescale():
            level = _require_encrypted(operation, states[0])
            _require(states[0].waiting, operation, "its operand is no product")
            return State(level - 1)
        case DropLevel(level=target):
            level = _require_ready(operation, states[0], levels=0)
            _require_integer(target, "its level", operation)
            _require(0 <= target < level, operation, f"level {target} is not below {level}")
            return State(target)
        case _:
            assert_never(operation)


def _joined(operation: Operation, states: Sequence[State]) -> State:
    encrypted = [state for state in states if state.level is not None]
    _require(bool(encrypted), operation, "no operand is encrypted")
    if encrypted[0] != encrypted[-1]:
        raise InvalidProgramError(
            f"cannot use {name_of(operation)}: its operands differ: {encrypted}"
        )
    return encrypted[0]


def _require_encrypted(operation: Operation, state: State) -> int:
    if state.level is None:
        raise InvalidProgramError(f"cannot use {name_of(operation)}: its operand is a constant")
    return state.level


def _require_ready(operation: Operation, state: State, *, levels: int) -> int:
    level = _require_encrypted(operation, state)
    _require(not state.waiting, operation, "its operand is a product that waits for a rescale")
    _require(level >= levels, operation, f"it takes {levels} level(s), its operand has {level}")
    return level


def _require_vector(
    vector: NDArray[Any], slots: int, operation: Operation, numbers: Numbers
) -> None:
    dtype = DTYPES[numbers]
    is_vector = isinstance(vector, np.ndarray) and vector.dtype == dtype
    _require(is_vector, operation, f"expected an array of {dtype}, got {_kind(vector)}")
    _require(vector.shape == (slots,), operation, f"expected {slots} slots, got {vector.shape}")
    if numbers == "integer":
        _require(bool((vector >= -MAX_INTEGER).all()), operation, "a number is -2^63")
    else:
        _require(bool(np.isfinite(vector).all()), operation, "a number is not finite")


def _require_steps(operation: Rotate | RotateSum, slots: int, numbers: Numbers) -> None:
    if isinstance(operation, Rotate):
        steps = operation.steps
        _require_integer(steps, "its number of steps", operation)
        _require(0 < steps < slots, operation, f"{steps} steps are outside 1..{slots - 1}")
        return
    if numbers == "real":
        raise InvalidProgramError(
            "cannot use rotate_sum: programs over reals have none; expand it into rotations and "
            "sums"
        )
    for signed in (operation.added, operation.subtracted):
        _require(isinstance(signed, tuple), operation, "its steps are no tuple")
        for step in signed:
            _require_integer(step, "its number of steps", operation)
            _require(0 <= step < slots, operation, f"{step} steps are outside 0..{slots - 1}")
    summed = operation.added + operation.subtracted
    _require(len(set(summed)) == len(summed), operation, "a rotation comes twice")
    _require(any(summed), operation, "it does not rotate")
    _require(len(summed) > 1, operation, "it does not sum")


def _require_diagonals(diagonals: Mapping[int, Vector], slots: int, operation: Operation) -> None:
    if isinstance(diagonals, SparseDiagonals):
        _require(
            diagonals.slots == slots,
            operation,
            f"expected {slots} slots, got diagonals of {diagonals.slots}",
        )
        _require(diagonals.is_finite(), operation, "a number is not finite")
        return
    for number in diagonals:
        _require_integer(number, "the number of a diagonal", operation)
    _require(
        len({number % slots for number in diagonals}) == len(diagonals),
        operation,
        "a diagonal comes twice",
    )
    for number, vector in diagonals.items():
        _require(-slots < number < slots, operation, f"diagonal {number} does not exist")
        _require_vector(vector, slots, operation, "real")


def _require_integer(value: object, what: str, operation: Operation) -> None:
    if not isinstance(value, _INTEGERS) or isinstance(value, bool):
        raise InvalidProgramError(
            f"cannot use {name_of(operation)}: {what} is {_kind(value)}, not an integer"
        )


def _require_finite(value: object, operation: Operation) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    _require(is_number, operation, f"a coefficient is {_kind(value)}, not a float")
    # Holds of integers too, however large.
    is_finite = isinstance(value, int | float) and abs(value) <= sys.float_info.max
    _require(is_finite, operation, "a coefficient is not finite")


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return f"of type {type(value).__name__}"


def _operand_states(operation: Operation, states: Sequence[State]) -> list[State]:
    """States of the operands of the operation that comes after these states."""
    if type(operation) not in _NAMES:
        raise InvalidProgramError(f"cannot use an object {_kind(operation)}: it is no operation")
    numbers = operands(operation)
    for number in numbers:
        _require_integer(number, "the number of an operand", operation)
        if not 0 <= number < len(states):
            raise InvalidProgramError(
                f"cannot use {name_of(operation)}: %{len(states)} names a value that comes "
                f"later, %{number}"
            )
    return [states[number] for number in numbers]


def _require_frame(title: str, slots: int, numbers: Numbers) -> None:
    if not isinstance(numbers, str) or numbers not in DTYPES:
        raise InvalidProgramError(
            f"cannot make a program: expected numbers to be of {', '.join(DTYPES)}, "
            f"got {numbers!r:.40}"
        )
    if not isinstance(title, str):
        raise InvalidProgramError(f"cannot make a program: its title is {_kind(title)}, not text")
    if not isinstance(slots, _INTEGERS) or isinstance(slots, bool):
        raise InvalidProgramError(f"cannot make a program: its slots are {_kind(slots)}")
    if not 1 <= slots <= MAX_SLOTS:
        raise InvalidProgramError(
            f"cannot make a program of {slots} slots: expected 1 to {MAX_SLOTS}"
        )


def _require(condition: bool, operation: Operation, reason: str) -> None:
    if not condition:
        raise InvalidProgramError(f"cannot use {name_of(operation)}: {reason}")


def name_of(operation: Operation) -> str:
    """The operation's name in the text of a program."""
    return _NAMES[type(operation)]


_NAMES: Mapping[type[Operation], str] = {
    Input: "input",
    Constant: "constant",
    Add: "add",
    Sub: "sub",
    Mul: "mul",
    Neg: "neg",
    Rotate: "rotate",
    RotateSum: "rotate_sum",
    Linear: "linear",
    Polynomial: "polynomial",
    Rescale: "rescale",
    DropLevel: "drop_level",
    Output: "output",
}


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class SlotProgram:
    """A legal list of operations; value k is what operation k makes.

    Args:
        title: What the program computes, in the words of who wrote it.
        slots: Slots of every value, 1 to `MAX_SLOTS`.
        operations: The operations in order.
        layouts: The layout of every value, where known; meaning never depends on it.
        origins: The line of the user's program that asked for each operation; empty where
            unknown, and all of them where none are given.
        stages: What the planner wanted each operation for, in a few words; likewise.
        numbers: Whether it computes with reals, which may be off, or exactly with integers.

    Raises:
        InvalidProgramError: An operation is not legal.

    Example:
        >>> print(SlotProgram("double", 4, (Input("x", 1), Add(0, 0), Output(1)), (None,) * 3))
        double, 4 slots
          %0 = input x        level 1
          %1 = add %0 %0      level 1
          %2 = output %1      level 1
    """

    title: str
    slots: int
    operations: tuple[Operation, ...]
    layouts: tuple[Layout | None, ...]
    origins: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    numbers: Numbers = "real"
    states: tuple[State, ...] = field(init=False)

    def __post_init__(self) -> None:
        _require_frame(self.title, self.slots, self.numbers)
        states: list[State] = []
        for operation in self.operations:
            of_operands = _operand_states(operation, states)
            states.append(state_after(operation, of_operands, self.slots, self.numbers))
        if len(self.layouts) != len(self.operations):
            raise InvalidProgramError("cannot make the program: expected a layout per operation")
        for layout in self.layouts:
            if layout is not None and (
                not isinstance(layout, Layout) or layout.slots != self.slots
            ):
                raise InvalidProgramError(
                    f"cannot make the program: expected layouts of {self.slots} slots, got {layout}"
                )
        object.__setattr__(self, "origins", self._texts(self.origins, "origin"))
        object.__setattr__(self, "stages", self._texts(self.stages, "stage"))
        object.__setattr__(self, "states", tuple(states))

    def _texts(self, given: tuple[str, ...], what: str) -> tuple[str, ...]:
        texts = given or ("",) * len(self.operations)
        if len(texts) != len(self.operations):
            raise InvalidProgramError(f"cannot make the program: expected one {what} per operation")
        if not all(isinstance(text, str) for text in texts):
            raise InvalidProgramError(f"cannot make the program: expected {what}s to be text")
        return texts

    def __str__(self) -> str:
        lines = [self.line(number) for number in range(len(self.operations))]
        width = max((len(line) for line in lines), default=0)
        kind = " of integers" if self.numbers == "integer" else ""
        text = [f"{self.title}, {self.slots} slots{kind}"]
        for line, state, layout in zip(lines, self.states, self.layouts, strict=True):
            level = "clear" if state.level is None else f"level {state.level}"
            waiting = ", waits for rescale" if state.waiting else ""
            place = "" if layout is None else f"  {layout}"
            text.append(f"  {line:<{width}}      {level}{waiting}{place}")
        return "\n".join(text)

    def __repr__(self) -> str:
        return f"SlotProgram({self.title}: {len(self.operations)} operations, {self.slots} slots)"

    def line(self, number: int) -> str:
        """The text of one operation, without its level and layout."""
        operation = self.operations[number]
        words = [f"%{number} =", name_of(operation)]
        words += [f"%{operand}" for operand in operands(operation)]
        match operation:
            case Input(name=name):
                words.append(name)
            case Rotate(steps=steps):
                words.append(f"by {steps}")
            case RotateSum(added=added, subtracted=subtracted):
                less = f" less {', '.join(map(str, subtracted))}" if subtracted else ""
                words.append(f"by {', '.join(map(str, added))}{less}")
            case Linear(diagonals=diagonals, baby_steps=baby_steps):
                words.append(f"{{{len(diagonals)} diagonals, {baby_steps} baby steps}}")
            case Polynomial(coefficients=coefficients, basis=basis):
                words.append(f"{{{basis}, degree {len(coefficients) - 1}}}")
            case DropLevel(level=level):
                words.append(f"to {level}")
            case _:
                pass
        return " ".join(words)


class Builder:
    """Collects operations into a program and knows each value's level on the way.

    Set `origin` to the line of the user's program that the next operations come from, and
    `stage` to what they are for.

    Example:
        >>> builder = Builder("square", slots=4)
        >>> x = builder.append(Input("x", 1))
        >>> y = builder.append(Rescale(builder.append(Mul(x, x))))
        >>> builder.level(builder.append(Output(y)))
        0
    """

    def __init__(self, title: str, slots: int, numbers: Numbers = "real") -> None:
        _require_frame(title, slots, numbers)
        self._title = title
        self.slots = slots
        self.numbers = numbers
        self._constants: dict[bytes, int] = {}
        self._operations: list[Operation] = []
        self._layouts: list[Layout | None] = []
        self._states: list[State] = []
        self._origins: list[str] = []
        self._stages: list[str] = []
        self.origin = ""
        self.stage = ""

    def append(self, operation: Operation, layout: Layout | None = None) -> int:
        """Add an operation and return the number of its value.

        Raises:
            InvalidProgramError: The operation is not legal here.
        """
        operand_states = _operand_states(operation, self._states)
        self._states.append(state_after(operation, operand_states, self.slots, self.numbers))
        self._operations.append(operation)
        self._layouts.append(layout)
        self._origins.append(self.origin)
        self._stages.append(self.stage)
        return len(self._operations) - 1

    def constant(self, vector: NDArray[Any]) -> int:
        """The number of a constant with these numbers, made where there is none yet."""
        content = vector.tobytes()
        if content not in self._constants:
            self._constants[content] = self.append(Constant(vector))
        return self._constants[content]

    @property
    def operations(self) -> Sequence[Operation]:
        """The operations so far."""
        return self._operations

    def __len__(self) -> int:
        return len(self._operations)

    def state(self, value: int) -> State:
        """What is known of a value."""
        return self._states[value]

    def level(self, value: int) -> int:
        """The level of an encrypted value.

        Raises:
            InvalidProgramError: The value is a constant.
        """
        return _require_encrypted(self._operations[value], self._states[value])

    def finish(self) -> SlotProgram:
        """The program so far."""
        return SlotProgram(
            self._title,
            self.slots,
            tuple(self._operations),
            tuple(self._layouts),
            tuple(self._origins),
            tuple(self._stages),
            self.numbers,
        )

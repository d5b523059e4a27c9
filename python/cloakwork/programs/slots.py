"""The slot program: the one form in which vectors of numbers are computed on.

A program is a list of operations in order. Each makes one value, a vector of n
slots, and names the values it works on by their number. What makes an
operation legal stands in its class, see `programs.operations`.

Conventions, the same on every backend: after `Rotate` by k, slot i holds what
slot i + k held (to the left, cyclic); `Linear` computes the sum over d of
diagonal d times its operand rotated by d. Levels are explicit. Over reals a product
(`Mul`, `Linear`) has the square of the scale until a `Rescale` takes it one level down. Integers
have no scale: there a `Rescale` is modulus switching, which reduces noise.

The value of `RotatedProducts` is no vector but several products at once, whose keys are not
switched; `SwitchProduct` makes a vector of one of them. That of `WeightedSums` is several sums,
and `TakeSum` takes one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import printable
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.layout import MAX_SLOTS, Layout
from cloakwork.programs.matrices import BlockLayout
from cloakwork.programs.operations import (
    Add,
    AddProducts,
    Bootstrap,
    BootstrapOfCoefficients,
    ClearInput,
    Constant,
    Context,
    DiagonalProducts,
    DropLevel,
    Fill,
    Input,
    Linear,
    Mul,
    Neg,
    Operation,
    Output,
    PairedBootstrap,
    Polynomial,
    Rescale,
    Rotate,
    RotatedProducts,
    RotateSum,
    State,
    Sub,
    SwitchProduct,
    TakeSum,
    TimesI,
    TwiceReal,
    WeightedSums,
)
from cloakwork.programs.operations.base import (
    DTYPES,
    MAX_INTEGER,
    MAX_LEVEL,
    Integers,
    Numbers,
    Vector,
    kind_of_value,
)
from cloakwork.programs.operations.polynomials import Basis, polynomial_depth

__all__ = [
    "DTYPES",
    "MAX_INTEGER",
    "MAX_LEVEL",
    "Add",
    "AddProducts",
    "AnyLayout",
    "Basis",
    "Bootstrap",
    "BootstrapOfCoefficients",
    "Builder",
    "ClearInput",
    "Constant",
    "Context",
    "DiagonalProducts",
    "DropLevel",
    "Fill",
    "Input",
    "Integers",
    "Linear",
    "Mul",
    "Neg",
    "Numbers",
    "Operation",
    "Output",
    "PairedBootstrap",
    "Polynomial",
    "Rescale",
    "Rotate",
    "RotateSum",
    "RotatedProducts",
    "SlotProgram",
    "State",
    "Sub",
    "SwitchProduct",
    "TakeSum",
    "TimesI",
    "TwiceReal",
    "Vector",
    "WeightedSums",
    "polynomial_depth",
]


# Of tensors by strides, and of matrices in blocks.
AnyLayout: TypeAlias = Layout | BlockLayout


def _require_takes(operation: Operation, states: Sequence[State], numbers: Numbers) -> None:
    """Refuse an operation that cannot come after values in these states."""
    if not isinstance(operation, Operation):
        raise InvalidProgramError(
            f"cannot use an object {kind_of_value(operation)}: it is not an operation"
        )
    if numbers not in operation.over:
        raise InvalidProgramError(
            f"cannot use {operation.kind}: programs over {_PLURALS[numbers]} have none; expand it "
            "into rotations, products and sums"
        )
    for number in operation.operands:
        # Programs have millions of operands, nearly all of which need no closer look.
        if type(number) is not int:
            operation.require_integer(number, "the number of an operand")
        if not 0 <= number < len(states):
            raise InvalidProgramError(
                f"cannot use {operation.kind}: %{len(states)} names a value that comes later, "
                f"%{number}"
            )
        state = states[number]
        if state.products and not operation.takes_products:
            raise InvalidProgramError(
                f"cannot use {operation.kind}: %{number} is {state.products} rotated "
                "products and no vector; take one of them by switch_product"
            )
        if state.sums and not operation.takes_sums:
            raise InvalidProgramError(
                f"cannot use {operation.kind}: %{number} is {state.sums} weighted sums "
                "and no vector; take one of them by take_sum"
            )


def _context(
    operation: Operation,
    operations: Sequence[Operation],
    states: Sequence[State],
    slots: int,
    numbers: Numbers,
) -> Context:
    """Where an operation stands after these operations, in these states."""
    operands = operation.operands
    taken = [operations[number] for number in operands]
    return Context(
        slots,
        numbers,
        tuple([states[number] for number in operands]),
        tuple([each.vector if type(each) is Constant else None for each in taken]),
    )


_PLURALS = {"real": "reals", "integer": "integers"}


def _require_frame(title: str, slots: int, numbers: Numbers) -> None:
    if not isinstance(numbers, str) or numbers not in DTYPES:
        raise InvalidProgramError(
            f"cannot make a program: expected numbers to be of {', '.join(DTYPES)}, "
            f"got {numbers!r:.40}"
        )
    if not isinstance(title, str):
        raise InvalidProgramError(
            f"cannot make a program: its title is {kind_of_value(title)}, not text"
        )
    if not isinstance(slots, int | np.integer) or isinstance(slots, bool):
        raise InvalidProgramError(f"cannot make a program: its slots are {kind_of_value(slots)}")
    if not 1 <= slots <= MAX_SLOTS:
        raise InvalidProgramError(
            f"cannot make a program of {slots} slots: expected 1 to {MAX_SLOTS}"
        )


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
    layouts: tuple[AnyLayout | None, ...]
    origins: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    numbers: Numbers = "real"
    states: tuple[State, ...] = field(init=False)

    def __post_init__(self) -> None:
        _require_frame(self.title, self.slots, self.numbers)
        states: list[State] = []
        for operation in self.operations:
            _require_takes(operation, states, self.numbers)
            context = _context(operation, self.operations, states, self.slots, self.numbers)
            states.append(operation.state_after(context))
        if len(self.layouts) != len(self.operations):
            raise InvalidProgramError("cannot make the program: expected a layout per operation")
        for layout in self.layouts:
            if layout is not None and (
                not isinstance(layout, AnyLayout) or layout.slots != self.slots
            ):
                raise InvalidProgramError(
                    f"cannot make the program: expected layouts of {self.slots} slots, got {layout}"
                )
        object.__setattr__(self, "title", printable(self.title))
        object.__setattr__(self, "origins", self._texts(self.origins, "origin"))
        object.__setattr__(self, "stages", self._texts(self.stages, "stage"))
        object.__setattr__(self, "states", tuple(states))

    @property
    def top_level(self) -> int:
        """The highest level of any value.

        Example:
            >>> SlotProgram("", 8, (Input("x", 3), DropLevel(0, 1)), (None,) * 2).top_level
            3
        """
        return max((state.level for state in self.states if state.level is not None), default=0)

    def _texts(self, given: tuple[str, ...], what: str) -> tuple[str, ...]:
        texts = given or ("",) * len(self.operations)
        if len(texts) != len(self.operations):
            raise InvalidProgramError(f"cannot make the program: expected one {what} per operation")
        if not all(isinstance(text, str) for text in texts):
            raise InvalidProgramError(f"cannot make the program: expected {what}s to be text")
        return tuple(map(printable, texts))

    def __str__(self) -> str:
        lines = [self.line(number) for number in range(len(self.operations))]
        width = max((len(line) for line in lines), default=0)
        kind = " of integers" if self.numbers == "integer" else ""
        text = [f"{self.title}, {self.slots} slots{kind}"]
        for line, state, layout in zip(lines, self.states, self.layouts, strict=True):
            level = "clear" if state.level is None else f"level {state.level}"
            waiting = ", not rescaled" if state.waiting else ""
            place = "" if layout is None else f"  {layout}"
            text.append(f"  {line:<{width}}      {level}{waiting}{place}")
        return "\n".join(text)

    def __repr__(self) -> str:
        return f"SlotProgram({self.title}: {len(self.operations)} operations, {self.slots} slots)"

    def line(self, number: int) -> str:
        """The text of one operation, without its level and layout."""
        return self.operations[number].line(number)

    def context(self, number: int) -> Context:
        """Where an operation stands."""
        return _context(
            self.operations[number], self.operations, self.states, self.slots, self.numbers
        )


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
        self._layouts: list[AnyLayout | None] = []
        self._states: list[State] = []
        self._origins: list[str] = []
        self._stages: list[str] = []
        self.origin = ""
        self.stage = ""

    def append(self, operation: Operation, layout: AnyLayout | None = None) -> int:
        """Add an operation and return the number of its value."""
        _require_takes(operation, self._states, self.numbers)
        context = _context(operation, self._operations, self._states, self.slots, self.numbers)
        self._states.append(operation.state_after(context))
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

    @property
    def layouts(self) -> Sequence[AnyLayout | None]:
        """The layouts so far."""
        return self._layouts

    def __len__(self) -> int:
        return len(self._operations)

    def state(self, value: int) -> State:
        """What is known of a value."""
        return self._states[value]

    def level(self, value: int) -> int:
        """The level of an encrypted value."""
        return self._operations[value].require_encrypted(self._states[value])

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

"""Where a program begins and ends: inputs, constants, outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import printable
from cloakwork.programs.operations.base import (
    MAX_LEVEL,
    Context,
    Errors,
    OfOne,
    Operation,
    State,
    Vector,
    kind_of_value,
)


@dataclass(frozen=True, slots=True, eq=False)
class Input(Operation):
    """An encrypted vector from outside, at the given level."""

    kind: ClassVar[str] = "input"
    wording: ClassVar[str] = "{name:quoted} at {level}"

    name: str
    level: int

    def state_after(self, context: Context) -> State:
        self.require(
            isinstance(self.name, str), f"its name is {kind_of_value(self.name)}, not text"
        )
        self.require_integer(self.level, "its level")
        self.require(self.level >= 0, f"level {self.level} is below 0")
        self.require(self.level <= MAX_LEVEL, f"its level is above {MAX_LEVEL}")
        return State(self.level)

    def summary(self) -> str:
        return printable(self.name)

    def deviation(self, at: Errors) -> float:
        error: float = at.model.encryption(self.level)
        return error


@dataclass(frozen=True, slots=True, eq=False)
class ClearInput(Input):
    """A vector from outside that is not encrypted: a constant that each run is given.

    Programs have none. A run that is given inputs in the clear does one in which they stand in the
    places of encrypted ones; see `runtime.encoded_inputs`.
    """

    kind: ClassVar[str] = "clear_input"

    def state_after(self, context: Context) -> State:
        return State(None)


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Operation):
    """A clear vector; `Add`, `Sub`, `Mul` and `Fill` take one, beside an encrypted operand.

    It is of float64 in a program over reals, of int64 in one over integers.
    """

    kind: ClassVar[str] = "constant"
    wording: ClassVar[str] = "{vector:vector}"

    vector: NDArray[Any]

    def state_after(self, context: Context) -> State:
        self.require_vector(self.vector, context.slots, context.numbers)
        return State(None)

    def summary(self) -> str:
        return ""

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return np.abs(np.asarray(self.vector, dtype=np.float64))

    def deviation(self, at: Errors) -> float:
        return 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Output(OfOne):
    """A result of the program."""

    kind: ClassVar[str] = "output"

    def state_after(self, context: Context) -> State:
        self.require_ready(context.states[0], levels=0)
        return context.states[0]

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return slots[0]

    def deviation(self, at: Errors) -> float:
        return at.before[0]

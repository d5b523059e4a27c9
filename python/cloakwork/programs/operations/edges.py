"""Where a program begins and ends: inputs, constants, outputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import printable
from cloakwork.programs.operations.base import (
    MAX_LEVEL,
    Context,
    Errors,
    OfNone,
    OfOne,
    Operation,
    State,
    Vector,
    kind_of,
)
from cloakwork.programs.tokens import Tokens, quote


@dataclass(frozen=True, slots=True, eq=False)
class Input(OfNone):
    """An encrypted vector from outside, at the given level."""

    kind: ClassVar[str] = "input"

    name: str
    level: int

    def state_after(self, context: Context) -> State:
        self.require(isinstance(self.name, str), f"its name is {kind_of(self.name)}, not text")
        self.require_integer(self.level, "its level")
        self.require(self.level >= 0, f"level {self.level} is below 0")
        self.require(self.level <= MAX_LEVEL, f"its level is above {MAX_LEVEL}")
        return State(self.level)

    def text(self, naming: Any) -> str:
        return f"{quote(self.name)} at {self.level}"

    @classmethod
    def read(cls, tokens: Tokens, named: Any) -> Operation:
        name = tokens.quoted()
        tokens.expect("at")
        return cls(name, tokens.integer())

    def summary(self) -> str:
        return printable(self.name)

    def deviation(self, at: Errors) -> float:
        error: float = at.model.encryption(self.level)
        return error


@dataclass(frozen=True, slots=True, eq=False)
class Constant(OfNone):
    """A clear vector; `Add`, `Sub`, `Mul` and `Fill` take one, beside an encrypted operand.

    It is of float64 in a program over reals, of int64 in one over integers.
    """

    kind: ClassVar[str] = "constant"

    vector: NDArray[Any]

    def state_after(self, context: Context) -> State:
        self.require_vector(self.vector, context.slots, context.numbers)
        return State(None)

    def identity(self, vectors: Any) -> tuple[Hashable, ...]:
        return (vectors.number_of(self.vector),)

    def text(self, naming: Any) -> str:
        name: str = naming.vector(self.vector)
        return name

    @classmethod
    def read(cls, tokens: Tokens, named: Any) -> Operation:
        return cls(named.vector(tokens))

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

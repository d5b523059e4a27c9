"""The way up: a ciphertext whose levels are spent is refreshed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.operations.base import (
    MAX_LEVEL,
    Context,
    Degree,
    Errors,
    Numbers,
    OfOne,
    State,
    Vector,
)


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap(OfOne):
    """The same numbers at a higher level.

    Args:
        operand: The value that is refreshed.
        least: The level that it must have at least, for the bootstrapping itself takes as many.
        level: The level that it has then. Both are those of the parameters.
    """

    kind: ClassVar[str] = "bootstrap"
    over: ClassVar[tuple[Numbers, ...]] = ("real",)
    degree: ClassVar[Degree] = "needs 1"
    wording: ClassVar[str] = "from {least} to {level}"

    least: int
    level: int

    def state_after(self, context: Context) -> State:
        self.require_integer(self.least, "the level that it takes")
        self.require_integer(self.level, "its level")
        self.require(0 <= self.least < self.level, f"it goes from {self.least} to {self.level}")
        self.require(self.level <= MAX_LEVEL, f"its level is above {MAX_LEVEL}")
        self.require_ready(context.states[0], levels=self.least)
        return State(self.level)

    def summary(self) -> str:
        return f"to {self.level}"

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.bootstrap(values[0], self.level)

    def seconds(self, context: Context, costs: Any) -> float:
        taken: float = costs.bootstrap
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"bootstrap": 1}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return slots[0]

    def deviation(self, at: Errors) -> float:
        return math.hypot(at.before[0], at.model.bootstrapping)


@dataclass(frozen=True, slots=True, eq=False)
class PairedBootstrap(Bootstrap):
    """The same numbers at a higher level, in one bootstrap with another value.

    The other value's own operation names the two the other way round, and both are run together:
    as the real and the imaginary part of one vector of complex numbers. What error the other has in
    its own imaginary part, where it holds no number, becomes one of this value.

    Args:
        operand: The value that is refreshed.
        least: The level that both must have at least.
        level: The level that it has then.
        other: The other value.
    """

    kind: ClassVar[str] = "paired_bootstrap"
    on: ClassVar[tuple[str, ...]] = ("operand", "other")

    other: int

    @property
    def operands(self) -> tuple[int, ...]:
        return (self.operand, self.other)

    def state_after(self, context: Context) -> State:
        self.require_ready(context.states[1], levels=self.least)
        # Not by super(), as slots make the class anew.
        return Bootstrap.state_after(self, context)

    def seconds(self, context: Context, costs: Any) -> float:
        both: float = costs.bootstrap_pair
        return both / 2

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"paired bootstrap": 1}

    def deviation(self, at: Errors) -> float:
        return math.hypot(*at.before, at.model.paired_bootstrapping)


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapOfCoefficients(Bootstrap):
    """The coefficients of a value as slots at a higher level; see `programs.coefficients`.

    Args:
        operand: The value, whose coefficients hold the numbers.
        least: The level that it must have at least: 0, as nothing is put into coefficients.
        level: The level that the slots have.
    """

    kind: ClassVar[str] = "bootstrap_of_coefficients"

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.bootstrap_of_coefficients(values[0], self.level)

    def bound(self, slots: Sequence[Vector]) -> Vector:
        # In the mean, a slot has the squares of all coefficients, of which two meet in one.
        return np.full_like(slots[0], slots[0].max() / math.sqrt(len(slots[0])))

    def deviation(self, at: Errors) -> float:
        before = at.before[0] / math.sqrt(at.context.slots)
        return math.hypot(before, at.model.bootstrapping)


def refreshes(program: Any) -> int:
    """How often the circuit of a bootstrap is run: once for two values of a pair.

    Example:
        >>> from cloakwork.programs.slots import Input, Output, SlotProgram
        >>> operations = (
        ...     Input("x", 0), Input("y", 0), PairedBootstrap(0, 0, 2, 1),
        ...     PairedBootstrap(1, 0, 2, 0), Output(2), Output(3))
        >>> refreshes(SlotProgram("", 4, operations, (None,) * 6))
        1
    """
    refreshed = [each for each in program.operations if isinstance(each, Bootstrap)]
    paired = sum(isinstance(each, PairedBootstrap) for each in refreshed)
    return len(refreshed) - paired // 2

"""Rotations: one, and sums of several of one value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.operations.base import (
    Context,
    Degree,
    Errors,
    Numbers,
    OfOne,
    State,
    Vector,
)


@dataclass(frozen=True, slots=True, eq=False)
class Rotate(OfOne):
    """Slot i receives slot i + steps, cyclically."""

    kind: ClassVar[str] = "rotate"
    degree: ClassVar[Degree] = "relinearises once"
    wording: ClassVar[str] = "by {steps}"

    steps: int

    def state_after(self, context: Context) -> State:
        self.require_encrypted(context.states[0])
        steps, slots = self.steps, context.slots
        self.require_integer(steps, "its number of steps")
        self.require(0 < steps < slots, f"{steps} steps are outside 1..{slots - 1}")
        return context.states[0]

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.rotate(values[0], self.steps)

    def rotations(self, slots: int) -> tuple[int, ...]:
        return (self.steps,)

    def seconds(self, context: Context, costs: Any) -> float:
        taken: float = costs.at(context.level).rotation
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"rotation": 1}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return np.roll(slots[0], -self.steps)

    def deviation(self, at: Errors) -> float:
        return math.hypot(at.before[0], at.model.rotation(at.scale))


@dataclass(frozen=True, slots=True, eq=False)
class RotateSum(OfOne):
    """The sum of rotations by each of `added`, less those by each of `subtracted`.

    0 stands for the operand itself. Programs over integers have it, where it costs little more
    than one rotation.
    """

    kind: ClassVar[str] = "rotate_sum"
    over: ClassVar[tuple[Numbers, ...]] = ("integer",)
    degree: ClassVar[Degree] = "relinearises once"
    wording: ClassVar[str] = "by {added:integers} less {subtracted:integers}"

    added: tuple[int, ...]
    subtracted: tuple[int, ...] = ()

    @property
    def moving(self) -> tuple[int, ...]:
        """The steps that are not 0."""
        return tuple(step for step in self.added + self.subtracted if step)

    def state_after(self, context: Context) -> State:
        self.require_encrypted(context.states[0])
        for signed in (self.added, self.subtracted):
            self.require(isinstance(signed, tuple), "its steps are not a tuple")
            for step in signed:
                self.require_integer(step, "its number of steps")
                inside = 0 <= step < context.slots
                self.require(inside, f"{step} steps are outside 0..{context.slots - 1}")
        summed = self.added + self.subtracted
        self.require(len(set(summed)) == len(summed), "a rotation comes twice")
        self.require(any(summed), "it does not rotate")
        self.require(len(summed) > 1, "it does not sum")
        return context.states[0]

    def summary(self) -> str:
        less = f" less {', '.join(map(str, self.subtracted))}" if self.subtracted else ""
        return f"by {', '.join(map(str, self.added))}{less}"

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.rotate_sum(values[0], self.added, self.subtracted)

    def rotations(self, slots: int) -> tuple[int, ...]:
        return self.moving

    def seconds(self, context: Context, costs: Any) -> float:
        prices, moving = costs.at(context.level), len(self.moving)
        still = len(self.added) + len(self.subtracted) - moving
        taken: float = prices.rotation + prices.baby_step * (moving - 1) + prices.addition * still
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        additions = len(self.added) + len(self.subtracted) - 1
        return {"rotation": len(self.moving), "addition": additions}

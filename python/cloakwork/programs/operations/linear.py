"""Linear transforms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.bsgs import split
from cloakwork.programs.diagonals import SparseDiagonals
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
class Linear(OfOne):
    """The sum over d of diagonals[d] * rotate(operand, d); over reals it is not rescaled.

    `baby_steps` says how the diagonals are split: d is rotated by
    d % baby_steps and by the rest of d. A diagonal may be counted from minus the slots up, so
    that those of a transpose are multiples of one number.
    """

    kind: ClassVar[str] = "linear"
    degree: ClassVar[Degree] = "relinearises once"
    wording: ClassVar[str] = "{diagonals:diagonals} baby_steps {baby_steps}"

    diagonals: Mapping[int, NDArray[Any]]
    baby_steps: int

    def state_after(self, context: Context) -> State:
        state, is_real = context.states[0], context.numbers == "real"
        self.require_ready(state, levels=int(is_real))
        self.require(isinstance(self.diagonals, Mapping), "its diagonals are not a mapping")
        self.require(bool(self.diagonals), "it has no diagonals")
        baby_steps = self.baby_steps
        self.require_integer(baby_steps, "its number of baby steps")
        self.require(baby_steps >= 1, f"{baby_steps} baby steps are fewer than 1")
        self.require(
            baby_steps <= context.slots, f"{baby_steps} baby steps are more than the slots"
        )
        self._require_diagonals(context.slots, context.numbers)
        return State(state.level, waiting=is_real)

    def _require_diagonals(self, slots: int, numbers: Numbers) -> None:
        diagonals = self.diagonals
        if isinstance(diagonals, SparseDiagonals):
            fits = numbers == "real" or diagonals.is_of_integers()
            self.require(fits, "a number is not an integer, or has more than 53 bits")
            same = diagonals.slots == slots
            self.require(same, f"expected {slots} slots, got diagonals of {diagonals.slots}")
            self.require(diagonals.is_finite(), "a number is not finite")
            return
        for number in diagonals:
            self.require_integer(number, "the number of a diagonal")
        distinct = len({number % slots for number in diagonals}) == len(diagonals)
        self.require(distinct, "a diagonal comes twice")
        for number, vector in diagonals.items():
            self.require(-slots < number < slots, f"diagonal {number} does not exist")
            self.require_vector(vector, slots, numbers)

    def summary(self) -> str:
        return f"{{{len(self.diagonals)} diagonals, {self.baby_steps} baby steps}}"

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.linear(values[0], self.diagonals, self.baby_steps)

    def rotations(self, slots: int) -> tuple[int, ...]:
        steps = split(self.diagonals, slots, self.baby_steps)
        return steps.baby + steps.giant

    def seconds(self, context: Context, costs: Any) -> float:
        prices = costs.at(context.level)
        steps = split(self.diagonals, context.slots, self.baby_steps)
        taken: float = (
            prices.linear
            + prices.diagonal * len(self.diagonals)
            + prices.baby_step * len(steps.baby)
            + prices.giant_step * len(steps.giant)
        )
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        rotations = split(self.diagonals, context.slots, self.baby_steps).rotations
        return {"rotation": rotations, "diagonal": len(self.diagonals)}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return transformed(slots[0], self.diagonals)

    def deviation(self, at: Errors) -> float:
        rows = float(transformed(np.ones(at.context.slots), self.diagonals).max())
        encoded = at.model.encoding(at.ready_scale) * math.sqrt(len(self.diagonals))
        steps = split(self.diagonals, at.context.slots, self.baby_steps)
        count = len(self.diagonals), (len(steps.baby), len(steps.giant))
        baby_step = at.model.baby_step(at.ready_scale, at.context.level, *count, at.shared_by)
        return math.hypot(
            at.before[0] * rows,
            encoded * at.reached[0],
            baby_step * rows,
            at.model.rotation(at.scale),
        )


def transformed(slots: Vector, diagonals: Mapping[int, Vector]) -> Vector:
    """The largest absolute values after a linear transform, by those before it.

    Example:
        >>> transformed(np.array([1.0, 2.0]), {0: np.array([1.0, -1.0]), 1: np.ones(2)}).tolist()
        [3.0, 3.0]
    """
    if isinstance(diagonals, SparseDiagonals):
        return diagonals.absolute().applied(slots)
    total = np.zeros_like(slots)
    for steps, diagonal in diagonals.items():
        total += np.abs(diagonal) * np.roll(slots, -steps)
    return total

"""Ways to a lower level: rescaling, and dropping levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from cloakwork.programs.operations.base import (
    Context,
    Degree,
    Errors,
    OfOne,
    State,
    Vector,
)


class _Lowered(OfOne):
    """What both ways share."""

    __slots__ = ()

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return slots[0]

    def deviation(self, at: Errors) -> float:
        return math.hypot(at.before[0], at.model.rounding(at.ready_scale))


@dataclass(frozen=True, slots=True, eq=False)
class Rescale(_Lowered):
    """The same numbers one level down: at that level's scale, or with less noise."""

    kind: ClassVar[str] = "rescale"
    degree: ClassVar[Degree] = "relinearises"

    @property
    def depth(self) -> int:
        return 1

    def state_after(self, context: Context) -> State:
        if context.numbers == "integer":
            return State(self.require_ready(context.states[0], levels=1) - 1)
        level = self.require_encrypted(context.states[0])
        self.require(context.states[0].waiting, "its operand is not a product")
        return State(level - 1)

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.rescale(values[0])

    def seconds(self, context: Context, costs: Any) -> float:
        taken: float = costs.at(context.level).rescale
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"modulus switch" if context.numbers == "integer" else "rescale": 1}


@dataclass(frozen=True, slots=True, eq=False)
class DropLevel(_Lowered):
    """The same numbers at a lower level."""

    kind: ClassVar[str] = "drop_level"
    degree: ClassVar[Degree] = "needs 1"
    wording: ClassVar[str] = "to {level}"

    level: int

    def state_after(self, context: Context) -> State:
        level = self.require_ready(context.states[0], levels=0)
        self.require_integer(self.level, "its level")
        self.require(0 <= self.level < level, f"level {self.level} is not below {level}")
        return State(self.level)

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.drop_level(values[0], self.level)

    def seconds(self, context: Context, costs: Any) -> float:
        taken: float = costs.at(context.level).drop_level
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"level drop": 1}

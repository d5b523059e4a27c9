"""Both halves of complex slots: products with the imaginary unit, and real parts.

Real numbers leave half of a slot free. Two of them share it as a + i b; of the product of a - i b
and c + i d the real part is a c + b d.
"""

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
    Numbers,
    OfOne,
    OfSameSize,
    State,
    Vector,
)


@dataclass(frozen=True, slots=True, eq=False)
class TimesI(OfSameSize):
    """The imaginary unit times the operand, slot by slot; it is exact."""

    kind: ClassVar[str] = "times_i"
    over: ClassVar[tuple[Numbers, ...]] = ("real",)

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.multiply_imaginary(values[0])


@dataclass(frozen=True, slots=True, eq=False)
class TwiceReal(OfOne):
    """Twice the real part of the operand, slot by slot: its sum with its complex conjugate."""

    kind: ClassVar[str] = "twice_real"
    over: ClassVar[tuple[Numbers, ...]] = ("real",)
    degree: ClassVar[Degree] = "relinearises once"

    def state_after(self, context: Context) -> State:
        self.require_encrypted(context.states[0])
        return context.states[0]

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.twice_real(values[0])

    def conjugation_level(self, context: Context) -> int | None:
        return context.level

    def seconds(self, context: Context, costs: Any) -> float:
        prices = costs.at(context.level)
        taken: float = prices.rotation + prices.addition
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"conjugation": 1, "addition": 1}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return 2 * slots[0]

    def deviation(self, at: Errors) -> float:
        return math.hypot(2 * at.before[0], at.model.rotation(at.scale))

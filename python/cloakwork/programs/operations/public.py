"""Vectors that everybody may know where operations take encrypted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from cloakwork.programs.operations.base import (
    Context,
    Degree,
    Errors,
    Numbers,
    OfTwo,
    State,
    Vector,
)


@dataclass(frozen=True, slots=True, eq=False)
class Fill(OfTwo):
    """The constant `right` as a ciphertext of the level of `left`, which hides nothing.

    Products of lists of vectors take it beside encrypted ones; see `programs.operations.products`.
    """

    kind: ClassVar[str] = "fill"
    over: ClassVar[tuple[Numbers, ...]] = ("real",)
    degree: ClassVar[Degree] = "needs 1"

    def state_after(self, context: Context) -> State:
        level = self.require_ready(context.states[0], levels=0)
        self.require(context.states[1].level is None, "its second operand is no constant")
        return State(level)

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.filled(values[0], constants[1])

    def seconds(self, context: Context, costs: Any) -> float:
        prices = costs.at(context.level)
        taken: float = prices.encoding + 2 * prices.addition
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"public ciphertext": 1}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return slots[1]

    def deviation(self, at: Errors) -> float:
        error: float = at.model.encoding(at.scale)
        return error

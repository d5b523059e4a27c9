"""Sums, differences, products and negatives, slot by slot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from cloakwork.programs.operations.base import (
    Context,
    Errors,
    OfSameSize,
    OfTwo,
    State,
    Vector,
    joined_state,
)


class _Sum(OfTwo):
    """What sums and differences share."""

    __slots__ = ()

    def state_after(self, context: Context) -> State:
        return joined_state(self, context.states)

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"addition": 1}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return slots[0] + slots[1]

    def deviation(self, at: Errors) -> float:
        return sum(at.before) + (at.model.encoding(at.scale) if at.context.has_constant else 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Add(_Sum):
    """left + right, slot by slot."""

    kind: ClassVar[str] = "add"
    commutes: ClassVar[bool] = True

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        first, second = constants
        if second is not None:
            return backend.add_constant(values[0], second)
        if first is not None:
            return backend.add_constant(values[1], first)
        return backend.add(*values)

    def seconds(self, context: Context, costs: Any) -> float:
        prices = costs.at(context.level)
        taken: float = prices.addition + prices.encoding * context.has_constant
        return taken


@dataclass(frozen=True, slots=True, eq=False)
class Sub(_Sum):
    """left - right, slot by slot."""

    kind: ClassVar[str] = "sub"

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        first, second = constants
        if second is not None:
            return backend.add_constant(values[0], -second)
        if first is not None:
            return backend.add_constant(backend.negate(values[1]), first)
        return backend.subtract(*values)

    def seconds(self, context: Context, costs: Any) -> float:
        prices = costs.at(context.level)
        # From a constant what is subtracted is negated first.
        negated = context.states[0].level is None
        taken: float = (1 + negated) * prices.addition + prices.encoding * context.has_constant
        return taken


@dataclass(frozen=True, slots=True, eq=False)
class Mul(OfTwo):
    """left * right, slot by slot; over reals it is not rescaled."""

    kind: ClassVar[str] = "mul"
    commutes: ClassVar[bool] = True

    def state_after(self, context: Context) -> State:
        state = joined_state(self, context.states)
        if context.numbers == "integer":
            return state
        self.require_ready(state, levels=1)
        return State(state.level, waiting=True)

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        first, second = constants
        if second is not None:
            return backend.multiply_constant(values[0], second)
        if first is not None:
            return backend.multiply_constant(values[1], first)
        return backend.multiply(*values)

    def relinearisation_level(self, context: Context) -> int | None:
        return None if context.has_constant else context.level

    def seconds(self, context: Context, costs: Any) -> float:
        prices = costs.at(context.level)
        taken: float = prices.plaintext_product if context.has_constant else prices.product
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"plaintext product" if context.has_constant else "ciphertext product": 1}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return slots[0] * slots[1]

    def deviation(self, at: Errors) -> float:
        encoding = at.model.encoding(at.ready_scale)
        factors = [
            encoding if state.level is None else error
            for state, error in zip(at.context.states, at.before, strict=True)
        ]
        product = factors[0] * at.reached[1] + factors[1] * at.reached[0] + math.prod(factors)
        return math.hypot(product, at.model.rotation(at.scale))


@dataclass(frozen=True, slots=True, eq=False)
class Neg(OfSameSize):
    """-operand, slot by slot."""

    kind: ClassVar[str] = "neg"

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.negate(values[0])

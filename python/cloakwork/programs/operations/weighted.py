"""Weighted sums: many sums of clear multiples of the same vectors, one level down.

Of vectors x_1, ..., x_m, a clear matrix W of n rows and a number b_i for each row

    y_i[s] = sum over j of W[i, j] * x_j[s] + b_i,    i = 1, ..., n.

No slot meets another one: it is how a layer works on vectors that hold one number of many inputs
each. On ciphertexts all sums are one product of matrices modulo each prime, the integers that stand
for W by the words of all ciphertexts, and one division each; there is no key switch.

Source: a slot for each input is the packing of CryptoNets (Gilad-Bachrach et al., ICML 2016).
"""

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
    OfLists,
    OfOne,
    State,
    Vector,
    kind_of_value,
)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSums(OfLists):
    """The sums y_1, ..., y_n of the module; rescaled already.

    `TakeSum` takes one of them, and nothing but that works on them.
    """

    kind: ClassVar[str] = "weighted_sums"
    over: ClassVar[tuple[Numbers, ...]] = ("real",)
    degree: ClassVar[Degree] = "needs 1"
    on: ClassVar[tuple[str, ...]] = ("terms",)
    wording: ClassVar[str] = "{weights:matrix} plus {offsets:row}"

    terms: tuple[int, ...]
    weights: NDArray[np.float64]
    offsets: NDArray[np.float64]

    @property
    def depth(self) -> int:
        return 1

    def state_after(self, context: Context) -> State:
        for array, axes in ((self.weights, 2), (self.offsets, 1)):
            is_array = isinstance(array, np.ndarray) and array.dtype == np.float64
            self.require(is_array, f"expected arrays of float64, got {kind_of_value(array)}")
            self.require(array.ndim == axes, f"expected {axes} axes, got {array.ndim}")
            self.require(bool(np.isfinite(array).all()), "a weight is not finite")
        sums, terms = self.weights.shape
        fits = terms == len(self.terms) > 0 and sums == len(self.offsets) > 0
        self.require(
            fits,
            f"expected weights of {len(self.offsets)} sums of {len(self.terms)} vectors, one or "
            f"more of both, got {sums} of {terms}",
        )
        first = context.states[0]
        level = self.require_ready(first, levels=1)
        alike = all(state == first for state in context.states)
        self.require(alike, "its operands are not at one level, all of them ready")
        return State(level - 1, sums=sums)

    def summary(self) -> str:
        return f"{{{len(self.offsets)} sums of {len(self.terms)}}}"

    def line(self, number: int) -> str:
        first, last = self.terms[0], self.terms[-1]
        return f"%{number} = {self.kind} %{first} ... %{last} {self.summary()}"

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.weighted_sums(values, self.weights, self.offsets)

    def seconds(self, context: Context, costs: Any) -> float:
        """A product of matrices, whose rows are rescaled."""
        prices = costs.at(context.level)
        sums, terms = self.weights.shape
        taken: float = (
            prices.gathering * terms + prices.weighted_term * sums * terms + prices.rescale * sums
        )
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"weighted term": self.weights.size, "rescale": len(self.offsets)}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        """Of every sum a row."""
        bounds: Vector = np.abs(self.weights) @ np.stack(slots)
        return bounds + np.abs(self.offsets)[:, np.newaxis]

    def deviation(self, at: Errors) -> float:
        """That of the worst sum: errors of different vectors may be one and the same."""
        largest = float((np.abs(self.weights) @ np.asarray(at.before)).max())
        return math.hypot(largest, at.model.rounding(at.ready_scale))


@dataclass(frozen=True, slots=True, eq=False)
class TakeSum(OfOne):
    """One of the weighted sums as a vector, counted from 0."""

    kind: ClassVar[str] = "take_sum"
    over: ClassVar[tuple[Numbers, ...]] = ("real",)
    takes_sums: ClassVar[bool] = True
    wording: ClassVar[str] = "number {number}"

    number: int

    def state_after(self, context: Context) -> State:
        state = context.states[0]
        self.require(bool(state.sums), "its operand is a vector, not weighted sums")
        self.require_integer(self.number, "the number of a sum")
        exists = 0 <= self.number < state.sums
        self.require(exists, f"there is no sum {self.number}, of {state.sums} counted from 0")
        return State(state.level)

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.take_sum(values[0], self.number)

    def bound(self, slots: Sequence[Vector]) -> Vector:
        bounds: Vector = slots[0][self.number]
        return bounds

    def deviation(self, at: Errors) -> float:
        return at.before[0]

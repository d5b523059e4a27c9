"""Rotated products: sums of products under many rotations at once, whose keys are switched late.

Of vectors u_1, ..., u_K and v_1, ..., v_K of n slots and a step that divides n

    P_t[s] = sum over j of u_j[s + t * step] * v_j[s],    t = 0, ..., d - 1,    d = n / step,

with slots counted cyclically. With s = h * step + l, for row h and lane l, and matrices
U_l[h, j] = u_j[h * step + l] and V_l[j, h] = v_j[h * step + l], they are the generalised diagonals
of one matrix product in each lane:

    P_t[h * step + l] = (U_l V_l)[h + t mod d, h].

On ciphertexts all d of them are four clear matrix products modulo each prime, on the words that a
ciphertext consists of; keys are switched once for each P_t that is taken, after the sum over j:
two decompositions and one division.

Diagonals of matrices multiply in the same way. For lists of runs of d vectors

    Q_t[s] = sum over runs and r of u_(r - t mod d)[s + t * step] * v_r[s]

and where each lane has u_r[h] = A[h, h + r] and v_r[h] = B[h + r, h], indices modulo d, Q_t has
(A B)[h + t, h]: diagonals again, as the P_t are. So products follow each other without a change of
layout.

Source: the four products are those of Park, "Ciphertext-Ciphertext Matrix Multiplication: Fast for
Large Matrices", EUROCRYPT 2025, and of Cheon, Kang and Lee (eprint 2025/1957); here they are taken
of slots, without transposing ciphertexts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.itself import Itself
from cloakwork.programs.operations.base import (
    Context,
    Degree,
    Errors,
    OfLists,
    OfOne,
    OfTwo,
    State,
    Vector,
)


@dataclass(frozen=True, slots=True, eq=False)
class RotatedProducts(OfLists):
    """The products P_0, ..., P_(d-1) of two lists of vectors; see the module.

    `SwitchProduct` makes vectors of them, and nothing but that and `AddProducts` works on them.
    """

    kind: ClassVar[str] = "rotated_products"
    degree: ClassVar[Degree] = "needs 1"
    on: ClassVar[tuple[str, ...]] = ("left", "right")
    wording: ClassVar[str] = "step {step}"

    left: tuple[int, ...]
    right: tuple[int, ...]
    step: int

    def run(self, slots: int) -> int:
        """Terms that belong together: others may be summed apart."""
        return 1

    def state_after(self, context: Context) -> State:
        terms = len(self.left)
        self.require(terms == len(self.right) > 0, "its lists are not equally long, or empty")
        self.require_integer(self.step, "its step")
        fits = self.step > 0 and context.slots % self.step == 0
        self.require(fits, f"its step {self.step} does not divide {context.slots} slots")
        is_real = context.numbers == "real"
        first = context.states[0]
        level = self.require_ready(first, levels=int(is_real))
        # States of inputs that are one are found without a comparison of their parts.
        alike = all(state is first or state == first for state in context.states)
        self.require(alike, "its operands are not at one level, all of them ready")
        return State(level, waiting=is_real, products=context.slots // self.step)

    def line(self, number: int) -> str:
        left, right = (_shortened(each) for each in (self.left, self.right))
        return f"%{number} = {self.kind} ({left}) ({right}) {self.summary()}"

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        terms = len(self.left)
        return backend.rotated_products(values[:terms], values[terms:], self.step)

    def seconds(self, context: Context, costs: Any) -> float:
        taken: float = costs.at(context.level).rotated_products(
            len(self.left), context.slots // self.step
        )
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"rotated term": len(self.left) * (context.slots // self.step)}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        """One vector that bounds each of the products: whatever the rotation, the lane stays."""
        terms = len(self.left)
        pairs = list(zip(slots[:terms], slots[terms:], strict=True))
        # Of equal pairs one stands for all.
        times = Counter((Itself(left), Itself(right)) for left, right in pairs)
        products = np.zeros((len(slots[0]) // self.step, self.step))
        for (left, right), count in times.items():
            lanes = left.of.reshape(-1, self.step).max(axis=0)
            products += count * lanes * right.of.reshape(-1, self.step)
        bound: Vector = products.ravel()
        return bound

    def deviation(self, at: Errors) -> float:
        """Errors of different terms are independent: they add up as squares."""
        terms = len(self.left)
        squares = 0.0
        for j in range(terms):
            one, other = at.before[j], at.before[terms + j]
            reached, others = at.reached[j], at.reached[terms + j]
            squares += (one * others + other * reached + one * other) ** 2
        return math.sqrt(squares)


@dataclass(frozen=True, slots=True, eq=False)
class DiagonalProducts(RotatedProducts):
    """The products Q_0, ..., Q_(d-1) of two lists of runs of d vectors; see the module."""

    kind: ClassVar[str] = "diagonal_products"

    def run(self, slots: int) -> int:
        return slots // self.step

    def state_after(self, context: Context) -> State:
        state = RotatedProducts.state_after(self, context)
        run = self.run(context.slots)
        self.require(len(self.left) % run == 0, f"its lists are not of runs of {run} vectors")
        return state

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        terms = len(self.left)
        return backend.diagonal_products(values[:terms], values[terms:], self.step)

    def bound(self, slots: Sequence[Vector]) -> Vector:
        """In every lane of a run any left vector may meet any right one."""
        terms, turns = len(self.left), len(slots[0]) // self.step
        runs = [
            (slots[start : start + turns], slots[terms + start : terms + start + turns])
            for start in range(0, terms, turns)
        ]
        # Of equal runs, and of equal vectors in them, one stands for all.
        times = Counter(
            (tuple(map(Itself, left)), tuple(map(Itself, right))) for left, right in runs
        )
        products = np.zeros((turns, self.step))
        for (left, right), count in times.items():
            lanes = np.max([each.of.reshape(turns, -1).max(axis=0) for each in set(left)], axis=0)
            counts = Counter(right)
            total = sum(many * each.of.reshape(turns, -1) for each, many in counts.items())
            products += count * lanes * total
        bound: Vector = products.ravel()
        return bound

    def deviation(self, at: Errors) -> float:
        """As of `RotatedProducts`, with the worst of the left list in every term."""
        terms = len(self.left)
        one, reached = max(at.before[:terms]), max(at.reached[:terms])
        squares = 0.0
        for other, others in zip(at.before[terms:], at.reached[terms:], strict=True):
            squares += (one * others + other * reached + one * other) ** 2
        return math.sqrt(squares)


@dataclass(frozen=True, slots=True, eq=False)
class AddProducts(OfTwo):
    """The sums of two values of `RotatedProducts` with one step: each P_t of one and the other."""

    kind: ClassVar[str] = "add_products"
    commutes: ClassVar[bool] = True
    takes_products: ClassVar[bool] = True

    def state_after(self, context: Context) -> State:
        first, second = context.states
        self.require(bool(first.products), "its operands are vectors, not rotated products")
        self.require(first == second, f"its operands differ: {first} and {second}")
        return first

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.add_products(*values)

    def seconds(self, context: Context, costs: Any) -> float:
        # Of four polynomials for the two of a ciphertext.
        taken: float = 2 * costs.at(context.level).addition * context.states[0].products
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"addition": context.states[0].products}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return slots[0] + slots[1]

    def deviation(self, at: Errors) -> float:
        return math.hypot(*at.before)


@dataclass(frozen=True, slots=True, eq=False)
class SwitchProduct(OfOne):
    """One of the rotated products as a vector: P_t for `steps` = t times their step.

    Over reals it is not rescaled, as all products.
    """

    kind: ClassVar[str] = "switch_product"
    takes_products: ClassVar[bool] = True
    wording: ClassVar[str] = "by {steps}"

    steps: int

    def state_after(self, context: Context) -> State:
        state = context.states[0]
        self.require(bool(state.products), "its operand is a vector, not rotated products")
        self.require_integer(self.steps, "its number of steps")
        step = context.slots // state.products
        one_of_them = 0 <= self.steps < context.slots and self.steps % step == 0
        self.require(one_of_them, f"{self.steps} is no multiple of {step} below {context.slots}")
        return State(state.level, state.waiting)

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.switch_product(values[0], self.steps)

    def rotations(self, slots: int) -> tuple[int, ...]:
        return (self.steps,) if self.steps else ()

    def product_rotations(self, slots: int) -> tuple[int, ...]:
        return (self.steps,) if self.steps else ()

    def relinearisation_level(self, context: Context) -> int | None:
        return None if self.steps else context.level

    def seconds(self, context: Context, costs: Any) -> float:
        taken: float = costs.at(context.level).product_switch
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"product switch": 1}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return slots[0]

    def deviation(self, at: Errors) -> float:
        """Two key switches share one division."""
        return math.hypot(at.before[0], at.model.switching(at.scale), at.model.rotation(at.scale))


def _shortened(numbers: Sequence[int]) -> str:
    """The numbers of values, runs of neighbours by their ends."""
    is_run = len(numbers) > 2 and [*numbers] == [*range(numbers[0], numbers[-1] + 1)]
    if is_run:
        return f"%{numbers[0]} to %{numbers[-1]}"
    return " ".join(f"%{number}" for number in numbers)

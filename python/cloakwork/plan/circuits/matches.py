"""Sums of what each of many terms counts where all of its conditions hold, on slots.

That is what forests of decision trees are: a term is a leaf, and what it counts are its values. The
conditions are encrypted zeros and ones, and which of them a term takes is clear.

A slot stands for a term. How many of its factors are missing is a sum of conditions with clear
signs, which is one linear transform for all terms; whether none is, is one polynomial; and what
terms count is a second linear transform, and a sum over slots. So the client sends the conditions,
repeated in slots, and neither how many terms there are nor which conditions meet is seen by it.

Source: counting along the ways to leaves is "sum of paths" of Tai, Ma, Zhao and Chow (ESORICS
2017), and of Cong, Das, Park and Pereira (SortingHat, CCS 2022); here a factor is an interval of
one feature, so that a term has as many as it has different features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.circuits.polynomials import Column, Polynomials
from cloakwork.plan.circuits.scalar import scalar_program
from cloakwork.plan.circuits.to_slots import SlotPlan, slot_plan
from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.ir.circuits import CircuitBuilder, CircuitInput
from cloakwork.programs.ir.vectors import PlacedScalar
from cloakwork.programs.packing.scalar import ResultPlace, ScalarPlaces
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    Input,
    Linear,
    Output,
    Rotate,
    SlotProgram,
)

# Diagonals of a linear transform that are encoded at once: they take 0.3 GB or so.
_MOST_DIAGONALS = 256


@dataclass(frozen=True, slots=True)
class ConditionPair:
    """What is 1 where one condition holds and another one does not, and else 0.

    Args:
        holds: The number of the condition that is to hold; None where any number will do.
        fails: That of the one that is not to, which never holds where the other does not; it has
            the greater number.
    """

    holds: int | None
    fails: int | None

    @property
    def may_hold(self) -> bool:
        """Whether it is ever 1."""
        return self.holds is None or self.fails is None or self.holds < self.fails


@dataclass(frozen=True, slots=True)
class CountedTerm:
    """What counts where all factors are 1.

    Args:
        factors: The factors.
        values: What it adds to each sum.
    """

    factors: tuple[ConditionPair, ...]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Matches:
    """Sums over terms, of which each counts where all of its factors are 1.

    Args:
        conditions: How many conditions there are.
        terms: The terms.
        base: What each sum is where no term counts.

    Example:
        >>> both = CountedTerm((ConditionPair(0, None), ConditionPair(None, 1)), (5,))
        >>> Matches(2, (both,), (1,)).most_factors
        2
    """

    conditions: int
    terms: tuple[CountedTerm, ...]
    base: tuple[int, ...]

    @property
    def most_factors(self) -> int:
        """The most factors of a term."""
        return max(len(each.factors) for each in self.terms)


@dataclass(frozen=True, slots=True)
class TermSlots:
    """How terms and conditions lie in rows of slots.

    Args:
        row: Slots of a row.
        width: Slots of one evaluation.
        period: Conditions repeat themselves after so many slots; more lie in further vectors.
        first: The slot of an evaluation that has its first term.
        stride: Sums come out in so many slots, a power of two.
    """

    row: int
    width: int
    period: int
    first: int
    stride: int

    @classmethod
    def of(cls, matches: Matches, row: int) -> TermSlots:
        """The narrowest that holds all terms in one vector; where none does, whole rows."""
        period, stride = (_power_of_two(len_) for len_ in (matches.conditions, len(matches.base)))
        width = _power_of_two(stride - 1 + len(matches.terms) + period)
        if width < row:
            return cls(row, width, period, stride - 1, stride)
        return cls(row, row, min(period, row), 0, stride)

    def slots_of(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each of so many terms its vector and its slot."""
        vectors, slots = np.divmod(np.arange(count), self.row if self.width == self.row else count)
        return vectors, slots + self.first

    def transform(
        self, sources: NDArray[np.int64], targets: NDArray[np.int64], weights: NDArray[np.int64]
    ) -> SparseDiagonals:
        """Elements from slots of an evaluation to others, for all evaluations of a row."""
        starts = np.arange(0, self.row, self.width)[:, np.newaxis]
        return SparseDiagonals(
            self.row,
            ((starts + sources) % self.row).ravel(),
            ((starts + targets) % self.row).ravel(),
            np.tile(weights.astype(np.float64), len(starts)),
        )


def matches_plan(
    title: str, name: str, matches: Matches, row: int, primes: Sequence[int]
) -> SlotPlan:
    """The program of some sums, a slot for each term, all of it at one level.

    Args:
        title: Its title.
        name: The name of the input that has the conditions.
        matches: What it computes.
        row: Slots of a row.
        primes: The plaintext moduli.

    Example:
        >>> both = CountedTerm((ConditionPair(0, None), ConditionPair(None, 1)), (5,))
        >>> plan = matches_plan("both", "x", Matches(2, (both,), (1,)), 16, [97])
        >>> plan.places.width, [type(each).__name__ for each in plan.program.operations]
        (4, ['Input', 'Linear', 'Constant', 'Add', 'Constant', 'Mul', ...])
    """
    return _MatchWriter(title, name, matches, TermSlots.of(matches, row)).plan(primes)


class _MatchWriter:
    def __init__(self, title: str, name: str, matches: Matches, spread: TermSlots) -> None:
        self._name = name
        self._matches = matches
        self._spread = spread
        self._builder = Builder(title, spread.row, "integer")

    def plan(self, primes: Sequence[int]) -> SlotPlan:
        spread, builder = self._spread, self._builder
        parts = range(-(-self._matches.conditions // spread.period))
        inputs = [builder.append(Input(self._name, 0)) for _ in parts]
        vectors, slots = spread.slots_of(len(self._matches.terms))
        is_zero = _is_zero(self._matches.most_factors, spread.row, primes)
        totals: int | None = None
        for vector in range(int(vectors.max()) + 1):
            terms = np.flatnonzero(vectors == vector)
            missing = self._missing(inputs, terms, slots)
            counted = self._counted(self._inlined(is_zero, missing), terms, slots)
            totals = counted if totals is None else builder.append(Add(totals, counted))
        assert totals is not None
        builder.append(Output(self._summed(totals)))
        results = tuple(ResultPlace(0, slot) for slot in range(len(self._matches.base)))
        packed = tuple(map(self._packed, parts))
        return SlotPlan(builder.finish(), ScalarPlaces(spread.row, spread.width, packed, results))

    def _packed(self, part: int) -> tuple[PlacedScalar, ...]:
        """The conditions of a part, again and again."""
        first, last = part * self._spread.period, self._matches.conditions
        numbers = ((slot, first + slot % self._spread.period) for slot in range(self._spread.width))
        return tuple(PlacedScalar(slot, self._name, each) for slot, each in numbers if each < last)

    def _missing(
        self, inputs: Sequence[int], terms: NDArray[np.int64], slots: NDArray[np.int64]
    ) -> int:
        """How many factors of each term are 0, in its slot."""
        sources: list[int] = []
        targets: list[int] = []
        weights: list[int] = []
        to_hold = np.zeros(self._spread.row, dtype=np.int64)
        for term in terms.tolist():
            for factor in self._matches.terms[term].factors:
                for number, weight in ((factor.holds, -1), (factor.fails, 1)):
                    if number is not None:
                        sources.append(number)
                        targets.append(int(slots[term]))
                        weights.append(weight)
                to_hold[slots[term]] += factor.holds is not None
        made: int | None = None
        elements = tuple(np.array(each, dtype=np.int64) for each in (sources, targets, weights))
        parts = elements[0] // self._spread.period
        for part, value in enumerate(inputs):
            own = parts == part
            if own.any():
                added = self._gathered(value, *(each[own] for each in elements))
                made = added if made is None else self._builder.append(Add(made, added))
        assert made is not None
        offset = np.tile(to_hold[: self._spread.width], self._spread.row // self._spread.width)
        return self._builder.append(Add(made, self._builder.constant(offset)))

    def _gathered(
        self,
        value: int,
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: NDArray[np.int64],
    ) -> int:
        """Sums of multiples of conditions, which lie in a value, in the slots of terms.

        Diagonals are taken in runs, each rotated once more than the one before (Horner), so that
        one key serves for what lies between them.
        """
        distances = (sources - targets) % self._spread.period
        runs = distances // _MOST_DIAGONALS
        made: int | None = None
        for run in range(int(runs.max()), -1, -1):
            if made is not None:
                made = self._builder.append(Rotate(made, _MOST_DIAGONALS))
            own = runs == run
            if not own.any():
                continue
            moved = (targets + run * _MOST_DIAGONALS)[own]
            transform = self._spread.transform(
                moved + distances[own] % _MOST_DIAGONALS, moved, weights[own]
            )
            added = self._linear(value, transform)
            made = added if made is None else self._builder.append(Add(made, added))
        assert made is not None
        return made

    def _counted(self, value: int, terms: NDArray[np.int64], slots: NDArray[np.int64]) -> int:
        """What terms count, each for every sum in a slot as far from the first as a multiple."""
        values = np.array([self._matches.terms[each].values for each in terms.tolist()])
        rows, numbers = np.nonzero(values)
        sources = slots[terms[rows]]
        targets = sources - (sources - numbers) % self._spread.stride
        transform = self._spread.transform(sources, targets, values[rows, numbers])
        return self._linear(value, transform)

    def _summed(self, value: int) -> int:
        """The sums in the first slots of each evaluation."""
        step = self._spread.stride
        while step < self._spread.width:
            rotated = self._builder.append(Rotate(value, step))
            value = self._builder.append(Add(value, rotated))
            step *= 2
        base = np.zeros(self._spread.row, dtype=np.int64)
        for number, each in enumerate(self._matches.base):
            base[number :: self._spread.width] = each
        return self._builder.append(Add(value, self._builder.constant(base)))

    def _linear(self, value: int, transform: SparseDiagonals) -> int:
        split = cheapest_split(transform, self._spread.row)
        counted = transform.counted(np.array(split.numbers))
        return self._builder.append(Linear(value, counted, split.baby_steps))

    def _inlined(self, function: SlotProgram, operand: int) -> int:
        """What a program of one input and one output makes of a value."""
        new_of: dict[int, int] = {}
        for number, operation in enumerate(function.operations):
            match operation:
                case Input():
                    new_of[number] = operand
                case Constant(vector=vector):
                    new_of[number] = self._builder.constant(vector)
                case Output(operand=result):
                    return new_of[result]
                case _:
                    used = [new_of[each] for each in operation.operands]
                    new_of[number] = self._builder.append(operation.with_operands(used))
        raise AssertionError("a program ends with its output")


def _is_zero(most: int, row: int, primes: Sequence[int]) -> SlotProgram:
    """Whether a number from 0 up to `most` is 0, as 0 or 1, in every slot."""
    builder = CircuitBuilder("is it 0")
    (number,) = builder.input(CircuitInput("x"))
    column = Column(0, (1, *(0 for _ in range(most))))
    builder.output("y", (), (Polynomials(builder, primes).value(number, column),))
    return slot_plan(scalar_program(builder.finish()), row).program


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()

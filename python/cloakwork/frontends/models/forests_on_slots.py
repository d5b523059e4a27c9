"""Forests of decision trees on slots: a slot for each leaf, or for each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit.inputs import vector
from cloakwork.frontends.circuit.slot_options import slot_options
from cloakwork.frontends.circuit.staging import staged
from cloakwork.frontends.models.coding import INPUT
from cloakwork.frontends.models.forests import IntegerForest
from cloakwork.plan.circuits.matches import TermSlots, matches_plan
from cloakwork.plan.circuits.scalar import scalar_program
from cloakwork.plan.circuits.to_arithmetic import LEAST_BITS
from cloakwork.plan.circuits.to_slots import SlotPlan, slot_plan
from cloakwork.plan.parameters.bgv import IntegerOptions, IntegerPlan, plan_in_rings
from cloakwork.plan.parameters.rings import cheapest_of
from cloakwork.programs.ir.vectors import LaneProgram
from cloakwork.programs.packing.results import Leaf, Sequenced
from cloakwork.programs.packing.scalar import ROWS, ScalarPacking, bits_of, capacity
from cloakwork.programs.port import Port
from cloakwork.runtime.program import Program
from cloakwork.runtime.self_check import require_agreement
from cloakwork.schemes.bgv import Bgv

_ACTION = "compile a forest on slots"
_OPTIONS = ("log_n", "insecure", "public_inputs", "key_budget", "failure_bits")
# The ring by which it is seen which way costs less, before there are plans: a row of it.
_USUAL_ROW = 1 << 13
# What a product of two ciphertexts takes, in diagonals of a linear transform.
_PRODUCT = 4
# A way that seems to cost so many times as much as the other one is not planned.
_FAR = 4


def forest_on_slots(
    title: str, forest: IntegerForest, rows: NDArray[np.int64], batch: int, **options: Any
) -> Program:
    """A program of the scores of a forest, in the way that costs least for so many rows.

    Args:
        title: Its title.
        forest: The forest.
        rows: Some rows of conditions, on which the program is tried in the clear.
        batch: Rows that a run is for.
        options: What `compile` of a circuit takes for slots.

    Raises:
        CircuitTooDeepError: No parameters take trees as deep.
        InsecureParametersError: The ring asked for falls short of 128-bit security.
        KeyBudgetError: The fewest keys that will do take more than the budget.
        InvalidArgumentError: An option is for other functions, or out of range.
    """
    others = sorted(options.keys() - {*_OPTIONS})
    if others:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected none but {', '.join(f'{each}=' for each in _OPTIONS)}, "
            f"got {', '.join(f'{each}=' for each in others)}; leave it out, or say on='bits'"
        )
    if not forest.matches.terms:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected leaves that differ, got trees whose leaves all round "
            "to the same integers; ask for more bits="
        )
    ranges = forest.ranges
    asked = slot_options(_ACTION, max(map(bits_of, ranges)), batch=batch, **options)
    asked = replace(asked, least_modulus_bits=LEAST_BITS)
    planned = cheapest_of(
        _ways(title, forest, asked), lambda plan: plan(), lambda found: found.cost
    )
    plan = planned.plan
    packing = ScalarPacking(
        (Port(INPUT, "integer", 0, (len(forest.tracks),), 0, 1),),
        plan.slots.places,
        Sequenced(tuple(map(Leaf, range(len(ranges))))),
        asked.bits,
        ranges,
    )
    scheme = Bgv(plan.parameter_sets, public_inputs=asked.public_inputs, modular=True)
    program = Program(scheme, plan.program, packing, way=planned.way)
    draws = [{INPUT: row} for row in rows]
    require_agreement(program, partial(_in_clear, forest), error=0.0, draws=draws)
    return program


def _in_clear(forest: IntegerForest, given: Any) -> list[int]:
    return [int(each) for each in forest.scores_by_bits(np.asarray(given[INPUT]).tolist())]


@dataclass(frozen=True, slots=True, eq=False)
class _PlanWay:
    """A plan, what it costs for all rows, and what it is in words."""

    plan: IntegerPlan
    cost: float
    way: str


def _ways(
    title: str, forest: IntegerForest, options: IntegerOptions
) -> list[Callable[[], _PlanWay]]:
    """What may cost least: both ways, or the one that is far ahead."""
    spread = TermSlots.of(forest.matches, _USUAL_ROW)
    vectors = -(-len(forest.matches.terms) // spread.row)
    runs = -(-options.evaluations // capacity(spread.width, spread.row))
    diagonals = runs * vectors * min(spread.period, len(forest.tracks))
    products = _PRODUCT * forest.products
    ways: list[Callable[[], _PlanWay]] = []
    rings = [each for each in options.rings if ROWS << each - 1 >= options.evaluations]
    if diagonals <= _FAR * products or not rings:
        ways.append(partial(_leaves_in_slots, title, forest, options))
    if products <= _FAR * diagonals and rings:
        ways.append(partial(_rows_in_slots, title, forest, replace(options, rings=rings)))
    return ways


def _leaves_in_slots(title: str, forest: IntegerForest, options: IntegerOptions) -> _PlanWay:
    """All leaves of all trees side by side, for a row or a few."""
    matches = forest.matches

    def made(log_n: int) -> Any:
        return matches_plan(title, INPUT, matches, 1 << log_n - 1, options.moduli(log_n))

    plan = plan_in_rings(title, made, options.rings, options)
    places = plan.slots.places
    held = capacity(places.width, places.slots)
    way = (
        f"on slots, a leaf a slot: {len(matches.terms)} leaves by {matches.conditions} conditions "
        f"for {held} rows at once, for batch={options.evaluations} less work than a row a slot"
    )
    return _PlanWay(plan, plan.cost * -(-options.evaluations // held), way)


def _rows_in_slots(title: str, forest: IntegerForest, options: IntegerOptions) -> _PlanWay:
    """A ciphertext for each condition, which holds that of every row."""

    def whole(height: int, log_n: int) -> SlotPlan:
        return slot_plan(_lanes(title, forest, height), 1 << log_n - 1)

    def deepest(height: int, log_n: int) -> SlotPlan:
        return slot_plan(_lanes(title, forest.deepest, height), 1 << log_n - 1)

    def cost(height: int) -> float:
        return plan_in_rings(title, partial(deepest, height), rings, options).cost

    rings, heights = options.rings, forest.heights
    height = min(heights, key=cost) if len(heights) > 1 else heights[0]
    plan = plan_in_rings(title, partial(whole, height), rings, options, partial(deepest, height))
    held = ROWS * plan.slots.places.slots
    way = (
        f"on slots, a row a slot: {forest.products} products of conditions, and sums of products, "
        f"for up to {held} rows at once, "
        f"for batch={options.evaluations} less work than a leaf a slot"
    )
    return _PlanWay(plan, plan.cost, way)


def _lanes(title: str, forest: IntegerForest, height: int) -> LaneProgram:
    """The scores by sums and products, a ciphertext for each number."""

    def function(features: Any) -> Any:
        return forest.scores_by_products(features, height)

    function.__name__ = title
    declared = {INPUT: vector(len(forest.tracks), bounds=(0, 1))}
    return scalar_program(staged(function, declared).circuit)

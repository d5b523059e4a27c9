"""Sums over terms of conditions, in the clear and by counts of what a plan is made of."""

from __future__ import annotations

import numpy as np
import pytest

from cloakwork.plan.circuits.matches import (
    ConditionPair,
    CountedTerm,
    Matches,
    TermSlots,
    matches_plan,
)
from cloakwork.plan.passes.rotate_sums import with_rotate_sums
from cloakwork.programs.slots import Linear, Mul, RotateSum
from cloakwork.runtime.executor import run_in_order
from cloakwork.schemes.clear_integer import ClearIntegersBackend, exact

PRIME = 65537
# Conditions of one feature.
TRACK = 4


def drawn(rng: np.random.Generator, tracks: int, terms: int, sums: int) -> Matches:
    """Terms that ask intervals of a few features."""

    def factor(track: int) -> ConditionPair:
        low, high = sorted(rng.choice(TRACK, 2, replace=False) + TRACK * track)
        return [
            ConditionPair(int(low), None),
            ConditionPair(None, int(high)),
            ConditionPair(int(low), int(high)),
        ][rng.integers(3)]

    made = []
    for _ in range(terms):
        asked = rng.choice(tracks, rng.integers(1, min(tracks, 4) + 1), replace=False)
        values = tuple(rng.integers(-9, 10, sums).tolist())
        made.append(CountedTerm(tuple(factor(int(each)) for each in asked), values))
    return Matches(TRACK * tracks, tuple(made), tuple(rng.integers(-9, 10, sums).tolist()))


def rows_of(rng: np.random.Generator, matches: Matches, count: int) -> np.ndarray:
    """Conditions of which each holds only where the one before it does."""
    reached = rng.integers(0, TRACK + 1, (count, matches.conditions // TRACK, 1))
    return (np.arange(TRACK) < reached).astype(np.int64).reshape(count, -1)


def expected(matches: Matches, row: np.ndarray) -> list[int]:
    sums = np.array(matches.base)
    for term in matches.terms:
        holds = all(
            (each.holds is None or row[each.holds]) and (each.fails is None or not row[each.fails])
            for each in term.factors
        )
        sums += holds * np.array(term.values)
    return sums.tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("tracks", "terms", "sums", "row"),
    [
        (2, 5, 1, 64),  # several evaluations in a row
        (2, 5, 3, 32),
        (3, 9, 2, 16),  # a row holds one
        (4, 40, 3, 16),  # terms in several vectors
        (9, 7, 2, 16),  # conditions in several vectors
        (300, 50, 1, 2048),  # diagonals in several runs
    ],
)
def test_sums_are_those_of_the_terms_that_match(
    tracks: int, terms: int, sums: int, row: int
) -> None:
    rng = np.random.default_rng(tracks)
    matches = drawn(rng, tracks, terms, sums)
    plan = matches_plan("sums", "x", matches, row, [PRIME])
    held = 2 * (row // plan.places.width)
    rows = rows_of(rng, matches, held)
    packed = plan.places.pack({"x": rows.astype(object)})
    values = [exact(each.tolist(), 0) for each in packed]
    made = run_in_order(plan.program, ClearIntegersBackend(PRIME), values)
    found = plan.places.unpack([each.slots for each in made], held)
    assert found == [expected(matches, each) for each in rows]


def test_a_plan_takes_few_keys_and_products() -> None:
    rng = np.random.default_rng(0)
    matches = drawn(rng, 200, 3000, 10)
    plan = matches_plan("sums", "x", matches, 1 << 12, [PRIME])
    assert plan.places.width == 1 << 12
    program = with_rotate_sums(plan.program)
    transforms = [each for each in program.operations if isinstance(each, Linear)]
    # 1024 diagonals in four runs, and one for each of 16 sums.
    assert [-(-len(each.diagonals) // 8) for each in transforms] == [32, 32, 32, 32, 2]
    steps = {step for each in transforms for step in each.rotations(plan.program.slots)}
    assert len(steps) <= 32
    # Sums over 256 slots that are 16 apart.
    assert sum(isinstance(each, RotateSum) for each in program.operations) == 8
    products = [each for each in program.operations if isinstance(each, Mul)]
    assert len(products) <= 12


def test_a_narrow_plan_holds_several_evaluations() -> None:
    matches = drawn(np.random.default_rng(1), 10, 60, 1)
    assert TermSlots.of(matches, 1 << 12) == TermSlots(1 << 12, 128, 64, 0, 1)
    assert TermSlots.of(matches, 64) == TermSlots(64, 64, 64, 0, 1)

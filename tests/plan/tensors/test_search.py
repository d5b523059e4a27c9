"""The search for plans: how many are made, and in which rings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import cloakwork as cw
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors import search
from cloakwork.programs.ir.tensors import Contract, Node, Source


@pytest.mark.parametrize(("most", "programs", "plans"), [(0, 1, 1), (10**6, 7, 4)])
def test_of_long_plans_no_others_are_made_and_of_no_program_two(
    most: int, programs: int, plans: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, int] = {}

    def count(name: str) -> None:
        made[name], counted = 0, getattr(search, name)

        def counting(*arguments: Any, **options: Any) -> Any:
            made[name] += 1
            return counted(*arguments, **options)

        monkeypatch.setattr(search, name, counting)

    count("lower")
    count("_planned")
    monkeypatch.setattr(search, "_MOST_COMPARED", most)
    cw.compile(lambda a, b, c: (a @ b, b @ c), *[(4, 4)] * 3, log_n=10, insecure=True)
    # Three prices of levels, and two ways of each of two contractions; some are alike.
    assert made == {"lower": programs, "_planned": plans}


def test_a_ring_without_primes_for_so_many_levels_is_passed_over() -> None:
    x = Source("x", (4,))
    node: Node = x
    for _ in range(60):
        node = Contract((node, node), ("i", "i"), "i", (4,))
    options = RealOptions(title="deep", precision=12, log_n=14, insecure=True)

    def within(key_budget: int) -> search.Task:
        return search.Task(replace(options, key_budget=key_budget), [node], {x: 0.5})

    search.require_keys(within(10**12))
    with pytest.raises(cw.errors.KeyBudgetError, match="allow several times as many"):
        search.require_keys(within(1000))

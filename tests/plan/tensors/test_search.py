"""The search for plans: how many are made."""

from __future__ import annotations

from typing import Any

import pytest

import cloakwork as cw
from cloakwork.plan.tensors import search


@pytest.mark.parametrize(("most", "plans"), [(0, 1), (10**6, 7)])
def test_of_long_plans_no_others_are_made(
    most: int, plans: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    planned = search._planned

    def counted(*arguments: Any) -> search.Plan:
        made.append(arguments)
        return planned(*arguments)

    monkeypatch.setattr(search, "_MOST_COMPARED", most)
    monkeypatch.setattr(search, "_planned", counted)
    cw.compile(lambda a, b, c: (a @ b, b @ c), *[(4, 4)] * 3, log_n=10, insecure=True)
    # Three prices of levels, and two ways of each of two contractions.
    assert len(made) == plans

import pytest

from cloakwork.errors import KeyBudgetError, MemoryBudgetError
from cloakwork.plan.matmul.budgets import Budgets

SIDES = [4, 8, 16]


def kept_by(budgets: Budgets) -> list[int]:
    return budgets.kept_by("a product", SIDES, lambda side: side, lambda side: 10**8 // side)


@pytest.mark.parametrize(
    ("budgets", "kept"),
    [
        (Budgets(), [4, 8, 16]),
        (Budgets(keys=8), [4, 8]),
        (Budgets(memory=10**8 // 8), [8, 16]),
        (Budgets(keys=8, memory=10**8 // 8), [8]),
    ],
)
def test_ways_within_both_budgets_are_kept(budgets: Budgets, kept: list[int]) -> None:
    assert kept_by(budgets) == kept


def test_what_nothing_keeps_is_refused_with_the_least_that_is_needed() -> None:
    with pytest.raises(KeyBudgetError, match="key_budget=4"):
        kept_by(Budgets(keys=3))
    # Among those whose keys fit.
    with pytest.raises(MemoryBudgetError, match=r"allow memory_limit=12500000$"):
        kept_by(Budgets(keys=8, memory=10**7))

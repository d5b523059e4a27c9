import pytest

import cloakwork as cw
from cloakwork.errors import KeyBudgetError, MemoryBudgetError, ProgramTooLargeError
from cloakwork.plan.matmul.budgets import Budgets, plannable
from cloakwork.plan.matmul.product import Product
from cloakwork.programs.matrices import Blocks
from tests.products import integer_product, real_product

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


@pytest.mark.parametrize("side", [10**5, 2**20, 2**40])
def test_products_too_large_to_plan_are_refused_before(side: int) -> None:
    for compiled in (real_product, integer_product):
        specs = cw.Spec((side, 1), bound=1), cw.Spec((1, side), bound=1)
        with pytest.raises(ProgramTooLargeError, match=r"ciphertexts, .* multiply in parts$"):
            compiled(*specs)


def test_ways_too_large_to_plan_are_left_out() -> None:
    product = Product(1, 4, 10**7, 4)
    ways = [Blocks(4096, side=4, shares=shares, inner_parts=2) for shares in (1, 16, 1024)]
    assert plannable(product, ways) == ways[2:]
    assert plannable(product, ways[:1]) == ways[:1]

"""Choices of least cost, against trying all of them."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.plan.networks.packings.cheapest import Prices, cheapest


@given(st.integers(1, 5), st.integers(0, 9), st.integers(0, 2**32))
def test_no_other_choices_are_cheaper(choices: int, joint: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    options = generator.integers(1, 4, size=choices)
    prices = [Prices((n,), generator.uniform(size=options[n])) for n in range(choices)]
    for _ in range(joint if choices > 1 else 0):
        pair = tuple(sorted(generator.choice(choices, 2, replace=False).tolist()))
        prices.append(Prices(pair, generator.uniform(size=[options[n] for n in pair])))

    def total(chosen: dict[int, int]) -> float:
        return sum(float(each.table[tuple(chosen[n] for n in each.choices)]) for each in prices)

    best = min(total(dict(enumerate(chosen))) for chosen in itertools.product(*map(range, options)))
    assert np.isclose(total(cheapest(prices)), best)


def test_tables_stay_small_and_no_single_choice_is_better() -> None:
    generator = np.random.default_rng(5)
    pairs = list(itertools.combinations(range(14), 2))
    prices = [Prices(pair, generator.uniform(size=(4, 4))) for pair in pairs]

    def total(chosen: dict[int, int]) -> float:
        return sum(float(each.table[tuple(chosen[n] for n in each.choices)]) for each in prices)

    chosen = cheapest(prices, largest=1 << 10)
    for choice, option in itertools.product(chosen, range(4)):
        assert total(chosen) <= total({**chosen, choice: option}) + 1e-12
    at_random = [total(dict(enumerate(generator.integers(0, 4, 14).tolist()))) for _ in range(2000)]
    assert total(chosen) < min(at_random)


def test_avoids_what_cannot_be() -> None:
    chosen = cheapest([Prices((0, 1), np.array([[np.inf, 5.0], [np.inf, np.inf]]))])
    assert chosen == {0: 0, 1: 1}

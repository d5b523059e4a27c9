"""Targets: probabilities of failure to far below what doubles hold, budgets, refusals."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.cost.tfhe import Target, log2_beyond, published_target, tables_log

TARGET = published_target()


@pytest.mark.parametrize(
    ("deviations", "log2"),
    # log2(erfc(d / sqrt 2)) by 60 digits of arithmetic.
    [(1, -1.65603), (6, -28.91683), (9.16, -64.06290), (16.6, -203.15857), (40, -1159.80461)],
)
def test_tails_of_the_normal_distribution(deviations: float, log2: float) -> None:
    assert log2_beyond(deviations, 1.0) == pytest.approx(log2, abs=1e-5)


@given(st.floats(1.0, 60.0), st.floats(1.01, 1.5))
def test_a_wider_margin_is_missed_less(margin: float, factor: float) -> None:
    assert log2_beyond(margin * factor, 1.0) < log2_beyond(margin, 1.0)


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_budget_is_where_failure_is_at_its_bound(outputs: int) -> None:
    budget = TARGET.budget(2, outputs)
    assert TARGET.log2_failure(2, outputs, budget) == pytest.approx(-64, abs=1e-6)


def test_the_published_set() -> None:
    assert 1e-10 < TARGET.bootstrap_variance < 1e-8
    assert TARGET.most_tables(2) == 2
    assert TARGET.most_tables(TARGET.max_boxes_log + 1) == 0
    assert [TARGET.seconds(tables) for tables in (1, 2, 3)] == [0.018, 0.0185, 0.019]
    assert [tables_log(tables) for tables in (1, 2, 4)] == [0, 1, 2]
    assert TARGET.most_boxes_log() == 2


def test_no_noise_never_fails() -> None:
    assert log2_beyond(0.1, 0.0) == -math.inf


@pytest.mark.parametrize(
    ("noise", "seconds", "reason"),
    [
        ({}, {"bootstrap": [1], "linear": 0}, "lack"),
        ({"switch_variance": []}, {"bootstrap": [], "linear": 0}, "one, two and four"),
        ({"switch_variance": [0, 0]}, {"bootstrap": [1], "linear": 0}, "got 1 and 2"),
        ({"switch_variance": [-1]}, {"bootstrap": [1], "linear": 0}, "0 or more"),
        ({"switch_variance": [math.nan]}, {"bootstrap": [1], "linear": 0}, "finite"),
    ],
)
def test_what_is_no_target_is_refused(
    noise: dict[str, object], seconds: dict[str, object], reason: str
) -> None:
    base = {"fresh_variance": 0, "bootstrap_variance": 0} if noise else {}
    with pytest.raises(InvalidArgumentError, match=reason):
        Target.from_measurements("t", 2, {**base, **noise}, seconds)

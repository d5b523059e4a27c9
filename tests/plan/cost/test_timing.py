"""Timing covers every kind of operation that costs are kept of."""

from dataclasses import fields

import pytest

from cloakwork._native import Parameters
from cloakwork.plan.cost.timing import measured_seconds, seconds_beside_operations
from cloakwork.runtime.costs import LevelCosts
from tests.thoroughness import slow

# What needs a level below.
LEVELLED = {
    "product",
    "relinearisation",
    "rescale",
    "plaintext_product",
    "linear",
    "baby_step",
    "giant_step",
    "diagonal",
    "drop_level",
    "gathering",
    "rotated_term",
    "narrow_term",
    "product_switch",
    "weighted_term",
}


@pytest.mark.parametrize(("log_n", "level"), [(5, 1), (10, 2), *slow((5, 2), (10, 1))])
def test_every_kind_takes_time(log_n: int, level: int) -> None:
    seconds = measured_seconds(Parameters(levels=2, log_n=log_n, insecure=True), level)
    assert set(seconds) == {field.name for field in fields(LevelCosts)} - {"weighted_term"}
    assert min(seconds.values()) > 0


@pytest.mark.parametrize("levels", [0, 1])
def test_level_0_has_every_operation_that_takes_no_level(levels: int) -> None:
    seconds = measured_seconds(Parameters(levels=levels, log_n=5, insecure=True), 0)
    assert set(seconds) == {field.name for field in fields(LevelCosts)} - LEVELLED
    assert min(seconds.values()) > 0


def test_a_run_takes_time() -> None:
    assert seconds_beside_operations(Parameters(levels=0, log_n=5, insecure=True)) > 0

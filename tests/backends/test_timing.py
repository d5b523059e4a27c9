"""Timing covers every kind of operation that costs are kept of."""

from dataclasses import fields

import pytest

from cloakwork._native import Parameters
from cloakwork.backends.timing import operation_seconds
from cloakwork.errors import LevelExhaustedError
from cloakwork.plan.cost import LevelCosts


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("log_n", [5, 10])
def test_every_kind_takes_time(log_n: int, level: int) -> None:
    seconds = operation_seconds(Parameters(levels=2, log_n=log_n, insecure=True), level)
    assert set(seconds) == {field.name for field in fields(LevelCosts)}
    assert min(seconds.values()) > 0


def test_level_0_has_too_few_operations() -> None:
    with pytest.raises(LevelExhaustedError):
        operation_seconds(Parameters(levels=1, log_n=5, insecure=True), 0)

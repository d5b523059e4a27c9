"""What is known of a value goes with it: functions that drop values and use expressions again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cloakwork as cw

INPUT = np.array([1.0, 0.9, 0.8, 0.7])


def above(x: Any) -> Any:
    dropped = np.where(x - 0.5 > 0, x - 0.5, 0.0)
    return np.tanh(np.maximum(x + x + x, 0.2)) + 4 * dropped


def above_within(x: Any) -> Any:
    dropped = np.where(unit(x) > 0.0, unit(x), 0.0)
    return np.tanh(np.maximum(np.exp(x), 0.5)) + 4 * dropped


def unit(x: Any) -> Any:
    return x if isinstance(x, np.ndarray) else cw.within(x, -1, 1)


@pytest.mark.parametrize("function", [above, above_within])
def test_equals_numpy_within_the_stated_error(function: Callable[..., Any]) -> None:
    program = cw.compile(function, (4,), precision=8, log_n=10, insecure=True)

    assert program.error is not None
    assert np.abs(program.run_clear(INPUT) - function(INPUT)).max() < program.error


@pytest.mark.slow
@pytest.mark.parametrize("function", [above, above_within])
def test_equals_numpy_on_ciphertexts_at_128_bits(function: Callable[..., Any]) -> None:
    program = cw.compile(function, (4,), precision=8)

    assert program.error is not None
    assert np.abs(program.run(INPUT) - function(INPUT)).max() < program.error

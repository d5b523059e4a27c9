"""Functions on ciphertexts of a session: their precision, their ranges, and bootstraps between."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidParametersError,
    KeyBudgetError,
    MemoryBudgetError,
    PrecisionLostError,
)
from cloakwork.plan.functions.choose import chosen
from cloakwork.plan.functions.recipes import Request
from cloakwork.programs.slots import Bootstrap
from tests.thoroughness import slow

SMALL: dict[str, Any] = {"log_n": 8, "insecure": True}


def bootstrapped(**more: Any) -> cw.Session:
    return cw.Session(bootstrap=True, **SMALL, **more)


def test_functions_are_as_precise_as_the_session() -> None:
    for session in (bootstrapped(precision=10), cw.Session(depth=6, precision=10, **SMALL)):
        x = session.encrypt([0.5, -0.25], bound=1)
        y: Any = np.tanh(x)
        # Two bits below what is promised are the function's, not the 40 bits of the scale.
        assert y.known.largest_error == 2.0**-12
        assert y.precision > 10


def test_a_session_that_is_loaded_has_its_precision(tmp_path: Path) -> None:
    session = cw.Session(depth=3, precision=11, **SMALL)
    session.save(tmp_path / "session")
    session.evaluator().save(tmp_path / "evaluator")
    again = cw.load(tmp_path / "session", cw.Session, insecure=True)
    evaluator = cw.load(tmp_path / "evaluator", cw.SessionEvaluator, insecure=True)
    assert (again.precision, evaluator.precision) == (11, 11)


def test_what_operands_are_off_by_does_not_make_functions_more_precise() -> None:
    session = cw.Session(depth=20, precision=12, backend="clear", **SMALL)
    rough = cw.sigmoid(session.encrypt([0.5, -0.25], bound=1), precision=6)
    made: Any = np.exp(rough)
    # The error of the operand stays, times the slope; the function adds what is allowed.
    assert 2.0**-6 < made.known.largest_error <= math.e * (1 + 2.0**-5) * 2.0**-6 + 2.0**-13
    assert made.level >= rough.level - 3
    assert cw.softmax(rough, precision=8).precision > 3


CORNERS: dict[str, Callable[[Any], Any]] = {
    "absolute": np.abs,
    "maximum": lambda x: np.maximum(x, 0.25),
    "root": lambda x: np.sqrt(x * x),
}


@pytest.mark.parametrize("name", ["maximum", *slow("absolute", "root")])
def test_functions_with_corners_name_the_scale_that_they_take(name: str) -> None:
    function = CORNERS[name]
    a = np.array([-1.0, -0.01, 0.0, 0.5])
    asked: dict[str, Any] = {"depth": 20, "precision": 8, "bound": 2, **SMALL}
    session = cw.Session(**asked)
    with pytest.raises(PrecisionLostError, match="make the session with scale_bits=") as refusal:
        function(session.encrypt(a, bound=1))
    bits = int(str(refusal.value).partition("scale_bits=")[2].partition(",")[0])
    finer = cw.Session(**asked, scale_bits=bits)
    made = function(finer.encrypt(a, bound=1))
    assert made.precision > 8
    assert np.abs(finer.decrypt(made) - function(a)).max() <= 2.0**-made.precision


@pytest.mark.parametrize("gap", [2.0**-8, 2.0**-10])
def test_functions_deeper_than_what_a_bootstrap_leaves_are_bootstrapped_within(gap: float) -> None:
    session = bootstrapped(precision=8, bound=2.0)
    refreshing = session.scheme.refreshing
    assert refreshing is not None
    a = np.linspace(-1, 1, 16)
    x = session.encrypt(a, bound=1)
    made = cw.greater(x, 0, gap=gap)
    fit = chosen(Request("step", -1.0, 1.0, 2.0**-10, given_gap=gap))
    assert x.level - fit.depth < refreshing.input_level
    assert made.level >= refreshing.input_level
    assert np.abs(session.decrypt(made) - (a > 0)).max() <= 2.0**-made.precision


def test_a_range_that_is_given_bounds_numbers_of_a_session() -> None:
    session = bootstrapped(bound=1.0, precision=14)
    x = session.encrypt([0.5, 0.25], low=0, high=1)
    free = 3.2 * x * (1 - x)
    assert free.values[0].bound > 1
    within = cw.within(free, 0, 1)
    assert within.values[0].bound == 1
    assert (within * within).values[0].bound == 1
    for _ in range(4):
        x = cw.within(3.2 * x * (1 - x), 0, 1)
    a = np.array([0.5, 0.25])
    for _ in range(4):
        a = 3.2 * a * (1 - a)
    assert np.abs(session.decrypt(x) - a).max() <= 2.0**-x.precision
    with pytest.raises(InvalidArgumentError, match=r"a range that .* nobody checks"):
        session.decrypt_for_others(x, statistical_bits=10, decryptions=1)


def test_bootstraps_of_a_session_keep_its_budgets() -> None:
    session = bootstrapped(bound=1.0, precision=14, key_budget=1_000_000)
    x = session.encrypt([0.5])
    with pytest.raises(KeyBudgetError, match="allow key_budget=") as keys:
        x.bootstrap()
    assert session.key_bytes == 0
    session.key_budget = keys.value.least
    session.memory_limit = 2_000_000
    with pytest.raises(
        MemoryBudgetError, match=r"bytes, and it takes \d+ at least: keys"
    ) as memory:
        x.bootstrap()
    assert session.key_bytes == 0
    session.memory_limit = int(str(memory.value).split("memory_limit=")[1].split()[0])
    fresh = x.bootstrap()
    assert session.key_bytes == session.key_budget
    assert fresh.program is not None
    assert any(isinstance(each, Bootstrap) for each in fresh.program.operations)
    assert abs(session.decrypt(fresh)[0] - 0.5) <= 2.0**-fresh.precision
    session.memory_limit -= 1
    with pytest.raises(MemoryBudgetError):
        x.bootstrap()
    for limit in (-1, 1.5, True):
        with pytest.raises(InvalidArgumentError, match="memory_limit"):
            session.memory_limit = limit  # type: ignore[assignment]


def test_a_session_that_bootstraps_takes_the_precision_that_is_left() -> None:
    for bound in (1.0, 64.0):
        session = cw.Session(bootstrap=True, bound=bound, **SMALL)
        refreshing = session.scheme.refreshing
        assert refreshing is not None
        assert session.precision <= refreshing.precision < session.precision + 1
    # With all defaults at full security, too.
    for log_n in (None, 17):
        made = cw.Session(bootstrap=True, log_n=log_n, backend="clear")
        refreshing = made.scheme.refreshing
        assert refreshing is not None
        assert 8 < made.precision <= refreshing.precision
    with pytest.raises(InvalidParametersError, match="ask for precision="):
        cw.Session(bootstrap=True, precision=30, **SMALL)
    with pytest.raises(InvalidArgumentError, match="leave out scale_bits"):
        cw.Session(bootstrap=True, scale_bits=50, **SMALL)

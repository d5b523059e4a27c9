"""What cannot be computed is refused by name, whichever way Python or numpy asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    InvalidParametersError,
    NotRealError,
    ProgramTooLargeError,
    ShapeMismatchError,
    UnsupportedOperationError,
    ValueOutOfRangeError,
)

Apply: TypeAlias = Callable[[Any], Any]

A = np.array([[0.5, -1.0, 0.25], [0.25, 0.75, -0.6]])
SESSION = cw.Session(depth=30, precision=12, backend="clear", insecure=True, log_n=6, bound=64)
X = SESSION.encrypt(A, bound=1)
PAD: Any = np.pad
# What a type checker refuses already.
TEXT: Any = "a"
HUGE = 10**400


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: x**math.nan, InvalidArgumentError, "cannot raise to a power: .* got nan"),
        (lambda x: x**math.inf, InvalidArgumentError, "cannot raise to a power: .* got inf"),
        (lambda x: x**HUGE, InvalidArgumentError, "expected at most .* got an integer of 1329"),
        (math.trunc, InvalidArgumentError, "cannot compute trunc"),
        (lambda x: f"{x:.2f}", InvalidArgumentError, r"cannot format by '\.2f'"),
        (lambda x: x.__setitem__(0, 1), InvalidArgumentError, "a tensor never changes"),
        (lambda x: divmod(x, 2), InvalidArgumentError, "cannot compute divmod"),
        (lambda x: divmod(2, x), InvalidArgumentError, "cannot compute divmod"),
        (lambda x: 2 // x, InvalidArgumentError, "cannot compute //"),
        (lambda x: 2 % x, InvalidArgumentError, "cannot compute %"),
        (lambda x: x << 1, InvalidArgumentError, "cannot compute <<"),
        (lambda x: 1 << x, InvalidArgumentError, "cannot compute <<"),
        (lambda x: x >> 1, InvalidArgumentError, "cannot compute >>"),
        (lambda x: 1 >> x, InvalidArgumentError, "cannot compute >>"),
        (lambda x: pow(x, 2, 3), InvalidArgumentError, r"cannot compute pow\(x, y, z\)"),
        (lambda x: PAD(x, -1), InvalidArgumentError, "cannot pad: expected how many .* got -1"),
        (lambda x: PAD(x, ((-1, 0), (0, 0))), InvalidArgumentError, "cannot pad: .* from 0 on"),
        (lambda x: PAD(x, (1, 2, 3)), InvalidArgumentError, r"each of 2 axes.* got \(1, 2, 3\)"),
        (lambda x: PAD(x, ((1, 1),) * 3), InvalidArgumentError, "each of 2 axes"),
        (lambda x: PAD(x, {5: 1}), InvalidArgumentError, "cannot pad"),
        (lambda x: PAD(x, 10**7), ProgramTooLargeError, "more numbers than memory holds"),
        (lambda x: PAD(x, 1, constant_values="a"), NotRealError, "cannot pad: expected real"),
        (
            lambda x: PAD(x, 1, stat_length=3),
            UnsupportedOperationError,
            "cannot compute numpy.pad .* with stat_length=3: expected no .*, constant_values",
        ),
        (lambda x: np.hypot(x, "a"), NotRealError, "cannot compute numpy.hypot"),
        (lambda x: cw.layer_norm(x, eps=TEXT), InvalidArgumentError, "expected an eps from 0 on"),
        (lambda x: cw.layer_norm(x, axis=3), InvalidArgumentError, "cannot layer_norm: expected"),
        (lambda x: cw.softmax(x, axis=3), InvalidArgumentError, "cannot softmax: expected an axis"),
        (lambda x: x.sum().sum(0), InvalidArgumentError, "one number, without axes"),
        (lambda x: cw.within(x, HUGE, 1), InvalidArgumentError, "finite numbers, got an integer"),
        (lambda x: cw.within(x, 5, 6), InvalidArgumentError, "from 5 to 6: .* from -1 to 1"),
        (np.linalg.inv, ShapeMismatchError, "cannot inv: expected square matrices"),
        (
            lambda x: np.trace(x, dtype=int),
            UnsupportedOperationError,
            r"numpy\.trace .* with dtype=.*: expected no arguments but a, offset, axis1, axis2;",
        ),
        (
            lambda x: np.sum(x, where=A > 0),
            UnsupportedOperationError,
            r"numpy\.sum .* with where=.*: expected no arguments but a, axis, keepdims",
        ),
    ],
)
def test_refusals(function: Apply, error: type[CloakworkError], message: str) -> None:
    with pytest.raises(error, match=message):
        function(X)


def test_a_comparison_that_the_bounds_decide_is_named() -> None:
    with pytest.raises(InvalidParametersError, match="bounds of the inputs decide what is compar"):
        cw.compile(lambda x: (x > 3) * 1.0, (4,), precision=8, log_n=8, insecure=True)


def test_what_is_1_whatever_comes_is_divided_by() -> None:
    assert np.abs(SESSION.decrypt(1 / X**0) - 1).max() < 2.0**-11


def test_the_ends_of_a_range_are_within_the_bound() -> None:
    for given in ({"low": -1, "high": 100}, {"low": -65}, {"bound": 1, "high": 2}):
        with pytest.raises(ValueOutOfRangeError, match="expected low and high within the bound"):
            SESSION.encrypt(A, **given)


def test_the_limit_of_memory_is_restored_by_none() -> None:
    session = cw.Session(backend="clear", insecure=True, log_n=6)
    before = session.memory_limit
    session.memory_limit = 1
    session.memory_limit = None
    assert session.memory_limit == before > 1


def test_a_small_ring_that_bootstraps_is_refused_as_insecure() -> None:
    with pytest.raises(InvalidParametersError, match="got 8; leave log_n out, or set insecure"):
        cw.Session(bootstrap=True, bound=1, log_n=8)

"""Comparisons together with comparisons, eager and compiled, against numpy's booleans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, ParametersMismatchError

Apply: TypeAlias = Callable[[Any], Any]

A = np.array([-0.9, -0.3, 0.2, 0.6, 0.95])
CLEAR = np.array([True, False, True, True, False])
SESSION = cw.Session(depth=40, precision=12, backend="clear", insecure=True, log_n=6, bound=8)

AS_NUMPY: dict[str, Apply] = {
    "sum": lambda x: (x > 0) + (x < 0.9),
    "numpy's sum": lambda x: np.add(x > 0.1, x > -0.4),
    "product": lambda x: (x > 0) * (x < 0.9),
    "and": lambda x: np.logical_and(x > 0, x < 0.9) & CLEAR,
    "or": lambda x: (CLEAR | (x > 0)) | (x < -0.5),
    "either or": lambda x: (x > 0) ^ (x > 0.5),
    "either or clear": lambda x: True ^ ((x > 0) ^ CLEAR),
    "not": lambda x: ~(x > 0) | np.logical_not(x < 0.9),
    "not with one": lambda x: 1 - (x > 0),
    "counted": lambda x: 1.0 * (x > 0) + (x > 0.5),
    "weighed": lambda x: 2 * (x > 0) + (x > 0.5) ** 1,
    "count": lambda x: (x > 0).sum() + (x > 0),
    "started at 0": lambda x: sum([x > 0, x > 0.5]),
    "with numbers": lambda x: x + (x > 0) * x,
    "chosen by two": lambda x: np.where((x > 0) & (x < 0.9), x, -1.0),
    "chosen": lambda x: np.where(x > 0, x > 0.5, x < -0.5) + (x > 0.9),
    "chosen in the clear": lambda x: np.where(CLEAR, x > 0, x < 0) + (x > 0),
    "larger": lambda x: np.maximum(x > 0, x > 0.5) + np.minimum(x < 0, CLEAR),
    "turned": lambda x: (x > 0)[::-1] + (x > 0.5)[:, None].transpose()[0],
    "put together": lambda x: (
        np.concatenate([x > 0, CLEAR]) + np.stack([x > 0, x > 0.5]).reshape(10)
    ),
    "padded": lambda x: np.pad(x > 0, 1, constant_values=2) + np.pad(x > 0, 1),
    "absolute": lambda x: abs(x > 0) + np.abs(x > 0.5),
    "norm": lambda x: np.hypot(x > 0, x < 2),
    "stretched": lambda x: (x > 0)[:, None] | (x > 0.5),
}


@pytest.mark.parametrize("name", AS_NUMPY)
def test_comparisons_are_numpys_booleans(name: str) -> None:
    function = AS_NUMPY[name]
    found = SESSION.decrypt(function(SESSION.encrypt(A, bound=1)))
    assert np.abs(found - np.asarray(function(A), dtype=float)).max() < 2.0**-9


@pytest.mark.parametrize("name", ["sum", "chosen by two"])
def test_compiled_comparisons_are_numpys_booleans(name: str) -> None:
    function = AS_NUMPY[name]
    program = cw.compile(function, (5,), precision=10, insecure=True, log_n=11)
    expected = np.asarray(function(A), dtype=float)
    assert np.abs(program.run_clear(A) - expected).max() < 2.0**-10


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.where(x, 1.0, 0.0), r"expected a condition.* numpy\.where\(x > 0"),
        (lambda x: np.where(x * x, x, 0.0), "expected a condition that is a comparison"),
        (lambda x: np.where(1.0 * (x > 0), x, 0.0), "expected a condition that is a comparison"),
        (lambda x: (x > 0) - (x > 0.5), r"cannot compute x - y.* write 1\.0 \* \(x > 0\)"),
        (lambda x: True - (x > 0.5), "cannot compute y - x: expected numbers"),
        (lambda x: -(x > 0), "cannot compute -x: expected numbers, got comparisons"),
        (lambda x: +(x > 0), "cannot compute [+]x: expected numbers, got comparisons"),
        (lambda x: (x > 0) @ (x > 0.5), "cannot matmul: expected numbers"),
        (lambda x: CLEAR @ (x > 0.5), "cannot matmul: expected numbers"),
        (lambda x: np.einsum("i,i->", x > 0, x > 0.5), "cannot einsum 'i,i->': expected numbers"),
        (lambda x: np.einsum("i->", x > 0), "cannot einsum 'i->': expected numbers"),
        (lambda x: x & (x > 0), "cannot compute x & y: expected comparisons"),
        (lambda x: (x > 0) | 1, "cannot compute x | y: expected comparisons.* got 1"),
        (np.logical_not, "cannot compute ~x: expected comparisons"),
    ],
)
def test_refusals(function: Apply, message: str) -> None:
    traced: Apply = lambda x: cw.compile(function, (5,), insecure=True, log_n=11)  # noqa: E731
    for refused in (function, traced):
        with pytest.raises(InvalidArgumentError, match=message.replace("|", r"\|")):
            refused(SESSION.encrypt(A, bound=1))


def test_comparisons_of_two_sessions_do_not_mix() -> None:
    other = cw.Session(depth=40, precision=12, backend="clear", insecure=True, log_n=6, bound=8)
    with pytest.raises(ParametersMismatchError, match="different sessions"):
        (SESSION.encrypt(A, bound=1) > 0) | (other.encrypt(A, bound=1) > 0)

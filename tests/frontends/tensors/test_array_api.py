"""Code for the array API runs on tensors, and what the consortium's suite says of them is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import CloakworkError, InvalidArgumentError, UnsupportedOperationError
from cloakwork.frontends.tensors.numpy.array_api import VERSIONS, Info, namespace_of
from cloakwork.frontends.tensors.numpy.refusals import REFUSED
from tests.frontends.tensors.array_api.adapter import xp as adapted
from tools.array_api_outcomes import OUTCOMES, outcomes

SAID = json.loads(OUTCOMES.read_text(encoding="utf-8"))
SESSION = cw.Session(depth=40, precision=10, backend="clear", insecure=True, log_n=8, bound=64)
A = np.array([[0.5, -1.0, 0.25], [0.75, 0.125, -0.5]])
# What the suite's arrays have to be read by, and tensors have not.
_READING = {"__complex__", "__index__"}
# The part of the suite that has to pass.
LEAST = 0.8


def _named(pattern: str) -> Iterator[re.Match[str]]:
    for names in SAID["passed"].values():
        yield from filter(None, (re.fullmatch(pattern, each) for each in names))


def test_most_of_the_suite_passes() -> None:
    passed = sum(map(len, SAID["passed"].values()))
    assert passed / (passed + len(SAID["others"])) >= LEAST


def test_every_name_that_passed_is_there() -> None:
    xp, x = namespace_of(), SESSION.encrypt(A, bound=1)
    found = list(_named(r"test_has_names\[(\w+)-(\w+)\]"))
    assert len(found) > 190
    for each in found:
        room, name = each.groups()
        if name in _READING:
            continue
        place = x if room.startswith("array_") else getattr(xp, room, xp)
        assert hasattr(place, name), each.group()


def test_what_is_said_to_be_refused_is_refused_by_name() -> None:
    refused = {name for names in REFUSED.values() for name in names.split()}
    messages = [each for each in SAID["others"].values() if "UnsupportedOperationError" in each]
    assert len(messages) > 10
    for each in messages:
        name = re.search(r"numpy\.([\w.]+) of", each)
        assert name is not None, each
        is_complex = "complex encrypted tensor" in each
        assert is_complex or name.group(1) in refused | {"any", "astype", "linalg.slogdet"}, each


def test_outcomes_are_read_from_a_report() -> None:
    crash = {"crash": {"message": "cloakwork.errors.NotRealError: cannot a\nmore"}}
    tests = [
        {"nodeid": "array_api_tests/test_fft.py::test_fft", "outcome": "passed"},
        {"nodeid": "array_api_tests/test_fft.py::test_x", "outcome": "failed", "call": crash},
        {"nodeid": "array_api_tests/test_fft.py::test_y", "outcome": "skipped"},
    ]
    assert outcomes({"tests": tests}) == {
        "passed": {"test_fft.py": ["test_fft"]},
        "others": {"test_fft.py::test_x": "cloakwork.errors.NotRealError: cannot a"},
    }


def standardised(x: Any) -> Any:
    xp = x.__array_namespace__(api_version="2023.12")
    away = x - xp.mean(x, axis=1, keepdims=True)
    return away / xp.sqrt(xp.var(x, axis=1, keepdims=True, correction=1.0) + xp.asarray(0.5))


def scored(x: Any) -> Any:
    xp = x.__array_namespace__()
    assert xp.isdtype(x.dtype, "real floating")
    assert xp.result_type(x, xp.float32) == xp.float64
    assert xp.finfo(x.dtype).bits == 64
    weights = xp.asarray([0.5, 0.25, -1.0], dtype=x.dtype, device=x.device)
    joined = xp.concat([x, xp.flip(x, axis=0)], axis=0)
    found = xp.linalg.vecdot(joined, weights) + xp.pow(x[0, 0], 2)
    return xp.clip(xp.matmul(xp.permute_dims(joined, (1, 0)), found), max=0.5)


def turned(x: Any) -> Any:
    xp = x.__array_namespace__()
    grid = xp.expand_dims(x, axis=0)
    squares = xp.linalg.inv(x.mT @ x / 8 + xp.eye(3))
    return xp.squeeze(grid, axis=0) @ squares + xp.atan(xp.astype(x, xp.float64))


@pytest.mark.parametrize("function", [standardised, scored, turned])
def test_code_for_the_array_api_runs(function: Callable[[Any], Any]) -> None:
    expected = function(A)
    found = SESSION.decrypt(function(SESSION.encrypt(A, low=-1, high=1)))
    assert np.abs(found - expected).max() < 2**-8


def test_a_compiled_function_may_ask_for_the_namespace() -> None:
    program = cw.compile(standardised, A, precision=10)
    assert np.abs(program.run_clear(A) - standardised(A)).max() < 2**-10


def test_tensors_have_what_the_standard_says_of_arrays() -> None:
    x = SESSION.encrypt(A, bound=1)
    xp: Any = x.__array_namespace__()
    assert x.dtype == xp.float64
    assert (x > 0).dtype == xp.bool
    assert x.to_device(x.device) is x
    assert xp.asarray(x) is x
    assert isinstance(xp.asarray([1, 2]), np.ndarray)
    assert xp.zeros_like(x > 0).dtype == xp.bool
    assert [each.shape for each in xp.meshgrid(x[0], x[1, :2])] == [(2, 3), (2, 3)]
    assert [each.shape for each in xp.broadcast_arrays(x, x[0])] == [(2, 3), (2, 3)]
    assert xp.finfo(x).bits == 64
    assert xp.iinfo(xp.int16).bits == 16
    assert xp.ones_like(x > 0, dtype=xp.float64).dtype == x.dtype
    info: Info = xp.__array_namespace_info__()
    assert info.capabilities()["data-dependent shapes"] is False
    assert info.default_device() in info.devices()
    assert info.default_dtypes()["real floating"] == x.dtype
    assert info.dtypes(kind="bool") == {"bool": np.dtype(bool)}


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (
            lambda x: x.__array_namespace__(api_version="2019.01"),
            InvalidArgumentError,
            f"expected a version of {VERSIONS[0]}, .* got '2019.01'",
        ),
        (lambda x: x.to_device("cuda:3"), UnsupportedOperationError, "cannot move .* 'cuda:3'"),
        (lambda x: namespace_of().sort(x), UnsupportedOperationError, r"cloakwork\.exactly"),
        (
            lambda x: namespace_of().astype(x, np.float32),
            UnsupportedOperationError,
            r"numpy\.astype .* expected float64",
        ),
        (
            lambda x: namespace_of().asarray(x, dtype=np.int64),
            UnsupportedOperationError,
            "expected float64",
        ),
        (lambda x: namespace_of().sum(x, dtype=int), UnsupportedOperationError, "with dtype="),
    ],
)
def test_what_does_not_apply_is_refused(
    function: Callable[[Any], Any], error: type[CloakworkError], message: str
) -> None:
    with pytest.raises(error, match=message):
        function(SESSION.encrypt(A, bound=1))


def test_an_older_numpy_has_not_the_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "__version__", "1.26.4")
    with pytest.raises(UnsupportedOperationError, match=r"numpy 2\.1\.0 or newer.* got 1\.26\.4"):
        SESSION.encrypt(A, bound=1).__array_namespace__()


def test_the_adapter_of_the_suite_computes_with_tensors() -> None:
    xp: Any = adapted
    x = xp.asarray(A)
    assert float(xp.sum(x)) == A.sum()
    assert bool(xp.all(x < 2))
    assert np.array_equal((2 * x[:, ::2]).values, 2 * A[:, ::2])
    assert np.allclose(xp.fft.fft(x).values, np.fft.fft(A))
    with pytest.raises(UnsupportedOperationError, match=r"numpy\.sort"):
        xp.sort(x)
    with pytest.raises(InvalidArgumentError, match="a tensor never changes"):
        x[0] = 1.0

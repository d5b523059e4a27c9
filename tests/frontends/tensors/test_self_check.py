"""A plan that computes something else than the user's function is refused when it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import PlanMismatchError
from cloakwork.frontends.tensors import methods
from cloakwork.plan.functions import intervals
from cloakwork.plan.functions.intervals import Interval
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Sum

Function = Callable[..., Any]


def compiled(function: Function, *specs: Any, precision: int = 12) -> cw.Program:
    return cw.compile(function, *specs, precision=precision, log_n=10, insecure=True)


def halved(interval: Interval) -> Interval:
    return replace(interval, low=interval.low / 2, high=interval.high / 2)


FUNCTIONS: dict[str, Function] = {
    "tanh of a sum": lambda x: np.tanh(x + x + x),
    "exp of a difference": lambda x: np.exp(x - 2 * x[::-1]),
    "root of squares": lambda x: np.sqrt((x * x).sum() + 1.0),
    "logarithm": lambda x: np.log(x.sum() + 12.0),
    "inverse": lambda x: 1 / (x.sum() + 6.0),
    "larger of two": lambda x: np.maximum(x + x, 0.2 - 3 * x),
    "cosine": lambda x: np.cos(2 * x + 2 * x[::-1]),
    "sigmoid": lambda x: cw.sigmoid(4 * x),
    "softmax": lambda x: cw.softmax(x + x),
    "normed": lambda x: cw.layer_norm(3 * x, eps=1.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_damaged_ranges_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(FUNCTIONS[name], (4,))
    exact = intervals._interval

    def damaged(node: Node, *others: Any) -> Interval:
        found = exact(node, *others)
        return halved(found) if isinstance(node, Contract | Sum | Rearrange) else found

    monkeypatch.setattr(intervals, "_interval", damaged)
    with pytest.raises(PlanMismatchError, match="please report it"):
        compiled(FUNCTIONS[name], (4,))


def test_a_pass_that_moves_numbers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods.TensorMethods, "__neg__", lambda x: x)
    with pytest.raises(PlanMismatchError, match="off by"):
        compiled(lambda x: -x, (4,))


def test_a_shape_that_is_not_the_function_s_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    total = methods.TensorMethods.sum
    monkeypatch.setattr(
        methods.TensorMethods, "sum", lambda x, axis=None: total(x, axis, keepdims=True)
    )
    with pytest.raises(PlanMismatchError, match=r"shape \(3,\) .* and \(1, 3\)"):
        compiled(lambda x: x.sum(0), (2, 3))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x: (x, x) if isinstance(x, np.ndarray) else x * 2,
            "number of results is 2 where .* and 1 by",
        ),
        (lambda x: x if isinstance(x, np.ndarray) else (x, x), "number of results is 1 .* and 2"),
        (lambda x: x[:2] if isinstance(x, np.ndarray) else x, r"shape \(2,\) .* and \(4,\)"),
    ],
)
def test_results_of_another_number_or_shape_are_refused(function: Function, message: str) -> None:
    with pytest.raises(PlanMismatchError, match=message):
        compiled(function, (4,))


def test_a_function_is_run_again_only_where_it_differs() -> None:
    ran: list[int] = []

    def counted(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            ran.append(len(ran))
        return x

    compiled(counted, (4,))
    assert len(ran) == 2
    ran.clear()
    with pytest.raises(PlanMismatchError, match="off by 1 "):
        compiled(lambda x: counted(x) + isinstance(x, np.ndarray), (4,))
    assert len(ran) == 2


def test_a_function_that_draws_numbers_is_compared_with_nothing() -> None:
    random = np.random.default_rng(0)

    program = compiled(lambda x: x @ random.uniform(-1, 1, (4, 2)), (4,))

    assert program.run_clear(np.ones(4)).shape == (2,)


def test_a_function_of_tensors_alone_is_compared_with_its_operations() -> None:
    program = compiled(lambda x: cw.matmul(x, np.eye(4)).matmul(x), (4, 4))

    assert np.allclose(program.run_clear(np.eye(4)), np.eye(4))


def test_inputs_that_clients_refuse_are_passed_over() -> None:
    program = compiled(lambda x: np.sqrt(cw.within(x, 3.0, 4.0)), cw.Spec((4,), low=0.0, high=4.0))

    assert np.allclose(program.run_clear(np.full(4, 3.5)), np.sqrt(3.5), atol=2e-4)


def test_numbers_that_a_function_is_not_defined_for_warn_nobody() -> None:
    program = compiled(lambda x: np.log(cw.within(x, 1.0, 2.0)), cw.Spec((4,), low=-1.0, high=2.0))

    assert np.allclose(program.run_clear(np.full(4, 1.5)), np.log(1.5), atol=2e-4)

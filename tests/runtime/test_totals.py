"""Results of several runs are added up, and decrypted as one with its bounds and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    BoundOverflowError,
    InvalidArgumentError,
    KeyMismatchError,
    NoiseBudgetError,
    ShapeMismatchError,
)
from cloakwork.runtime.totals import estimates_of_total

SMALL: dict[str, Any] = {"log_n": 9, "insecure": True}


def squares() -> cw.Program:
    return cw.compile(lambda x: x * x, (4,), precision=16, **SMALL)


def test_a_total_is_the_sum_and_outlives_its_file(tmp_path: Path) -> None:
    program = squares()
    client, evaluator = program.keygen()
    given = np.random.default_rng(0).uniform(-1, 1, (7, 4))
    total = evaluator.total(evaluator.run(client.encrypt(x)) for x in given)
    assert total.added == 7
    total.save(tmp_path / "total")
    again = cw.load(tmp_path / "total", cw.Encrypted)
    assert again.added == 7
    # The sum exceeds the bound of a single result.
    expected = (given**2).sum(0)
    assert expected.max() > 1
    assert np.abs(client.decrypt(again) - expected).max() < 7 * 2**-16


def test_totals_of_many_evaluations_are_theirs() -> None:
    client, evaluator = squares().keygen()
    given = np.random.default_rng(1).uniform(-1, 1, (2, 3, 4))
    total = evaluator.total([evaluator.run(client.encrypt(x)) for x in given])
    assert np.abs(client.decrypt(total) - (given**2).sum(0)).max() < 2**-14


def test_noise_of_a_total_is_that_of_all_its_parts() -> None:
    (one,) = squares().estimated_results or [None]
    assert one is not None
    (five,) = estimates_of_total([one], 5)
    assert five.bound == pytest.approx(5 * one.bound)
    assert 2 < one.precision - five.precision < 2.5


def test_more_results_than_the_modulus_holds_are_refused() -> None:
    client, evaluator = squares().keygen()
    total = evaluator.run(client.encrypt(np.ones(4)))
    for _ in range(40):
        total = evaluator.total([total, total])
    with pytest.raises(BoundOverflowError):
        client.decrypt(total)


def test_wrong_use_is_named() -> None:
    program = squares()
    client, evaluator = program.keygen()
    other, _ = program.keygen()
    made = evaluator.run(client.encrypt(np.ones(4)))
    with pytest.raises(InvalidArgumentError, match="got none"):
        evaluator.total([])
    with pytest.raises(InvalidArgumentError, match="expected outputs"):
        evaluator.total([client.encrypt(np.ones(4))])
    with pytest.raises(ShapeMismatchError, match="as many evaluations"):
        evaluator.total([made, evaluator.run(client.encrypt(np.ones((2, 4))))])
    with pytest.raises(KeyMismatchError):
        evaluator.total([made, other.evaluator().run(other.encrypt(np.ones(4)))])
    whole = cw.compile(lambda a: a @ a, cw.Spec((2, 2), bound=3, kind="integer"), **SMALL)
    sender, counter = whole.keygen()
    with pytest.raises(InvalidArgumentError, match="over reals"):
        counter.total([counter.run(sender.encrypt(np.ones((2, 2), dtype=int)))])


def test_programs_in_a_row_take_no_totals() -> None:
    first = squares()
    second = cw.compile(lambda y: y * 2, cw.result(first), precision=8, **SMALL)
    first, second = cw.together(first, second)
    client, evaluator = first.keygen()
    server = evaluator.serving(second, client.serving(second).evaluation_keys(first))
    made = evaluator.run(client.encrypt(np.ones(4)))
    with pytest.raises(NoiseBudgetError, match="the sum of 2"):
        server.run(evaluator.total([made, made]))

"""Networks within a budget of evaluation keys: fewer keys, the same results and checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import cloakwork as cw
from cloakwork import errors
from cloakwork.programs.slots import Rotate, SlotProgram
from tests.thoroughness import slow

PRECISION = 12
SMALL: dict[str, Any] = {"precision": PRECISION, "log_n": 11, "insecure": True}

torch.manual_seed(0)
X = torch.rand(50, 64)
MODULE = nn.Sequential(nn.Linear(64, 32), nn.SiLU(), nn.Linear(32, 10)).eval()


@pytest.fixture(scope="module")
def whole() -> cw.Program:
    return cw.nn.compile(MODULE, X, **SMALL)


def rotations(program: cw.Program) -> int:
    assert isinstance(program.body, SlotProgram)
    return sum(isinstance(each, Rotate) for each in program.body.operations)


@pytest.mark.parametrize("part", [0.45, *slow(0.6)])
def test_keys_fit_the_budget_and_results_keep_their_precision(
    whole: cw.Program, part: float
) -> None:
    budget = int(part * whole.key_bytes)
    made = cw.nn.compile(MODULE, X, key_budget=budget, **SMALL)
    assert made.key_bytes <= budget
    assert rotations(made) > rotations(whole)
    wanted = MODULE(X).detach().numpy()
    assert np.abs(made.simulate(X).outputs - wanted).max() < 2**-PRECISION
    assert np.abs(made.run(X[0]) - wanted[0]).max() < made.error
    np.testing.assert_allclose(made.run_clear(X), whole.run_clear(X), rtol=0, atol=1e-9)


def test_a_client_checks_the_same_ranges(whole: cw.Program) -> None:
    made = cw.nn.compile(MODULE, X, key_budget=whole.key_bytes // 2, **SMALL)
    inputs = whole.inputs[0].bound * np.sign(MODULE.get_parameter("0.weight").detach().numpy()[0])
    reports = whole.simulate(inputs).outside
    assert reports[0].startswith("layer '1' expects")
    assert made.simulate(inputs).outside == reports
    client, _ = made.keygen()
    with pytest.raises(errors.ValueOutOfRangeError, match="layer '1' expects"):
        client.encrypt(inputs)


def test_an_ample_budget_changes_nothing(whole: cw.Program) -> None:
    made = cw.nn.compile(MODULE, X, key_budget=whole.key_bytes, **SMALL)
    assert made.fingerprint == whole.fingerprint


def test_the_least_budget_is_named_and_works() -> None:
    with pytest.raises(errors.KeyBudgetError, match=r"takes \d+ at least") as refusal:
        cw.nn.compile(MODULE, X, key_budget=1000, **SMALL)
    least = int(str(refusal.value).split("allow ")[1].split(" ")[0])
    made = cw.nn.compile(MODULE, X, key_budget=least, **SMALL)
    assert made.key_bytes <= least
    with pytest.raises(errors.KeyBudgetError):
        cw.nn.compile(MODULE, X, key_budget=least - 1, **SMALL)


def test_of_several_rings_one_that_fits_is_taken() -> None:
    secure: dict[str, Any] = {"precision": PRECISION}
    whole = cw.nn.compile(MODULE, X, **secure)
    made = cw.nn.compile(MODULE, X, key_budget=int(0.7 * whole.key_bytes), **secure)
    assert made.key_bytes <= 0.7 * whole.key_bytes
    assert not made.scheme.insecure
    wanted = MODULE(X[:1]).detach().numpy()[0]
    assert np.abs(made.run(X[0]) - wanted).max() < made.error


@pytest.mark.parametrize("budget", [-1, 0.5, "1 GB", True])
def test_refuses_what_is_no_budget(budget: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="key_budget"):
        cw.nn.compile(MODULE, X, key_budget=budget, **SMALL)

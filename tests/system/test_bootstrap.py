"""Depth without end: compiled functions and sessions that bootstrap, on small insecure rings."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
    InvalidProgramError,
    KeyBudgetError,
    LevelExhaustedError,
    MissingKeyError,
    ValueOutOfRangeError,
)
from cloakwork.explain import modelled
from cloakwork.frontends.tensors import eager
from cloakwork.programs.slots import Bootstrap, SlotProgram
from cloakwork.schemes.ckks import Ckks

SMALL: Any = {"precision": 14, "log_n": 8, "insecure": True, "bootstrap": True}
SLOTS = 64


@pytest.fixture
def modelled_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates are the model's, whatever this machine does or has measured."""
    monkeypatch.setattr(modelled, "known", lambda _: None)
    monkeypatch.setattr(modelled, "unit_seconds", lambda _: 1e-6)


def bootstraps(program: cw.Program) -> int:
    assert isinstance(program.body, SlotProgram)
    return sum(isinstance(operation, Bootstrap) for operation in program.body.operations)


def error_of(program: cw.Program, *arguments: Any) -> tuple[float, float]:
    """How far ciphertexts are from the clear backend, and how far they say that they may be."""
    client, evaluator = program.keygen()
    assert evaluator.key_bytes == program.key_bytes
    found = client.decrypt(evaluator.run(client.encrypt(*arguments)))
    estimates = program.estimated_results
    assert estimates is not None
    stated = max(2.0**-each.precision for each in estimates)
    return float(np.abs(found - program.run_clear(*arguments)).max()), stated


def squarings(x: Any) -> Any:
    """60 squarings and additions, whose values and errors stay within bounds."""
    for _ in range(60):
        x = x * x + 0.2
    return x


def test_sixty_squarings_and_additions() -> None:
    program = cw.compile(squarings, cw.Spec((SLOTS,), bound=0.5), **SMALL)
    # Ten levels each, and two more at the end.
    assert bootstraps(program) == 5
    error, stated = error_of(program, np.linspace(-0.5, 0.5, SLOTS))
    assert error < stated < 2.0**-14


@pytest.mark.slow
def test_sixty_squarings_and_additions_at_full_security() -> None:
    program = cw.compile(squarings, cw.Spec((1 << 15,), bound=0.5), precision=14)
    assert not program.scheme.insecure
    assert bootstraps(program) == 5
    error, stated = error_of(program, np.linspace(-0.5, 0.5, 1 << 15))
    assert error < stated < 2.0**-14


def deep(x: Any) -> Any:
    for _ in range(14):
        x = x * x + 0.2
    return x


SLOTS_SPEC = cw.Spec((SLOTS,), bound=0.5)


@pytest.fixture(scope="module")
def program() -> cw.Program:
    return cw.compile(deep, SLOTS_SPEC, **SMALL)


def test_files_bring_back_program_keys_and_results(program: cw.Program, tmp_path: Path) -> None:
    client, evaluator = program.keygen()
    evaluator.save(tmp_path / "evaluator")
    loaded = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    assert loaded.program.fingerprint == program.fingerprint
    x = np.linspace(-0.5, 0.5, SLOTS)
    found = client.decrypt(loaded.run(client.encrypt(x)))
    assert np.abs(found - program.run_clear(x)).max() < 2.0**-14
    with pytest.raises(InsecureParametersError):
        cw.load(tmp_path / "evaluator", cw.Evaluator)


def test_modelled_errors_are_about_those_of_ciphertexts(program: cw.Program) -> None:
    x = np.full(SLOTS, 0.5)
    modelled = np.abs(program.simulate(x, seed=3).outputs - program.run_clear(x)).max()
    error, stated = error_of(program, x)
    assert 0 < modelled < stated
    assert error < stated


@pytest.mark.usefixtures("modelled_costs")
def test_explain_counts_bootstraps_with_their_keys_and_time(program: cw.Program) -> None:
    text = str(cw.explain(program))
    assert "1 bootstrap" in text
    assert "conjugation" in text
    assert cw.estimate(program).operations["bootstrap"] == 1
    shallow = cw.compile(lambda x: x * x, SLOTS_SPEC, **SMALL)
    assert cw.estimate(program).seconds > 5 * cw.estimate(shallow).seconds
    assert program.key_bytes > 10 * shallow.key_bytes


@pytest.mark.usefixtures("modelled_costs")
def test_two_values_are_refreshed_at_once_where_a_function_has_two() -> None:
    def both(x: Any, y: Any) -> Any:
        return deep(x), deep(y)

    program = cw.compile(both, SLOTS_SPEC, SLOTS_SPEC, **SMALL)
    one = cw.estimate(cw.compile(deep, SLOTS_SPEC, **SMALL))
    found = cw.estimate(program)
    assert found.operations["paired bootstrap"] == 2
    assert "bootstrap" not in found.operations
    assert one.seconds < found.seconds < 1.8 * one.seconds
    assert "2 paired bootstraps" in str(cw.explain(program))
    client, evaluator = program.keygen()
    x, y = np.linspace(-0.5, 0.5, SLOTS), np.full(SLOTS, 0.5)
    results = client.decrypt(evaluator.run(client.encrypt(x, y)))
    for result, expected in zip(results, program.run_clear(x, y), strict=True):
        assert np.abs(result - expected).max() < 2.0**-14


def test_a_tensor_of_several_ciphertexts_is_refreshed_two_by_two() -> None:
    session = cw.Session(bootstrap=True, precision=14, bound=1.0, log_n=8, insecure=True)
    numbers = np.linspace(-1, 1, 300)
    fresh = session.encrypt(numbers).bootstrap()
    assert fresh.program is not None
    kinds = [each.kind for each in fresh.program.operations]
    assert (kinds.count("paired_bootstrap"), kinds.count("bootstrap")) == (2, 1)
    assert np.abs(session.decrypt(fresh) - numbers).max() < 2.0**-14


def test_a_chain_long_enough_is_used_where_there_is_one() -> None:
    plain = cw.compile(deep, SLOTS_SPEC, precision=14, log_n=8, insecure=True)
    assert bootstraps(plain) == 0
    assert isinstance(plain.scheme, Ckks)
    assert plain.scheme.refreshing is None


def test_functions_that_cannot_bootstrap_are_refused_by_name() -> None:
    with pytest.raises(InvalidParametersError, match=r"leaves .* bits of its results right"):
        cw.compile(deep, SLOTS_SPEC, **{**SMALL, "precision": 40})
    with pytest.raises(InvalidParametersError, match=r"results may be as large as 1.91e\+131"):
        cw.compile(lambda x: deep(x * 1.6), SLOTS_SPEC, **SMALL)
    with pytest.raises(InvalidParametersError, match=r"may be larger than 1.8e\+308"):
        cw.compile(lambda x: deep(x * 2.0**30), SLOTS_SPEC, **SMALL)
    with pytest.raises(KeyBudgetError, match=r"with those of a bootstrap, .* at least; allow"):
        cw.compile(deep, SLOTS_SPEC, **SMALL, key_budget=10**6)
    with pytest.raises(InvalidParametersError):
        cw.compile(deep, SLOTS_SPEC, precision=14, log_n=12, bootstrap=False)
    with pytest.raises(InvalidArgumentError, match="bootstrap"):
        cw.compile(deep, SLOTS_SPEC, **{**SMALL, "bootstrap": 1})


def test_inputs_beyond_what_is_bootstrapped_are_refused_before_they_are_encrypted(
    program: cw.Program,
) -> None:
    client, _ = program.keygen()
    x = np.full(SLOTS, 0.5)
    x[3] = 0.51
    with pytest.raises(ValueOutOfRangeError, match=r"0.51 exceeds the bound 0.5;"):
        client.encrypt(x)

    def narrowed(x: Any) -> Any:
        return deep(np.tanh(cw.within(4 * x, -1, 1)) * 0.5)

    claimed = cw.compile(narrowed, SLOTS_SPEC, **{**SMALL, "precision": 10})
    assert bootstraps(claimed) > 0
    client, _ = claimed.keygen()
    with pytest.raises(
        ValueOutOfRangeError, match=r"'tanh at test_bootstrap.py:\d+' expects numbers from -1 to 1"
    ):
        client.encrypt(np.full(SLOTS, 0.5))


def test_parameters_without_levels_for_it_do_not_take_the_program(program: cw.Program) -> None:
    assert isinstance(program.body, SlotProgram)
    with pytest.raises(InvalidProgramError, match="no levels for that"):
        Ckks(program.scheme.parameters).require_fitting(program.body)


@pytest.fixture(scope="module")
def session() -> cw.Session:
    return cw.Session(bootstrap=True, precision=14, bound=1.0, log_n=8, insecure=True)


def test_a_session_refreshes_by_itself(session: cw.Session) -> None:
    x = np.linspace(-0.9, 0.9, 16)
    encrypted = session.encrypt(x, bound=0.9)
    value, clear = encrypted, x
    for _ in range(15):
        value, clear = value * value * 0.5 + encrypted * 0.5, clear * clear * 0.5 + x * 0.5
    assert value.level >= 3
    assert np.abs(session.decrypt(value) - clear).max() < 2.0**-value.precision


def test_a_session_refreshes_nothing_but_what_is_spent(
    session: cw.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed: list[cw.Tensor] = []

    def recorded(executor: Any, tensors: Sequence[cw.Tensor]) -> list[cw.Tensor]:
        refreshed.extend(tensors)
        return made(executor, tensors)

    made = eager._refreshed_together
    monkeypatch.setattr(eager, "_refreshed_together", recorded)
    fresh = session.encrypt([0.5, -0.25], bound=0.5)
    spent = fresh
    while spent.level > 3:
        assert not refreshed
        spent = spent * fresh
    assert (spent * fresh).level == 12
    assert all(each is spent for each in refreshed)
    assert len(refreshed) == 1


def test_a_tensor_is_refreshed_by_hand(session: cw.Session) -> None:
    spent = session.encrypt([0.5, -0.25], bound=0.5) * [1.0, 1.0]
    fresh = spent.bootstrap()
    assert (spent.level, fresh.level, fresh.shape) == (12, 13, (2,))
    assert np.abs(session.decrypt(fresh) - [0.5, -0.25]).max() < 2.0**-fresh.precision


def test_a_value_that_may_exceed_the_bound_is_refused(session: cw.Session) -> None:
    doubled = session.encrypt([1.0]) + session.encrypt([1.0])
    with pytest.raises(ValueOutOfRangeError, match=r"exceeds the bound 1 that .* with bound=2,"):
        doubled.bootstrap()


@pytest.mark.parametrize("number", [1.5, 2.0, 16.0, 256.0, 2.0**12, 1.2 * 2.0**13])
def test_what_lies_of_its_bound_does_not_decrypt_once_it_is_refreshed(
    session: cw.Session, number: float
) -> None:
    """A bootstrap errs on numbers beyond its bound: by 1e-4 on 16, by 1500 on 2^12."""
    scheme: Any = session._scheme
    vector = np.full(scheme.parameters.slots, number)
    level, bound = scheme.top_level, 1.01 * number
    value = scheme.encrypt_vector(session._secret, vector, level=level, bound=bound)
    lying = dataclasses.replace(session.encrypt([0.5]), values=[value.with_bound(1.0)])
    with pytest.raises(ValueOutOfRangeError, match="exceeds the bound 1;"):
        session.decrypt(lying.bootstrap())


def test_values_that_outgrow_the_bound_are_not_refreshed_by_themselves() -> None:
    session = cw.Session(bootstrap=True, precision=8, bound=4.0, log_n=8, insecure=True)
    value = session.encrypt([1.0], bound=1.25)
    spent = value
    while spent.level > 3:
        spent = spent * value
    with pytest.raises(ValueOutOfRangeError, match="exceeds the bound 4 that bootstraps"):
        spent * value


def test_an_evaluator_without_the_keys_names_them() -> None:
    session = cw.Session(bootstrap=True, precision=14, bound=1.0, log_n=8, insecure=True)
    tensor = session.encrypt([0.5])
    evaluator = session.evaluator()
    with pytest.raises(MissingKeyError, match="no Galois key"):
        evaluator.refreshed(tensor)


def test_sessions_that_cannot_bootstrap_are_refused_by_name() -> None:
    with pytest.raises(InvalidParametersError, match="precision=20 is asked"):
        cw.Session(bootstrap=True, precision=20)
    with pytest.raises(InvalidParametersError, match="depth=12 is asked"):
        cw.Session(bootstrap=True, precision=8, bound=1.0, depth=12)
    plain = cw.Session(depth=1, log_n=8, insecure=True)
    spent = plain.encrypt([1.0]) * plain.encrypt([1.0])
    with pytest.raises(LevelExhaustedError, match=r"depth=2, or with bootstrap=True"):
        spent * spent
    with pytest.raises(InvalidParametersError, match="bootstrap=True"):
        spent.bootstrap()

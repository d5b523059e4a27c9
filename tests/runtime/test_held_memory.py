"""Keys, diagonals and work: counted beforehand, and time traded for them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork._native import WORD_BYTES, cached_bytes
from cloakwork.errors import InvalidArgumentError, MemoryBudgetError
from cloakwork.explain.modelled import seconds_of_limit
from cloakwork.plan.parameters.bootstrapping import refreshing_for
from cloakwork.programs.slots import Bootstrap, Input, Output, SlotProgram
from cloakwork.runtime.held_memory import (
    HeldMemory,
    bootstrap_memory,
    caching,
    matrix_memory,
)
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.numbers import number_bytes
from tests.families import NETWORKS

X = np.linspace(-0.5, 0.5, 64)


def iterated(x: Any) -> Any:
    for _ in range(14):
        x = x * x + 0.2
    return x


@pytest.fixture(scope="module")
def program() -> cw.Program:
    return cw.compile(
        iterated, cw.Spec((64,), bound=0.5), precision=14, bootstrap=True, log_n=8, insecure=True
    )


def memory_of(program: cw.Program) -> tuple[HeldMemory, int]:
    """What bootstraps take, and the ciphertexts of a run."""
    body = program.body
    assert isinstance(body, SlotProgram)
    held = bootstrap_memory(body, program.scheme.refreshing)
    return held, predicted_peak_bytes(body, program.scheme.bytes_at)


def test_counts_what_the_engine_holds(program: cw.Program) -> None:
    held, _ = memory_of(program)
    _, evaluator = program.keygen()
    refreshing = program.scheme.refreshing
    assert held.keys == evaluator.key_bytes
    assert held.encoded == refreshing.encoded_circuit().nbytes
    assert isinstance(program.body, SlotProgram)
    assert held.numbers == refreshing.circuit.nbytes + number_bytes(program.body)
    assert held.most == held.least + held.encoded + held.uniform + held.cached
    evaluator._key.keep_seeds()
    assert held.keys - held.uniform == evaluator.key_bytes


def test_diagonals_are_encoded_ahead_where_there_is_memory_for_them(program: cw.Program) -> None:
    held, peak = memory_of(program)
    client, evaluator = program.keygen()
    evaluator.cache_bytes = held.encoded
    inputs = client.encrypt(X)
    encoded = held.least + held.encoded + peak
    limits = {held.most + peak: True, encoded: True, encoded - 1: False, held.least + peak: False}
    cached = cached_bytes()
    results: list[np.ndarray] = []
    for limit, keeps in limits.items():
        evaluator.memory_limit = limit
        results.append(client.decrypt(evaluator.run(inputs, threads=1)))
        assert evaluator._backend._keeps_circuit is keeps
    assert all(np.abs(each - program.run_clear(X)).max() < 2.0**-14 for each in results)
    # Encoded sooner or later, diagonals are the same numbers.
    for each in results[1:]:
        np.testing.assert_array_equal(results[0], each)
    assert cached_bytes() == cached


def test_keys_are_expanded_where_there_is_memory_for_them(
    program: cw.Program, tmp_path: Path
) -> None:
    held, peak = memory_of(program)
    client, made = program.keygen()
    made.save(tmp_path / "evaluator")
    evaluator = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    # Of keys that were read one half is seeds.
    assert evaluator.key_bytes == held.keys - held.uniform
    inputs = client.encrypt(X)
    each_key = program.scheme.parameters.evaluation_key_bytes(program.scheme.parameters.levels)
    most = held.most + peak
    results: list[np.ndarray] = []
    for limit in (most, most - held.uniform // 2, most - held.uniform, held.least + peak):
        evaluator.memory_limit = limit
        results.append(client.decrypt(evaluator.run(inputs, threads=1)))
        left = max(0, limit - (most - held.uniform))
        expanded = evaluator.key_bytes - (held.keys - held.uniform)
        # All of them, or so many that one more does not fit.
        assert left - each_key // 2 < expanded <= left
        assert (expanded == held.uniform) == (limit == most)
    for each in results[1:]:
        np.testing.assert_array_equal(results[0], each)


def test_the_model_says_what_a_limit_costs(
    program: cw.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, peak = memory_of(program)
    # The package's function of the name hides the module from paths.
    monkeypatch.setattr(import_module("cloakwork.explain.modelled"), "unit_seconds", lambda _: 1.0)
    most, least = held.most + peak, held.least + peak
    halves = most - held.uniform // 2
    limits = (most, halves, most - held.uniform, least)
    assert isinstance(program.body, SlotProgram)
    within = [held.within(limit - peak) for limit in limits]
    more = [seconds_of_limit(program.body, program.scheme, held, each) for each in within]
    assert more[0] == 0.0
    assert more == sorted(more)
    assert len(set(more)) == len(more)
    # With no key expanded each use expands a half, and without a limit nothing is added.
    parameters, keys = program.scheme.parameters, program.scheme.required_keys(program.body)
    special = parameters.key_prime_count - parameters.prime_count(parameters.levels)
    expanded = 0.0
    for step, level in program.scheme.rotations_used(program.body):
        top = keys.rotations[step]
        digits = parameters.evaluation_key_bytes(top) / (
            2 * parameters.n * WORD_BYTES * (parameters.prime_count(top) + special)
        )
        expanded += digits * (parameters.prime_count(level) + special)
    assert more[2] == pytest.approx(1.5 * expanded)
    at_most, at_least = (cw.estimate(program, memory_limit=each).seconds for each in (most, least))
    assert at_least > at_most + more[3] / 2
    with pytest.raises(InvalidArgumentError, match=r"cannot estimate: .*memory_limit"):
        cw.estimate(program, memory_limit=-1)


def test_below_the_least_a_run_is_refused_by_it(program: cw.Program) -> None:
    held, peak = memory_of(program)
    client, evaluator = program.keygen()
    inputs = client.encrypt(X)
    least = held.least + peak
    evaluator.memory_limit = least - 1
    with pytest.raises(
        MemoryBudgetError, match=f"keys {held.keys - held.uniform}.* allow memory_limit={least}"
    ):
        evaluator.run(inputs)


def test_explanation_says_it_before_anything_runs(program: cw.Program) -> None:
    text = " ".join(cw.explain(program).split())
    assert "beside them: keys" in text
    assert "diagonals of bootstraps" in text


def test_the_engine_caches_as_before_after_it_cached_less() -> None:
    before = cached_bytes()

    with caching(7):
        # Whole words.
        assert cached_bytes() == 4
    assert cached_bytes() == before


def test_a_network_keeps_to_its_limit_with_keys_as_seeds(tmp_path: Path) -> None:
    client, made = NETWORKS.keys()
    body, scheme = NETWORKS.program.body, NETWORKS.program.scheme
    assert isinstance(body, SlotProgram)
    held = matrix_memory(body, scheme.parameters)
    assert held.keys == made.key_bytes == 2 * held.uniform
    peak = predicted_peak_bytes(body, scheme.bytes_at)
    made.save(tmp_path / "evaluator")
    evaluator = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    inputs, results = NETWORKS.encrypted(), []
    limits = {held.least + peak: held.keys - held.uniform, held.most + peak: held.keys}
    for limit, nbytes in limits.items():
        evaluator.memory_limit = limit
        results.append(client.decrypt(evaluator.run(inputs, threads=1)))
        assert evaluator.key_bytes == nbytes
        assert NETWORKS.is_right(results[-1])
    evaluator.memory_limit = held.least + peak - 1
    with pytest.raises(MemoryBudgetError, match=f"allow memory_limit={held.least + peak}"):
        evaluator.run(inputs)


def test_a_program_without_bootstraps_holds_nothing_for_them() -> None:
    program = cw.compile(lambda x: x * x, (4,), insecure=True, log_n=10)
    assert isinstance(program.body, SlotProgram)
    assert bootstrap_memory(program.body, program.scheme.refreshing) == HeldMemory()
    assert "beside them" not in cw.explain(program)


def test_the_secure_set_of_2_16_takes_at_most_8_gb_and_5_where_it_must() -> None:
    refreshing = refreshing_for(16, bound=1.0, insecure=False)
    levels = refreshing.input_level, refreshing.output_level
    operations = Input("x", levels[0]), Bootstrap(0, *levels), Output(1)
    held = bootstrap_memory(SlotProgram("", 1 << 15, operations, (None,) * 3), refreshing)
    assert held.least < 5e9
    assert held.most < 8e9

"""Random compiled functions deeper than their chain equal the clear backend within their error."""

from __future__ import annotations

import numpy as np
import pytest

import cloakwork as cw
from tests.system.deep_functions import (
    PRECISION,
    Array,
    bootstraps,
    compiled,
    deep_function,
    inputs_of,
)

_RING = 8
_FULL_RING = 16
# So many functions take about a minute to compile.
_AT_ONCE = 25


def stated(program: cw.Program) -> float:
    """The largest error by noise of any result, as the program says before it runs."""
    estimates = program.estimated_results
    assert estimates is not None
    return float(max(2.0**-each.precision for each in estimates))


def made(seed: int, log_n: int) -> cw.Program:
    """A function deeper than its chain, which is secure where the ring is large enough."""
    program = compiled(deep_function(seed), log_n, insecure=log_n == _RING)
    assert program.scheme.insecure is (log_n == _RING)
    assert bootstraps(program) > 0
    assert stated(program) <= 2.0**-PRECISION
    return program


def encrypted_result(program: cw.Program, inputs: Array) -> Array:
    """What comes out of ciphertexts."""
    client, evaluator = program.keygen()
    return np.asarray(client.decrypt(evaluator.run(client.encrypt(*inputs))))


def check(seed: int, program: cw.Program, result: Array) -> None:
    """Noise is below what is stated of it, noise and polynomials below what was asked for."""
    inputs = inputs_of(seed)
    assert np.abs(result - program.run_clear(*inputs)).max() <= stated(program)
    assert np.abs(result - deep_function(seed)(*inputs)).max() <= 2.0**-PRECISION


@pytest.mark.slow
@pytest.mark.parametrize("seed", [300, 302])
def test_functions_deeper_than_their_chain(seed: int) -> None:
    program = made(seed, _RING)
    check(seed, program, encrypted_result(program, inputs_of(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, _AT_ONCE))
def test_300_functions_deeper_than_their_chain(first: int) -> None:
    """With modelled errors in the clear, and on ciphertexts of a small ring."""
    for seed in range(first, first + _AT_ONCE):
        program, inputs = made(seed, _RING), inputs_of(seed)
        check(seed, program, np.asarray(program.simulate(*inputs, seed=seed).outputs))
        check(seed, program, encrypted_result(program, inputs))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_functions_deeper_than_their_chain_at_full_security(seed: int) -> None:
    program = made(seed, _FULL_RING)
    check(seed, program, encrypted_result(program, inputs_of(seed)))

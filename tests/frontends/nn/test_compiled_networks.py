"""Networks drawn at random, compiled and run as torch runs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch

from cloakwork import nn
from cloakwork.errors import InvalidParametersError, LevelExhaustedError
from tests.frontends.nn.random_networks import POLYNOMIALS, RandomNetwork, random_networks

# Networks of this many levels and numbers of any size; nothing is secret here.
_PRECISION = 8


def compiled(network: RandomNetwork, log_n: int, batch: int) -> nn.Network:
    with _too_much_is_no_failure():
        return nn.compile(
            network.module,
            network.sample,
            precision=_PRECISION,
            batch=batch,
            log_n=log_n,
            insecure=True,
        )


@contextmanager
def _too_much_is_no_failure() -> Iterator[None]:
    """Some networks are too deep, or their numbers too large: that is refused, not computed."""
    try:
        yield
    except (InvalidParametersError, LevelExhaustedError):
        assume(False)


def expected(network: RandomNetwork) -> np.ndarray:
    with torch.no_grad():
        return np.asarray(network.module(network.sample).numpy())


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks(POLYNOMIALS), st.sampled_from([8, 10, 12]), st.sampled_from([1, 2, 5]))
def test_equals_torch_in_the_clear(network: RandomNetwork, log_n: int, batch: int) -> None:
    wanted = expected(network)
    got = compiled(network, log_n, batch).run_clear(network.sample.numpy())
    largest = max(1.0, float(np.abs(wanted).max()))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-7 * largest)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks(POLYNOMIALS), st.sampled_from([8, 10]))
def test_equals_torch_on_ciphertexts(network: RandomNetwork, log_n: int) -> None:
    made = compiled(network, log_n, batch=len(network.sample))
    client, evaluator = made.keygen()
    got = client.decrypt(evaluator.run(client.encrypt(network.sample.numpy())))
    np.testing.assert_allclose(got, expected(network), rtol=0, atol=2**-_PRECISION)

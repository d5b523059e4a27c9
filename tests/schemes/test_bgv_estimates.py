"""Estimates of noise of sparse transforms over integers, beside those of encoded ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cloakwork import _native
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.schemes.bgv_estimates import BgvEstimates
from cloakwork.schemes.bgv_plaintext import encoded_transform

SLOTS = 2048


@pytest.mark.parametrize("count", [1, 40])
def test_a_sparse_transform_is_never_noisier_than_estimated(count: int) -> None:
    parameters = _native.BgvParameters(
        levels=2, log_n=12, plaintext_modulus=40961, level_bits=28, base_bits=45, insecure=True
    )
    rng = np.random.default_rng(count)
    targets = rng.integers(0, SLOTS, 3000)
    sources = (targets + rng.integers(0, count, 3000)) % SLOTS
    diagonals: Any = SparseDiagonals(SLOTS, sources, targets, rng.choice([-1.0, 1.0], 3000))
    fresh = parameters.fresh(2)
    estimated = BgvEstimates(parameters).linear(fresh, diagonals, 8)
    encoded = fresh.linear_transform(encoded_transform(parameters, diagonals, 2, 8))
    # The rounding of a rotation is counted that hoisted ones do not have.
    assert 0 <= estimated.noise_bits - encoded.noise_bits < 4

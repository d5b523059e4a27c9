"""Packings of tensors in repeated patterns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.errors import InvalidLayoutError
from cloakwork.programs.places import Places


@given(st.integers(1, 40), st.integers(0, 3), st.integers(0, 2), st.integers(0, 99))
def test_unpacks_what_was_packed(size: int, more: int, log_batch: int, seed: int) -> None:
    places = np.random.default_rng(seed).permutation(size * (1 + more))[:size]
    packing, batch = Places(16, places), 1 << log_batch
    tensors = np.random.default_rng(seed).normal(size=(batch, size))
    vectors = packing.pack(tensors)
    assert len(vectors) == packing.ciphertexts
    assert np.array_equal(packing.unpack(vectors, batch), tensors)


@given(st.integers(1, 40), st.integers(0, 2))
def test_repeats_after_its_period(size: int, log_batch: int) -> None:
    batch = 1 << log_batch
    packing = Places(16, np.arange(size))
    for vector in packing.pack(np.ones((batch, size))):
        assert np.array_equal(np.roll(vector, packing.period * batch), vector)


@pytest.mark.parametrize("places", [[0, 0], [-1, 2], []])
def test_refuses_places_that_are_shared_or_do_not_exist(places: list[int]) -> None:
    with pytest.raises(InvalidLayoutError, match="a place from 0 on of its own"):
        Places(4, np.array(places, dtype=np.int64))

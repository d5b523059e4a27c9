"""Python's collector, which does not run where nothing is in cycles."""

import gc

import pytest

from cloakwork.base.collector import without_collections


def fail_without_collections() -> None:
    with without_collections():
        assert not gc.isenabled()
        raise ValueError("within")


def test_the_collector_is_as_it_was_afterwards() -> None:
    assert gc.isenabled()
    with pytest.raises(ValueError, match="within"):
        fail_without_collections()
    assert gc.isenabled()
    gc.disable()
    try:
        with pytest.raises(ValueError, match="within"):
            fail_without_collections()
        assert not gc.isenabled()
    finally:
        gc.enable()

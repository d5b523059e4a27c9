"""A cluster of two processes of one thread each, started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from distributed import Client

from tests.cluster.local import local_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Client]:
    """The client of two workers."""
    with local_cluster(2) as client:
        yield client

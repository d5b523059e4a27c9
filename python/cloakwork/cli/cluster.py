"""Clusters and folders of encrypted values, as the command line names them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cloakwork as cw
from cloakwork.errors import ClusterLostError
from cloakwork.runtime.encrypted import require_dask

_SECONDS = "5s"


def read_encrypted(path: Path) -> cw.Encrypted:
    """Encrypted inputs or results of a file, or of a folder in which they stay."""
    return cw.Encrypted.in_folder(path) if path.is_dir() else cw.load(path, cw.Encrypted)


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the cluster whose scheduler has an address, such as tcp://machine:8786.

    Raises:
        MissingDependencyError: Dask is not installed.
        ClusterLostError: Nothing answers there.
    """
    require_dask("run on a cluster")
    from distributed import Client  # noqa: PLC0415

    connect: Any = Client
    try:
        client = connect(address, timeout=_SECONDS)
    except (OSError, ValueError) as error:
        raise ClusterLostError(
            f"cannot run on a cluster: no scheduler answers at {address}: {error}; start one by "
            "dask scheduler, and give its address"
        ) from error
    with client:
        yield client

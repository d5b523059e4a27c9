"""Where runs are, as the command line names it."""

from __future__ import annotations

import cloakwork as cw


def run_on(
    address: str | None, folder: str | None, threads: int | None
) -> tuple[cw.cluster.Dask | cw.cluster.Files | None, int | None]:
    """Where a run is, and the threads of one in memory."""
    if address is not None:
        return cw.cluster.Dask(address, folder), threads
    if folder is not None:
        return cw.cluster.Files(folder, threads), None
    return None, threads

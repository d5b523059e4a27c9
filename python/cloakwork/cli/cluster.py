"""Folders of encrypted values, as the command line names them."""

from __future__ import annotations

from pathlib import Path

import cloakwork as cw


def read_encrypted(path: Path) -> cw.Encrypted:
    """Encrypted inputs or results of a file, or of a folder in which they stay."""
    return cw.Encrypted.in_folder(path) if path.is_dir() else cw.load(path, cw.Encrypted)


def run_on(
    address: str | None, folder: str | None, threads: int | None
) -> tuple[cw.cluster.Dask | cw.cluster.Files | None, int | None]:
    """Where a run is, and the threads of one in memory."""
    if address is not None:
        return cw.cluster.Dask(address, folder), threads
    if folder is not None:
        return cw.cluster.Files(folder, threads), None
    return None, threads

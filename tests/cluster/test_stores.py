"""Inputs, runs and results by URLs of file systems, and where these are full."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client
from fsspec.implementations.memory import MemoryFileSystem

import cloakwork as cw
from cloakwork.errors import ClusterFolderError, StorageFullError
from cloakwork.runtime.folder import Folder
from tests.cluster.test_products import A, B, product


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place of its own in a file system, by its URL."""
    found = {"file": f"file://{tmp_path}/store", "memory": f"memory://{tmp_path.name}"}
    yield found[request.param]
    Folder(f"memory://{tmp_path.name}").remove_all()


def test_a_run_is_by_urls(url: str) -> None:
    _, client, evaluator = product()
    client.encrypt_into(f"{url}/in", A, B)
    sent = cw.load(f"{url}/in", cw.Encrypted)
    assert sent.place == f"{url}/in"
    first, second = cw.Profile(), cw.Profile()
    evaluator.run(sent, on=cw.cluster.Files(f"{url}/jobs"), profile=first)
    made = evaluator.run(sent, on=cw.cluster.Files(f"{url}/jobs"), profile=second)
    assert first.operations
    assert not second.operations
    assert isinstance(made.place, str)
    assert made.place.startswith(f"{url}/jobs/")
    there = cw.load(made.place, cw.Encrypted)
    assert np.abs(client.decrypt(there) - A @ B).max() < 2**-7
    assert there.to_bytes() == evaluator.run(sent).to_bytes()


def test_workers_read_urls(cluster: Client, tmp_path: Path) -> None:
    _, client, evaluator = product()
    sent = client.encrypt_into(f"file://{tmp_path}/in", A, B)
    made = evaluator.run(sent, on=cw.cluster.Dask(cluster, f"file://{tmp_path}/jobs"))
    assert made.to_bytes() == evaluator.run(sent).to_bytes()


def test_workers_do_not_see_what_is_in_the_memory_of_one_process(
    cluster: Client, tmp_path: Path
) -> None:
    _, client, evaluator = product()
    sent = client.encrypt_into(f"memory://{tmp_path.name}/in", A, B)
    with pytest.raises(ClusterFolderError, match="2 of 2 workers"):
        evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path / "jobs"))
    Folder(f"memory://{tmp_path.name}").remove_all()


def test_a_full_store_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an object store nobody knows how much it holds until it refuses."""
    _, client, evaluator = product()
    sent = client.encrypt_into(tmp_path / "in", A, B)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", full)
    place = f"memory://{tmp_path.name}"
    with pytest.raises(StorageFullError, match=r"in/encrypted-0-0: there is no space left"):
        client.encrypt_into(f"{place}/in", A, B)
    with pytest.raises(StorageFullError, match="free space or give another folder"):
        evaluator.run(sent, on=cw.cluster.Files(f"{place}/jobs"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of few bytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_named(small_disk: Path, cluster: Client, tmp_path: Path) -> None:
    _, client, evaluator = product()
    with pytest.raises(StorageFullError, match="there is no space left"):
        client.encrypt_into(small_disk / "in", A, B)
    assert not [*small_disk.rglob("*.partial")]
    sent = client.encrypt_into(tmp_path / "in", A, B)
    jobs = small_disk / "jobs"
    for on in (cw.cluster.Files(jobs), cw.cluster.Dask(cluster, jobs)):
        with pytest.raises(StorageFullError, match=r"its files take \d+ bytes, .* has \d+ free"):
            evaluator.run(sent, on=on)
    made = evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"))
    (small_disk / "all").write_bytes(bytes(os.statvfs(small_disk).f_bavail * 4096))
    with pytest.raises(StorageFullError, match="free space or give another path"):
        client.decrypt_into(small_disk / "product", made)


def test_a_disk_that_fills_up_during_a_run_is_named(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, client, evaluator = product()
    sent = client.encrypt_into(tmp_path / "in", A, B)
    monkeypatch.setattr(Folder, "require_space", lambda *_: None)
    with pytest.raises(StorageFullError, match="there is no space left"):
        evaluator.run(sent, on=cw.cluster.Files(small_disk))

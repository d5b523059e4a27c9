"""Workers and schedulers that are killed at any stage: the same bytes, from what is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

import cloakwork as cw
from cloakwork.cluster import dispatch, placing
from cloakwork.cluster import job as jobs
from cloakwork.errors import ClusterLostError
from tests.cluster.local import FREE, holders, in_process, local_cluster, process_ids
from tests.cluster.test_products import A, B, product

# Files of a run of many grains at which something breaks down: none, some, most.
STAGES = (0, 4, 10, 20)


@pytest.fixture(autouse=True)
def finely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short work into many grains, all of whose values are kept."""
    monkeypatch.setattr(placing, "Network", lambda: FREE)
    monkeypatch.setattr(jobs, "_WRITTEN_PER_SECOND", 1e15)


@contextmanager
def at_stage(folder: Path, files: int, act: Any) -> Iterator[None]:
    """Act once a run has written so many files of values and results, while it goes on."""
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            written = [*folder.glob("*/values-*"), *folder.glob("*/results-*")]
            if len(written) >= files and list(folder.glob("*/cut")):
                act()
                return
            time.sleep(0.001)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def kill(process: int) -> None:
    """End a process at once, if it has not ended."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("files", STAGES)
@pytest.mark.parametrize("which", [0, 1])
def test_a_killed_worker_changes_no_byte(files: int, which: int, tmp_path: Path) -> None:
    _, evaluator = holders()
    sent, expected = in_process()
    with local_cluster(2) as cluster:
        process = process_ids(cluster)[which]
        with at_stage(tmp_path, files, lambda: kill(process)):
            made = evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path))
        assert process not in process_ids(cluster)
    assert made.to_bytes() == expected


@pytest.mark.slow
@pytest.mark.parametrize("files", [0, 2, 4, 7, 9])
@pytest.mark.parametrize("which", [0, 1])
def test_a_killed_worker_changes_no_byte_of_a_product(
    files: int, which: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "_PARTS", (3,))
    _, client, evaluator = product()
    sent = client.encrypt_into(tmp_path / "inputs", A, B)
    expected = evaluator.run(sent).to_bytes()
    folder = tmp_path / "jobs"
    folder.mkdir()
    with local_cluster(2) as cluster:
        process = process_ids(cluster)[which]
        with at_stage(folder, files, lambda: kill(process)):
            made = evaluator.run(sent, on=cw.cluster.Dask(cluster, folder))
        assert process not in process_ids(cluster)
    assert made.to_bytes() == expected


@contextmanager
def scheduler(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A scheduler in a process of its own, with a worker, and its address."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
    notes = folder / f"scheduler-{time.monotonic_ns()}.json"
    options = ["--dashboard-address", ":0", "--scheduler-file", str(notes)]
    with subprocess.Popen(command + options, stderr=subprocess.DEVNULL) as process:
        try:
            worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1"]
            worker += ["--no-dashboard", "--scheduler-file", str(notes), "--death-timeout", "60"]
            with subprocess.Popen(worker, stderr=subprocess.DEVNULL) as hand:
                try:
                    yield process, str(notes)
                finally:
                    hand.kill()
        finally:
            process.kill()


def sums() -> tuple[cw.Evaluator, cw.Encrypted, bytes]:
    """A program of tensors, its inputs and what comes of them."""
    _, evaluator = holders()
    return evaluator, *in_process()


def products() -> tuple[cw.Evaluator, cw.Encrypted, bytes]:
    """A product of matrices, likewise."""
    _, client, evaluator = product()
    sent = client.encrypt(A, B)
    return evaluator, sent, evaluator.run(sent).to_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("files", [1, 4])
@pytest.mark.parametrize("case", [sums, products])
def test_a_run_whose_scheduler_was_killed_goes_on_where_it_was(
    case: Callable[[], tuple[cw.Evaluator, cw.Encrypted, bytes]],
    files: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(placing, "_PARTS", (3,))
    evaluator, sent, expected = case()
    jobs_folder = tmp_path / "jobs"
    connect: Any = Client
    with scheduler(tmp_path) as (process, notes), connect(scheduler_file=notes) as client:
        client.wait_for_workers(1, timeout=60)
        with (
            at_stage(jobs_folder, files, process.kill),
            pytest.raises(ClusterLostError, match="run with the same folder"),
        ):
            evaluator.run(sent, on=cw.cluster.Dask(client, jobs_folder))
    kept = {path: path.stat().st_mtime_ns for path in jobs_folder.glob("*/*-*")}
    assert len(kept) >= files
    profile, whole = cw.Profile(), cw.Profile()
    with local_cluster(2) as cluster:
        made = evaluator.run(sent, on=cw.cluster.Dask(cluster, jobs_folder), profile=profile)
    evaluator.run(sent, on=cw.cluster.Files(tmp_path / "whole"), profile=whole)
    assert made.to_bytes() == expected
    assert 0 < len(profile.operations) < len(whole.operations)
    # What held results holds the same ones.
    left = {path: path.stat().st_mtime_ns for path in jobs_folder.glob("*/results-*")}
    assert {path: left[path] for path in kept if path in left}.items() <= kept.items()


@pytest.mark.slow
def test_a_cluster_whose_workers_are_gone_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, evaluator = holders()
    sent, _ = in_process()
    monkeypatch.setattr(dispatch, "_LOOK", 0.2)
    monkeypatch.setattr(dispatch, "_LONELY", 1.0)
    with local_cluster(1) as cluster:
        client: Any = cluster
        with (
            at_stage(tmp_path, 1, lambda: client.cluster.scale(0)),
            pytest.raises(ClusterLostError, match="the cluster has had no workers for 1 s"),
        ):
            evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path))


@pytest.mark.slow
def test_a_worker_that_joins_takes_part(tmp_path: Path) -> None:
    _, evaluator = holders()
    sent, expected = in_process()
    with local_cluster(1) as cluster:
        client: Any = cluster
        client.cluster.scale(2)
        client.wait_for_workers(2, timeout=60)
        made = evaluator.run(sent, on=cw.cluster.Dask(cluster, tmp_path))
    assert made.to_bytes() == expected

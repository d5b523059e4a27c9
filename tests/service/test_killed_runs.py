"""Processes of runs that are killed at random moments: each job ends, and nothing else notices."""

from __future__ import annotations

import os
import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import WorkerFailedError
from tests.cluster.local import EXPECTED, A, B, local_cluster, program
from tests.service.serving import Serving, put
from tests.thoroughness import ALL

JOBS, KILLS = (60, 20) if ALL else (6, 2)


def _function(x: Any) -> Any:
    return np.exp(np.tanh(x))


@pytest.mark.random
@pytest.mark.parametrize("attempts", [1, 3])
def test_jobs_are_run_again_or_fail_by_name(tmp_path: Path, attempts: int) -> None:
    put(tmp_path, slow=cw.compile(_function, (256,), log_n=13, insecure=True))
    serving = Serving(tmp_path, "--limit", f"attempts={attempts}")
    process, kills, done = serving.process, [0], threading.Event()
    killer = threading.Thread(target=_kill, args=(serving, kills, done))
    try:
        server = serving.connect()
        clients = [server.interface("slow").client() for _ in range(3)]
        evaluators = [server.evaluator("slow", client) for client in clients]

        def failed(number: int) -> bool:
            client, x = clients[number % 3], np.full(256, number / JOBS)
            job = evaluators[number % 3].submit(client.encrypt(x))
            try:
                found = job.results()
            except WorkerFailedError:
                return True
            assert np.abs(client.decrypt(found) - _function(x)).max() < 2.0**-8
            return False

        killer.start()
        with ThreadPoolExecutor(6) as threads:
            failures = sum(threads.map(failed, range(JOBS)))
        assert process.poll() is None
        assert failures * attempts <= kills[0]
    finally:
        done.set()
        killer.join()
        serving.stop()


def _kill(serving: Serving, kills: list[int], done: threading.Event) -> None:
    draw = random.Random(0)
    while kills[0] < KILLS and not done.wait(draw.uniform(0, 0.5)):
        for process in serving.children():
            os.kill(process, signal.SIGKILL)
            kills[0] += 1


def test_runs_on_a_cluster_end_alone(tmp_path: Path) -> None:
    put(tmp_path, several=program())
    with local_cluster(1) as cluster:
        assert cluster.scheduler is not None
        serving = Serving(tmp_path, "--cluster", str(cluster.scheduler.address))
        try:
            server = serving.connect()
            client = server.interface("several").client()
            evaluator = server.evaluator("several", client)
            job = evaluator.submit(client.encrypt(A, B))
            for process in serving.children():
                os.kill(process, signal.SIGKILL)
            found = client.decrypt(job.results())
            for each, expected in zip(found, EXPECTED, strict=True):
                assert np.abs(each - expected).max() < 2.0**-8
            assert serving.process.poll() is None
            assert [*(tmp_path / "cluster" / "0").iterdir()]
        finally:
            serving.stop()

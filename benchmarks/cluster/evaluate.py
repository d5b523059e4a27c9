"""What was measured of one program on processes of one thread each, and how it is measured."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster

import cloakwork as cw
from benchmarks.cluster.jobs import Job
from benchmarks.measurement import Row
from cloakwork.runtime.cluster.forms import form_of
from cloakwork.runtime.cluster.network import Network
from cloakwork.runtime.cluster.settings import SETTINGS
from cloakwork.runtime.cluster.simulation import best_cut, simulated
from cloakwork.runtime.cluster.worker import forget_inputs

# Larger differences from the results in the clear are faults.
_TOLERANCE = 2.0**-10


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One program, evaluated.

    Args:
        job: Its name.
        is_shared: Whether its parts exchange nothing.
        n: Ring degree.
        runs: Runs of the program that the inputs are.
        seconds: Of all runs in this process, on one thread.
        cpu_seconds: The same of CPU.
        by_workers: Seconds by numbers of workers, of one thread each.
        cpu_by_workers: Seconds of CPU of this process and the workers, by numbers of these.
        grains: Grains of one run by numbers of workers.
        moved_bytes: Bytes between workers in one run by numbers of workers, by the model.
        equal: Whether all results have the same bytes.
        error: The largest difference from the results in the clear.
    """

    job: str
    is_shared: bool
    n: int
    runs: int
    seconds: float
    cpu_seconds: float
    by_workers: Mapping[int, float]
    cpu_by_workers: Mapping[int, float]
    grains: Mapping[int, int]
    moved_bytes: Mapping[int, int]
    equal: bool
    error: float

    @property
    def overhead(self) -> float:
        """What one worker takes longer than this process, as a part of it."""
        return self.by_workers[1] / self.seconds - 1

    @property
    def cpu_overhead(self) -> float:
        """What one worker takes more of CPU, this process included, whatever else runs."""
        return self.cpu_by_workers[1] / self.cpu_seconds - 1

    @property
    def speed_up(self) -> float:
        """How many times faster two workers are than one."""
        return self.by_workers[1] / self.by_workers[2]

    @property
    def is_wrong(self) -> bool:
        """Whether results differ, or are not those in the clear."""
        return not (self.equal and self.error <= _TOLERANCE)

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        yield Row(self.job, self.n, 0, 1, "in one process", "s", self.seconds)
        yield Row(self.job, self.n, 0, 1, "in one process", "CPU s", self.cpu_seconds)
        for count, seconds in self.by_workers.items():
            yield Row(self.job, self.n, 0, count, "on workers of one thread", "s", seconds)
            cpu = self.cpu_by_workers[count]
            yield Row(self.job, self.n, 0, count, "on workers of one thread", "CPU s", cpu)
            yield Row(self.job, self.n, 0, count, "grains", "", self.grains[count])
            yield Row(self.job, self.n, 0, count, "moved", "bytes", self.moved_bytes[count])


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """The client of a cluster of processes of one thread each."""
    make: Any = LocalCluster
    connect: Any = Client
    with (
        dask.config.set(SETTINGS),
        make(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=":0",
            env={"CLOAKWORK_THREADS": "1"},
        ) as cluster,
        connect(cluster) as client,
    ):
        yield client


def evaluate(job: Job, clusters: Mapping[int, Client], repetitions: int) -> Evaluation:
    """Measure one program in this process, which is to have one thread, and on clusters.

    Args:
        job: The program.
        clusters: Clusters by their number of workers.
        repetitions: How often it is run; the first time, which encodes constants, does not count.
    """
    case = job.make()
    client, evaluator = case.program.keygen()
    with tempfile.TemporaryDirectory() as place:
        # Whoever runs it reads the inputs from files, here as there.
        sent = client.encrypt_into(f"{place}/inputs", *case.arguments)
        expected, here = _measured(partial(evaluator.run, sent, threads=1), repetitions)
        folder = Path(place, "jobs")
        found = {
            count: _measured(
                partial(evaluator.run, sent, cluster=cluster, folder=folder),
                repetitions,
                cluster,
                partial(_forget, folder, cluster),
            )
            for count, cluster in clusters.items()
        }
    work = form_of(case.program).work
    cuts = {count: best_cut(work, max(1, count // sent.runs), Network()) for count in clusters}
    scheme: Any = case.program.scheme
    decrypted = client.decrypt(cw.Encrypted.from_bytes(expected))
    return Evaluation(
        job.name,
        job.is_shared,
        scheme.parameter_sets[0].n,
        sent.runs,
        *here,
        {count: taken[0] for count, (_, taken) in found.items()},
        {count: taken[1] for count, (_, taken) in found.items()},
        {count: len(cut.grains) for count, cut in cuts.items()},
        {count: simulated(work, cut, Network()).moved_bytes for count, cut in cuts.items()},
        all(made == expected for made, _ in found.values()),
        float(np.abs(np.asarray(decrypted) - case.expected).max()),
    )


def _measured(
    run: Callable[[], cw.Encrypted],
    repetitions: int,
    cluster: Any = None,
    forget: Callable[[], None] = lambda: None,
) -> tuple[bytes, tuple[float, float]]:
    """What a run makes, and the medians of its seconds and of those of CPU.

    Args:
        run: The run.
        repetitions: How often it is measured, after a first time that is not.
        cluster: The cluster on which it runs, whose workers' CPU counts.
        forget: Removes what runs before it have left.
    """
    made = run().to_bytes()
    taken: list[tuple[float, float]] = []
    for _ in range(repetitions):
        forget()
        cpu, start = _cpu_seconds(cluster), time.perf_counter()
        run()
        seconds = time.perf_counter() - start
        taken.append((seconds, _cpu_seconds(cluster) - cpu))
    forget()
    seconds, cpu = (statistics.median(each) for each in zip(*taken, strict=True))
    return made, (seconds, cpu)


def _cpu_seconds(cluster: Any) -> float:
    """Seconds of CPU that this process and the workers have taken."""
    workers: dict[str, float] = {} if cluster is None else cluster.run(time.process_time)
    return time.process_time() + sum(workers.values())


def _forget(folder: Path, cluster: Client) -> None:
    """Remove what jobs have left, and inputs that workers have read, but not the keys."""
    for each in folder.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
    cluster.run(forget_inputs)

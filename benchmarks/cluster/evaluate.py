"""What was measured of one program on processes of one thread each, and how it is measured."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from cloakwork.cluster.forms import form_of
from cloakwork.cluster.settings import SETTINGS
from cloakwork.cluster.simulation import best_cut, simulated
from cloakwork.cluster.work import Network
from cloakwork.cluster.worker import forget_inputs

# Larger differences from the results in the clear are faults.
_TOLERANCE = 2.0**-10


@dataclass(frozen=True, slots=True)
class Times:
    """What the runs of one way to evaluate took, in turn with those of the others.

    Args:
        all_seconds: Of each run.
        all_cpu_seconds: The same of CPU, of this process and the workers.
    """

    all_seconds: Sequence[float]
    all_cpu_seconds: Sequence[float]

    @property
    def seconds(self) -> float:
        """The median."""
        return statistics.median(self.all_seconds)

    @property
    def cpu_seconds(self) -> float:
        """The median of CPU."""
        return statistics.median(self.all_cpu_seconds)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One program, evaluated.

    Args:
        job: Its name.
        is_shared: Whether its parts exchange nothing.
        n: Ring degree.
        runs: Runs of the program that the inputs are.
        here: What it takes in this process, on one thread.
        by_workers: What it takes by numbers of workers, of one thread each.
        grains: Grains of one run by numbers of workers.
        moved_bytes: Bytes between workers in one run by numbers of workers, by the model.
        equal: Whether all results have the same bytes.
        error: The largest difference from the results in the clear.
    """

    job: str
    is_shared: bool
    n: int
    runs: int
    here: Times
    by_workers: Mapping[int, Times]
    grains: Mapping[int, int]
    moved_bytes: Mapping[int, int]
    equal: bool
    error: float

    @property
    def overhead(self) -> float:
        """What one worker takes longer than this process, as a part of it."""
        return _ratio(self.by_workers[1].all_seconds, self.here.all_seconds) - 1

    @property
    def cpu_overhead(self) -> float:
        """What one worker takes more of CPU, this process included, whatever else runs."""
        return _ratio(self.by_workers[1].all_cpu_seconds, self.here.all_cpu_seconds) - 1

    @property
    def speed_up(self) -> float:
        """How many times faster two workers are than one."""
        return _ratio(self.by_workers[1].all_seconds, self.by_workers[2].all_seconds)

    @property
    def is_wrong(self) -> bool:
        """Whether results differ, or are not those in the clear."""
        return not (self.equal and self.error <= _TOLERANCE)

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        yield Row(self.job, self.n, 0, 1, "in one process", "s", self.here.seconds)
        yield Row(self.job, self.n, 0, 1, "in one process", "CPU s", self.here.cpu_seconds)
        for count, times in self.by_workers.items():
            yield Row(self.job, self.n, 0, count, "on workers of one thread", "s", times.seconds)
            cpu = times.cpu_seconds
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
        folder = Path(place, "jobs")
        folder.mkdir()
        ways = {0: _Way(partial(evaluator.run, sent, threads=1))} | {
            count: _Way(partial(evaluator.run, sent, on=cw.cluster.Dask(cluster, folder)), cluster)
            for count, cluster in clusters.items()
        }
        made: dict[int, bytes] = {}
        for count, way in ways.items():
            # It would find its job done by another cluster.
            _forget(folder, clusters)
            made[count] = way.run().to_bytes()
        taken: dict[int, list[tuple[float, float]]] = {count: [] for count in ways}
        # In turn, as a machine that others share is not the same for a minute.
        for count in [*ways] * repetitions:
            _forget(folder, clusters)
            taken[count].append(ways[count].timed())
    expected = made[0]
    times = {count: Times(*zip(*each, strict=True)) for count, each in taken.items()}
    work = form_of(case.program).work
    cuts = {count: best_cut(work, max(1, count // sent.runs), Network()) for count in clusters}
    scheme: Any = case.program.scheme
    decrypted = client.decrypt(cw.Encrypted.from_bytes(expected))
    return Evaluation(
        job.name,
        job.is_shared,
        scheme.parameter_sets[0].n,
        sent.runs,
        times[0],
        {count: times[count] for count in clusters},
        {count: len(cut.grains) for count, cut in cuts.items()},
        {count: simulated(work, cut, Network()).moved_bytes for count, cut in cuts.items()},
        all(each == expected for each in made.values()),
        float(np.abs(np.asarray(decrypted) - case.expected).max()),
    )


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to evaluate a program: how it is run, and the cluster whose workers' CPU counts."""

    run: Callable[[], cw.Encrypted]
    cluster: Client | None = None

    def timed(self) -> tuple[float, float]:
        """What a run takes, and what it takes of CPU."""
        cpu, start = _cpu_seconds(self.cluster), time.perf_counter()
        self.run()
        seconds = time.perf_counter() - start
        return seconds, _cpu_seconds(self.cluster) - cpu


def _ratio(some: Sequence[float], others: Sequence[float]) -> float:
    """The median of how many times longer runs take than the others in their turns."""
    return statistics.median(one / other for one, other in zip(some, others, strict=True))


def _cpu_seconds(cluster: Any) -> float:
    """Seconds of CPU that this process and the workers have taken."""
    workers: dict[str, float] = {} if cluster is None else cluster.run(time.process_time)
    return time.process_time() + sum(workers.values())


def _forget(folder: Path, clusters: Mapping[int, Client]) -> None:
    """Remove what jobs have left, and inputs that workers have read, but not the keys."""
    for each in folder.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
    for cluster in clusters.values():
        cluster.run(forget_inputs)

"""Where programs run beside this process's memory: by files of a folder, on workers of Dask."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cloakwork import _native
from cloakwork.base.arguments import integer
from cloakwork.runtime.encrypted import Encrypted, require_dask, require_files
from cloakwork.runtime.executor import MAX_THREADS
from cloakwork.runtime.profile import Profile

if TYPE_CHECKING:
    from distributed import Client

    from cloakwork.runtime.evaluator import Evaluator


@dataclass(frozen=True, slots=True)
class Files:
    """This process, by files: no more is in memory than `Evaluator.memory_limit`.

    A run that is started anew with the same folder does what is missing there. Where inputs are in
    folders, the results stay in this one.

    Args:
        folder: A path, or a URL of fsspec's.
        threads: How many operations may run at once; by default as many as the engine has threads.

    Raises:
        InvalidArgumentError: There can be nothing at such a place, or the threads are out of range.
        MissingDependencyError: fsspec is not installed.
        ClusterFolderError: A file is in the folder's place.
        StorageFullError: There is no space left in the folder.
        MissingKeyError: The evaluation keys are those of a program that needs fewer.

    Example:
        >>> import tempfile
        >>> import cloakwork as cw
        >>> client, evaluator = cw.compile(lambda x: x * x, (3,)).keygen()
        >>> files = cw.cluster.Files(tempfile.mkdtemp())
        >>> evaluator.run(client.encrypt([0.5, 0.25, 0]), on=files).ports
        ('result',)
    """

    folder: str | os.PathLike[str]
    threads: int | None = None

    def run(
        self,
        evaluator: Evaluator,
        inputs: Sequence[Encrypted],
        profile: Profile,
        cancel: threading.Event | None,
    ) -> Encrypted:
        """Run the program of an evaluator; see `Evaluator.run`, which calls it."""
        action = f"run {evaluator.program.name} by files"
        threads = _native.threads() if self.threads is None else self.threads
        threads = integer(threads, "threads", action, least=1, most=MAX_THREADS)
        require_files(action)
        from cloakwork.cluster.run import results, run_here  # noqa: PLC0415

        here = partial(run_here, threads=threads)
        return results(here, evaluator, inputs, self.folder, profile, cancel, action)


@dataclass(frozen=True, slots=True)
class Dask:
    """The workers of a Dask cluster. Nothing that scheduler and workers send is unpickled.

    Results are the same, bit for bit, where all processors are of one kind. A worker reads each
    input where it is needed, and the keys of its tasks once; one that is lost costs the tasks that
    it was at. On each, inputs and the values of tasks take no more than an
    `Evaluator.memory_limit` that was set.

    Args:
        client: The address of the scheduler, such as "tcp://machine:8786", or a
            `distributed.Client`, of which address and certificates are taken.
        folder: A folder that all machines share, as for `Files`; by default a temporary one of
            this machine.

    Raises:
        ClusterLostError: The cluster has no workers, or was lost on the way.
        WorkerVersionError: A worker has another version of Cloakwork.
        WorkerFailedError: A worker failed in a way that it should not.
        MalformedBytesError: A worker's answer is not one.
        ClusterFolderError: A worker does not see the folder, or a file is in its place.
        MissingDependencyError: Dask or fsspec is not installed.
        CloakworkError: What a run by `Files` raises.

    Example:
        >>> import cloakwork as cw
        >>> cw.cluster.Dask("tcp://machine1:8786", "/shared/jobs").folder
        '/shared/jobs'
    """

    client: Client | str
    folder: str | os.PathLike[str] | None = None

    def run(
        self,
        evaluator: Evaluator,
        inputs: Sequence[Encrypted],
        profile: Profile,
        cancel: threading.Event | None,
    ) -> Encrypted:
        """Run the program of an evaluator; see `Evaluator.run`, which calls it."""
        action = f"run {evaluator.program.name} on a cluster"
        require_files(action)
        require_dask(action)
        # Dask, whose import takes seconds.
        from cloakwork.cluster.on_cluster import run_on_cluster  # noqa: PLC0415
        from cloakwork.cluster.run import results  # noqa: PLC0415

        there = partial(run_on_cluster, client=self.client)
        return results(there, evaluator, inputs, self.folder, profile, cancel, action)

"""What a worker of a cluster does: it reads each key that it needs once, and does grains."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import time

from distributed import get_worker

from cloakwork import _native
from cloakwork.cluster.answers import Failure
from cloakwork.cluster.evaluator_files import EvaluatorFiles
from cloakwork.cluster.forms import form_of
from cloakwork.cluster.grains import grain_found, grain_made
from cloakwork.cluster.inputs import InputFiles
from cloakwork.cluster.job import Job, Order, own_version
from cloakwork.cluster.moved import Moved
from cloakwork.cluster.settings import ATTEMPTS, KEPT_OF_LIMIT
from cloakwork.errors import CloakworkError, WorkerVersionError
from cloakwork.schemes.base import ReadLimits

# Evaluators that a process keeps; with one more, the one used longest ago goes.
_KEPT = 2


@dataclass(slots=True)
class _Holder:
    """An evaluator's place, to be filled by the first who needs it."""

    reading: threading.Lock = field(default_factory=threading.Lock)
    found: EvaluatorFiles | None = None


# Bytes of inputs that a process keeps whose memory is not limited.
_KEPT_BYTES = 1 << 30
_input_files = InputFiles(_KEPT_BYTES)

# By the names of files, which say what is in them.
_holders: OrderedDict[str, _Holder] = OrderedDict()
_choosing = threading.Lock()


def evaluator_of_job(job: Job) -> EvaluatorFiles:
    """The evaluator of a job, whose head each process reads once."""
    with _choosing:
        holder = _holders.setdefault(job.keys, _Holder())
        _holders.move_to_end(job.keys)
        while len(_holders) > _KEPT:
            _holders.popitem(last=False)
    with holder.reading:
        if holder.found is None:
            limits = ReadLimits(insecure=job.insecure, max_log_n=17)
            holder.found = EvaluatorFiles(job.folder, job.keys, limits)
        return holder.found


def done(order: Order, given: Sequence[Moved | Failure]) -> Moved | Failure:
    """Do a grain, or find it done: a task of Dask.

    Args:
        order: The grain.
        given: What the grains before it made, or raised.

    Returns:
        What it makes for others, its results being in their file; or what it raised, such as
        WorkerVersionError, ClusterFolderError or StorageFullError.
    """
    made = [each for each in given if isinstance(each, Moved)]
    for each in given:
        if isinstance(each, Failure):
            return each
    try:
        for _ in range(ATTEMPTS - 1):
            with suppress(OSError):
                return _done(order, made)
        return _done(order, made)
    except CloakworkError as error:
        return Failure.of(error)


def _done(order: Order, given: Sequence[Moved]) -> Moved:
    require_version(order.job)
    start = time()
    files = evaluator_of_job(order.job)
    form = form_of(files.program, order.job.inner_parts)
    made = grain_found(order, form, start)
    if made is None:
        evaluator, nbytes = files.with_keys(form.keys_of(order.grain.tasks))
        inputs = _inputs_here(order.job)
        made = grain_made(order, given, evaluator, form, inputs, _threads(), start, nbytes)
    made.write()
    return made.moved


def require_version(job: Job) -> None:
    """Refuse to work for another version.

    Raises:
        WorkerVersionError: It is another.
    """
    if own_version() != job.version:
        raise WorkerVersionError(
            f"cannot work for cloakwork {job.version}: this worker has cloakwork {own_version()}; "
            "install one version on all machines of the cluster"
        )


def _inputs_here(job: Job) -> InputFiles:
    """The files of inputs that this process has read, as many as a job may keep."""
    of_worker = get_worker().memory_manager.memory_limit or None
    limits = [each for each in (of_worker, job.memory_limit) if each is not None]
    _input_files.most_bytes = int(KEPT_OF_LIMIT * min(limits)) if limits else _KEPT_BYTES
    return _input_files


def forget_inputs() -> None:
    """Read all inputs anew from now on."""
    _input_files.forget()


def _threads() -> int:
    """The threads of one grain, so that all that are done at a time take the engine's."""
    return max(1, _native.threads() // get_worker().state.nthreads)


@dataclass(frozen=True, slots=True)
class Send:
    """Some of the values that a grain has made, for another lane: a task of Dask.

    Args:
        values: The numbers of the values.
    """

    values: tuple[int, ...]

    def __call__(self, made: Moved | Failure) -> Moved | Failure:
        """Those values, or what was raised instead."""
        return made.only(self.values) if isinstance(made, Moved) else made

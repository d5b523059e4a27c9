"""What a worker of a cluster does: it reads the keys once, and does grains."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import time
from typing import Any

from distributed import get_worker

from cloakwork import _native
from cloakwork.base.record import Fields
from cloakwork.errors import MalformedBytesError, WorkerVersionError
from cloakwork.runtime.cluster.forms import Form, form_of
from cloakwork.runtime.cluster.inputs import InputFiles
from cloakwork.runtime.cluster.job import (
    Job,
    Order,
    own_version,
    values_record,
)
from cloakwork.runtime.cluster.moved import Moved, Receipt
from cloakwork.runtime.cluster.settings import KEPT_OF_LIMIT
from cloakwork.runtime.cluster.stored import read_part, write_part
from cloakwork.runtime.evaluator import KIND, Evaluator
from cloakwork.runtime.profile import Profile
from cloakwork.schemes.base import ReadLimits

# Evaluators that a process keeps; with one more, the one used longest ago goes.
_KEPT = 2
_MAX_VALUES = 1 << 26


@dataclass(slots=True)
class _Holder:
    """An evaluator's place, to be filled by the first who needs it."""

    reading: threading.Lock = field(default_factory=threading.Lock)
    found: Evaluator | None = None


# Bytes of inputs that a process keeps whose memory is not limited.
_KEPT_BYTES = 1 << 30
_input_files = InputFiles(_KEPT_BYTES)

# By the names of files, which say what is in them.
_holders: OrderedDict[str, _Holder] = OrderedDict()
_choosing = threading.Lock()


def evaluator_of(job: Job) -> tuple[Evaluator, Form]:
    """The evaluator of a job, whose file each process reads once."""
    with _choosing:
        holder = _holders.setdefault(job.keys, _Holder())
        _holders.move_to_end(job.keys)
        while len(_holders) > _KEPT:
            _holders.popitem(last=False)
    with holder.reading:
        if holder.found is None:
            limits = ReadLimits(insecure=job.insecure, max_log_n=17)
            evaluator = Evaluator._of(job.folder.read(job.keys, KIND), limits)
            holder.found = evaluator
        return holder.found, form_of(holder.found.program, job.inner_parts)


def done(order: Order, given: Sequence[Moved]) -> Moved:
    """Do a grain, or find it done: a task of Dask.

    Args:
        order: The grain.
        given: What the grains before it made.

    Returns:
        What it makes for others; its results are in their file.

    Raises:
        WorkerVersionError: This worker has another version than who asked.
        ClusterFolderError: The files of the run are not seen from here.
        StorageFullError: There is no space left for what it makes.
        CloakworkError: An operation failed; a note names it, the program and the user's line.
    """
    require_version(order.job)
    start = time()
    evaluator, form = evaluator_of(order.job)
    made = grain_made(order, given, evaluator, form, _inputs_here(order.job), _threads(), start)
    made.write()
    return made.moved


@dataclass(frozen=True, slots=True)
class Made:
    """What a grain makes.

    Args:
        order: The grain.
        scheme: The scheme of its values.
        gives: What it makes for others.
        results: What it makes of results.
        receipt: What it took.
        is_written: Whether files hold all of it.
    """

    order: Order
    scheme: Any
    gives: Mapping[int, Any]
    results: Mapping[int, Any]
    receipt: Receipt
    is_written: bool = False

    @property
    def moved(self) -> Moved:
        """What it makes for others."""
        return Moved(self.gives, self.scheme, self.receipt)

    def write(self) -> None:
        """Write the results, and what is for others where that is kept, unless files hold them.

        Raises:
            StorageFullError: There is no space left for them.
        """
        order, job = self.order, self.order.job
        if order.keeps and not self.is_written:
            record = values_record(self.gives, self.scheme)
            write_part(job.files, order.values_file, job.digest, record)
        if self.results and not self.is_written:
            record = values_record(self.results, self.scheme)
            write_part(job.files, order.results_file, job.digest, record)


def grain_made(
    order: Order,
    given: Sequence[Moved],
    evaluator: Evaluator,
    form: Form,
    files: InputFiles,
    threads: int,
    start: float,
) -> Made:
    """Do a grain with an evaluator, or find it done.

    Args:
        order: The grain.
        given: What the grains before it made.
        evaluator: What has the keys.
        form: The form of its program.
        files: The files of inputs.
        threads: How many threads it may take.
        start: When it began, by the clock of this machine.
    """
    kept = kept_values(order, form)
    if kept is not None:
        return Made(order, form.scheme, kept, {}, Receipt(start, (), 0), is_written=True)
    values: dict[int, Any] = {}
    for each in given:
        values.update(each.values(form))
    program = evaluator.program
    found = files.values(order.job, program, form.inputs_of(order.grain.inputs), threads)
    for number in sorted(found):
        values.update(form.opened(number, found[number]))
    profile = Profile()
    wanted = tuple(sorted({*order.grain.gives, *order.grain.results}))
    made = form.made(evaluator, order.grain.tasks, wanted, values, threads, profile)
    gives = {number: made[number] for number in order.grain.gives}
    results = {number: made[number] for number in order.grain.results}
    receipt = Receipt(start, tuple(profile.operations), profile.peak_bytes)
    return Made(order, form.scheme, gives, results, receipt)


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


def kept_values(order: Order, form: Form) -> Mapping[int, Any] | None:
    """What a grain makes for others, read from files; None where not all is there."""
    files = order.job.files
    wanted = [order.results_file] if order.grain.results else []
    wanted += [order.values_file] if order.keeps else []
    if not wanted or not order.is_done({name for name in wanted if files.has(name)}):
        return None
    if not order.grain.gives:
        return {}
    return read_values_file(read_part(files, order.values_file, order.job.digest), form)


def read_values_file(fields: Fields, form: Form) -> dict[int, Any]:
    """The values of a file by number.

    Raises:
        MalformedBytesError: The file is damaged.
    """
    numbers = fields.value("numbers", tuple[int, ...])
    values = list(fields.several("values", most=_MAX_VALUES))
    if len(numbers) != len(values):
        raise MalformedBytesError(f"cannot read {fields.place}: a value is missing")
    return {number: form.read(number, each) for number, each in zip(numbers, values, strict=True)}


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

    def __call__(self, made: Moved) -> Moved:
        """Those values."""
        return made.only(self.values)


def receipt(made: Moved) -> Receipt:
    """What a grain took, without what it made: a task of Dask."""
    return made.receipt

"""Does a grain with an evaluator: reads what it works on, runs it, and writes what it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cloakwork.base.record import Fields
from cloakwork.cluster.forms import Form
from cloakwork.cluster.inputs import InputFiles
from cloakwork.cluster.job import Order, values_record
from cloakwork.cluster.moved import Moved, Receipt
from cloakwork.errors import MalformedBytesError
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.stored import read_part, write_part

_MAX_VALUES = 1 << 26


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


def grain_found(order: Order, form: Form, start: float) -> Made | None:
    """A grain that files hold already; None where they do not hold all of it."""
    kept = kept_values(order, form)
    if kept is None:
        return None
    return Made(order, form.scheme, kept, {}, Receipt(start, (), 0), is_written=True)


def grain_made(
    order: Order,
    given: Sequence[Moved],
    evaluator: Evaluator,
    form: Form,
    files: InputFiles,
    threads: int,
    start: float,
    key_bytes: int = 0,
) -> Made:
    """Do a grain with an evaluator.

    Args:
        order: The grain.
        given: What the grains before it made.
        evaluator: What has the keys.
        form: The form of its program.
        files: The files of inputs.
        threads: How many threads it may take.
        start: When it began, by the clock of this machine.
        key_bytes: Bytes of the evaluation keys that were read for it.
    """
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
    receipt = Receipt(start, tuple(profile.operations), profile.peak_bytes, key_bytes)
    return Made(order, form.scheme, gives, results, receipt)


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

"""Jobs that are cut and whose inputs are written, anew or after an attempt that was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cloakwork.base.record import Record
from cloakwork.runtime.cluster.cut import Cut, cut
from cloakwork.runtime.cluster.graph import needed_grains
from cloakwork.runtime.cluster.job import INPUT_KIND, VALUES_KIND, Job, Order, order
from cloakwork.runtime.cluster.network import Network
from cloakwork.runtime.cluster.simulation import best_cut
from cloakwork.runtime.cluster.work import Work
from cloakwork.runtime.cluster.worker import read_values_file

_CUT = "cut"
_CUT_KIND = "cluster cut file"
_MAX_LANES = 1 << 20


@dataclass(frozen=True, slots=True)
class Placed:
    """A job whose inputs are written, ready to run.

    Args:
        job: The job.
        made: The cut.
        orders: The order for every grain.
        first: The lane of the cluster that is its first.
    """

    job: Job
    made: Cut
    orders: Sequence[Order]
    first: int

    def missing(self) -> dict[int, bool]:
        """The places of the grains that are to be done, and whether files hold what they make."""
        return needed_grains(self.made, self.orders, self.job.files.names())

    def results(self, scheme: Any) -> dict[int, Any]:
        """The values that are results, read from their files."""
        values: dict[int, Any] = {}
        for each in self.orders:
            if each.grain.results:
                fields = self.job.files.read(each.results_file, VALUES_KIND)
                values.update(read_values_file(fields, scheme))
        return values

    def remove_kept(self) -> None:
        """Remove the files that results were made of; those that hold results stay."""
        self.job.files.remove(("input-", "values-"))


def place(
    job: Job, work: Work, inputs: Mapping[int, Record], lanes: int, first: int, action: str
) -> Placed:
    """Cut a job, or take the cut of the last attempt at it, and write the inputs that it needs.

    Args:
        job: The job.
        work: What its program does.
        inputs: The records of its inputs by number.
        lanes: How many lanes it may take.
        first: Which of the cluster's lanes is its first.
        action: What the caller is about to do, for the message of an error.

    Raises:
        StorageFullError: There is no space left for its files.
    """
    files = job.files
    files.make()
    present = files.names()
    if _CUT in present:
        fields = files.read(_CUT, _CUT_KIND)
        lanes, pieces = (
            fields.integer(name, least=1, most=_MAX_LANES) for name in ("lanes", "pieces")
        )
        made = cut(work, lanes, pieces, Network())
    else:
        made = best_cut(work, lanes, Network())
    orders = [order(job, grain, work.bytes_of(grain.gives)) for grain in made.grains]
    placed = Placed(job, made, orders, first)
    if not placed.missing():
        return placed
    kept = sum(work.bytes_of(each.grain.gives) for each in orders if each.keeps)
    values = work.bytes_of(work.inputs) + kept + work.bytes_of(work.results)
    files.require_space(values, action)
    for number, record in inputs.items():
        if job.input_of(number) not in present:
            files.write(job.input_of(number), INPUT_KIND, record)
    if _CUT not in present:
        files.write(_CUT, _CUT_KIND, {"lanes": made.lanes, "pieces": made.pieces})
    return placed

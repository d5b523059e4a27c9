"""Jobs that are cut and whose inputs are written, anew or after an attempt that was lost.

By the files of an earlier attempt that are there follows which grains are to be done.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from cloakwork.base.record import Fields, Limits, Record
from cloakwork.cluster.cut import Cut, cut
from cloakwork.cluster.forms import Form, form_of
from cloakwork.cluster.grains import read_values_file
from cloakwork.cluster.grid import Grid
from cloakwork.cluster.job import Job, Order, order
from cloakwork.cluster.simulation import best_cut, simulated
from cloakwork.cluster.work import Network, Work
from cloakwork.errors import MalformedBytesError, MemoryBudgetError, NoiseExhaustedError
from cloakwork.runtime.folder import Folder
from cloakwork.runtime.program import Program
from cloakwork.runtime.stored import read_part

_CUT = "cut"
_CUT_KIND = "cluster cut file"
_MAX_LANES = 1 << 20
# Parts of the inner dimension that are tried, and what more of them must gain to be taken.
_PARTS = (1, 2, 4, 8, 16, 32)
_GAIN = 0.95


@dataclass(frozen=True, slots=True)
class ReadyJob:
    """A job whose inputs are written, ready to run.

    Args:
        job: The job.
        form: The form of its program.
        made: The cut.
        orders: The order for every grain.
        first: The lane of the cluster that is its first.
    """

    job: Job
    form: Form
    made: Cut
    orders: Sequence[Order]
    first: int

    def missing(self) -> dict[int, bool]:
        """The places of the grains that are to be done, and whether files hold what they make."""
        return needed_grains(self.made, self.orders, self.job.files.names())

    def remove_damaged(self) -> None:
        """Remove files of an earlier attempt that cannot be read, so that they are made again."""
        job = self.job
        present = job.files.names()
        for each in self.orders:
            for name in {each.results_file, each.values_file} & present:
                try:
                    read_part(job.files, name, job.digest)
                except MalformedBytesError:
                    job.files.remove((name,))

    def results(self) -> dict[int, Any]:
        """The values that are results, read from their files."""
        values: dict[int, Any] = {}
        for each in self.orders:
            if each.grain.results:
                fields = read_part(self.job.files, each.results_file, self.job.digest)
                values.update(read_values_file(fields, self.form))
        return values

    def remove_kept(self) -> None:
        """Remove the files that results were made of; those that hold results stay."""
        self.job.files.remove(("input-", "values-"))


def place(
    job: Job,
    program: Program,
    lanes: int,
    first: int,
    most_bytes: int | None,
    advice: Callable[[int], str],
    action: str,
) -> ReadyJob:
    """Cut a job, or take the cut of the last attempt at it.

    Args:
        job: The job.
        program: The program, whose inputs are written.
        lanes: How many lanes it may take.
        first: Which of the cluster's lanes is its first.
        most_bytes: What the values of a grain may take; None for any.
        advice: What to do where no grain takes less than so many bytes, for the message of an
            error.
        action: What the caller is about to do, for the message of an error.

    Raises:
        StorageFullError: There is no space left for its files.
        MemoryBudgetError: No cut is into grains that small.
    """
    files = job.files
    files.make()
    found = _found_cut(files, program)
    if found is None or not _fits(form_of(program, found[0]).work, found[1], most_bytes):
        found = chosen_cut(program, lanes, most_bytes, advice, action)
        files.write(_CUT, _CUT_KIND, _cut_record(*found))
    parts, made = found
    form = form_of(program, parts)
    job = replace(job, inner_parts=parts)
    work = form.work
    orders = [order(job, grain, work.bytes_of(grain.gives)) for grain in made.grains]
    placed = ReadyJob(job, form, made, orders, first)
    placed.remove_damaged()
    if placed.missing():
        kept = sum(work.bytes_of(each.grain.gives) for each in orders if each.keeps)
        files.require_space(kept + work.bytes_of(work.results), action)
    return placed


def chosen_cut(
    program: Program,
    lanes: int,
    most_bytes: int | None,
    advice: Callable[[int], str],
    action: str,
) -> tuple[int, Cut]:
    """Into how many parts the inner dimension of products is cut, and how the work is.

    More parts are tried while they gain, or while grains do not fit: their products have to be
    added up, and moved. No cut takes less than the work of the whole, shared by the lanes.
    """
    network = Network()
    best: tuple[float, int, Cut] | None = None
    least: list[int] = []
    for parts in _PARTS:
        try:
            form = form_of(program, parts)
        except NoiseExhaustedError:
            break
        work = form.work
        made = best_cut(work, lanes, network)
        if not _fits(work, made, most_bytes):
            made = best_cut(work, lanes, network, most_bytes)
            if not _fits(work, made, most_bytes):
                least.append(_largest_grain(work, made))
                if not work.blocks:
                    break
                continue
        seconds = simulated(work, made, network).seconds
        if best is not None and seconds >= _GAIN * best[0]:
            break
        best = seconds, parts, made
        if not work.blocks or _GAIN * seconds <= sum(each.seconds for each in made.grains) / lanes:
            break
    if best is None:
        raise MemoryBudgetError(
            f"cannot {action}: the values of a task take {min(least)} bytes, and they may take "
            f"{most_bytes}; {advice(min(least))}"
        )
    return best[1:]


def _fits(work: Work, made: Cut, most_bytes: int | None) -> bool:
    """Whether no grain takes more than it may."""
    return most_bytes is None or _largest_grain(work, made) <= most_bytes


def _largest_grain(work: Work, made: Cut) -> int:
    """The most bytes that the values of a grain take."""
    peaks = (work.peak_bytes(each.tasks, (*each.gives, *each.results)) for each in made.grains)
    return max(peaks, default=0)


def _cut_record(parts: int, made: Cut) -> Record:
    grid = made.grid
    return {
        "inner_parts": parts,
        "lanes": made.lanes,
        "pieces": made.pieces,
        "grid": [] if grid is None else [grid.rows, grid.columns, grid.inner],
        "most_bytes": made.most_bytes or 0,
    }


def _found_cut(files: Folder, program: Program) -> tuple[int, Cut] | None:
    """The cut of an earlier attempt; None where there is none, or none that can be read."""
    if not files.has(_CUT):
        return None
    try:
        return _read_cut(files.read(_CUT, _CUT_KIND), program)
    except MalformedBytesError:
        return None


def _read_cut(fields: Fields, program: Program) -> tuple[int, Cut]:
    """The cut of an earlier attempt."""
    lanes, pieces = (fields.integer(name, least=1, most=_MAX_LANES) for name in ("lanes", "pieces"))
    parts = fields.integer("inner_parts", least=1, most=_PARTS[-1])
    sides = fields.value("grid", tuple[Annotated[int, Limits(1, _MAX_LANES)], ...])
    if len(sides) not in (0, 3):
        raise fields.wrong("grid", "three sizes")
    grid = Grid(*sides) if sides else None
    most = fields.integer("most_bytes", least=0, most=1 << 62) or None
    return parts, cut(form_of(program, parts).work, lanes, pieces, Network(), grid, most)


def needed_grains(made: Cut, orders: Sequence[Order], present: Container[str]) -> dict[int, bool]:
    """The places of the grains that missing results take, and whether files hold what each makes.

    Those whose files are there need no other grains.

    Args:
        made: The cut.
        orders: The order for every grain.
        present: The names of the files that there are.
    """
    left = [
        place
        for place, each in enumerate(orders)
        if each.grain.results and each.results_file not in present
    ]
    needed: dict[int, bool] = {}
    while left:
        place = left.pop()
        if place not in needed:
            needed[place] = orders[place].is_done(present)
            if not needed[place]:
                left += [maker for maker, _ in made.grains[place].needs]
    return dict(sorted(needed.items()))

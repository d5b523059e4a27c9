"""The report of a run of programs over bits: lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.boolean.evaluate import THREADS, Evaluation
from benchmarks.boolean.jobs import JOBS

_NAME = 18
_COLUMNS = (
    ("gates", 7),
    ("bootstraps", 12),
    ("depth", 7),
    ("parameters", 12),
    ("failure", 9),
    ("map s", 8),
    ("CPU s", 9),
    ("wall s", 9),
    ("threads", 9),
    ("CPU s", 9),
    ("wall s", 9),
    ("gates' CPU s", 14),
    ("", 10),
    ("ours", 6),
)


def heading() -> str:
    """The names of the columns: first on one thread, then on all, then gate by gate."""
    names = "".join(f"{name:>{width}}" for name, width in _COLUMNS)
    return f"{'':<{_NAME}}{names}"


def line(evaluation: Evaluation) -> str:
    """One program; the last column is its share of the CPU time of gate by gate."""
    one, most, gates = evaluation.one, evaluation.all, evaluation.gate_by_gate
    cells = (
        f"{gates.gates}",
        f"{evaluation.bootstraps}",
        f"{evaluation.depth}",
        evaluation.parameters,
        f"2^{evaluation.log2_failure:.0f}",
        f"{evaluation.mapping_seconds:.1f}",
        f"{one.cpu_seconds:.2f}",
        f"{one.wall_seconds:.2f}",
        f"{most.threads}",
        f"{most.cpu_seconds:.2f}",
        f"{most.wall_seconds:.2f}",
        f"{gates.cpu_seconds:.2f}",
        gates.source,
        f"{evaluation.share:.2f}",
    )
    figures = "".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
    return f"{evaluation.job:<{_NAME}}{figures}{'' if evaluation.right else '  WRONG'}"


def paper_table(evaluations: Sequence[Evaluation]) -> str:
    """Wall seconds that the paper reports beside ours on as many threads, where we have these."""
    lines = ["\nWAHC 2025, doi 10.1145/3733811.3767311", f"{'':<{_NAME}}{'threads':>8}"]
    lines[-1] += f"{'its wall s':>12}{'wall s here':>13}{'ratio':>8}"
    found = {each.job: each for each in evaluations}
    for job in JOBS:
        if job.paper is None or job.name not in found:
            continue
        ours = {run.threads: run.wall_seconds for run in found[job.name].runs}
        for threads, theirs in job.paper.wall_seconds.items():
            here = ours.get(threads)
            cells = "" if here is None else f"{here:13.1f}{theirs / here:8.1f}"
            lines.append(f"{job.name:<{_NAME}}{threads:8}{theirs:12.1f}{cells}")
    return "\n".join(lines)


def compared_table(evaluations: Sequence[Evaluation]) -> str:
    """The programs by which compilers are compared, beside others on 64 cores."""
    columns = ("bootstraps", "apart", "CPU s", "Parasol", "Concrete", "transpiler")
    lines = ["\nPrograms by which compilers are compared; wall seconds of others on 64 cores"]
    lines.append(f"{'':<{_NAME}}{''.join(f'{each:>12}' for each in columns)}")
    found = {each.job: each for each in evaluations}
    for job in JOBS:
        if job.compared is None or job.name not in found:
            continue
        ours, known = found[job.name], job.compared
        counts = f"{ours.bootstraps:12}{known.apart:12}{ours.one.cpu_seconds:12.2f}"
        others = (known.parasol, known.concrete, known.transpiler)
        lines.append(f"{job.name:<{_NAME}}{counts}{''.join(f'{each:12.2f}' for each in others)}")
    return "\n".join(lines)


def schedule_table(evaluations: Sequence[Evaluation]) -> str:
    """Simulated: the share of all threads' time in which they work, by data flow, by layers."""
    title = "Threads at work, %"
    counts = "".join(f"{threads:>11}" for threads in THREADS)
    lines = [
        "\nSimulated from measured costs: by data flow / layer by layer",
        f"{title:<{_NAME}}{'mapped for':>11}{'bootstraps':>12}{'depth':>7}{counts}",
    ]
    for each in evaluations:
        for schedule in each.schedules:
            cells = "".join(
                f"{_percent(schedule.efficiency(threads)):>5} /"
                f"{_percent(schedule.layered_efficiency(threads)):>4}"
                for threads in THREADS
            )
            lines.append(
                f"{each.job:<{_NAME}}{schedule.mapped_for:>11}{schedule.bootstraps:>12}"
                f"{schedule.depth:>7}{cells}"
            )
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"

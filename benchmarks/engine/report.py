"""The report of the engine: lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.engine.targets import REFERENCES
from benchmarks.measurement import Measurement, Measurements
from cloakwork._native import Parameters

_NAME = 40


def heading(parameters: Parameters, ntt_seconds: float, thread_counts: Sequence[int]) -> str:
    """What is measured next, and the names of the columns."""
    columns = "".join(
        f"{f'ms, {threads} thread' + 's' * (threads > 1):>15}{'NTT/limb':>10}"
        for threads in thread_counts
    )
    return (
        f"\n{parameters}\n"
        f"one NTT of one limb on one thread: {1e6 * ntt_seconds:.1f} us\n"
        f"{'':<{_NAME}}{columns}{'keys, MB':>11}{'bits right':>12}{'promised':>10}"
    )


def line(measurements: Sequence[Measurement]) -> str:
    """One job, measured on one number of threads after the other."""
    cells = [f"{measurements[0].job:<{_NAME}}"]
    for each in measurements:
        cells.append(f"{1000 * each.seconds:15.3f}")
        cells.append(" " * 10 if each.units is None else f"{each.units:10.2f}")
    key_bytes = measurements[0].key_bytes
    cells.append(f"{key_bytes / 1e6:11.2f}" if key_bytes else " " * 11)
    accuracies = [each.accuracy for each in measurements if each.accuracy is not None]
    if accuracies:
        worst = min(accuracies, key=lambda accuracy: accuracy.error_bits - accuracy.promised_bits)
        cells.append(f"{worst.error_bits:12.1f}{worst.promised_bits:10.1f}")
        if not worst.holds:
            cells.append("  WRONG")
    return "".join(cells).rstrip()


def skipped(job: str, reason: str) -> str:
    """A job that was not run."""
    return f"{job:<{_NAME}}  skipped: {reason}"


def reference_table(found: Measurements) -> str:
    """The best existing library's times beside these, and how many times longer they are."""
    title = "Best existing library, 1 thread of a 2-core Zen 3"
    lines = [f"\n{title:<52}{'its ms':>10}{'ms here':>10}{'ratio':>8}"]
    for reference in REFERENCES:
        ours = found.find(reference.job, 1 << reference.log_n)
        if ours is not None:
            here = 1000 * ours.seconds
            name = f"{reference.job}, N = 2^{reference.log_n}"
            ratio = reference.milliseconds / here
            lines.append(f"{name:<52}{reference.milliseconds:10.0f}{here:10.1f}{ratio:8.1f}")
    return "\n".join(lines)

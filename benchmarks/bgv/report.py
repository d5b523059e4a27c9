"""The times of both schemes, beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measurement import Measurement


def table(measured: Sequence[Measurement]) -> str:
    """Milliseconds of both schemes, and their ratio."""
    lines = [f"\n{'':<40}{'threads':>8}{'BGV, ms':>10}{'CKKS, ms':>10}{'ratio':>8}"]
    found = {(each.job, each.threads): 1000 * each.seconds for each in measured}
    for (job, threads), bgv in found.items():
        scheme, _, name = job.partition(": ")
        if scheme == "BGV":
            ckks = found[f"CKKS: {name}", threads]
            lines.append(f"{name:<40}{threads:>8}{bgv:10.3f}{ckks:10.3f}{bgv / ckks:8.2f}")
    return "\n".join(lines)

"""The speed to reach, and what the best existing library takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.engine.jobs import CHEBYSHEV, DIAGONALS, HOISTED, ROTATION
from benchmarks.engine.jobs import hoisted_rotations as hoisted
from benchmarks.engine.jobs import linear_transform as transform
from benchmarks.measurement import Measurement, Measurements
from benchmarks.target import Target

_ROTATION_UNITS = {14: 10.0, 16: 12.0}
_HOISTED_SHARE = 0.5
_DIAGONAL_UNITS = 1.2
_SPEED_UP = 1.8


@dataclass(frozen=True, slots=True)
class Reference:
    """Milliseconds of the best existing library at 128 bits, one thread of a 2-core Zen 3."""

    job: str
    log_n: int
    milliseconds: float


REFERENCES = (
    Reference(ROTATION, 14, 19),
    Reference(ROTATION, 15, 124),
    Reference(ROTATION, 16, 740),
    Reference(hoisted(32), 14, 289),
    Reference(transform(128), 14, 333),
    Reference(transform(512), 14, 679),
    Reference(CHEBYSHEV, 14, 213),
)


def further_hoisted_rotation(fewer: int, more: int) -> str:
    """The name of the figure."""
    return f"each further hoisted rotation, {fewer} to {more}"


def further_diagonal(fewer: int, more: int) -> str:
    """The name of the figure."""
    return f"each further diagonal, {fewer} to {more}"


def differences(measurements: list[Measurement]) -> Iterator[Measurement]:
    """What each further hoisted rotation and each further diagonal costs."""
    pairs = {
        (hoisted(HOISTED[0]), hoisted(HOISTED[1])): (
            further_hoisted_rotation(*HOISTED),
            HOISTED[1] - HOISTED[0],
        )
    } | {
        (transform(fewer), transform(more)): (further_diagonal(fewer, more), more - fewer)
        for fewer, more in pairwise(DIAGONALS)
    }
    by_job = {(each.job, each.n, each.level, each.threads): each for each in measurements}
    for (fewer, more), (name, count) in pairs.items():
        for each in measurements:
            less = by_job.get((fewer, each.n, each.level, each.threads))
            if each.job != more or less is None or each.units is None or less.units is None:
                continue
            yield Measurement(
                name,
                each.n,
                each.level,
                each.threads,
                (each.seconds - less.seconds) / count,
                (each.units - less.units) / count,
            )


def targets(found: Measurements) -> Iterator[Target]:
    """Every target for the rings that were measured, one thread where none are named."""
    for n in found.rings():
        ring = f"N = 2^{n.bit_length() - 1}"
        rotation = found.find(ROTATION, n)
        limit = _ROTATION_UNITS.get(n.bit_length() - 1)
        if limit is not None:
            yield Target(f"rotation, {ring}, NTTs per key limb", limit, _units(rotation))
        further = found.find(further_hoisted_rotation(*HOISTED), n)
        share = further.seconds / rotation.seconds if further and rotation else None
        yield Target(f"further hoisted rotation, {ring}, rotations", _HOISTED_SHARE, share)
        diagonal = found.find(further_diagonal(*DIAGONALS[1:]), n)
        yield Target(
            f"further diagonal, {ring}, NTTs per key limb",
            _DIAGONAL_UNITS,
            _units(diagonal),
        )
        one, two = (found.find(transform(DIAGONALS[1]), n, threads) for threads in (1, 2))
        speed_up = one.seconds / two.seconds if one and two else None
        yield Target(
            f"{transform(DIAGONALS[1])}, {ring}, speed-up on 2 threads",
            _SPEED_UP,
            speed_up,
            at_most=False,
        )


def _units(measurement: Measurement | None) -> float | None:
    return None if measurement is None else measurement.units

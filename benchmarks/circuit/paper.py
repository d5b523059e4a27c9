"""What Coyote's authors report of their circuits (ASPLOS 2023, table 1 and figure 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cloakwork.programs.ir.vectors import LaneProgram


@dataclass(frozen=True, slots=True)
class LaneCounts:
    """Operations by kind, as the paper counts them.

    Args:
        additions: Sums, differences and negations of ciphertexts, and sums with clear vectors.
        products: Products of two ciphertexts.
        rotations: Rotations.
        masks: Products with clear vectors, and with single clear integers.
    """

    additions: int
    products: int
    rotations: int
    masks: int

    @classmethod
    def of(cls, program: LaneProgram) -> LaneCounts:
        """Those of a lane program."""
        found = program.counts
        additions = sum(found[kind] for kind in ("add", "sub", "neg", "offset"))
        return cls(additions, found["mul"], found["rotate"], found["mask"] + found["scale"])

    def __str__(self) -> str:
        return f"{self.additions}/{self.products}/{self.rotations}/{self.masks}"


@dataclass(frozen=True, slots=True)
class PaperRow:
    """Operation counts of a job: additions and subtractions, products, rotations, blends."""

    job: str
    replication: str
    counts: LaneCounts

    @property
    def moves(self) -> int:
        """Rotations and products, by which a row is judged."""
        return self.counts.rotations + self.counts.products


def _row(job: str, replication: str, text: str) -> PaperRow:
    return PaperRow(job, replication, LaneCounts(*map(int, text.split("/"))))


def _replicated(job: str, un: str, partially: str, fully: str) -> list[PaperRow]:
    texts = {"un": un, "partially": partially, "fully": fully}
    return [_row(job, replication, text) for replication, text in texts.items()]


ROWS: tuple[PaperRow, ...] = (
    *_replicated("conv.4.2", "2/1/4/4", "2/1/2/1", "2/1/1/2"),
    *_replicated("conv.5.3", "3/1/7/5", "4/1/4/3", "4/1/2/3"),
    *_replicated("dist.3", "1/1/4/6", "1/1/4/6", "2/2/2/7"),
    *_replicated("dist.4", "2/2/6/8", "2/2/6/8", "2/2/4/8"),
    *_replicated("dist.5", "2/2/13/10", "2/2/13/10", "2/2/9/10"),
    *_replicated("mm.2", "2/1/3/2", "2/1/2/1", "2/1/1/2"),
    *_replicated("mm.3", "5/2/20/10", "4/1/18/6", "4/2/9/3"),
    *_replicated("sort[3]", "8/4/8/6", "8/4/4/3", "8/4/4/3"),
    *_replicated("max[5]", "15/11/30/18", "12/9/27/15", "19/9/24/23"),
    _row("dot.3", "un", "3/1/2/0"),
    _row("dot.6", "un", "4/1/3/2"),
    _row("dot.10", "un", "6/1/5/4"),
    _row("sort[3]", "ungrouped", "11/5/1/1"),
    _row("max[5]", "ungrouped", "17/6/15/13"),
    _row("mm.16", "un", "414/128/4446/872"),
)

PAPER: Mapping[tuple[str, str], PaperRow] = {(row.job, row.replication): row for row in ROWS}

# Seconds to compile, measured with the authors' artifact on a 2-core Zen 3 machine.
COMPILE_SECONDS: Mapping[tuple[str, str], float] = {
    ("dot.3", "un"): 12.0,
    ("conv.4.2", "un"): 70.0,
    ("mm.2", "un"): 164.0,
    ("sort[3]", "un"): 136.0,
}

# Run time of scalar programs against vectorised ones: the least and the most of any job.
SPEED_UPS = (1.5, 3.5)

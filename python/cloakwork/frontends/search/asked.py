"""What is searched for in a block of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cloakwork.errors import InvalidParametersError
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.rows import RowSlots

Answer: TypeAlias = Literal["scores", "matches", "payloads", "count"]


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for in a block.

    Args:
        answer: What comes out: scores, which rows match, their payloads too, or how many match.
        ends: What products of rows and queries lie between.
        cuts: The products from which on rows match, each for a count of its own.
        gap: How far a product is from them to be told apart for certain.
        width: Coordinates of a row.
        size: RowSlots of a block; None for as many as a ring has slots for.
        rows: RowSlots of the whole table.
        lengths: The largest lengths of rows and queries.
        payload_width: Further numbers of a row.
        bound: Their largest absolute value.
        precision: Bits after the binary point of results, or of their sums.
        is_total: Whether results of all blocks are added up.
    """

    answer: Answer
    ends: tuple[float, float]
    cuts: tuple[float, ...]
    gap: float
    width: int
    size: int | None
    rows: int
    lengths: tuple[float, float]
    payload_width: int
    bound: float
    precision: int
    is_total: bool

    @property
    def penalty(self) -> float:
        """What is taken off the products of rows that do not count, so that they do not match."""
        low, high = self.ends
        least = low if not self.cuts else min(self.cuts) - self.gap
        return max(0.0, high - least)

    @property
    def interval(self) -> tuple[float, float]:
        """What lies around all products, those of rows that do not count, and every gap."""
        low, high = self.ends
        beside = [cut + 2 * sign * self.gap for cut in self.cuts for sign in (-1, 1)]
        return min([low, *beside]) - self.penalty, max([high, *beside])

    @property
    def steps(self) -> list[tuple[float, float]]:
        """Cuts and gaps as they are where the interval is [-1, 1]."""
        low, high = self.interval
        middle, half = (low + high) / 2, (high - low) / 2
        return [((cut - middle) / half, self.gap / half) for cut in self.cuts]

    def times(self, rows: RowSlots) -> float:
        """By how much matches that are all off by one number make results be off."""
        of_block = float(rows.size) if self.answer == "count" else max(self.bound, 1.0)
        return self.blocks(rows) * of_block

    def blocks(self, rows: RowSlots) -> int:
        """How many blocks are added up."""
        return -(-self.rows // rows.size) if self.is_total else 1

    def rows_in(self, slots: int) -> RowSlots:
        """How the rows of a block lie in a ring's slots."""
        size = self.size or min(2 * slots, power_of_two(self.rows))
        half = power_of_two(-(-size // 2))
        if half > slots:
            raise InvalidParametersError(
                f"cannot search: expected {2 * slots} rows in a block at most in a ring of "
                f"{slots} slots, got {size}; give fewer rows_in_block, or a larger log_n"
            )
        return RowSlots(slots, half, min(slots // half, power_of_two(self.width)), size)

"""How large a table is, and how it is cut into blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from cloakwork.base.record import Limits

MOST_ROWS = 1 << 40
_Count: TypeAlias = Annotated[int, Limits(1, MOST_ROWS)]


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of a table.

    Args:
        rows: How many rows it was planned with.
        width: How many numbers a vector has.
        payload_width: How many numbers a payload has; 0 where rows have none.
        rows_in_block: How many rows a block has.
    """

    rows: _Count
    width: _Count
    payload_width: Annotated[int, Limits(0, MOST_ROWS)]
    rows_in_block: _Count

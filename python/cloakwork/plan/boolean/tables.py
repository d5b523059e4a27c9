"""Truth tables of a few bits as few ANDs and free XORs: which bit, or XOR of two, to split by.

Splitting f by p gives f0 XOR p AND (f0 XOR f1), where f0 and f1 are f with p at 0 and at 1. Bit j
of a table is the function where the bits, the first worth 1, the second 2 and so on, add up to j.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

# XORs of two bits are tried for tables of so many bits or fewer.
_PAIRED = 4


@dataclass(frozen=True, slots=True)
class TableSplit:
    """How a table is taken apart.

    Args:
        ands: ANDs that it takes in all, if its parts share none.
        variable: The bit that goes.
        partner: The bit whose XOR with it selects; None for the bit alone.
        from_one: Whether the part for 1, not for 0, is what the product is added to.
    """

    ands: int
    variable: int
    partner: int | None
    from_one: bool


@lru_cache(maxsize=1 << 18)
def best_split(table: int, size: int) -> TableSplit:
    """The split of a table that takes the fewest ANDs.

    Example:
        >>> best_split(0xE8, 3).ands
        1
    """
    best: TableSplit | None = None
    for variable in range(size):
        partners: list[int | None] = [None]
        if size <= _PAIRED:
            partners += range(variable)
        for partner in partners:
            zero, one = cofactors(table, size, variable, partner)
            everywhere = (1 << (1 << (size - 1))) - 1
            difference = zero ^ one
            product = fewest_ands(difference, size - 1)
            product += difference not in (0, everywhere)
            for from_one, part in ((False, zero), (True, one)):
                ands = product + fewest_ands(part, size - 1)
                if best is None or ands < best.ands:
                    best = TableSplit(ands, variable, partner, from_one)
    assert best is not None
    return best


def fewest_ands(table: int, size: int) -> int:
    """The ANDs that `best_split` takes for a table.

    Example:
        >>> [fewest_ands(table, 2) for table in (0b0110, 0b1000)]
        [0, 1]
    """
    if table in (0, (1 << (1 << size)) - 1):
        return 0
    return best_split(table, size).ands


@lru_cache(maxsize=1 << 18)
def cofactors(table: int, size: int, variable: int, partner: int | None) -> tuple[int, int]:
    """A table where a bit, or its XOR with a partner, is 0 and where it is 1, without the bit.

    The partner stands before the bit.

    Example:
        >>> cofactors(0b0110, 2, 0, None)
        (2, 1)
        >>> cofactors(0b0110, 2, 1, 0)
        (0, 3)
    """
    parts = [0, 0]
    low = (1 << variable) - 1
    for row in range(1 << (size - 1)):
        whole = (row & low) | (row & ~low) << 1
        flip = 0 if partner is None else whole >> partner & 1
        for select in (0, 1):
            parts[select] |= (table >> (whole | (select ^ flip) << variable) & 1) << row
    return parts[0], parts[1]


@lru_cache(maxsize=1 << 18)
def spread_table(table: int, size: int, places: tuple[int, ...]) -> int:
    """A table of the bits at some places as a table of `size` bits.

    Example:
        >>> bin(spread_table(0b10, 2, (1,)))
        '0b1100'
    """
    result = 0
    for row in range(1 << size):
        short = sum((row >> place & 1) << bit for bit, place in enumerate(places))
        result |= (table >> short & 1) << row
    return result

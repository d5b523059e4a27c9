"""Entries of a known table, which bits choose, as gates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cloakwork.programs.gates import GateBuilder, GateKind


def chosen_entry(
    builder: GateBuilder, bits: Sequence[int], entries: Sequence[int], width: int
) -> list[int]:
    """The entry that bits choose: for each product of the first bits one AND with a sum.

    Sums modulo 2 take no bootstraps: what a product of the first bits is multiplied by is a sum of
    products of the others.

    Args:
        builder: Where the gates go.
        bits: The bits that choose, bit 0 first.
        entries: 2^bits entries; of negative ones the two's complement.
        width: Bits of an entry.

    Example:
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("squares", (Port("x", "unsigned", 2),))
        >>> len(chosen_entry(builder, (0, 1), (0, 1, 4, 9), 4))
        4
    """
    split = min(range(len(bits) + 1), key=lambda first: _ands(len(bits), first, width))
    low, high = _products(builder, bits[:split]), _products(builder, bits[split:])
    found = []
    for place in range(width):
        wanted = _as_products([entry >> place & 1 for entry in entries])
        terms = []
        for lower, product_of_low in enumerate(low):
            chosen = [each for upper, each in enumerate(high) if wanted[upper << split | lower]]
            if not lower:
                terms += chosen
            elif chosen == high[:1]:
                terms.append(product_of_low)
            elif chosen:
                terms.append(builder.append(GateKind.AND, product_of_low, _sum(builder, chosen)))
        found.append(_sum(builder, terms))
    return found


def _ands(bits: int, first: int, width: int) -> int:
    """How many ANDs a table with entries of so many bits takes, where so many bits come first."""
    products = sum((1 << each) - each - 1 for each in (first, bits - first))
    return products + width * ((1 << first) - 1)


def _as_products(table: list[int]) -> list[int]:
    """A truth table as a sum modulo 2 of products: by the bits of each whether it is a term."""
    wanted = np.array(table, dtype=np.uint8)
    for place in range(len(table).bit_length() - 1):
        pairs = wanted.reshape(-1, 2, 1 << place)
        pairs[:, 1] ^= pairs[:, 0]
    return [int(each) for each in wanted]


def _products(builder: GateBuilder, bits: Sequence[int]) -> list[int]:
    """The products of all sets of bits, that of none first."""
    made = [builder.append(GateKind.ONE)]
    for bit in bits:
        made += [bit, *(builder.append(GateKind.AND, each, bit) for each in made[1:])]
    return made


def _sum(builder: GateBuilder, bits: Sequence[int]) -> int:
    """A sum modulo 2."""
    if not bits:
        return builder.append(GateKind.ZERO)
    total = bits[0]
    for bit in bits[1:]:
        total = builder.append(GateKind.XOR, total, bit)
    return total

"""Packings that follow from an operand's: of elements that are repeated, and of what sums them.

A product of two tensors along different axes, as of queries and keys, repeats both along the axes
of the other. Where elements are copied as a whole, one copy after another, they lie where packings
repeat them anyway, and one diagonal does it:

    operand   a b a b a b a b    (of period 2, repeated over all slots)
    repeated  a b a b a b a b    (of period 8, its copies 0 to 3)

A sum over neighbours lies where the first of its terms lay, or in the gaps that the terms of other
copies' sums have left, and a number for each of such terms is repeated into the gaps between them.
So all that an attention does takes a diagonal for each element of an axis, where elements one after
another would take one for each pair of places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from cloakwork.plan.networks.matrix import Elements, Matrix
from cloakwork.plan.networks.packings.copies import Copies
from cloakwork.plan.networks.packings.of_factors import of_factors
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import CiphertextProduct, MatrixProduct
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.places import Places

# Packings of one tensor that are tried.
_MOST = 8
# Of their ciphertexts, beside the fewest that hold the tensor.
_MOST_CIPHERTEXTS = 4


def derived_packings(
    network: StagedNetwork, packings: Mapping[int, Sequence[Places]]
) -> dict[int, list[Places]]:
    """For each group of stages the packings that follow from those of operands."""
    derived: dict[int, list[Places]] = {group: [] for group in packings}
    copies = {each: Copies.of(network.matrix(*each)) for each in network.products}
    for number, operand in _after_factors(network):
        out = network.groups[number]
        if operand is None:
            found = [*of_factors(network, number, packings, copies)]
        else:
            into = network.groups[operand]
            matrix, own = network.matrix(number, operand), copies[number, operand]
            found = [*_of_operand(matrix, own, packings[into], derived[into])]
        known = [*packings[out], *derived[out]]
        most = _MOST_CIPHERTEXTS * min(each.ciphertexts for each in packings[out])
        size = prod(network.stages[number].shape)
        for each in found:
            is_known = any(np.array_equal(each.places, other.places) for other in known)
            # An element that is always zero follows from none of the operand's.
            is_whole = len(each.places) == size
            is_small = each.ciphertexts <= most and len(derived[out]) < _MOST
            if is_whole and is_small and not is_known:
                derived[out].append(each)
                known.append(each)
    return derived


def _after_factors(network: StagedNetwork) -> Iterator[tuple[int, int | None]]:
    """Products with matrices, each with its operand, and products of values, without."""
    for number, stage in enumerate(network.stages):
        if isinstance(stage, MatrixProduct) and stage.signs is None:
            yield from ((number, operand) for operand in stage.terms)
        elif isinstance(stage, CiphertextProduct):
            yield number, None


def _of_operand(
    matrix: Matrix, copies: Copies | None, own: Sequence[Places], derived: Sequence[Places]
) -> Iterator[Places]:
    """What follows from an operand's own packings, and from those that it has derived."""
    if copies:
        yield from (_repeated(copies, places) for places in own)
    for places in derived:
        yield from _following(matrix, copies, places)


def _following(matrix: Matrix, copies: Copies | None, operand: Places) -> Iterator[Places]:
    """What follows from a packing that has followed from another."""
    if copies:
        yield _repeated(copies, operand)
        yield from _in_gaps(copies, operand)
    if matrix.sums_each_once:
        yield from _summed(matrix.elements(), operand)
    if matrix.has_full_diagonal:
        yield operand


def _repeated(copies: Copies, operand: Places) -> Places:
    """Copies of the operand one after another.

    Example:
        >>> twice = Copies(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
        >>> _repeated(twice, Places(8, np.array([0, 1]))).places.tolist()
        [0, 2, 1, 3]
    """
    period = power_of_two(int(operand.places.max()) + 1)
    places = copies.numbers * period + operand.places[copies.elements]
    return Places(operand.slots, places, f"copies of {period}")


def _in_gaps(copies: Copies, operand: Places) -> Iterator[Places]:
    """Copies of each element behind it.

    Example:
        >>> twice = Copies(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
        >>> next(_in_gaps(twice, Places(8, np.array([0, 2])))).places.tolist()
        [0, 1, 2, 3]
    """
    gap = int(np.gcd.reduce(operand.places))
    if gap > copies.numbers.max():
        places = operand.places[copies.elements] + copies.numbers
        yield Places(operand.slots, places, f"in gaps of {gap}")


def _summed(matrix: Elements, operand: Places) -> Iterator[Places]:
    """Each sum at the first of its terms, where every sum has one.

    Example:
        >>> pairs = Elements(np.array([0, 0, 1, 1]), np.arange(4), np.ones(4))
        >>> next(_summed(pairs, Places(8, np.array([4, 5, 6, 7])))).places.tolist()
        [4, 6]
    """
    rows = int(matrix.rows.max()) + 1
    if len(np.unique(matrix.rows)) == rows:
        first = np.full(rows, np.iinfo(np.int64).max)
        np.minimum.at(first, matrix.rows, operand.places[matrix.columns])
        summed = Places(operand.slots, first, f"at the first of terms, {operand.name}")
        yield summed
        yield from _collected(summed)


def _collected(summed: Places) -> Iterator[Places]:
    """Sums of all copies side by side, in the gaps that terms have left.

    Example:
        >>> sums = Places(8, np.arange(0, 16, 2))
        >>> [each.places.tolist() for each in _collected(sums)]
        [[0, 2, 4, 6, 1, 3, 5, 7]]
    """
    if summed.ciphertexts == 1:
        return
    gap = int(np.gcd.reduce(summed.places))
    gap &= -gap
    period = power_of_two(int(summed.places.max()) + 1) // 2
    while period >= gap:
        copies, places = np.divmod(summed.places, period)
        count = int(copies.max()) + 1
        if 1 < count <= gap and count * len(np.unique(places)) == len(places):
            made = Places(summed.slots, places + copies, f"collected from copies of {period}")
            if made.ciphertexts < summed.ciphertexts:
                yield made
        period //= 2

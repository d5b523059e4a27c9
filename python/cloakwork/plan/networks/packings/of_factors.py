"""Packings of products of two values, such as queries and keys, each repeated along other axes.

One factor's copies lie one after another, as they are; a copy for each distance at which elements
of the other lie from those that they meet. So the first takes no rotation, and the second one for
each copy:

    first           a b c d | a b c d | a b c d | a b c d
    second          a b c d | b c d a | c d a b | d a b c

Where sums over an axis of the second are wanted, as of values by attention, the copies of their
places do the same, and sums are those of whole ciphertexts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.matrix import Elements
from cloakwork.plan.networks.packings.copies import Copies
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import CiphertextProduct, MatrixProduct
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.places import Places

_Indices = NDArray[np.int64]
# By the stages of product and operand what the product's matrix copies; None of other matrices.
CopiesOf: TypeAlias = Mapping[tuple[int, int], Copies | None]


def of_factors(
    network: StagedNetwork,
    number: int,
    packings: Mapping[int, Sequence[Places]],
    copies_of: CopiesOf,
) -> Iterator[Places]:
    """The packings that a product of two values may have, of those of what it repeats.

    Args:
        network: The network.
        number: The product's stage.
        packings: Those of each group.
        copies_of: What products with matrices copy.
    """
    stage = network.stages[number]
    assert isinstance(stage, CiphertextProduct)
    left, right = (
        _factor(network, each, packings, copies_of) for each in (stage.left, stage.right)
    )
    if left is None or right is None:
        return
    factors = left, right
    for (copies, own), (others, of_other) in permutations(factors, 2):
        for places in own:
            for other in of_other:
                if places.name == other.name:
                    first = places.places[copies.elements]
                    yield from _by_distance(first, other, others, places.name)
    for sums in _sums_of(network, number):
        for copies, own in factors:
            among = _among(sums, copies.elements[sums.columns])
            if among is None:
                continue
            for places in own:
                first = np.empty(len(copies.elements), dtype=np.int64)
                first[sums.columns] = places.places[among][sums.rows]
                yield from _by_distance(first, places, copies, f"sums in {places.name}")


def _factor(
    network: StagedNetwork,
    operand: int,
    packings: Mapping[int, Sequence[Places]],
    copies_of: CopiesOf,
) -> tuple[Copies, Sequence[Places]] | None:
    """What a factor copies, and the packings of that; None where it does something else."""
    stage = network.stages[operand]
    if not isinstance(stage, MatrixProduct) or len(stage.terms) != 1:
        return None
    (source,) = stage.terms
    copies = copies_of.get((operand, source))
    return None if copies is None else (copies, packings[network.groups[source]])


def _sums_of(network: StagedNetwork, number: int) -> Iterator[Elements]:
    """The matrices that sum elements of a product, each in one sum."""
    for later, operand in network.products:
        matrix = network.matrix(later, operand)
        if operand == number and matrix.sums_each_once:
            yield matrix.elements()


def _by_distance(first: _Indices, other: Places, others: Copies, name: str) -> Iterator[Places]:
    """Copies of a pattern, one for each distance to the elements of the other factor.

    There are none where elements at one place have one distance.

    Example:
        >>> others = Copies(np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1]))
        >>> pair = Places(4, np.array([0, 1]))
        >>> found = _by_distance(np.array([0, 0, 1, 1]), pair, others, "in order")
        >>> [each.places.tolist() for each in found]
        [[0, 2, 1, 3]]
    """
    distances = (other.places[others.elements] - first) % other.period
    copies = _ranks(distances)
    period = power_of_two(int(first.max()) + 1)
    made = copies * period + first
    if np.bincount(made).max() == 1:
        yield Places(other.slots, made, f"by distance, copies of {period}, {name}")


def _ranks(numbers: _Indices) -> _Indices:
    """How many different numbers are less than each: marked, as sorting millions takes seconds.

    Example:
        >>> _ranks(np.array([5, 2, 5])).tolist()
        [1, 0, 1]
    """
    found = np.bincount(numbers) > 0
    ranks: _Indices = np.cumsum(found) - 1
    return ranks[numbers]


def _among(sums: Elements, elements: _Indices) -> _Indices | None:
    """For each sum the element that its place is; None where there are too few.

    Sums of the same elements share these, in their order.
    """
    count = int(sums.rows.max()) + 1
    terms = np.bincount(sums.rows, minlength=count)
    if (terms != terms[0]).any():
        return None
    size = int(elements.max()) + 1
    sets = (np.sort(sums.rows.astype(np.int64) * size + elements) % size).reshape(count, -1)
    _, kinds = np.unique(sets, axis=0, return_inverse=True)
    kinds = kinds.ravel()
    order = np.argsort(kinds, kind="stable")
    starts = np.searchsorted(kinds[order], kinds[order])
    ranks = np.empty(count, dtype=np.int64)
    ranks[order] = np.arange(count) - starts
    if ranks.max() >= sets.shape[1]:
        return None
    return sets[np.arange(count), ranks]

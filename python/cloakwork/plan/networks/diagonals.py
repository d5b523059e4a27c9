"""Products of packed tensors with clear matrices: their diagonals, their cost, the program.

Only the elements of the matrix that are not zero are ever touched. An element that takes
place p to place q lies on diagonal p - q; as packings repeat, it counts modulo the shorter of
the two periods. A result with a shorter period than the operand is therefore spread over
several copies of its pattern, and the copies are summed by rotations at the end: the hybrid
method of Juvekar, Vaikuntanathan, Chandrakasan, "Gazelle", USENIX Security 2018, section 4.
Diagonals are split by baby and giant steps as in Orion (Ebel, Garimella, Reagen, ASPLOS 2025,
section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.places import Places
from cloakwork.programs.slots import Add, Builder, Linear, Rescale, Rotate
from cloakwork.runtime.costs import Costs

_Indices = NDArray[np.int64]


# For numbers of 32 bits.
_TOO_LARGE = 1 << 31


@dataclass(frozen=True, slots=True, eq=False)
class ClearMatrix:
    """A matrix by its elements.

    Args:
        rows: Element of the result of each.
        columns: Element of the operand of each.
        weights: Factors.

    Example:
        >>> ClearMatrix(np.array([0, 1]), np.array([1, 0]), np.ones(2)).rows.tolist()
        [0, 1]
    """

    rows: NDArray[Any]
    columns: NDArray[Any]
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ProductCost:
    """What a product takes.

    Args:
        rotations: Rotations, baby and giant steps and those at the end.
        diagonals: Diagonals.
        price: In the unit of the costs.
    """

    rotations: int
    diagonals: int
    price: float


def product_cost(
    matrix: ClearMatrix, operand: Places, result: Places, costs: Costs, level: int
) -> ProductCost:
    """What a product costs whose operand stands at a level.

    Example:
        >>> from cloakwork.runtime.costs import modelled
        >>> matrix = ClearMatrix(*np.divmod(np.arange(32), 16), np.ones(32))
        >>> wide, narrow = Places(16, np.arange(16)), Places(16, np.arange(2))
        >>> cost = product_cost(matrix, wide, narrow, modelled([1, 2], 1), level=1)
        >>> cost.diagonals, cost.rotations
        (2, 4)
    """
    modulus = min(operand.period, result.period)
    blocks = operand.ciphertexts * result.ciphertexts
    # A layer of images has millions of elements.
    numbered = max(blocks * modulus, operand.slots * max(operand.ciphertexts, result.ciphertexts))
    word = np.int32 if numbered < _TOO_LARGE else np.int64
    sources: NDArray[Any] = operand.places.astype(word)[matrix.columns]
    targets: NDArray[Any] = result.places.astype(word)[matrix.rows]
    # Periods and slots are powers of two.
    keys = sources - targets & modulus - 1
    if blocks > 1:
        shift = operand.slots.bit_length() - 1
        keys += ((sources >> shift) * result.ciphertexts + (targets >> shift)) * modulus
    counts = np.bincount(keys, minlength=blocks * modulus)
    prices = costs.at(level)
    hoisted = costs.hoisted_share(level)
    rotations = diagonals = 0
    price = 0.0
    for block in counts.reshape(-1, modulus):
        numbers = np.flatnonzero(block)
        if not len(numbers):
            continue
        split = cheapest_split(numbers, modulus, hoisted)
        rotations += split.rotations
        diagonals += len(numbers)
        price += prices.linear + prices.diagonal * len(numbers)
        price += prices.baby_step * len(split.baby) + prices.giant_step * len(split.giant)
    folds = len(fold_steps(operand, result)) * result.ciphertexts
    below = costs.at(level - 1)
    price += prices.rescale * result.ciphertexts + folds * (below.rotation + below.addition)
    return ProductCost(rotations + folds, diagonals, price)


def fold_steps(operand: Places, result: Places) -> list[int]:
    """The rotations that sum the copies of a result whose period is the shorter.

    Example:
        >>> fold_steps(Places(16, np.arange(16)), Places(16, np.arange(4)))
        [4, 8]
    """
    steps: list[int] = []
    step = result.period
    while step < operand.period:
        steps.append(step)
        step *= 2
    return steps


def append_product(
    builder: Builder,
    values: Sequence[int],
    matrix: ClearMatrix,
    operand: Places,
    result: Places,
    hoisted: float,
) -> list[int | None]:
    """Append the product of a packed tensor with a matrix, not rescaled and not yet folded."""
    slots, batch = operand.slots, builder.slots // operand.slots
    products: list[int | None] = [None] * result.ciphertexts
    for number, other, here in _blocks(matrix, operand, result):
        linear = _linear(
            values[other],
            operand.places[matrix.columns[here]] % slots,
            result.places[matrix.rows[here]] % slots,
            matrix.weights[here],
            (slots, operand.period, result.period, batch),
            hoisted,
        )
        made = builder.append(linear)
        before = products[number]
        products[number] = made if before is None else builder.append(Add(before, made))
    return products


def _blocks(
    matrix: ClearMatrix, operand: Places, result: Places
) -> Iterator[tuple[int, int, _Indices | slice]]:
    """For each pair of ciphertexts, of result and operand, the elements between them, if any."""
    wide, count = operand.ciphertexts, result.ciphertexts * operand.ciphertexts
    if count == 1:
        if len(matrix.rows):
            yield 0, 0, slice(None)
        return
    # Short words are sorted by their digits, once for all pairs.
    word = np.uint16 if count <= np.iinfo(np.uint16).max else np.uint32
    of_result = (result.places // result.slots * wide).astype(word)
    of_operand = (operand.places // operand.slots).astype(word)
    keys = of_result[matrix.rows] + of_operand[matrix.columns]
    order = np.argsort(keys, kind="stable")
    ends = np.cumsum(np.bincount(keys, minlength=count))
    start = 0
    for block, end in enumerate(ends.tolist()):
        if end > start:
            yield block // wide, block % wide, order[start:end]
        start = end


def _linear(
    value: int,
    sources: _Indices,
    targets: _Indices,
    weights: NDArray[np.float64],
    periods: tuple[int, int, int, int],
    hoisted: float,
) -> Linear:
    """The transform of one ciphertext into one: elements repeated over all copies and inputs."""
    slots, operand_period, result_period, batch = periods
    if not weights.any():
        # A program has no transform without a diagonal.
        return Linear(value, {0: np.zeros(slots * batch)}, 1)
    modulus = min(operand_period, result_period)
    numbers = (sources - targets) % modulus
    split = cheapest_split(np.unique(numbers), modulus, hoisted)
    baby_steps = split.baby_steps
    counted = rotations = np.asarray(split.numbers)
    if modulus < slots:
        # Giant steps that differ by a period are one rotation only if they are one number, and
        # giant steps at all only if they are multiples of the baby steps.
        baby = counted % baby_steps
        giant = counted - baby
        rest = giant % modulus
        _, firsts, same = np.unique(rest, return_index=True, return_inverse=True)
        rotations = np.where(rest % baby_steps == 0, rest, giant[firsts][same]) + baby
    by_number = np.zeros(modulus, dtype=np.int64)
    by_number[counted % modulus] = rotations
    steps = by_number[numbers]
    # Where the result repeats sooner, the source says which of its copies takes the element.
    longer = max(operand_period, result_period)
    first = (sources - steps) % longer if operand_period >= result_period else targets
    copies = np.add.outer(np.arange(0, slots, longer) * batch, np.arange(batch)).ravel()
    diagonals = SparseDiagonals.repeated(
        slots * batch, steps * batch, first * batch, weights, copies
    )
    counted_by = {int(step) % slots * batch: int(step) * batch for step in rotations}
    counts = np.asarray([counted_by[int(number)] for number in diagonals.numbers])
    return Linear(value, diagonals.counted(counts), baby_steps * batch)


def folded(builder: Builder, value: int, operand: Places, result: Places) -> int:
    """Rescale a product and sum the copies of its pattern."""
    batch = builder.slots // operand.slots
    total = builder.append(Rescale(value))
    for step in fold_steps(operand, result):
        total = builder.append(Add(total, builder.append(Rotate(total, step * batch))))
    return total

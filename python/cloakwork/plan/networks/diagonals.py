"""Products of packed tensors with clear matrices: their diagonals, their cost, the program.

An element of the matrix that takes place p to place q lies on diagonal p - q; as packings repeat,
it counts modulo the shorter of the two periods. A weight between channels is laid down once for all
pairs of pixels that are as far apart (`plan.networks.laid_down`). A result with a shorter period
than the operand is spread over several copies of its pattern, and the copies are summed by
rotations at the end: the hybrid method of Juvekar, Vaikuntanathan, Chandrakasan, "Gazelle", USENIX
Security 2018, section 4. Diagonals are split by baby and giant steps as in Orion (Ebel, Garimella,
Reagen, ASPLOS 2025, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.laid_down import Periods, WeightsOfPatterns, laid_down
from cloakwork.plan.networks.matrix import Matrix
from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.places import Places
from cloakwork.programs.slots import Add, Builder, Linear, Rescale, Rotate
from cloakwork.runtime.costs import Costs


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


def diagonals_between(matrix: Matrix, operand: Places, result: Places) -> list[NDArray[np.int64]]:
    """The diagonals of a product, for every pair of ciphertexts that has any.

    Example:
        >>> wide, narrow = Places(16, np.arange(16)), Places(16, np.arange(2))
        >>> [each.tolist() for each in diagonals_between(Matrix.of(np.ones((2, 16))), wide, narrow)]
        [[0, 1]]
    """
    marks = laid_down(matrix, operand, result).marks(min(operand.period, result.period))
    return [found for block in marks if len(found := np.flatnonzero(block))]


def cost_of_diagonals(
    found: Sequence[NDArray[np.int64]], operand: Places, result: Places, costs: Costs, level: int
) -> ProductCost:
    """What a product costs whose operand stands at a level, given its diagonals.

    Example:
        >>> from cloakwork.runtime.costs import modelled
        >>> wide, narrow = Places(16, np.arange(16)), Places(16, np.arange(2))
        >>> found = diagonals_between(Matrix.of(np.ones((2, 16))), wide, narrow)
        >>> cost = cost_of_diagonals(found, wide, narrow, modelled([1, 2], 1), level=1)
        >>> cost.diagonals, cost.rotations
        (2, 4)
    """
    modulus = min(operand.period, result.period)
    prices = costs.at(level)
    hoisted = costs.hoisted_share(level)
    rotations = diagonals = 0
    price = 0.0
    for numbers in found:
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
    matrix: Matrix,
    operand: Places,
    result: Places,
    hoisted: float,
) -> list[int | None]:
    """Append the product of a packed tensor with a matrix, not rescaled and not yet folded."""
    products: list[int | None] = [None] * result.ciphertexts
    batch = builder.slots // operand.slots
    periods = Periods(operand.slots, operand.period, result.period, batch)
    laid = laid_down(matrix, operand, result)
    weights = laid.weights_of_patterns(periods)
    for (number, other), block in weights.by_result(operand.ciphertexts, result.ciphertexts):
        made = builder.append(_linear(values[other], block, periods, hoisted))
        before = products[number]
        products[number] = made if before is None else builder.append(Add(before, made))
    return products


def _linear(value: int, weights: WeightsOfPatterns, periods: Periods, hoisted: float) -> Linear:
    """The transform of one ciphertext into one: elements repeated over all copies and inputs."""
    slots, batch, modulus = periods.slots, periods.batch, periods.shorter
    if not weights.weights.any():
        # A program has no transform without a diagonal.
        return Linear(value, {0: np.zeros(slots * batch)}, 1)
    numbers = weights.distances % modulus
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
    first = weights.places - steps if periods.by_source else weights.places
    diagonals = SparseDiagonals.repeated(
        slots * batch,
        steps * batch,
        first % periods.longer * batch,
        weights.weights,
        weights.patterns,
        weights.pattern_of,
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

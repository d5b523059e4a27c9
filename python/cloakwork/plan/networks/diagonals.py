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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.laid_down import Periods, WeightsOfPatterns, laid_down
from cloakwork.plan.networks.matrix import Matrix
from cloakwork.programs.bsgs import Split, cheapest_common_split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.places import Places
from cloakwork.programs.slots import Add, Builder, Linear, Rescale, Rotate
from cloakwork.runtime.costs import Costs

# The diagonals of a product by the numbers of the ciphertexts of the operand and the result.
BlockDiagonals: TypeAlias = Mapping[tuple[int, int], NDArray[np.int64]]


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


def diagonals_between(matrix: Matrix, operand: Places, result: Places) -> BlockDiagonals:
    """The diagonals of a product, for every pair of ciphertexts that has any.

    Example:
        >>> wide, narrow = Places(16, np.arange(16)), Places(16, np.arange(2))
        >>> found = diagonals_between(Matrix.of(np.ones((2, 16))), wide, narrow)
        >>> {pair: each.tolist() for pair, each in found.items()}
        {(0, 0): [0, 1]}
    """
    marks = laid_down(matrix, operand, result).marks(min(operand.period, result.period))
    return {
        divmod(block, result.ciphertexts): found
        for block, each in enumerate(marks)
        if len(found := np.flatnonzero(each))
    }


@dataclass(frozen=True, slots=True, eq=False)
class _CommonSteps:
    """How the diagonals of all transforms of a product are split.

    Args:
        modulus: What diagonals count by.
        split: The split of all of them.
        counted: Each diagonal from 0 up to the modulus as the split counts it.
    """

    modulus: int
    split: Split
    counted: NDArray[np.int64]

    @classmethod
    def of(cls, found: BlockDiagonals, modulus: int, hoisted: float) -> _CommonSteps:
        """The cheapest for what transforms share."""
        split, _ = cheapest_common_split(found, modulus, hoisted)
        numbers = np.asarray(split.numbers)
        counted = np.zeros(modulus, dtype=np.int64)
        counted[numbers % modulus] = numbers
        return cls(modulus, split, counted)

    def rotations(self, found: BlockDiagonals) -> tuple[int, int]:
        """The baby steps and the giant steps that rotate."""
        babies: set[tuple[int, bytes]] = set()
        giants: dict[int, set[int]] = {}
        for (operand, result), numbers in found.items():
            counted = self.counted[numbers]
            baby = counted % self.split.baby_steps
            babies.add((operand, np.unique(baby).tobytes()))
            giants.setdefault(result, {0}).update(((counted - baby) % self.modulus).tolist())
        rotating = sum(int(np.count_nonzero(np.frombuffer(each, np.int64))) for _, each in babies)
        return rotating, sum(len(steps) - 1 for steps in giants.values())


def cost_of_diagonals(
    found: BlockDiagonals, operand: Places, result: Places, costs: Costs, level: int
) -> ProductCost:
    """What a product costs whose operand stands at a level, given its diagonals.

    Transforms of one ciphertext by the same baby steps share these, and those into one ciphertext
    share giant steps.

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
    rotations = diagonals = 0
    price = 0.0
    if found:
        steps = _CommonSteps.of(found, modulus, costs.hoisted_share(level))
        babies, giants = steps.rotations(found)
        rotations = babies + giants
        diagonals = sum(map(len, found.values()))
        price += prices.linear * len({into for _, into in found}) + prices.diagonal * diagonals
        price += prices.baby_step * babies + prices.giant_step * giants
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
    blocks = dict(weights.by_result(operand.ciphertexts, result.ciphertexts))
    rotations = _ProductSteps.of(blocks, periods, hoisted)
    for (number, other), block in blocks.items():
        made = builder.append(_linear(values[other], block, periods, rotations))
        before = products[number]
        products[number] = made if before is None else builder.append(Add(before, made))
    return products


@dataclass(frozen=True, slots=True, eq=False)
class _ProductSteps:
    """By what all transforms of a product rotate.

    Args:
        baby_steps: Giant steps are multiples of it.
        steps: For each diagonal, from 0 up to the shorter period, the rotation of it.
    """

    baby_steps: int
    steps: NDArray[np.int64]

    @classmethod
    def of(
        cls, blocks: Mapping[tuple[int, int], WeightsOfPatterns], periods: Periods, hoisted: float
    ) -> _ProductSteps:
        """Those that cost least for what transforms share."""
        modulus = periods.shorter
        found = {
            (operand, result): np.unique(block.distances % modulus)
            for (result, operand), block in blocks.items()
            if block.weights.any()
        }
        if not found:
            return cls(1, np.zeros(modulus, dtype=np.int64))
        common = _CommonSteps.of(found, modulus, hoisted)
        baby_steps = common.split.baby_steps
        counted = rotations = np.asarray(common.split.numbers)
        if modulus < periods.slots:
            # Giant steps that differ by a period are one rotation only if they are one number, and
            # giant steps at all only if they are multiples of the baby steps.
            baby = counted % baby_steps
            giant = counted - baby
            rest = giant % modulus
            _, firsts, same = np.unique(rest, return_index=True, return_inverse=True)
            rotations = np.where(rest % baby_steps == 0, rest, giant[firsts][same]) + baby
        steps = np.zeros(modulus, dtype=np.int64)
        steps[counted % modulus] = rotations
        return cls(baby_steps, steps)


def _linear(
    value: int, weights: WeightsOfPatterns, periods: Periods, rotations: _ProductSteps
) -> Linear:
    """The transform of one ciphertext into one: elements repeated over all copies and inputs."""
    slots, batch = periods.slots, periods.batch
    if not weights.weights.any():
        # A program has no transform without a diagonal.
        return Linear(value, {0: np.zeros(slots * batch)}, 1)
    steps = rotations.steps[weights.distances % periods.shorter]
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
    counted_by = {step % slots * batch: step * batch for step in np.unique(steps).tolist()}
    counts = np.asarray([counted_by[int(number)] for number in diagonals.numbers])
    return Linear(value, diagonals.counted(counts), rotations.baby_steps * batch)


def folded(builder: Builder, value: int, operand: Places, result: Places) -> int:
    """Rescale a product and sum the copies of its pattern."""
    batch = builder.slots // operand.slots
    total = builder.append(Rescale(value))
    for step in fold_steps(operand, result):
        total = builder.append(Add(total, builder.append(Rotate(total, step * batch))))
    return total

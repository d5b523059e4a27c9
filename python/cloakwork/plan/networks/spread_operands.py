"""Operands of matrices that fill a small part of the slots, copied so that fewer diagonals do.

A vector of n elements is repeated over all slots, and a product with an n x n matrix then has n
diagonals, each of which does the same in every copy. Where each copy is turned by another number of
elements, one diagonal is a different one of the matrix in every copy:

    operand      a b c d | a b c d
    turned by 2  a b c d | c d a b
    diagonals    0 and 2,  1 and 3

The copies of the result are summed by rotations, as those of any that repeats sooner. So n^2
elements over s slots take n^2 / s diagonals, beside those that turn the copies, and a level for
that; all matrices of one operand share them. It is the method of Halevi and Shoup ("Algorithms in
HElib", CRYPTO 2014) on as many blocks of diagonals as there are copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.matrix import Elements, Matrix, Sparse
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import (
    ActivationStage,
    CiphertextProduct,
    DistanceProduct,
    EncryptedInput,
    MatrixProduct,
    Stage,
)
from cloakwork.programs.layout import power_of_two

# A matrix with fewer of its elements has fewer diagonals, too.
_FILLED = 0.25
# Diagonals that a level takes as long as.
_OF_A_LEVEL = 64


@dataclass(frozen=True, slots=True)
class TurnedCopies:
    """Copies of a vector over all slots, of which so many are turned by one and the same number.

    Args:
        size: Elements of the vector.
        period: Slots of a copy.
        count: How many copies there are.
        alike: How many in a row are turned alike.
        step: By how many more elements the next ones are turned.

    Example:
        >>> copies = TurnedCopies(size=4, period=4, count=2, alike=1, step=2)
        >>> copies.places.reshape(2, 4).tolist()
        [[0, 1, 2, 3], [6, 7, 4, 5]]
    """

    size: int
    period: int
    count: int
    alike: int
    step: int

    @classmethod
    def of(cls, size: int, results: Sequence[int], slots: int) -> TurnedCopies | None:
        """Those for matrices between such a vector and some results; None where they do not pay.

        Args:
            size: Elements of the vector.
            results: Elements of each result.
            slots: Slots of a ciphertext.
        """
        period = power_of_two(size)
        periods = [power_of_two(each) for each in results]
        alike = max(1, *(each // period for each in periods))
        shorter = [min(period, each) for each in periods]
        count = slots // period
        if max(periods) > slots or count < 2 * alike:
            return None
        step = max(1, max(shorter) * alike // count)
        turns = max(shorter) // step
        saved = sum(shorter) - step * len(shorter) - turns
        return cls(size, period, count, alike, step) if saved > _OF_A_LEVEL else None

    @property
    def places(self) -> NDArray[np.int64]:
        """The place of each element of each copy."""
        copies, elements = np.indices((self.count, self.size))
        turned = (elements - copies // self.alike * self.step) % self.period
        return np.asarray(copies * self.period + turned).ravel()

    @property
    def matrix(self) -> Matrix:
        """What makes the copies."""
        columns = np.tile(np.arange(self.size), self.count)
        ones = np.ones(len(columns)), (np.arange(len(columns)), columns)
        return Matrix.of(Sparse(ones, shape=(len(columns), self.size)))

    def spread(self, matrix: Matrix) -> Matrix:
        """A matrix of the vector as one of its copies, each element in the copy that has it."""
        found = matrix.elements()
        copies = self._copies_of(found, power_of_two(matrix.shape[0]))
        columns = copies * self.size + found.columns
        shape = matrix.shape[0], self.count * self.size
        return Matrix.of(Sparse((found.weights, (found.rows, columns)), shape=shape))

    def _copies_of(self, elements: Elements, period: int) -> NDArray[np.int64]:
        """The copy in which each element of a matrix is less than a step from its row."""
        rows, columns = (np.asarray(each, np.int64) for each in (elements.rows, elements.columns))
        distances = (columns - rows) % min(self.period, period)
        turns, rest = np.divmod(distances, self.step)
        # Where the result is longer, its row says which of the copies that are turned alike.
        return turns * self.alike + (rows + rest) % period // self.period


def with_operands_spread(network: StagedNetwork, slots: int) -> StagedNetwork:
    """The same network, with operands of large matrices as turned copies where that pays.

    Args:
        network: The network.
        slots: Slots of an input in a ciphertext.
    """
    copies = _copies(network, slots)
    if not copies:
        return network
    stages: list[Stage] = []
    renamed: list[int] = []
    spread: dict[int, int] = {}
    for number, stage in enumerate(network.stages):
        stages.append(_moved(network, number, renamed, copies, spread))
        renamed.append(len(stages) - 1)
        if number in copies:
            stages.append(_copied(stage, renamed[-1], copies[number]))
            spread[number] = len(stages) - 1
    outputs = tuple(renamed[number] for number in network.outputs)
    return replace(network, stages=tuple(stages), outputs=outputs)


def _copies(network: StagedNetwork, slots: int) -> dict[int, TurnedCopies]:
    """The copies of each stage that are worth it."""
    results: dict[int, list[int]] = {}
    for number, operand in network.products:
        if _is_large(network.matrix(number, operand)):
            results.setdefault(operand, []).append(network.matrix(number, operand).shape[0])
    found = {
        operand: TurnedCopies.of(prod(network.stages[operand].shape), sizes, slots)
        for operand, sizes in results.items()
    }
    return {operand: each for operand, each in found.items() if each is not None}


def _is_large(matrix: Matrix) -> bool:
    return not matrix.is_structured and matrix.nnz >= _FILLED * prod(matrix.shape)


def _copied(stage: Stage, number: int, copies: TurnedCopies) -> MatrixProduct:
    """The copies of a stage of a number."""
    matrix = copies.matrix
    size = matrix.shape[0]
    return MatrixProduct(
        stage.name,
        (size,),
        (stage.name,),
        {number: matrix},
        np.zeros(size),
        stage.node,
        copies.places,
    )


def _moved(
    network: StagedNetwork,
    number: int,
    renamed: Sequence[int],
    copies: dict[int, TurnedCopies],
    spread: dict[int, int],
) -> Stage:
    """A stage by the new numbers of its operands, large matrices as those of copies."""
    stage = network.stages[number]
    match stage:
        case MatrixProduct(terms=terms):
            made: dict[int, Matrix] = {}
            for operand, matrix in terms.items():
                if operand in spread and _is_large(matrix):
                    made[spread[operand]] = copies[operand].spread(matrix)
                else:
                    made[renamed[operand]] = matrix
            return replace(stage, terms=made)
        case ActivationStage(operand=operand):
            return replace(stage, operand=renamed[operand])
        case CiphertextProduct(left=left, right=right) | DistanceProduct(left=left, right=right):
            return replace(stage, left=renamed[left], right=renamed[right])
        case EncryptedInput():
            return stage

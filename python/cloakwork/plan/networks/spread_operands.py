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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from cloakwork.plan.networks.matrix import Matrix
from cloakwork.plan.networks.packings.convolution import image_grids, plain
from cloakwork.plan.networks.packings.product_prices import ProductPrices
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import (
    ActivationStage,
    CiphertextProduct,
    DistanceProduct,
    EncryptedInput,
    MatrixProduct,
    Stage,
)
from cloakwork.plan.networks.turned_copies import FILLED, TurnedCopies
from cloakwork.plan.networks.turned_images import ImageProduct, TurnedImages, best_grid
from cloakwork.programs.places import Places

# What products take of what is counted for them, beside a bootstrap: most of it is steps, which
# are faster than that (`explain.modelled`).
_SHARE_OF_PRODUCTS = 0.4


@dataclass(frozen=True, slots=True)
class _Spread:
    """Copies of an operand.

    Args:
        copies: The copies.
        into: The stages that multiply them.
        saved: What these take less, turning included.
    """

    copies: TurnedCopies | TurnedImages
    into: frozenset[int]
    saved: float


@dataclass(frozen=True, slots=True)
class _MatrixProduct:
    """A product with a large matrix.

    Args:
        number: The stage that it is.
        matrix: The matrix.
        result: The result, where its operand is copied.
        price: What it takes of an operand as it is.
    """

    number: int
    matrix: Matrix
    result: Places
    price: float


def with_operands_spread(
    network: StagedNetwork, slots: int, prices: ProductPrices, level_price: float
) -> StagedNetwork:
    """The same network, with operands of large matrices as turned copies where that pays.

    Args:
        network: The network.
        slots: Slots of an input in a ciphertext.
        prices: What products cost at level 1, where all are taken to be.
        level_price: What a level of a ciphertext costs.
    """
    found = _of_images(network, slots, prices) | _of_vectors(network, slots, prices)
    least = level_price / _SHARE_OF_PRODUCTS
    spreads = {operand: each for operand, each in found.items() if each.saved > least}
    if not spreads:
        return network
    stages: list[Stage] = []
    renamed: list[int] = []
    copied: dict[int, int] = {}
    for number, stage in enumerate(network.stages):
        stages.append(_moved(network, number, renamed, spreads, copied))
        renamed.append(len(stages) - 1)
        if number in spreads:
            stages.append(_copied(stage, renamed[-1], spreads[number]))
            copied[number] = len(stages) - 1
    outputs = tuple(renamed[number] for number in network.outputs)
    return replace(network, stages=tuple(stages), outputs=outputs)


def _of_vectors(network: StagedNetwork, slots: int, prices: ProductPrices) -> dict[int, _Spread]:
    """Copies of the operands of large matrices without structure."""
    large: dict[int, list[int]] = {}
    for number, operand in network.products:
        matrix = network.matrix(number, operand)
        if not matrix.is_structured and matrix.nnz >= FILLED * prod(matrix.shape):
            large.setdefault(operand, []).append(number)
    found: dict[int, _Spread] = {}
    for operand, into in large.items():
        size, *results = (prod(network.stages[each].shape) for each in (operand, *into))
        copies = TurnedCopies.of(size, results, slots)
        if copies is not None:
            packing = plain(size, slots)
            products: list[_MatrixProduct] = []
            for number, rows in zip(into, results, strict=True):
                matrix, result = network.matrix(number, operand), plain(rows, slots)
                price = prices.price(matrix, packing, result, 1)
                products.append(_MatrixProduct(number, matrix, result, price))
            found[operand] = _spread(copies, packing, products, prices)
    return found


def _of_images(network: StagedNetwork, slots: int, prices: ProductPrices) -> dict[int, _Spread]:
    """Copies of the operands of large convolutions."""
    between: dict[tuple[int, int], ImageProduct] = {}
    for number, operand in network.products:
        images = network.images[operand], network.images[number]
        if all(len(each.shape) == 3 and each.strides is not None for each in images):
            between[number, operand] = ImageProduct(network.matrix(number, operand), *images)
    large: dict[int, dict[int, ImageProduct]] = {}
    for (number, operand), each in between.items():
        if each.is_large:
            large.setdefault(operand, {})[number] = each
    if not large:
        return {}
    grids = image_grids(network.images)
    grid = best_grid(list(between.values()), grids, slots, prices.known)
    found: dict[int, _Spread] = {}
    for operand, into in large.items():
        copies = TurnedImages.of(list(into.values()), grid, slots)
        if copies is not None:
            products: list[_MatrixProduct] = []
            for number, each in into.items():
                packings = [each.packings(other, slots) for other in grids]
                price = min(prices.price(each.matrix, *pair, 1) for pair in packings if pair)
                result = grid.packing(each.result, slots)
                assert result is not None
                products.append(_MatrixProduct(number, each.matrix, result, price))
            found[operand] = _spread(copies, copies.packing, products, prices)
    return found


def _spread(
    copies: TurnedCopies | TurnedImages,
    packing: Places,
    products: Sequence[_MatrixProduct],
    prices: ProductPrices,
) -> _Spread:
    """Copies of an operand of a packing for some products."""
    turned = Places(packing.slots, copies.places)
    saved = -prices.price(copies.matrix, packing, turned, 1)
    for each in products:
        saved += each.price - prices.price(copies.spread(each.matrix), turned, each.result, 1)
    return _Spread(copies, frozenset(each.number for each in products), saved)


def _copied(stage: Stage, number: int, spread: _Spread) -> MatrixProduct:
    """The copies of a stage of a number."""
    matrix = spread.copies.matrix
    size = matrix.shape[0]
    return MatrixProduct(
        stage.name,
        (size,),
        (stage.name,),
        {number: matrix},
        np.zeros(size),
        stage.node,
        spread.copies.places,
    )


def _moved(
    network: StagedNetwork,
    number: int,
    renamed: Sequence[int],
    spreads: Mapping[int, _Spread],
    copied: Mapping[int, int],
) -> Stage:
    """A stage by the new numbers of its operands, large matrices as those of copies."""
    stage = network.stages[number]
    match stage:
        case MatrixProduct(terms=terms):
            made: dict[int, Matrix] = {}
            for operand, matrix in terms.items():
                if operand in spreads and number in spreads[operand].into:
                    made[copied[operand]] = spreads[operand].copies.spread(matrix)
                else:
                    made[renamed[operand]] = matrix
            return replace(stage, terms=made)
        case ActivationStage(operand=operand):
            return replace(stage, operand=renamed[operand])
        case CiphertextProduct(left=left, right=right) | DistanceProduct(left=left, right=right):
            return replace(stage, left=renamed[left], right=renamed[right])
        case EncryptedInput():
            return stage

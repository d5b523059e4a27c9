"""The packings of all stages of a network, chosen together by cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.packings.convolution import (
    Grid,
    Image,
    ImageGrid,
    TokenRows,
    image_grids,
    plain,
    token_rows,
)
from cloakwork.plan.networks.packings.derived import derived_packings
from cloakwork.plan.networks.packings.product_prices import ProductDiagonals, ProductPrices
from cloakwork.plan.networks.staged import StagedNetwork, depth_of_stage
from cloakwork.plan.networks.stages import ActivationStage, CiphertextProduct, MatrixProduct
from cloakwork.programs.places import Places
from cloakwork.runtime.costs import Costs

# Of the diagonals that there might be between all ciphertexts of two packings: where channels lie
# that far apart, others are cheaper.
_MOST_DIAGONALS = 1 << 30
# Of the largest table by which choices are eliminated, 8 bytes each; no smaller network has one.
_LARGEST_TABLE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """What some choices cost together.

    Args:
        choices: The numbers of the choices, rising.
        table: The price of every combination, one axis for each.
    """

    choices: tuple[int, ...]
    table: NDArray[np.float64]


def cheapest(prices: Sequence[Prices], largest: int = _LARGEST_TABLE) -> dict[int, int]:
    """For each choice that has a price the option with which all prices sum to the least.

    Choices are eliminated one after another, by tables of what depends on each (Dechter, "Bucket
    elimination", 1999). Where a table would be too large, the choice that the most others depend on
    is settled first, and in the end no other option of a single choice is cheaper.

    Args:
        prices: The prices.
        largest: The most numbers of a table.

    Example:
        >>> left = Prices((0, 1), np.array([[0.0, 9.0], [9.0, 5.0]]))
        >>> right = Prices((1, 2), np.array([[8.0, 8.0], [1.0, 2.0]]))
        >>> cheapest([left, right])
        {2: 0, 1: 1, 0: 1}
        >>> cheapest([left, right], largest=2)
        {2: 0, 0: 1, 1: 1}
    """
    waiting = list(prices)
    settled: list[tuple[int, tuple[int, ...], NDArray[np.int64]]] = []
    is_exact = True
    while any(each.choices for each in waiting):
        choice = _loosest(waiting)
        bucket = [each for each in waiting if choice in each.choices]
        others = tuple(sorted({each for price in bucket for each in price.choices} - {choice}))
        sizes = {
            n: size
            for each in bucket
            for n, size in zip(each.choices, each.table.shape, strict=True)
        }
        if prod(sizes.values()) > largest and others:
            is_exact, shared = False, _most_shared(waiting, others)
            option = _likely_option(waiting, shared)
            settled.append((shared, (), np.asarray(option)))
            waiting = [_at(each, shared, option) for each in waiting]
            continue
        waiting = [each for each in waiting if choice not in each.choices]
        total = sum((_spread(price, (*others, choice)) for price in bucket), np.zeros(()))
        settled.append((choice, others, np.asarray(total.argmin(axis=-1))))
        waiting.append(Prices(others, total.min(axis=-1)))
    chosen: dict[int, int] = {}
    for choice, others, best in reversed(settled):
        chosen[choice] = int(best[tuple(chosen[each] for each in others)])
    return chosen if is_exact else _improved(prices, chosen)


def _most_shared(prices: Sequence[Prices], choices: Sequence[int]) -> int:
    """Of some choices the one that shares prices with the most others."""
    neighbours = _neighbours(prices)
    return max(choices, key=lambda choice: (len(neighbours[choice]), -choice))


def _likely_option(prices: Sequence[Prices], choice: int) -> int:
    """The option that would be cheapest if all other choices served it best."""
    least = [
        each.table.min(axis=tuple(n for n, other in enumerate(each.choices) if other != choice))
        for each in prices
        if choice in each.choices
    ]
    return int(np.sum(least, axis=0).argmin())


def _at(price: Prices, choice: int, option: int) -> Prices:
    """What is left of a price when a choice is settled."""
    if choice not in price.choices:
        return price
    others = tuple(each for each in price.choices if each != choice)
    left = price.table.take(option, axis=price.choices.index(choice))
    return Prices(others, np.asarray(left))


def _improved(prices: Sequence[Prices], chosen: dict[int, int]) -> dict[int, int]:
    """Options of which no single other one is cheaper."""
    of_choice = {choice: [each for each in prices if choice in each.choices] for choice in chosen}
    improved, is_settled = dict(chosen), False
    while not is_settled:
        is_settled = True
        for choice, own in of_choice.items():
            total = np.sum(
                [
                    each.table[
                        tuple(slice(None) if n == choice else improved[n] for n in each.choices)
                    ]
                    for each in own
                ],
                axis=0,
            )
            best = int(total.argmin())
            if total[best] < total[improved[choice]]:
                improved[choice], is_settled = best, False
    return improved


def _loosest(prices: Sequence[Prices]) -> int:
    """The choice that shares prices with the fewest others."""
    neighbours = _neighbours(prices)
    return min(neighbours, key=lambda choice: (len(neighbours[choice]), choice))


def _neighbours(prices: Sequence[Prices]) -> dict[int, set[int]]:
    """For each choice all that share a price with it."""
    neighbours: dict[int, set[int]] = {}
    for each in prices:
        for choice in each.choices:
            neighbours.setdefault(choice, set()).update(each.choices)
    return neighbours


def _spread(prices: Prices, choices: tuple[int, ...]) -> NDArray[np.float64]:
    """The table with an axis for each of these choices, of size 1 for those it has not."""
    order = [prices.choices.index(each) for each in choices if each in prices.choices]
    table = prices.table.transpose(order)
    return table.reshape(
        [
            prices.table.shape[prices.choices.index(each)] if each in prices.choices else 1
            for each in choices
        ]
    )


def chosen_packings(
    network: StagedNetwork,
    slots: int,
    costs: Costs,
    level_price: float = 0.0,
    known: ProductDiagonals | None = None,
) -> tuple[tuple[Places, ...], float]:
    """The packings of all stages that together cost least, and their price.

    Args:
        network: The network.
        slots: Slots of an input in a ciphertext.
        costs: What operations cost at each level.
        level_price: What a level of a ciphertext costs.
        known: The diagonals of products that are known, where they are asked for more than once.
    """
    options = _options(network, slots)
    products = ProductPrices(costs, known or ProductDiagonals())
    prices: list[Prices] = []
    for group, found in options.items():
        tally = np.asarray([each.ciphertexts for _, each in found], dtype=np.float64)
        prices.append(Prices((group,), tally * _own_price(network, group, costs, level_price)))
    for number, operand in network.products:
        matrix = network.matrix(number, operand)
        level = network.levels[number] + 1
        into, out = network.groups[operand], network.groups[number]
        table = np.full((len(options[into]), len(options[out])), np.inf)
        least = [min(each.ciphertexts for _, each in options[group]) for group in (into, out)]
        pairs = max(_MOST_DIAGONALS // slots, prod(least))
        for i, (grid, before) in enumerate(options[into]):
            for j, (other, after) in enumerate(options[out]):
                # From one grid to another hardly two elements share a diagonal.
                is_of_one = grid is None or other is None or grid == other
                if is_of_one and before.ciphertexts * after.ciphertexts <= pairs:
                    table[i, j] = products.price(matrix, before, after, level)
        if into == out:
            prices.append(Prices((into,), table.diagonal()))
        else:
            order = (into, out) if into < out else (out, into)
            prices.append(Prices(order, table if into < out else table.T))
    chosen = cheapest(prices)
    price = sum(float(each.table[tuple(chosen[n] for n in each.choices)]) for each in prices)
    return tuple(options[group][chosen[group]][1] for group in network.groups), price


def _options(network: StagedNetwork, slots: int) -> dict[int, list[tuple[Grid | None, Places]]]:
    """For each group the packings that it may have, and the grid of each."""
    if network.distances:
        return _options_of_rows(network, slots)
    grids: list[Grid] = [*image_grids(network.images), *token_rows(network.images)]
    options: dict[int, list[tuple[Grid | None, Places]]] = {}
    for group in sorted(set(network.groups)):
        images = [network.images[n] for n, each in enumerate(network.groups) if each == group]
        in_order = plain(prod(images[0].shape), slots)
        name = in_order.name
        found: list[tuple[Grid | None, Places]] = []
        for grid in grids:
            packings = (grid.packing(image, slots) for image in images)
            packing = next((each for each in packings if each is not None), None)
            if packing is None:
                continue
            if not np.array_equal(packing.places, in_order.places):
                found.append((grid, packing))
            elif isinstance(grid, ImageGrid):
                name = packing.name
        options[group] = [*found, (None, replace(in_order, name=name))]
    for number, stage in enumerate(network.stages):
        if isinstance(stage, MatrixProduct) and stage.places is not None:
            options[network.groups[number]] = [(None, Places(slots, stage.places, "turned copies"))]
    own = {group: [places for _, places in found] for group, found in options.items()}
    for group, derived in derived_packings(network, own).items():
        options[group] += [(None, places) for places in derived]
    return options


def _options_of_rows(
    network: StagedNetwork, slots: int
) -> dict[int, list[tuple[Grid | None, Places]]]:
    """The packings of groups where tokens go by distance, and with them all features in rows.

    What one ciphertext holds may lie in order as well.
    """
    placed = network.places_of_groups
    grids = dict.fromkeys(TokenRows(each.row, each.row * each.tokens) for each in network.distances)
    options: dict[int, list[tuple[Grid | None, Places]]] = {}
    for group in sorted(set(network.groups)):
        if group in placed:
            options[group] = [(None, Places(slots, placed[group], "tokens by distance"))]
            continue
        shape = network.images[group].shape
        found: list[tuple[Grid | None, Places]] = []
        for grid in grids:
            packing = grid.packing(Image(shape, None), slots)
            found += [] if packing is None else [(grid, packing)]
        found += [
            (None, Places(slots, each.places_of_heads(), "at each head's first slot"))
            for each in network.distances
            if shape == (each.tokens, each.heads) and each.tokens * each.row == slots
        ]
        if not found or prod(shape) <= slots:
            found.append((None, plain(prod(shape), slots)))
        options[group] = found
    return options


def _own_price(network: StagedNetwork, group: int, costs: Costs, level_price: float) -> float:
    """What the stages of a group cost for each ciphertext, products with matrices aside."""
    price = 0.0
    for number, stage in enumerate(network.stages):
        if network.groups[number] == group:
            level = costs.at(network.levels[number] + depth_of_stage(stage))
            price += depth_of_stage(stage) * level_price
            if isinstance(stage, ActivationStage | CiphertextProduct):
                price += depth_of_stage(stage) * (
                    level.product + level.relinearisation + level.rescale
                )
            else:
                # Each ciphertext is encrypted, sent and held.
                price += level.addition
    return price

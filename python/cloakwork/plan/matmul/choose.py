"""The cheapest way to multiply matrices of reals: ring, blocks, parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from cloakwork._native import Parameters
from cloakwork.errors import InvalidParametersError
from cloakwork.plan.matmul.budgets import Budgets, plannable, require_plannable
from cloakwork.plan.matmul.parameters import product_parameters, with_largest_scale
from cloakwork.plan.matmul.product import Product, families
from cloakwork.plan.matmul.waste import without_waste
from cloakwork.plan.parameters.rings import cheapest_of, is_dearer, same_kind
from cloakwork.plan.reals.options import RealOptions
from cloakwork.programs.matrices import Blocks
from cloakwork.schemes.encoded_cache import ciphertext_bytes

# The largest absolute values of the numbers of both operands.
Bounds: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to multiply matrices.

    Args:
        blocks: How slots are shared out.
        parameters: The parameters.
        cost: What a run costs, for comparison, vectors and keys included.
    """

    blocks: Blocks
    parameters: Parameters
    cost: float


def cheapest_choice(
    product: Product, bounds: Bounds, precision: float, options: RealOptions
) -> Choice:
    """The cheapest way within the memory and the keys that are allowed.

    Example:
        >>> product = Product(1, 512, 512, 512)
        >>> cheapest_choice(product, (1.0, 1.0), 12, RealOptions()).parameters.log_n
        12
    """
    # No ciphertext holds more numbers than its ring has coefficients.
    require_plannable(options.title, product.numbers >> max(options.rings))

    def attempt(log_n: int) -> Choice:
        return _cheapest_in_ring(product, bounds, precision, options, log_n)

    try:
        best = cheapest_of(options.rings, attempt, _cost, is_dearer(_cost))
    except InvalidParametersError as refusal:
        raise same_kind(refusal, f"cannot compile {options.title}: {refusal}") from refusal
    return replace(best, parameters=with_largest_scale(best.parameters))


def _cost(choice: Choice) -> float:
    return choice.cost


def _cheapest_in_ring(
    product: Product, bounds: Bounds, precision: float, options: RealOptions, log_n: int
) -> Choice:
    candidates = plannable(product, families(product, 1 << log_n - 1, 1, 2))
    found: list[Choice] = []
    refused: list[InvalidParametersError] = []
    # Shares of the inner index have errors and bounds of their own, and so have slots of two
    # numbers of the result.
    kinds = {(each.shares > 1, each.column_parts) for each in candidates}
    for kind in sorted(kinds):
        alike = [each for each in candidates if (each.shares > 1, each.column_parts) == kind]
        try:
            parameters = _parameters(product, alike, bounds, precision, options, log_n)
        except InvalidParametersError as error:
            refused.append(error)
            continue
        found += _priced(product, alike, parameters, options)
    if not found:
        raise refused[0]
    within = Budgets(options.key_budget, options.memory_limit).kept_by(
        options.title, found, _key_bytes, partial(_peak_bytes, product)
    )
    return min(without_waste(product, within), key=_cost)


def _parameters(
    product: Product,
    candidates: Sequence[Blocks],
    bounds: Bounds,
    precision: float,
    options: RealOptions,
    log_n: int,
) -> Parameters:
    """Parameters that serve all of some ways."""
    halves = math.sqrt(2.0)
    left, right = bounds
    return product_parameters(
        -(-product.inner // min(each.inner for each in candidates)),
        max(len(each.lane_sums()) for each in candidates),
        (
            halves * left,
            halves * right,
            max(product.slot_bound(each, bounds) for each in candidates),
        ),
        precision=precision,
        log_n=log_n,
        insecure=options.insecure,
        public_inputs=options.public_inputs,
    )


def _priced(
    product: Product, candidates: Iterable[Blocks], parameters: Parameters, options: RealOptions
) -> list[Choice]:
    costs = options.costs_of(parameters)
    top, bottom = costs.at(1), costs.at(0)
    return [
        Choice(each, parameters, product.cost(each, top, bottom) + costs.run) for each in candidates
    ]


def _key_bytes(choice: Choice) -> int:
    blocks, parameters = choice.blocks, choice.parameters
    at_top, at_bottom = (parameters.evaluation_key_bytes(level) for level in (1, 0))
    # Those of the lane sums serve products as well where they are rotations of both.
    sums = sum(steps % blocks.step > 0 for steps in blocks.lane_sums())
    return (2 * blocks.side - 1) * at_top + sums * at_bottom


def _peak_bytes(product: Product, choice: Choice) -> int:
    found = product.counts(choice.blocks)
    top, bottom = (ciphertext_bytes(choice.parameters, level) for level in (1, 0))
    return (found.left + found.right + 2 * found.side) * top + found.products * bottom

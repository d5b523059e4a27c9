"""The cheapest way to multiply matrices of reals: ring, blocks, parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cloakwork._native import Parameters
from cloakwork.errors import (
    InvalidParametersError,
    KeyBudgetError,
    MemoryBudgetError,
)
from cloakwork.plan.matmul.budgets import Budgets, plannable, require_plannable
from cloakwork.plan.matmul.parameters import filled, product_parameters, require_ring
from cloakwork.plan.matmul.product import Product, families
from cloakwork.plan.matmul.waste import without_waste
from cloakwork.programs.matrices import Blocks
from cloakwork.runtime.costs import Costs, comparable
from cloakwork.schemes.transform_cache import ciphertext_bytes


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked of a product.

    Args:
        bounds: The largest absolute values of the numbers of both operands.
        precision: Bits after the binary point that results should have.
        insecure: Whether parameters below 128-bit security are allowed.
        public_inputs: Whether inputs may be encrypted by a public key, whose noise is greater.
        memory_limit: Bytes that the ciphertexts of a run may take; None for any.
        key_budget: Bytes that evaluation keys may take; None for any.
        costs: What operations cost under given parameters, in one unit for all of them.
    """

    bounds: tuple[float, float]
    precision: float
    insecure: bool = False
    public_inputs: bool = False
    memory_limit: int | None = None
    key_budget: int | None = None
    costs: Callable[[Parameters], Costs] = comparable


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


def cheapest_choice(title: str, product: Product, options: Options, rings: Sequence[int]) -> Choice:
    """The cheapest way within the memory and the keys that are allowed.

    Args:
        title: What is computed, for errors.
        product: The product.
        options: What is asked.
        rings: Base-2 logarithms of the ring degrees that may be taken, upwards.

    Raises:
        InvalidParametersError: No ring has the precision and the headroom that are needed.
        InsecureParametersError: The largest ring is too small for 128-bit security.
        KeyBudgetError: The fewest keys take more than the budget.
        MemoryBudgetError: The fewest ciphertexts take more than the memory limit.
        ProgramTooLargeError: The matrices take more ciphertexts than a program can have.

    Example:
        >>> found = cheapest_choice(
        ...     "product", Product(1, 512, 512, 512), Options((1.0, 1.0), 12), [12, 13])
        >>> found.parameters.log_n
        12
    """
    # No ciphertext holds more numbers than its ring has coefficients.
    require_plannable(title, product.numbers >> max(rings))
    found: list[Choice] = []
    refusal: Exception | None = None
    for log_n in rings:
        try:
            found.append(_cheapest_in_ring(title, product, options, log_n))
        except (InvalidParametersError, KeyBudgetError, MemoryBudgetError) as error:
            # Of budgets the first says least: larger rings take more.
            if not isinstance(refusal, KeyBudgetError | MemoryBudgetError):
                refusal = error
            continue
        # Larger rings do the same for more.
        if len(found) > 1 and found[-1].cost > found[-2].cost:
            break
    if not found:
        if isinstance(refusal, KeyBudgetError | MemoryBudgetError):
            raise refusal
        raise require_ring(refusal, title)
    best = min(found, key=lambda each: each.cost)
    return replace(best, parameters=filled(best.parameters))


def _cheapest_in_ring(title: str, product: Product, options: Options, log_n: int) -> Choice:
    candidates = plannable(product, families(product, 1 << log_n - 1, 1, 2))
    found: list[Choice] = []
    refused: list[InvalidParametersError] = []
    # Shares of the inner index have errors and bounds of their own, and so have slots of two
    # numbers of the result.
    kinds = {(each.shares > 1, each.column_parts) for each in candidates}
    for kind in sorted(kinds):
        alike = [each for each in candidates if (each.shares > 1, each.column_parts) == kind]
        try:
            parameters = _parameters(product, alike, options, log_n)
        except InvalidParametersError as error:
            refused.append(error)
            continue
        found += _priced(product, alike, parameters, options)
    if not found:
        raise refused[0]
    within = Budgets(options.key_budget, options.memory_limit).kept_by(
        title, found, _key_bytes, partial(_peak_bytes, product)
    )
    return min(without_waste(product, within), key=lambda each: each.cost)


def _parameters(
    product: Product, candidates: Sequence[Blocks], options: Options, log_n: int
) -> Parameters:
    """Parameters that serve all of some ways."""
    halves = math.sqrt(2.0)
    left, right = options.bounds
    return product_parameters(
        -(-product.inner // min(each.inner for each in candidates)),
        max(len(each.lane_sums()) for each in candidates),
        (
            halves * left,
            halves * right,
            max(product.slot_bound(each, options.bounds) for each in candidates),
        ),
        precision=options.precision,
        log_n=log_n,
        insecure=options.insecure,
        public_inputs=options.public_inputs,
    )


def _priced(
    product: Product, candidates: Iterable[Blocks], parameters: Parameters, options: Options
) -> list[Choice]:
    costs = options.costs(parameters)
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

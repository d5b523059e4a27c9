"""Plans tensor operations that are products of matrices, one or several in a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from cloakwork._native import Parameters
from cloakwork.base.arrays import MIN_RIGHT_BITS
from cloakwork.errors import InvalidParametersError, KeyBudgetError
from cloakwork.plan.analysis.headroom import largest_at_bottom
from cloakwork.plan.analysis.memory import require_within_limit
from cloakwork.plan.matmul.batches import Batch
from cloakwork.plan.matmul.chain import (
    AnyGeometry,
    LoweredChain,
    bounds_in,
    chain_cost,
    geometries,
    lowered_chain,
)
from cloakwork.plan.matmul.chain_order import Ordering
from cloakwork.plan.matmul.chain_order_search import cheapest_orders, typical_parameters
from cloakwork.plan.matmul.choose import cheapest_choice
from cloakwork.plan.matmul.claims import element_ceilings, followed_claims, whole_ceilings
from cloakwork.plan.matmul.expression import Expression
from cloakwork.plan.matmul.parameters import (
    require_levels_of_products,
    shortest_parameters,
    with_largest_scale,
)
from cloakwork.plan.matmul.planned import planned_product
from cloakwork.plan.matmul.reals import RealFactors
from cloakwork.plan.matmul.recognise import MatrixContraction
from cloakwork.plan.matmul.spine import Spine
from cloakwork.plan.matmul.tree import lowered_expressions
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.parameters.rings import at_first, cheapest_of
from cloakwork.plan.passes.levels import lowest_levels
from cloakwork.plan.passes.simplify import simplified
from cloakwork.plan.tensors.search import Task
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.ir.tensors import Source
from cloakwork.programs.keys import required_keys
from cloakwork.programs.matrices import MatrixPlace
from cloakwork.programs.slots import Output, SlotProgram
from cloakwork.runtime.costs import total_seconds
from cloakwork.schemes.ckks import Ckks

# Levels that geometries of a chain are compared by before its parameters are known.
_TYPICAL_LEVELS = 2
# Vectors of a result, whose operations are planned one by one.
_MOST_VECTORS = 1 << 14

# An expression, and the batch whose matrices it is computed of.
Batched: TypeAlias = tuple[Expression, Batch]


@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """Tensor operations planned as products of matrices.

    Args:
        program: The program.
        parameters: What it runs under.
        operands: The tensors that go in, in order, and where they lie.
        results: Where each result lies, and what no number of it exceeds.
        cost: What a run costs.
        ranges: What the user says of products on the way.
    """

    program: SlotProgram
    parameters: Parameters
    operands: tuple[tuple[Source, MatrixPlace], ...]
    results: tuple[tuple[MatrixPlace, float], ...]
    cost: float
    ranges: tuple[ActivationRange, ...] = ()


def contraction_plan(contraction: MatrixContraction, task: Task) -> MatrixPlan:
    """The cheapest plan of one product, by blocks in any ring."""
    left, right = contraction.sources
    bounds = (task.bounds[left], task.bounds[right])
    product = contraction.product
    choice = cheapest_choice(product, RealFactors(bounds, task.precision, task.options))
    planned = planned_product(task.title, contraction, choice.blocks)
    parameters = with_largest_scale(choice.parameter_sets[0])
    return MatrixPlan(
        planned.program,
        parameters,
        tuple(zip(contraction.sources, planned.operands, strict=True)),
        ((planned.result, product.bound(choice.blocks, bounds)),),
        total_seconds(planned.program, task.options.costs_of(parameters)),
    )


def expressions_plan(expressions: Sequence[Batched], task: Task) -> MatrixPlan:
    """The cheapest orders and lanes of expressions, in the smallest ring that serves them."""
    return _first(task, lambda log_n: _within_keys(expressions, task, log_n))


def chains_plan(chains: Sequence[Spine], task: Task) -> MatrixPlan:
    """The cheapest of several orders of a chain, in the smallest ring that serves it."""
    return _first(task, lambda log_n: _chain_in_ring(chains, task, log_n))


def _first(task: Task, attempt: Callable[[int], tuple[MatrixPlan, int]]) -> MatrixPlan:
    """The plan of the smallest ring that has one, if it is within the key budget."""
    plan, keys = cheapest_of(task.options.rings, attempt, lambda _: 0.0, at_first)
    key_budget = task.options.key_budget
    if key_budget is not None and keys > key_budget:
        raise KeyBudgetError(
            f"cannot compile {task.title} within {key_budget} bytes of evaluation keys: as "
            f"products of matrices it takes {keys}; allow key_budget={keys}",
            keys,
        )
    require_within_limit(plan.program, Ckks(plan.parameters), task.options)
    return plan


def _within_keys(expressions: Sequence[Batched], task: Task, log_n: int) -> tuple[MatrixPlan, int]:
    """The cheapest plan in a ring with few enough keys, or with the fewest, and their bytes."""
    options = task.options
    batch_of = [batch for _, batch in expressions]

    def is_possible(levels: int) -> bool:
        try:
            require_levels_of_products(
                levels, task.precision, log_n=log_n, insecure=options.insecure
            )
        except InvalidParametersError:
            return False
        return True

    best: tuple[MatrixPlan, int] | None = None
    most_side: int | None = None
    while most_side is None or most_side > 0:
        made = None
        of_each = [
            cheapest_orders(each, log_n, options.costs_of, is_possible, most_side)
            for each, _ in expressions
        ]
        for orderings in _side_by_side(of_each):
            lowered = lowered_expressions(task.title, [*zip(orderings, batch_of, strict=True)])
            with suppress(InvalidParametersError):
                made = _in_ring(lowered, task, log_n)
                most_side = max(each.lanes.side for each in orderings) // 2
                break
        if made is None:
            break
        keys = _key_bytes(made)
        if best is None or keys < best[1]:
            best = made, keys
        if options.key_budget is None or keys <= options.key_budget:
            break
    if best is None:
        raise InvalidParametersError(
            f"cannot compile {task.title}: a ring of degree 2^{log_n} is too small for it; leave "
            "log_n out"
        )
    return best


def _key_bytes(plan: MatrixPlan) -> int:
    return required_keys(plan.program).nbytes(plan.parameters.evaluation_key_bytes)


def _side_by_side(of_each: Sequence[Sequence[Ordering]]) -> Iterator[list[Ordering]]:
    """The cheapest orders of all expressions, the next of all, and so on; the last of fewer."""
    if all(of_each):
        for place in range(max(map(len, of_each))):
            yield [orders[min(place, len(orders) - 1)] for orders in of_each]


def _chain_in_ring(chains: Sequence[Spine], task: Task, log_n: int) -> tuple[MatrixPlan, int]:
    """The plan of the order and the geometry of the least cost, and the bytes of its keys."""
    prices = task.options.costs_of(typical_parameters(log_n, _TYPICAL_LEVELS)).at(1)
    ways = [
        (spine, geometry)
        for spine in chains
        for geometry in geometries(spine, 1 << log_n - 1)
        if _results(spine, geometry) <= _MOST_VECTORS
    ]
    if not ways:
        raise InvalidParametersError(
            f"cannot compile {task.title}: in a ring of degree 2^{log_n} its results take more "
            f"than {_MOST_VECTORS} vectors; leave log_n out"
        )
    spine, geometry = min(ways, key=lambda way: chain_cost(way[0], way[1], prices))
    lowered = lowered_chain(task.title, spine, geometry)
    plan = _in_ring(lowered, task, log_n)
    return plan, _key_bytes(plan)


def _results(spine: Spine, geometry: AnyGeometry) -> int:
    """Vectors of the last product, about as many as of the others."""
    rows, columns = spine.shape
    blocks = geometry.blocks(1)
    return -(-rows // blocks.left_rows) * -(-columns // blocks.right_columns) * blocks.side


def _in_ring(lowered: LoweredChain, task: Task, log_n: int) -> MatrixPlan:
    """The plan of a program whose levels are not yet lowered."""
    program, claims = followed_claims(lowered.program, lowered.claims, _simplified_at_lowest_levels)
    inputs = bounds_in(lowered, task.bounds)
    known = value_bounds(program, inputs, element_ceilings(claims))
    reached = largest_at_bottom(program, known, SCALE_BITS[0])
    if any(each.layout.garbage for each in claims):
        known = value_bounds(program, inputs, whole_ceilings(claims))
    parameters = shortest_parameters(
        program,
        known,
        max(1.0, reached),
        # With fewer right bits a result is not decrypted.
        precision=max(task.precision, MIN_RIGHT_BITS),
        log_n=log_n,
        insecure=task.options.insecure,
        public_inputs=task.options.public_inputs,
    )
    reaches = iter(
        known[number] or 0.0
        for number, operation in enumerate(program.operations)
        if isinstance(operation, Output)
    )
    results = tuple((place, max(islice(reaches, place.ciphertexts))) for place in lowered.results)
    parameters = with_largest_scale(parameters)
    return MatrixPlan(
        program,
        parameters,
        lowered.sources,
        results,
        total_seconds(program, task.options.costs_of(parameters)),
        tuple(each.range for each in claims),
    )


def _simplified_at_lowest_levels(program: SlotProgram) -> SlotProgram:
    return lowest_levels(simplified(program))

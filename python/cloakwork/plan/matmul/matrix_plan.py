"""Plans tensor operations that are products of matrices, one or several in a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from cloakwork._native import Parameters
from cloakwork.base.arrays import MIN_RIGHT_BITS
from cloakwork.errors import InvalidParametersError, KeyBudgetError
from cloakwork.plan.analysis.headroom import largest_at_bottom
from cloakwork.plan.analysis.least_needs import least_needs
from cloakwork.plan.matmul.batches import Batch, batches
from cloakwork.plan.matmul.chain import (
    AnyGeometry,
    LoweredChain,
    bounds_in,
    chain_cost,
    geometries,
    lowered_chain,
)
from cloakwork.plan.matmul.choose import cheapest_choice
from cloakwork.plan.matmul.claims import element_ceilings, followed_claims, whole_ceilings
from cloakwork.plan.matmul.expression import (
    Expression,
    least_multiplications,
    matrix_expression,
    read_most,
)
from cloakwork.plan.matmul.order import Ordering
from cloakwork.plan.matmul.orders import cheapest_orders, typical_parameters
from cloakwork.plan.matmul.parameters import (
    has_parameters,
    require_levels_of_products,
    shortest_parameters,
    with_largest_scale,
)
from cloakwork.plan.matmul.planned import planned_product
from cloakwork.plan.matmul.recognise import MatrixContraction, matrix_contraction
from cloakwork.plan.matmul.spine import Spine, spines
from cloakwork.plan.matmul.tree import lowered_expressions
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.parameters.rings import at_first, cheapest_of
from cloakwork.plan.passes.levels import lowest_levels
from cloakwork.plan.passes.simplify import simplified
from cloakwork.plan.tensors.search import Plan, Task
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.ir.tensors import Node, Source
from cloakwork.programs.keys import required_keys
from cloakwork.programs.packing.matrix import MatrixPlace
from cloakwork.programs.slots import Input, Output, SlotProgram
from cloakwork.runtime.costs import total_seconds

# So few numbers are multiplied in the slots of one ciphertext.
_IN_ONE_PRODUCT = 1 << 11
# Of one product, which by blocks takes more ciphertexts or more rotations than by slots.
_IN_FEW_PRODUCTS = 1 << 13
# Beyond, products of slots are so many that to plan them takes longer than blocks to run.
_MOST_BY_SLOTS = 1 << 20
# Of a chain, whose products are planned together and again for every way of each.
_MOST_OF_CHAINS = 1 << 17
# Of sums and chains without functions, where products of slots cost several times as much.
_MOST_OF_EXPRESSIONS = 1 << 15
# Matrices of a batch, whose operations are planned one by one.
_MOST_BATCH = 1 << 8
# Levels that geometries of a chain are compared by before its parameters are known.
_TYPICAL_LEVELS = 2
# Vectors of a result, whose operations are planned one by one.
_MOST_VECTORS = 1 << 14


# An expression, and the batch whose matrices it is computed of.
_Batched: TypeAlias = tuple[Expression, Batch]


@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """Tensor operations planned as products of matrices.

    Args:
        program: The program.
        parameters: What it runs under.
        operands: The tensors that go in, in order, and where they lie.
        results: Where each result lies, and what no number of it exceeds.
        cost: What a run costs.
        least_other: What a plan by products of slots costs at the least: those alone.
        is_large: Whether to plan products of slots would take longer than blocks take to run.
        ranges: What the user says of products on the way.
    """

    program: SlotProgram
    parameters: Parameters
    operands: tuple[tuple[Source, MatrixPlace], ...]
    results: tuple[tuple[MatrixPlace, float], ...]
    cost: float
    least_other: float
    is_large: bool
    ranges: tuple[ActivationRange, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether no plan by products of slots is to be looked for: none costs less or is small."""
        return self.cost <= self.least_other or self.is_large

    def is_better_than(self, other: Plan) -> bool:
        """Whether it costs less than a plan by products of slots, in ciphertexts as well."""
        edges = _edges(other.lowered.program)
        return self.cost < other.cost and _edges(self.program) <= edges


def _edges(program: SlotProgram) -> int:
    """Ciphertexts that go in and come out."""
    return sum(isinstance(each, Input | Output) for each in program.operations)


def matrix_plan(task: Task) -> MatrixPlan | None:
    """The cheapest plan found; None where the task is no such product or nothing serves it."""
    if not _is_possible(task):
        return None
    contraction = matrix_contraction(task.results)
    found = _expressions_of(task)
    # In an expression the vectors of a matrix may be those of its transpose, and enter once.
    is_gram = contraction is not None and _is_gram(contraction)
    if contraction is not None and not (is_gram and found):
        return _of_contraction(contraction, task)
    chains = [each for each in spines(task.results) if each.multiplications > _IN_ONE_PRODUCT]
    if chains:
        return _of_chains(chains, task)
    least = _IN_FEW_PRODUCTS if is_gram else _IN_ONE_PRODUCT
    if sum(least_multiplications(expression) for expression, _ in found) <= least:
        return None
    return _of_expressions(found, task)


def _expressions_of(task: Task) -> list[_Batched]:
    """The expressions of matrices that all results of a task are; none where one is not."""
    found = [each for node in task.results if (each := _expression_of(node)) is not None]
    is_whole = len(found) == len(task.results) and read_most(each for each, _ in found)
    return found if is_whole else []


def _expression_of(result: Node) -> _Batched | None:
    """The expression of matrices that a result is, and the batch that it is computed of."""
    one = matrix_expression([result])
    if one is not None:
        return one, Batch()
    for node, batch in batches([result]):
        each = matrix_expression([node])
        if each is not None and batch.count <= _MOST_BATCH:
            return each, batch
    return None


def is_large(task: Task) -> bool:
    """Whether to plan a task by products of slots would take longer than blocks take to run."""
    contraction = matrix_contraction(task.results)
    if contraction is not None and contraction.product.multiplications >= _MOST_BY_SLOTS:
        return True
    chains = spines(task.results)
    if chains:
        return max(each.multiplications for each in chains) >= _MOST_OF_CHAINS
    if contraction is not None and not _is_gram(contraction):
        return False
    found = _expressions_of(task)
    return bool(found) and _multiplications(found) >= _most_by_slots(found)


def _multiplications(expressions: Sequence[_Batched]) -> int:
    return sum(batch.count * least_multiplications(each) for each, batch in expressions)


def _most_by_slots(expressions: Sequence[_Batched]) -> int:
    """From how many multiplications on slots are not looked at, for all matrices of batches."""
    # Small matrices of a large batch may be cheaper together in slots.
    count = max(batch.count for _, batch in expressions)
    small, large = count * _MOST_OF_EXPRESSIONS // 2, count * _MOST_OF_EXPRESSIONS
    return min(large, max(small, _MOST_OF_CHAINS))


def _is_gram(contraction: MatrixContraction) -> bool:
    """Whether one tensor is both operands."""
    return len(set(contraction.sources)) == 1


def _is_possible(task: Task) -> bool:
    """Whether the numbers fit parameters of products at all, however they are multiplied."""
    needs = least_needs(task.results, task.bounds)
    if needs is None:
        return True
    return has_parameters(task.precision, max(1.0, needs.of_results), needs.gain)


def _of_expressions(expressions: Sequence[_Batched], task: Task) -> MatrixPlan | None:
    """The cheapest orders and lanes of expressions, in the smallest ring that serves them."""
    return _first(task, lambda log_n: _within_keys(expressions, task, log_n))


def _first(task: Task, attempt: Callable[[int], tuple[MatrixPlan, int]]) -> MatrixPlan | None:
    """The plan of the smallest ring that has one within the key budget; None where none has one."""
    try:
        plan, keys = cheapest_of(task.options.rings, attempt, lambda _: 0.0, at_first)
    except InvalidParametersError:
        # The other way may do; where not, it says why.
        return None
    key_budget = task.options.key_budget
    if key_budget is not None and keys > key_budget:
        raise KeyBudgetError(
            f"cannot compile {task.title} within {key_budget} bytes of evaluation keys: as "
            f"products of matrices it takes {keys}; allow key_budget={keys}",
            keys,
        )
    return plan


def _within_keys(expressions: Sequence[_Batched], task: Task, log_n: int) -> tuple[MatrixPlan, int]:
    """The cheapest plan in a ring with few enough keys, or with the fewest, and their bytes."""
    options = task.options
    multiplications = _multiplications(expressions)
    most_by_slots = _most_by_slots(expressions)
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
                made = _in_ring(lowered, multiplications, most_by_slots, task, log_n)
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


def _of_contraction(contraction: MatrixContraction, task: Task) -> MatrixPlan | None:
    product = contraction.product
    if product.multiplications <= _IN_FEW_PRODUCTS:
        return None
    left, right = contraction.sources
    bounds = (task.bounds[left], task.bounds[right])
    try:
        choice = cheapest_choice(product, bounds, task.precision, task.options)
    except InvalidParametersError:
        # The other way may do; where not, it says why.
        return None
    planned = planned_product(
        task.title,
        product,
        choice.blocks,
        [each.name for each in contraction.sources],
        (*contraction.operands, contraction.result),
        contraction.origin,
    )
    return _plan(
        planned.program,
        choice.parameters,
        tuple(zip(contraction.sources, planned.operands, strict=True)),
        ((planned.result, product.bound(choice.blocks, bounds)),),
        product.multiplications,
        _MOST_BY_SLOTS,
        task,
    )


def _of_chains(chains: Sequence[Spine], task: Task) -> MatrixPlan | None:
    """The cheapest of several orders of a chain, in the smallest ring that serves it."""
    return _first(task, lambda log_n: _chain_in_ring(chains, task, log_n))


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
    plan = _in_ring(lowered, spine.multiplications, _MOST_OF_CHAINS, task, log_n)
    return plan, _key_bytes(plan)


def _results(spine: Spine, geometry: AnyGeometry) -> int:
    """Vectors of the last product, about as many as of the others."""
    rows, columns = spine.shape
    blocks = geometry.blocks(1)
    return -(-rows // blocks.left_rows) * -(-columns // blocks.right_columns) * blocks.side


def _in_ring(
    lowered: LoweredChain, multiplications: int, most_by_slots: int, task: Task, log_n: int
) -> MatrixPlan:
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
    plan = _plan(
        program,
        with_largest_scale(parameters),
        lowered.sources,
        results,
        multiplications,
        most_by_slots,
        task,
    )
    return replace(plan, ranges=tuple(each.range for each in claims))


def _simplified_at_lowest_levels(program: SlotProgram) -> SlotProgram:
    return lowest_levels(simplified(program))


def _plan(
    program: SlotProgram,
    parameters: Parameters,
    operands: tuple[tuple[Source, MatrixPlace], ...],
    results: tuple[tuple[MatrixPlace, float], ...],
    multiplications: int,
    most_by_slots: int,
    task: Task,
) -> MatrixPlan:
    costs = task.options.costs_of(parameters)
    least = multiplications / parameters.slots * costs.at(1).product
    cost = total_seconds(program, costs)
    is_large = multiplications >= most_by_slots
    return MatrixPlan(program, parameters, operands, results, cost, least, is_large)

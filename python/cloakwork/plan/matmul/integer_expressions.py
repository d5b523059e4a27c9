"""Expressions of encrypted matrices of integers, planned for BGV: products in any order, and sums.

Every product is switched one level down, as one of reals is rescaled, so that its noise is about
that of an input again. A level has as many bits as that takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from cloakwork._native import BgvParameters
from cloakwork.errors import (
    CircuitTooDeepError,
    InsecureParametersError,
    InvalidParametersError,
    KeyBudgetError,
    LevelExhaustedError,
    NoiseExhaustedError,
)
from cloakwork.plan.cost.bgv import counted_costs
from cloakwork.plan.matmul.batches import Batch
from cloakwork.plan.matmul.chain_order_search import cheapest_orders
from cloakwork.plan.matmul.expression import (
    Combination,
    Expression,
    KnownMatrix,
    Matrix,
    matrix_expression,
    parts,
)
from cloakwork.plan.matmul.tree import lowered_expressions
from cloakwork.plan.parameters.bgv import IntegerOptions, limbs_of
from cloakwork.plan.parameters.ckks import EXACT_WORD_BITS
from cloakwork.plan.passes.levels import lowest_levels
from cloakwork.plan.passes.simplify import simplified
from cloakwork.programs.ir.tensors import Node, Source
from cloakwork.programs.keys import required_keys
from cloakwork.programs.matrices import MatrixPlace
from cloakwork.programs.packing.scalar import ROWS
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.costs import comparable, total_seconds
from cloakwork.runtime.executor import estimated_results
from cloakwork.schemes.bgv import Bgv

# Bits of a level that are tried, and between the first moduli that are.
_LEVEL_BITS = range(28, 61, 4)
_HEADROOM_BITS = range(2, 61, 2)


@dataclass(frozen=True, slots=True)
class IntegerMatrixPlan:
    """Expressions of matrices of integers as a program.

    Args:
        program: The program.
        parameter_sets: The parameters of each prime.
        operands: The matrices that go in, in order, and where they lie.
        results: Where each result lies.
    """

    program: SlotProgram
    parameter_sets: tuple[BgvParameters, ...]
    operands: tuple[tuple[Source, MatrixPlace], ...]
    results: tuple[MatrixPlace, ...]


def integer_expression(node: Node) -> Expression | None:
    """The expression that a node is of encrypted matrices of integers; None of another node.

    Example:
        >>> from cloakwork.programs.ir.tensors import Contract
        >>> a, b = (Source(name, (3, 3)) for name in "ab")
        >>> integer_expression(Contract((a, b), ("ik", "kj"), "ij", (3, 3))).shape
        (3, 3)
    """
    found = matrix_expression([node])
    return found if found is not None and all(map(_is_encrypted, parts(found))) else None


def _is_encrypted(part: Expression) -> bool:
    """Whether there is nothing in the clear in it that differs from slot to slot."""
    if isinstance(part, Combination):
        return part.constant is None
    return not isinstance(part, Matrix) or not isinstance(part.factor.source, KnownMatrix)


def integer_expressions_plan(
    title: str, expressions: Sequence[Expression], options: IntegerOptions
) -> IntegerMatrixPlan:
    """The cheapest plan of expressions in the smallest ring that serves them.

    Raises:
        CircuitTooDeepError: No ring serves them.
        KeyBudgetError: The keys take more bytes than the budget.
        InsecureParametersError: The one ring asked for falls short of 128-bit security.
    """
    refusal: Exception | None = None
    for log_n in options.rings:
        try:
            return _in_ring(title, expressions, options, log_n)
        except (InvalidParametersError, NoiseExhaustedError, LevelExhaustedError) as error:
            refusal = error
    if len(options.rings) == 1 and isinstance(refusal, InsecureParametersError):
        raise refusal
    raise CircuitTooDeepError(
        f"cannot compile {title}: it multiplies matrices more often in a row than the noise of any "
        f"secure ring allows at {options.bits} bits; bracket the products as a tree, or ask for "
        f"fewer bits ({refusal})"
    ) from refusal


def _in_ring(
    title: str, expressions: Sequence[Expression], options: IntegerOptions, log_n: int
) -> IntegerMatrixPlan:
    """The cheapest plan in a ring whose keys are within the budget."""
    most_side: int | None = None
    refusal: Exception | None = None
    while most_side is None or most_side > 0:
        of_each = [
            cheapest_orders(each, log_n, comparable, most_side=most_side, slot_rows=ROWS)
            for each in expressions
        ]
        # The cheapest of each; others take other levels.
        orderings = [orders[0] for orders in of_each if orders]
        if len(orderings) < len(expressions):
            break
        lowered = lowered_expressions(title, [(each, Batch()) for each in orderings], "integer")
        program = lowest_levels(simplified(lowered.program))
        sets = _cheapest_sets(program, options, log_n)
        keys = required_keys(program).nbytes(partial(_key_bytes_at, sets))
        if options.key_budget is None or keys <= options.key_budget:
            return IntegerMatrixPlan(program, sets, lowered.sources, lowered.results)
        refusal = KeyBudgetError(
            f"cannot compile {title} within {options.key_budget} bytes of evaluation keys: as "
            f"products of matrices it takes {keys}; allow key_budget={keys}",
            keys,
        )
        most_side = max(each.lanes.side for each in orderings) // 2
    raise refusal or InvalidParametersError(
        f"cannot compile {title}: a ring of degree 2^{log_n} is too small for it; leave log_n out"
    )


def _key_bytes_at(sets: Sequence[BgvParameters], level: int) -> int:
    return sum(each.evaluation_key_bytes(level) for each in sets)


def _cheapest_sets(
    program: SlotProgram, options: IntegerOptions, log_n: int
) -> tuple[BgvParameters, ...]:
    """The parameters of each prime under which a program costs least, its noise within them."""
    found: list[tuple[float, tuple[BgvParameters, ...]]] = []
    refusal: Exception | None = None
    for level_bits in _LEVEL_BITS:
        try:
            sets = _shortest_sets(program, options, log_n, level_bits)
        except (InvalidParametersError, NoiseExhaustedError) as error:
            refusal = error
            continue
        cost = total_seconds(program, counted_costs(limbs_of(sets[0]), log_n))
        found.append((cost, sets))
    if not found:
        assert refusal is not None
        raise refusal
    return min(found, key=lambda each: each[0])[1]


def _shortest_sets(
    program: SlotProgram, options: IntegerOptions, log_n: int, level_bits: int
) -> tuple[BgvParameters, ...]:
    """Those of the shortest first modulus, given the bits of a level."""
    # Under the largest prime there is the most noise.
    *others, largest = options.moduli(log_n)
    refusal: NoiseExhaustedError | None = None
    for headroom in _HEADROOM_BITS:
        made = partial(_made, program.top_level, level_bits, level_bits + headroom, log_n, options)
        loudest = made(largest)
        try:
            estimated_results(Bgv([loudest], public_inputs=options.public_inputs), program)
        except NoiseExhaustedError as error:
            refusal = error
            continue
        sets = (*map(made, others), loudest)
        estimated_results(Bgv(sets, public_inputs=options.public_inputs), program)
        return sets
    assert refusal is not None
    raise refusal


def _made(
    levels: int,
    level_bits: int,
    base_bits: int,
    log_n: int,
    options: IntegerOptions,
    modulus: int,
) -> BgvParameters:
    return BgvParameters(
        levels=levels,
        plaintext_modulus=modulus,
        level_bits=level_bits,
        base_bits=base_bits,
        log_n=log_n,
        word_bits=EXACT_WORD_BITS,
        failure_bits=options.failure_bits,
        insecure=options.insecure,
    )

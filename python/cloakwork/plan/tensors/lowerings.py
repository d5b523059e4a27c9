"""The one choice among the ways to lower a function of tensors: the cheapest program is taken.

Integers are multiplied in blocks, under BGV. A function of reals is planned in slots, and, where it
is made of products of matrices, in blocks: as one product, as a chain with functions of slots on
the way, or as sums and chains of products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from cloakwork.errors import InvalidParametersError, KeyBudgetError, MemoryBudgetError
from cloakwork.plan.analysis.least_needs import least_needs
from cloakwork.plan.functions.inverse_roots import with_inverse_roots
from cloakwork.plan.matmul.batches import Batch, batches
from cloakwork.plan.matmul.convolution import Convolution
from cloakwork.plan.matmul.expression import least_multiplications, matrix_expression, read_most
from cloakwork.plan.matmul.integers import IntegerProductOptions, integer_program
from cloakwork.plan.matmul.matrix_plan import (
    Batched,
    MatrixPlan,
    chains_plan,
    contraction_plan,
    expressions_plan,
)
from cloakwork.plan.matmul.parameters import has_parameters
from cloakwork.plan.matmul.rearranged_sources import rearranged_sources
from cloakwork.plan.matmul.recognise import matrix_contraction
from cloakwork.plan.matmul.spine import spines
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.assemble import Lowering, program_in_blocks
from cloakwork.plan.tensors.in_slots import lowered_in_slots
from cloakwork.plan.tensors.reassociated import reassociated
from cloakwork.plan.tensors.search import Task, require_keys
from cloakwork.plan.tensors.ways_text import refused, unlooked, way_taken, with_search
from cloakwork.programs.ir.tensors import Node, TensorFunction
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.program import Program
from cloakwork.schemes.device.devices import CPU

# Costs of runs decide. What follows bounds the time of planning, which no cost of a run says:
# from so many multiplications on to plan in slots takes longer than to run in blocks.
_MOST_IN_SLOTS = 1 << 20
# Of a chain, whose products are planned together and again for every way of each.
_MOST_OF_CHAINS = 1 << 17
# Of one that begins with a convolution, each of whose windows is a movement of slots.
_MOST_OF_CONVOLUTIONS = 1 << 13
# Of sums and chains without functions, where products of slots cost several times as much.
_MOST_OF_EXPRESSIONS = 1 << 15
# Matrices of a batch, whose operations are planned one by one.
_MOST_BATCH = 1 << 8


@dataclass(frozen=True, slots=True)
class InBlocks:
    """A way to lower a task in blocks.

    Args:
        multiplications: Of numbers, in all products.
        most_in_slots: From how many on the task is not planned in slots.
        plan: Plans it.
    """

    multiplications: int
    most_in_slots: int
    plan: Callable[[Task], MatrixPlan]

    @property
    def is_large(self) -> bool:
        """Whether to plan the task in slots would take longer than blocks take to run."""
        return self.multiplications >= self.most_in_slots

    def is_certain(self, plan: MatrixPlan, task: Task) -> bool:
        """Whether no plan in slots is to be looked for: its products alone cost as much."""
        product = task.options.costs_of(plan.parameters).at(1).product
        return self.is_large or plan.cost <= self.multiplications / plan.parameters.slots * product


def cheapest_program(
    function: TensorFunction, options: RealOptions | IntegerProductOptions, device: str
) -> Program:
    """The cheapest program found."""
    if isinstance(options, IntegerProductOptions):
        return integer_program(function, options)
    shallow = reassociated(function)
    if shallow is not function:
        # Numbers on the way are others, which may be too large.
        with suppress(InvalidParametersError):
            return _cheapest_as_spelled(shallow, options, device)
    return _cheapest_as_spelled(function, options, device)


def _cheapest_as_spelled(function: TensorFunction, options: RealOptions, device: str) -> Program:
    function = replace(function, results=with_inverse_roots(function.results))
    bounds = {source: spec.bound for source, spec in function.spec_of.items()}
    task = Task(
        options,
        function.results,
        bounds,
        samples=function.samples,
        places=function.places,
    )
    require_keys(task)
    # Blocks choose where their operands lie.
    is_placed = bool(function.places) or any(each.place is not None for each in function.sources)
    way = None if options.bootstrap or device != CPU or is_placed else in_blocks(task)
    refusals: list[Exception] = []
    if way is not None:
        try:
            plan = way.plan(task)
        except (InvalidParametersError, KeyBudgetError, MemoryBudgetError) as refusal:
            # Slots may have parameters for what blocks have none for, whatever that takes.
            if way.is_large and not isinstance(refusal, InvalidParametersError):
                raise
            refusals.append(refusal)
        else:
            blocks = Lowering(program_in_blocks(plan, function, task), plan.cost)
            if way.is_certain(plan, task):
                return replace(blocks.program, way=_certain(way))
            return _cheaper(blocks, task, function)
    reason = (
        refused("in slots", "blocks", refusals[0])
        if refusals
        else unlooked(task, device, is_placed=is_placed)
    )
    try:
        return _said(lowered_in_slots(task, function, device).program, reason, task)
    except (InvalidParametersError, KeyBudgetError) as refusal:
        # Of both ways the one whose keys take least says what would do.
        of_keys = [each for each in (refusal, *refusals) if isinstance(each, KeyBudgetError)]
        if not of_keys:
            raise
        raise min(of_keys, key=lambda each: each.least) from None


def _cheaper(blocks: Lowering, task: Task, function: TensorFunction) -> Program:
    """The program in blocks, or one in slots that costs less or has fewer ciphertexts."""
    without = replace(task, options=replace(task.options, bootstrap=False))
    try:
        slots = lowered_in_slots(without, function, CPU)
    except (InvalidParametersError, KeyBudgetError, MemoryBudgetError) as refusal:
        return replace(blocks.program, way=refused("in blocks", "slots", refusal))
    reason = way_taken((blocks.cost, blocks.ciphertexts), (slots.cost, slots.ciphertexts))
    if blocks.cost < slots.cost and blocks.ciphertexts <= slots.ciphertexts:
        return replace(blocks.program, way=reason)
    return _said(slots.program, reason, task)


def _certain(way: InBlocks) -> str:
    """Why slots were not looked at."""
    if way.is_large:
        return (
            f"in blocks; slots were not looked at, as there are {way.multiplications} "
            f"multiplications, and planning {way.most_in_slots} or more takes too long"
        )
    return "in blocks; slots were not looked at, as their products alone cost more"


def _said(program: Program, way: str, task: Task) -> Program:
    """A program in slots that says its way."""
    operations = len(program.body.operations) if isinstance(program.body, SlotProgram) else 0
    return replace(program, way=with_search(way, task.results, operations))


def in_blocks(task: Task) -> InBlocks | None:
    """How a task is lowered in blocks; None of what is not made of products of matrices."""
    if not _is_possible(task):
        return None
    return _of_matrices(task.results) or _of_matrices(rearranged_sources(task.results))


def _of_matrices(results: Sequence[Node]) -> InBlocks | None:
    """How results are lowered in blocks, as they are spelled."""
    contraction = matrix_contraction(results)
    expressions = _expressions_of(results)
    # In an expression the vectors of a matrix may be those of its transpose, and enter once.
    is_gram = contraction is not None and len(set(contraction.sources)) == 1
    if contraction is not None and not (is_gram and expressions):
        multiplications = contraction.product.multiplications
        return InBlocks(multiplications, _MOST_IN_SLOTS, partial(contraction_plan, contraction))
    # Expressions have biases as well, and lay them out by what they cost.
    chains = [each for each in spines(results) if not (expressions and each.has_biases)]
    if chains:
        multiplications = max(each.multiplications for each in chains)
        is_convolved = any(isinstance(each.first, Convolution) for each in chains)
        most = _MOST_OF_CONVOLUTIONS if is_convolved else _MOST_OF_CHAINS
        return InBlocks(multiplications, most, partial(chains_plan, chains))
    if not expressions:
        return None
    multiplications = sum(batch.count * least_multiplications(each) for each, batch in expressions)
    most = _most_in_slots(expressions)
    return InBlocks(multiplications, most, partial(expressions_plan, expressions))


def _is_possible(task: Task) -> bool:
    """Whether the numbers fit parameters of products at all, however they are multiplied."""
    needs = least_needs(task.results, task.bounds)
    if needs is None:
        return True
    return has_parameters(task.precision, max(1.0, needs.of_results), needs.gain)


def _expressions_of(results: Sequence[Node]) -> list[Batched]:
    """The expressions of matrices that all results are; none where one is not."""
    found = [each for node in results if (each := _expression_of(node)) is not None]
    is_whole = len(found) == len(results) and read_most(each for each, _ in found)
    return found if is_whole else []


def _expression_of(result: Node) -> Batched | None:
    """The expression of matrices that a result is, and the batch that it is computed of."""
    one = matrix_expression([result])
    if one is not None:
        return one, Batch()
    for node, batch in batches([result]):
        each = matrix_expression([node])
        if each is not None and batch.count <= _MOST_BATCH:
            return each, batch
    return None


def _most_in_slots(expressions: Sequence[Batched]) -> int:
    """From how many multiplications on slots are not looked at, for all matrices of batches."""
    # Small matrices of a large batch may be cheaper together in slots.
    count = max(batch.count for _, batch in expressions)
    small, large = count * _MOST_OF_EXPRESSIONS // 2, count * _MOST_OF_EXPRESSIONS
    return min(large, max(small, _MOST_OF_CHAINS))

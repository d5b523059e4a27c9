"""Plans a contraction of two encrypted tensors as a product of matrices, where it is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cloakwork._native import Parameters
from cloakwork.errors import InvalidParametersError, KeyBudgetError
from cloakwork.plan.matmul.choose import Options, cheapest_choice
from cloakwork.plan.matmul.planned import PlannedProduct, planned_product
from cloakwork.plan.matmul.recognise import MatrixContraction, matrix_contraction
from cloakwork.plan.tensors.search import Plan, Task
from cloakwork.programs.slots import Input, Output

# So few numbers are multiplied in the slots of one ciphertext.
_IN_ONE_PRODUCT = 1 << 11


@dataclass(frozen=True, slots=True)
class ContractionPlan:
    """A contraction planned as a product of matrices.

    Args:
        contraction: What it is.
        planned: The plan.
        parameters: What it runs under.
        bound: What no number of the result exceeds.
        cost: What a run costs.
        least_other: What a plan by products of slots costs at the least: those alone.
    """

    contraction: MatrixContraction
    planned: PlannedProduct
    parameters: Parameters
    bound: float
    cost: float
    least_other: float

    @property
    def is_certain(self) -> bool:
        """Whether no plan by products of slots can cost less."""
        return self.cost <= self.least_other

    def is_better_than(self, other: Plan) -> bool:
        """Whether it costs less than a plan by products of slots, in ciphertexts as well."""
        edges = sum(isinstance(each, Input | Output) for each in other.lowered.program.operations)
        return self.cost < other.cost and self.planned.ciphertexts <= edges


def contraction_plan(
    task: Task, rings: Sequence[int], key_budget: int | None
) -> ContractionPlan | None:
    """The cheapest plan by blocks; None where the task is no product or nothing serves it.

    Args:
        task: What is to be planned.
        rings: Base-2 logarithms of the ring degrees that may be taken, upwards.
        key_budget: Bytes that evaluation keys may take; None for any.
    """
    contraction = matrix_contraction(task.results)
    if contraction is None or contraction.product.multiplications <= _IN_ONE_PRODUCT:
        return None
    left, right = contraction.sources
    bounds = (task.bounds[left], task.bounds[right])
    options = Options(
        bounds, task.precision, task.insecure, key_budget=key_budget, costs=task.costs
    )
    product = contraction.product
    try:
        choice = cheapest_choice(task.title, product, options, rings)
    except (InvalidParametersError, KeyBudgetError):
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
    costs = task.costs(choice.parameters)
    slots = choice.parameters.slots
    return ContractionPlan(
        contraction,
        planned,
        choice.parameters,
        product.bound(choice.blocks, bounds),
        planned.cost(costs),
        product.multiplications / slots * costs.at(1).product,
    )

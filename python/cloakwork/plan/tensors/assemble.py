"""The program of a plan of tensors: ports with their ranges, packings, stated errors."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloakwork.base.arrays import MIN_RIGHT_BITS
from cloakwork.errors import InvalidParametersError
from cloakwork.plan.functions.approximate import EXACT_BITS, Approximated
from cloakwork.plan.functions.intervals import Interval, intervals_of, of_spec
from cloakwork.plan.matmul.matrix_plan import MatrixPlan
from cloakwork.plan.tensors.lower import in_order
from cloakwork.plan.tensors.search import Plan, Task
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.ir.tensors import (
    Contract,
    Evaluate,
    Node,
    Rearrange,
    Sum,
    TensorFunction,
    Within,
)
from cloakwork.programs.layout import Layout
from cloakwork.programs.packing.matrix import MatrixPacking, PlacedMatrix
from cloakwork.programs.packing.tensor import PlacedInput, TensorPacking
from cloakwork.programs.port import Port
from cloakwork.programs.slots import Bootstrap, DropLevel, Output, Polynomial, Rescale, SlotProgram
from cloakwork.programs.spec import PlacedSpec
from cloakwork.runtime.program import Program
from cloakwork.schemes.ckks import Ckks


@dataclass(frozen=True, slots=True)
class Lowering:
    """A function lowered in one way.

    Args:
        program: The program.
        cost: What a run costs, for comparison.
    """

    program: Program
    cost: float

    @property
    def ciphertexts(self) -> int:
        """How many go in and come out."""
        return sum(self.program.packing.vector_counts)


def program_in_slots(plan: Plan, function: TensorFunction, task: Task) -> Program:
    """The program of a plan of a function as it is."""
    found = intervals_of(
        in_order(function.results), lambda source: of_spec(function.spec_of[source]), EXACT_BITS
    )
    intervals = [found[each] for each in function.results]
    # Of results that others take, how far arguments are off that lie in ciphertexts already.
    is_placed = any(isinstance(spec, PlacedSpec) for spec in function.specs)
    carried = max(each.largest_error for each in intervals) if is_placed else 0.0
    noise, ports = 2.0**-task.precision, _results(plan, task)
    _require_more_than_noise(ports, function, task)
    # Along samples errors are smaller than ciphertexts know of themselves; what follows others
    # knows none of itself, a constant neither.
    follows = any(isinstance(spec, PlacedSpec) and spec.error for spec in function.specs)
    is_stated = follows or carried or task.samples
    outputs = tuple(
        _narrowed(port, interval, noise) for port, interval in zip(ports, intervals, strict=True)
    )
    packing = _packing(plan, function, outputs)
    error_bound = error = carried + noise if is_stated else None
    if is_placed:
        _require_more_than_carried(outputs, carried + noise, task)
    return Program(
        _scheme(plan, task), plan.lowered.program, packing, error=error, error_bound=error_bound
    )


def program_with_functions(
    plan: Plan, near: Approximated, function: TensorFunction, task: Task
) -> Program:
    """The program of a plan of what comes near to functions, with the errors of these."""
    body, noise = plan.lowered.program, 2.0**-task.precision
    outputs = tuple(
        _narrowed(port, interval, noise)
        for port, interval in zip(_results(plan, task), near.intervals, strict=True)
    )
    try:
        _require_more_than_noise(outputs, function, task)
    except InvalidParametersError as refusal:
        decided = [
            fit.asked.origin or fit.asked.function
            for fit in near.fits
            if fit.asked.known.jumps and not fit.asked.crosses_zero
        ]
        if not decided:
            raise
        raise InvalidParametersError(
            f"{refusal}; the bounds of the inputs decide what is compared at {', '.join(decided)}: "
            "it comes out the same for all numbers"
        ) from refusal
    if any(isinstance(spec, PlacedSpec) for spec in function.specs):
        _require_more_than_carried(outputs, near.error + noise, task)
    return Program(
        _scheme(plan, task),
        body,
        _packing(plan, function, outputs),
        ranges=checked_ranges(body, near.results) + plan.lowered.ranges,
        error=near.error + noise,
        error_bound=near.error + noise,
    )


def program_in_blocks(plan: MatrixPlan, function: TensorFunction, task: Task) -> Program:
    """The program of what is planned as products of matrices."""
    placed = tuple(
        PlacedMatrix(function.sources.index(source), place) for source, place in plan.operands
    )
    places = tuple(place for place, _ in plan.results)
    outputs = tuple(
        _result(number, len(places), place.shape, bound)
        for number, (place, bound) in enumerate(plan.results)
    )
    _require_more_than_noise(outputs, function, task)
    packing = MatrixPacking(function.inputs, outputs, placed, places, function.form)
    scheme = Ckks(plan.parameters, public_inputs=task.options.public_inputs)
    return Program(scheme, plan.program, packing, ranges=plan.ranges)


def least_precision(bound: float) -> int:
    """Bits after the binary point with fewer of which results up to a bound are noise."""
    return MIN_RIGHT_BITS - math.floor(math.log2(bound))


def _scheme(plan: Plan, task: Task) -> Ckks:
    return Ckks(plan.parameters, plan.refreshing, public_inputs=task.options.public_inputs)


def _packing(plan: Plan, function: TensorFunction, outputs: tuple[Port, ...]) -> TensorPacking:
    """How arguments and results lie in ciphertexts."""
    placed = tuple(
        PlacedInput(function.sources.index(source), place) for source, place in plan.lowered.inputs
    )
    return TensorPacking(
        function.inputs, outputs, placed, tuple(plan.lowered.outputs), function.form
    )


def _narrowed(port: Port, interval: Interval, noise: float) -> Port:
    """A result with the range that its functions give it, where that is narrower."""
    low, high = interval.ends
    assert port.low is not None
    assert port.high is not None
    return replace(port, low=max(port.low, low - noise), high=min(port.high, high + noise))


def _require_more_than_noise(outputs: Sequence[Port], function: TensorFunction, task: Task) -> None:
    """Refuse results that are smaller than their errors, by the bounds of the arguments."""
    title, precision = task.title, task.precision
    bound = max(port.bound for port in outputs)
    if bound == 0 and not all(map(is_zero, function.results)):
        raise InvalidParametersError(
            f"cannot compile {title}: expected results that reach {sys.float_info.min:.2g} or "
            "more, got smaller ones, which no double holds; scale the arguments up"
        )
    if 0 < bound * 2.0**precision < 2.0**MIN_RIGHT_BITS:
        raise refusal_of_noise(title, bound, precision)


def _require_more_than_carried(outputs: Sequence[Port], error: float, task: Task) -> None:
    """Refuse results that are smaller than what the results that they are made of are off by."""
    bound = max(port.bound for port in outputs)
    if 0 < bound < error * 2.0**MIN_RIGHT_BITS:
        raise InvalidParametersError(
            f"cannot compile {task.title}: its results are at most {bound:g}, and by what the "
            f"results that it takes are off by they are off by up to {error:.2g}, so that fewer "
            f"than {MIN_RIGHT_BITS} bits of them are right; compile what it follows with about "
            f"{math.ceil(math.log2(error / bound)) + MIN_RIGHT_BITS} bits more, or compute both in "
            "one function"
        )


def refusal_of_noise(title: str, bound: float, precision: int) -> InvalidParametersError:
    """Why results up to a bound are not computed as precisely as was asked."""
    return InvalidParametersError(
        f"cannot compile {title}: its results are at most {bound:g}, and with errors of up to "
        f"2^-{precision} fewer than {MIN_RIGHT_BITS} bits of them are right; ask for "
        f"precision={least_precision(bound)} or more, for relative={MIN_RIGHT_BITS} or more, or "
        "scale the results up"
    )


def _results(plan: Plan, task: Task) -> tuple[Port, ...]:
    """The results as ports, with the ranges that those of the inputs allow."""
    bounds = plan.lowered.value_bounds(task.bounds)
    reached = iter(
        bound or 0.0
        for operation, bound in zip(plan.lowered.program.operations, bounds, strict=True)
        if isinstance(operation, Output)
    )
    layouts = plan.lowered.outputs
    ports: list[Port] = []
    for number, layout in enumerate(layouts):
        largest = max(next(reached) for _ in range(layout.ciphertexts))
        ports.append(_result(number, len(layouts), layout.shape, largest))
    return tuple(ports)


def _result(number: int, count: int, shape: tuple[int, ...], bound: float) -> Port:
    """One of several results."""
    name = f"result {number + 1}" if count > 1 else "result"
    return Port(name, "real", 0, shape, -bound, bound)


def checked_ranges(program: SlotProgram, results: Sequence[Node]) -> tuple[ActivationRange, ...]:
    """What polynomials expect of their operands, where that does not follow from the inputs."""
    nodes = [each for each in in_order(results) if isinstance(each, Evaluate)]
    checked = {
        node.title: node for node in nodes if node.use and (node.use.claimed or node.use.gap)
    }
    # Of a composition only the first takes what the function is of. All may be one polynomial.
    first = {(node.title, node.coefficients) for node in nodes if node.use is not None}
    later = {(node.title, node.coefficients) for node in nodes if node.use is None}
    ranges: list[ActivationRange] = []
    operands: list[int] = []
    for number, operation in enumerate(program.operations):
        node = checked.get(program.stages[number])
        layout = program.layouts[number]
        if not isinstance(operation, Polynomial) or node is None or not isinstance(layout, Layout):
            continue
        known = (node.title, operation.coefficients)
        if known in later and (known not in first or _continues(program, number)):
            continue
        operands.append(_undropped(program, operation.operand))
        if len(operands) == layout.ciphertexts:
            ranges.append(_range(node, tuple(operands), layout))
            operands = []
    return tuple(ranges)


def _continues(program: SlotProgram, number: int) -> bool:
    """Whether a polynomial takes another one of its stage, as later ones of a composition do."""
    taken = program.operations[number].operands[0]
    while isinstance(program.operations[taken], DropLevel | Rescale | Bootstrap):
        taken = program.operations[taken].operands[0]
    is_polynomial = isinstance(program.operations[taken], Polynomial)
    return is_polynomial and program.stages[taken] == program.stages[number]


def _undropped(program: SlotProgram, value: int) -> int:
    operation = program.operations[value]
    return operation.operand if isinstance(operation, DropLevel) else value


def _range(node: Evaluate, operands: tuple[int, ...], layout: Layout) -> ActivationRange:
    assert node.use is not None
    factor, shift = 2 / (node.high - node.low), -(node.high + node.low) / (node.high - node.low)
    use = node.use
    return ActivationRange(
        use.name, operands, layout, use.low, use.high, factor * node.scale, shift, use.gap
    )


def is_zero(node: Node) -> bool:
    """Whether all numbers of a tensor are 0, whatever its sources hold.

    Example:
        >>> from cloakwork.programs.ir.tensors import Source
        >>> x = Source("x", (2,))
        >>> is_zero(Contract((x, np.zeros(2)), ("a", "a"), "a", (2,))), is_zero(x)
        (True, False)
    """
    found: dict[Node, bool] = {}
    for each in in_order([node]):
        match each:
            case Contract(operands=operands):
                found[each] = any(
                    not operand.any() if isinstance(operand, np.ndarray) else found[operand]
                    for operand in operands
                )
            case Sum(terms=terms, constant=constant):
                clear = constant is None or not constant.any()
                found[each] = clear and all(found[term] for term in terms)
            case Rearrange(operand=operand) | Within(operand=operand):
                found[each] = found[operand]
            case _:
                found[each] = False
    return found[node]

"""Functions of encrypted tensors compiled: all steps planned together, run any number of times."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from cloakwork._native import Parameters
from cloakwork.base.arguments import integer, shown, truth
from cloakwork.base.arrays import MIN_RIGHT_BITS
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidParametersError,
    KeyBudgetError,
)
from cloakwork.frontends.tensors.self_check import require_function
from cloakwork.frontends.tensors.tracing import Traced, interval_of, traced
from cloakwork.plan.analysis.precision import predicted_precision
from cloakwork.plan.functions.approximate import Approximated, approximated, has_functions
from cloakwork.plan.functions.checked import checked_ranges
from cloakwork.plan.functions.cleared import has_claims, with_claims_cleared
from cloakwork.plan.functions.intervals import Interval
from cloakwork.plan.matmul.matrix_plan import MatrixPlan, is_large, matrix_plan
from cloakwork.plan.matmul.program import product_program
from cloakwork.plan.parameters.bootstrapping import USUAL_RINGS
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.parameters.rings import RINGS
from cloakwork.plan.passes.key_budget import within_key_budget
from cloakwork.plan.tensors.bootstrapped import cheapest_bootstrapped_plan, within_budget
from cloakwork.plan.tensors.search import Plan, Task, cheapest_plan, require_keys
from cloakwork.plan.tensors.zeros import is_zero
from cloakwork.programs.ir.tensors import Source
from cloakwork.programs.packing.matrix import PlacedMatrix
from cloakwork.programs.packing.tensor import PlacedInput, TensorPacking
from cloakwork.programs.port import Port
from cloakwork.programs.slots import Output
from cloakwork.programs.spec import Spec
from cloakwork.runtime.costs import Costs, comparable
from cloakwork.runtime.on_device import require_device
from cloakwork.runtime.program import Program
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.devices import CPU, device_name, open_device

_ACTION = "compile"
_MOST_BYTES = 2**63 - 1


@names_memory("compile")
def compile(
    function: Callable[..., Any],
    *specs: Spec | tuple[int, ...],
    precision: int = 20,
    key_budget: int | None = None,
    log_n: int | None = None,
    insecure: bool = False,
    public_inputs: bool = False,
    costs: Callable[[Parameters], Costs] = comparable,
    bootstrap: bool | None = None,
    device: str = CPU,
) -> Program:
    """Plan a function of encrypted tensors as one program.

    The function is run once on stand-ins, and then on a few arrays in their ranges, with which the
    plan is compared as long as that takes no more than a second or so. Inputs are packed as the
    plan needs them, layouts are chosen across all steps, levels are as low as they can be, and the
    parameters are the cheapest that are secure.

    Args:
        function: A function of tensors that returns a tensor or a tuple of tensors. It may
            use einsum, the methods of tensors, and clear arrays.
        specs: Shape, or shape and bound, of each argument.
        precision: Bits after the binary point that results should have.
        key_budget: Bytes for all evaluation keys; the fewer, the more rotations.
        log_n: Base-2 logarithm of the ring degree; by default the cheapest.
        insecure: Whether parameters below 128-bit security are allowed, for tests.
        public_inputs: Whether inputs may be encrypted by a public key, which has more noise and so
            may take larger parameters; see `Client.public_key`.
        costs: What operations cost under given parameters. By default a model, so that every
            machine makes the same plan; `cloakwork.measured_costs` measures this machine,
            which takes some seconds for each ring tried and is then cached.
        bootstrap: Whether values may be refreshed on the way, where that costs least. By default
            they are where no chain is as long as the function is deep; True takes parameters with
            levels for it even so, False refuses a function that is deeper.
        device: Where evaluators run it: "cpu", "cuda", or "cuda:1" for the second GPU. It is
            planned without operations that devices lack; see `Evaluator.device`.

    Raises:
        InvalidParametersError: No parameters have the depth and precision that are needed.
        InsecureParametersError: Those of the ring asked for fall short of 128-bit security.
        KeyBudgetError: The fewest keys that will do take more than the budget.
        InvalidArgumentError: The function does not take or return tensors as it should, or has a
            `compile` of its own, or `costs` is not a function.
        ShapeMismatchError: Shapes do not fit.
        DeviceUnavailableError: The device, or what it takes, is missing.
        DeviceOperationError: The function cannot be planned without operations that devices lack.
        PlanMismatchError: The plan computes something else than the function.

    Example:
        >>> import numpy as np
        >>> import cloakwork as cw
        >>> p = cw.compile(lambda a, b: (a @ b).sum(axis=0), (4, 8), (8, 2))
        >>> a, b = np.ones((4, 8)), np.ones((8, 2))
        >>> bool(np.allclose(p.run(a, b), 32, atol=1e-4))
        True
    """
    if not callable(costs):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected costs to be a function of parameters such as "
            f"cloakwork.measured_costs, got {shown(costs)}"
        )
    if type(function).__module__.startswith("cloakwork.") and hasattr(function, "compile"):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a function of tensors, got {shown(function)}; circuits "
            "have a method of their own, compile(bits=) over integers and compile() over bits"
        )
    precision = integer(precision, "precision", _ACTION, least=0, most=SCALE_BITS[-1])
    if log_n is not None:
        log_n = integer(log_n, "log_n", _ACTION, least=5, most=17)
    if key_budget is not None:
        key_budget = integer(key_budget, "key_budget", _ACTION, least=0, most=_MOST_BYTES)
    insecure = truth(insecure, "insecure", _ACTION)
    public_inputs = truth(public_inputs, "public_inputs", _ACTION)
    bootstrap = None if bootstrap is None else truth(bootstrap, "bootstrap", _ACTION)
    _open(device)
    described = tuple(each if isinstance(each, Spec) else Spec(each) for each in specs)
    graph = traced(function, described)
    title = getattr(function, "__name__", "function")
    spec_of = dict(zip(graph.sources, described, strict=True))
    bounds = {source: spec.bound for source, spec in spec_of.items()}
    task = Task(title, graph.results, bounds, precision, insecure, public_inputs, costs)
    inputs = tuple(
        Port(source.name, "real", 0, spec.shape, spec.low, spec.high)
        for source, spec in spec_of.items()
    )
    rings = RINGS if log_n is None else [log_n]
    require_keys(task, rings, key_budget)
    program = _cheapest(task, graph, inputs, spec_of, rings, key_budget, bootstrap, device)
    require_function(program, function, graph, precision)
    return program


def _cheapest(
    task: Task,
    graph: Traced,
    inputs: tuple[Port, ...],
    spec_of: Mapping[Source, Spec],
    rings: Sequence[int],
    key_budget: int | None,
    bootstrap: bool | None,
    device: str,
) -> Program:
    """The cheapest program, as products of matrices or in slots."""
    too_few: list[KeyBudgetError] = []
    blocks: MatrixPlan | None = None
    if not bootstrap and device == CPU:
        try:
            blocks = matrix_plan(task, rings, key_budget)
        except KeyBudgetError as refusal:
            if is_large(task):
                raise
            too_few.append(refusal)
    if blocks is not None and blocks.is_certain:
        return _product_program(blocks, graph, inputs, task)
    in_slots, made = task, None
    if has_functions(graph.results):
        # Half of the errors are the functions', half of them noise.
        made = approximated(
            graph.results,
            lambda source: interval_of(spec_of[source]),
            task.precision + 1,
            task.title,
        )
        in_slots = _without_functions(task, made)
    try:
        if blocks is None:
            plan = _planned(in_slots, rings, key_budget, bootstrap)
        else:
            plan = _within_key_budget(in_slots, rings, key_budget)
    except (InvalidParametersError, KeyBudgetError) as refusal:
        if blocks is not None:
            return _product_program(blocks, graph, inputs, task)
        if isinstance(refusal, KeyBudgetError):
            # Of both ways the one that takes least says what would do.
            raise min([refusal, *too_few], key=lambda each: each.least) from None
        raise
    if blocks is not None and blocks.is_better_than(plan):
        return _product_program(blocks, graph, inputs, task)
    if made is not None:
        return _for_device(_program_with_functions(plan, in_slots, made, graph, inputs), device)
    return _for_device(_program(plan, graph, inputs, task), device)


def _without_functions(task: Task, made: Approximated) -> Task:
    """The task of what comes near to the functions of another."""
    reach = max(abs(end) for each in made.intervals for end in each.ends)
    least = max(0, _least_precision(reach)) if 0 < reach < math.inf else 0
    return replace(task, results=made.results, precision=task.precision + 1, spare=1, least=least)


def _open(device: str) -> None:
    """Refuse a device that is not there before anything is planned."""
    if device_name(device, _ACTION) != CPU:
        open_device(device)


def _for_device(program: Program, device: str) -> Program:
    """The program as its evaluators run it on a device."""
    require_device(program, device)
    return replace(program, device=device)


def _planned(
    task: Task, rings: Sequence[int], key_budget: int | None, bootstrap: bool | None
) -> Plan:
    """The cheapest plan; it bootstraps where it has to, or is told to."""
    tasks = [task]
    if has_claims(task.results):
        tasks.append(replace(task, results=with_claims_cleared(task.results)))
    if bootstrap:
        return _first(tasks, lambda each: _bootstrapped(each, rings, key_budget))
    try:
        return _first(tasks, lambda each: _within_key_budget(each, rings, key_budget))
    except InvalidParametersError as refusal:
        if bootstrap is False:
            raise
        try:
            return _first(tasks, lambda each: _bootstrapped(each, rings, key_budget))
        except InvalidParametersError as other:
            refusal.add_note(f"nor can it be bootstrapped: {other}")
            raise refusal from other


def _first(tasks: Sequence[Task], plan: Callable[[Task], Plan]) -> Plan:
    """The plan of the first task that has one."""
    *others, last = tasks
    for task in others:
        with suppress(InvalidParametersError):
            return plan(task)
    return plan(last)


def _bootstrapped(task: Task, rings: Sequence[int], key_budget: int | None) -> Plan:
    """The cheapest plan that may bootstrap, with few enough keys."""
    plan = cheapest_bootstrapped_plan(task, USUAL_RINGS if rings == RINGS else rings)
    return within_budget(plan, task, key_budget)


def _program(plan: Plan, graph: Traced, inputs: tuple[Port, ...], task: Task) -> Program:
    """The program of a plan."""
    packing = _packing(plan, inputs, _results(plan, task), graph, task)
    return Program(_scheme(plan, task), plan.lowered.program, packing)


def _program_with_functions(
    plan: Plan, task: Task, made: Approximated, graph: Traced, inputs: tuple[Port, ...]
) -> Program:
    """The program of a graph whose functions are replaced by what comes near to them."""
    try:
        return _with_errors_of_functions(plan, task, made, graph, inputs)
    except InvalidParametersError as refusal:
        decided = [
            fit.asked.origin or fit.asked.function
            for fit in made.fits
            if fit.asked.known.jumps and not fit.asked.crosses_zero
        ]
        if not decided:
            raise
        raise InvalidParametersError(
            f"{refusal}; the bounds of the inputs decide what is compared at {', '.join(decided)}: "
            "it comes out the same for all numbers"
        ) from refusal


def _with_errors_of_functions(
    plan: Plan, task: Task, made: Approximated, graph: Traced, inputs: tuple[Port, ...]
) -> Program:
    body, noise = plan.lowered.program, 2.0**-task.precision
    outputs = tuple(
        _narrowed(port, interval, noise)
        for port, interval in zip(_results(plan, task), made.intervals, strict=True)
    )
    return Program(
        _scheme(plan, task),
        body,
        _packing(plan, inputs, outputs, graph, task),
        ranges=checked_ranges(body, made.results) + plan.lowered.ranges,
        error=made.error + noise,
        error_bound=made.error + noise,
    )


def _scheme(plan: Plan, task: Task) -> Ckks:
    return Ckks(plan.parameters, plan.refreshing, public_inputs=task.public_inputs)


def _packing(
    plan: Plan, inputs: tuple[Port, ...], outputs: tuple[Port, ...], graph: Traced, task: Task
) -> TensorPacking:
    """How arguments and results lie in ciphertexts."""
    placed = tuple(
        PlacedInput(graph.sources.index(source), layout) for source, layout in plan.lowered.inputs
    )
    _require_more_than_noise(outputs, graph, task)
    return TensorPacking(inputs, outputs, placed, tuple(plan.lowered.outputs), graph.form)


def _narrowed(port: Port, interval: Interval, noise: float) -> Port:
    """A result with the range that its functions give it, where that is narrower."""
    low, high = interval.ends
    assert port.low is not None
    assert port.high is not None
    return replace(port, low=max(port.low, low - noise), high=min(port.high, high + noise))


def _product_program(
    plan: MatrixPlan, graph: Traced, inputs: Sequence[Port], task: Task
) -> Program:
    """The program of what is planned as products of matrices."""
    placed = [PlacedMatrix(graph.sources.index(source), place) for source, place in plan.operands]
    program = product_program(
        plan.program,
        plan.parameters,
        inputs,
        placed,
        plan.results,
        public_inputs=task.public_inputs,
        form=graph.form,
        ranges=plan.ranges,
    )
    _require_more_than_noise(program.outputs, graph, task)
    return program


def _within_key_budget(task: Task, rings: Sequence[int], key_budget: int | None) -> Plan:
    """The cheapest plan with few enough keys."""
    extra = 0
    while True:
        finer = replace(task, precision=task.precision + extra, spare=task.spare + extra)
        plan = cheapest_plan(finer, rings)
        planned, parameters = plan.lowered, plan.parameters
        budgeted = partial(
            within_key_budget, key_bytes_at=parameters.evaluation_key_bytes, budget=key_budget
        )
        lowered = planned.changed(budgeted)
        if lowered.program is planned.program:
            return plan
        # Rotations made of others, and transforms made of rotations, have larger errors.
        bounds = lowered.value_bounds(task.bounds)
        precise = predicted_precision(lowered.program, bounds, task.noise(parameters))
        if precise >= task.precision:
            return replace(plan, lowered=lowered)
        extra += math.ceil(task.precision - precise)


def _require_more_than_noise(outputs: Sequence[Port], graph: Traced, task: Task) -> None:
    """Refuse results that are smaller than their errors, by the bounds of the arguments."""
    title, precision = task.title, task.precision
    bound = max(port.bound for port in outputs)
    if bound == 0 and not all(map(is_zero, graph.results)):
        raise InvalidParametersError(
            f"cannot compile {title}: expected results that reach {sys.float_info.min:.2g} or "
            "more, got smaller ones, which no double holds; scale the arguments up"
        )
    if 0 < bound * 2.0**precision < 2.0**MIN_RIGHT_BITS:
        needed = _least_precision(bound)
        raise InvalidParametersError(
            f"cannot compile {title}: its results are at most {bound:g}, and with errors of up to "
            f"2^-{precision} all of them are noise; ask for precision={needed} or more, or scale "
            "the results up"
        )


def _least_precision(bound: float) -> int:
    """Bits after the binary point with fewer of which results up to a bound are noise."""
    return MIN_RIGHT_BITS - math.floor(math.log2(bound))


def _results(plan: Plan, task: Task) -> tuple[Port, ...]:
    """The results as ports, with the ranges that those of the inputs allow."""
    bounds = plan.lowered.value_bounds(task.bounds)
    reached = iter(
        bound or 0.0
        for operation, bound in zip(plan.lowered.program.operations, bounds, strict=True)
        if isinstance(operation, Output)
    )
    several = len(plan.lowered.outputs) > 1
    ports: list[Port] = []
    for number, layout in enumerate(plan.lowered.outputs, start=1):
        largest = max(next(reached) for _ in range(layout.ciphertexts))
        name = f"result {number}" if several else "result"
        ports.append(Port(name, "real", 0, layout.shape, -largest, largest))
    return tuple(ports)

"""Arguments that stay with the evaluator, and are results of the step before."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloakwork.base.arguments import integer, shown
from cloakwork.errors import InvalidArgumentError, InvalidParametersError
from cloakwork.frontends.tensors.result import following
from cloakwork.frontends.tensors.tracing import traced
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.magnitudes import program_in_units
from cloakwork.programs.ir.tensors import TensorFunction
from cloakwork.programs.layout import default_layout
from cloakwork.programs.places import TensorPlace
from cloakwork.programs.spec import PlacedSpec, Spec
from cloakwork.runtime.after import place_of
from cloakwork.runtime.program import Program
from cloakwork.runtime.state import MAX_STEPS, Kept

_ACTION = "describe a state"
# Places of a state that are tried, each that of the result of the one before.
_PLACES = 4
# Of reals.
_MOST_PRECISION = 50


@dataclass(frozen=True, slots=True)
class StateSpec(PlacedSpec):
    """What is known of an argument that is a result of the step before; see `state`."""

    initial: float = 0.0
    steps: int = 0


def state(
    shape: tuple[int, ...],
    initial: float = 0.0,
    *,
    bound: float = 1.0,
    low: float | None = None,
    high: float | None = None,
    steps: int | None = None,
) -> StateSpec:
    """An argument of a function that is compiled, which stays with the evaluator, encrypted.

    A function with n of them returns their next values first, in their order, before whatever else
    it returns. `Client.start` encrypts the first state, and each run of the evaluator replaces it.

    Args:
        shape: The shape.
        initial: Each of its numbers before the first step.
        bound: The largest absolute value of any of its numbers, at any step. It is public.
        low: The least value of any of them, where more is known than the bound.
        high: The greatest.
        steps: How many steps there will be at most, up to 4096. Ranges and errors are followed
            for so many. By default there may be any number, where every step keeps the state in its
            range and errors stay bounded.

    Raises:
        InvalidArgumentError: The initial value is not in the range, or steps are not from 1 on.
        CloakworkError: What `Spec` raises.

    Example:
        >>> import cloakwork as cw
        >>> def step(total, x):
        ...     return total + x
        >>> program = cw.compile(step, cw.state((4,), bound=100, steps=100), (4,))
        >>> program.steps
        100
    """
    lasting = 0
    if steps is not None:
        lasting = integer(steps, "steps", _ACTION, least=1, most=MAX_STEPS)
    spec = StateSpec(shape, bound, low, high, steps=lasting)
    least, most = spec.ends
    is_number = isinstance(initial, int | float | np.integer | np.floating)
    if not (is_number and least <= initial <= most):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected an initial value that is a number from {least:g} to "
            f"{most:g}, got {shown(initial)}; give one, or a larger bound"
        )
    return replace(spec, initial=float(initial))


def keeping(
    function: Callable[..., object], specs: Sequence[Spec], options: RealOptions, device: str
) -> tuple[Program, TensorFunction]:
    """The program of a function that keeps state, precise at its last step, and what it is of.

    Args:
        function: The function.
        specs: Those of its arguments, of which some are states.
        options: What is asked of it.
        device: Where it is to run.

    Raises:
        InvalidArgumentError: It does not return the next states first.
        InvalidParametersError: No layout of a state is that of the result, or no plan is precise.
        InvalidProgramError: A step does not leave a state as the next one takes it.
        NoiseBudgetError: Errors grow with every step, and the number of steps was not said.
    """
    spare = 0
    while options.precision + spare <= _MOST_PRECISION:
        asked = replace(options, precision=options.precision + spare)
        program, graph = _lying_still(function, specs, asked, device)
        reached = min(each.precision for each in program.estimated_results or ())
        if reached >= options.precision:
            return program, graph
        spare += math.ceil(options.precision - reached)
    raise InvalidParametersError(
        f"cannot compile {options.title}: expected {options.precision} bits of its results to be "
        f"right after its last step, got {reached:.1f} however precise a step is; ask for less "
        "precision, or for fewer steps="
    )


def _lying_still(
    function: Callable[..., object], specs: Sequence[Spec], options: RealOptions, device: str
) -> tuple[Program, TensorFunction]:
    """The program of a function whose states lie where it leaves them."""
    graph = traced(function, specs)
    states = [number for number, each in enumerate(specs) if isinstance(each, StateSpec)]
    require_next(graph, states)
    program = program_in_units(graph, options, device)
    options = replace(options, log_n=program.scheme.parameters.log_n)
    places: list[TensorPlace] = []
    for _ in range(_PLACES):
        before, places = places, places_of_next(program, len(states))
        if places == before:
            kept = tuple(_kept(graph, program, number, at) for at, number in enumerate(states))
            return replace(following(program, graph), kept=kept), graph
        graph = traced(function, placed_at(specs, states, places))
        program = program_in_units(graph, options, device)
    raise InvalidParametersError(
        f"cannot compile {program.name}: expected a step that leaves its state where it takes it "
        "from, got one that moves it on; return the state in the order in which it came"
    )


def placed_at(
    specs: Sequence[Spec], states: Sequence[int], places: Sequence[TensorPlace]
) -> list[Spec]:
    """The same arguments, of which the states lie in places."""
    placed = list(specs)
    for number, place in zip(states, places, strict=True):
        spec = placed[number]
        assert isinstance(spec, PlacedSpec)
        placed[number] = replace(spec, place=place)
    return placed


def places_of_next(program: Program, count: int) -> list[TensorPlace]:
    """Where the first results lie, or would lie as tensors do."""
    slots = program.packing.slots
    return [
        place_of(program, port.name) or default_layout(port.shape, slots)
        for port in program.outputs[:count]
    ]


def _kept(graph: TensorFunction, program: Program, number: int, at: int) -> Kept:
    spec = graph.specs[number]
    assert isinstance(spec, StateSpec)
    name = graph.sources[number].name
    return Kept(name, program.outputs[at].name, spec.initial, spec.steps)


def require_next(graph: TensorFunction, states: Sequence[int]) -> None:
    """Refuse functions that do not return the next states first."""
    shapes = [each.shape for each in graph.results[: len(states)]]
    expected = [graph.sources[number].shape for number in states]
    if shapes != expected:
        raise InvalidArgumentError(
            f"cannot compile: expected a function that returns the next states first, of the "
            f"shapes {expected}, got {shapes}"
        )

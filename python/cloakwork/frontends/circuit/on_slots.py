"""A function over integers on slots: its numbers laid out in vectors, with parameters of BGV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cloakwork.base.arguments import shown
from cloakwork.errors import ResultOverflowError, SlotMismatchError
from cloakwork.frontends.circuit.engines import without_dead_functions
from cloakwork.frontends.circuit.result_bits import Results
from cloakwork.frontends.circuit.staging import Staged
from cloakwork.plan.circuits.depth import require_depth
from cloakwork.plan.circuits.function_ranges import Range
from cloakwork.plan.circuits.ranges import result_ranges
from cloakwork.plan.circuits.search import lane_programs
from cloakwork.plan.parameters.bgv import IntegerOptions, IntegerPlan, cheapest_integer_plan
from cloakwork.programs.ir.circuits import ScalarCircuit
from cloakwork.programs.ir.vectors import Clear, LaneProgram
from cloakwork.programs.packing.results import Form, Known, integers_of
from cloakwork.programs.packing.scalar import (
    ROWS,
    InputDigits,
    ScalarPacking,
    ScalarPlaces,
    capacity,
)
from cloakwork.programs.port import Port
from cloakwork.runtime.program import Program
from cloakwork.schemes.bgv import Bgv

# Slots that are enough for most; more than these ask for larger rings.
_MOST_WIDTH = 1 << 12


class BySingleNumbers:
    """A function that is planned number by number, for slots.

    Args:
        made: What it does.
        effort: How long to search.
        seed: Of the search.
    """

    def __init__(self, made: Staged, effort: float, seed: int) -> None:
        self._made = replace(made, circuit=without_dead_functions(made.circuit))
        self._effort = effort
        self._seed = seed

    @property
    def results(self) -> Results:
        """Its results."""
        return Results.of(self._made.circuit)

    def program(
        self, bounds: Mapping[str, Range], options: IntegerOptions, *, wrapping: bool
    ) -> Program:
        """Its program, of inputs within bounds."""
        circuit = self._made.circuit
        if not options.insecure:
            require_depth(circuit, options.bits, options.rings)
        lanes = _candidates(circuit, self._effort, self._seed, 1 << options.rings[-1] - 1)
        return compiled(lanes, circuit, self._made.form, bounds, options, wrapping=wrapping)


def _candidates(circuit: ScalarCircuit, effort: float, seed: int, row: int) -> list[LaneProgram]:
    """Programs for a part of a row; where there are none, for a whole one."""
    refusal: SlotMismatchError | None = None
    for width in dict.fromkeys((min(row, _MOST_WIDTH), row)):
        try:
            return lane_programs(circuit, effort=effort, seed=seed, most_width=width)
        except SlotMismatchError as error:
            refusal = error
    raise SlotMismatchError(
        f"cannot compile {circuit.title}: an evaluation takes more slots than the {row} that a row "
        "of the largest ring has; leave the layout of inputs to the plan, or let them be ungrouped"
    ) from refusal


def compiled(
    candidates: Sequence[LaneProgram],
    circuit: ScalarCircuit,
    form: Form,
    bounds: Mapping[str, Range],
    options: IntegerOptions,
    *,
    wrapping: bool = False,
) -> Program:
    """Give a lane program of a circuit levels and parameters.

    Args:
        candidates: What may run; of these the one that costs least with its levels does.
        circuit: What it computes.
        form: How its results stand in lists, tuples and dicts.
        bounds: The least and the greatest value of the scalars of each input.
        options: What is asked of its parameters.
        wrapping: Whether results of more bits may wrap around.

    Raises:
        CircuitTooDeepError: No parameters take as many products in a row.
        SlotMismatchError: The batch takes more slots than the largest ring has.
        ResultOverflowError: A result that is clear has more bits.
        InsecureParametersError: The ring asked for falls short of 128-bit security.
    """
    plan = planned_lanes(candidates, options)
    packing = packing_of(circuit, form, bounds, plan, options.bits, wrapping=wrapping)
    return Program(
        Bgv(plan.parameter_sets, public_inputs=options.public_inputs), plan.program, packing
    )


def planned_lanes(candidates: Sequence[LaneProgram], options: IntegerOptions) -> IntegerPlan:
    """The cheapest plan of some lane programs, of which the largest ring holds the batch.

    Raises:
        CircuitTooDeepError, SlotMismatchError, InsecureParametersError: As `compiled` raises them.
    """
    _require_capacity(candidates, options.evaluations, 1 << max(options.rings) - 1)
    return cheapest_integer_plan(candidates, options)


def packing_of(
    circuit: ScalarCircuit,
    form: Form,
    bounds: Mapping[str, Range],
    plan: IntegerPlan,
    bits: int,
    *,
    wrapping: bool = False,
    digits: tuple[InputDigits, ...] = (),
) -> ScalarPacking:
    """Where the scalars of a circuit lie in its plan, of results that have so many bits.

    Raises:
        ResultOverflowError: A result that is clear has more bits.
    """
    inputs = tuple(
        Port(each.name, "integer", 0, each.shape, *bounds[each.name]) for each in circuit.inputs
    )
    places = plan.slots.places
    _require_clear_results(circuit.title, form, places, bits)
    ranges = result_ranges(circuit, bounds)
    return ScalarPacking(inputs, places, form, bits, ranges, wrapping, digits)


def _require_capacity(candidates: Sequence[LaneProgram], batch: int, row: int) -> None:
    width = min(lanes.width for lanes in candidates)
    most = capacity(width, row)
    if batch > most:
        raise SlotMismatchError(
            f"cannot compile {candidates[0].title}: expected a batch of up to {most}, which the "
            f"{ROWS} rows of {row} slots of the largest ring hold at {width} slots for each "
            f"evaluation, got {batch}; compile with a smaller batch and run several"
        )


def _require_clear_results(title: str, form: Form, places: ScalarPlaces, bits: int) -> None:
    """Refuse results that overflow in every run, for nothing encrypted is in them."""
    clear = [place.value for place in places.results if isinstance(place, Clear)]
    clear += [each.value for each in integers_of(form) if isinstance(each, Known)]
    limit = 1 << bits - 1
    for value in clear:
        if not -limit <= value < limit:
            raise ResultOverflowError(
                f"cannot compile {title}: expected results that are signed numbers of {bits} bits, "
                f"got {shown(value)}, which is clear"
            )

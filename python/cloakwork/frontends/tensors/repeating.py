"""Programs of steps that are repeated: planned once, at levels that serve all steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from cloakwork._native import Parameters
from cloakwork.errors import (
    InvalidParametersError,
    KeyBudgetError,
    ParametersMismatchError,
)
from cloakwork.frontends.tensors.repeated_errors import (
    error_to_expect,
    has_functions,
    largest_error,
    samples_of_steps,
)
from cloakwork.frontends.tensors.result import RepeatedSpec, following
from cloakwork.frontends.tensors.state import placed_at, places_of_next, require_next
from cloakwork.frontends.tensors.tracing import traced
from cloakwork.plan.analysis.memory import require_within_limit
from cloakwork.plan.parameters.bootstrapping import USUAL_RINGS, least_level, refreshing_for
from cloakwork.plan.parameters.rings import RINGS
from cloakwork.plan.parameters.together import lifted
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.lower import in_order
from cloakwork.plan.tensors.magnitudes import program_in_units
from cloakwork.programs.bounds import largest_bound
from cloakwork.programs.ir.tensors import Apply, Node, TensorFunction, on_operands
from cloakwork.programs.layout import Layout, default_layout
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.places import TensorPlace
from cloakwork.programs.raised_levels import with_raised_levels
from cloakwork.programs.repeated import Carried, Repeated, with_lifts
from cloakwork.programs.slots import SlotProgram
from cloakwork.programs.spec import PlacedSpec, Spec
from cloakwork.runtime.after import After
from cloakwork.runtime.program import Program
from cloakwork.schemes.base import levels_of
from cloakwork.schemes.ckks import Ckks

# Of reals.
_MOST_PRECISION = 50
# By how many bits functions are more precise than what all steps leave of them.
_MORE_BITS = 2
# By how many more than they lack: fits to one degree are not better for each bit that is asked.
_FINER_BITS = 1
# A bound on errors that says nothing.
_ABSURD = 2.0**20


def repeating(
    function: Callable[..., object], specs: Sequence[Spec], options: RealOptions, device: str
) -> tuple[Program, TensorFunction]:
    """The program of a step that is repeated, precise after its last time.

    Its chain has the levels of all steps where one is so long; else what a step takes is refreshed.

    Args:
        function: The step.
        specs: Those of its arguments, of which some are states.
        options: What is asked of it.
        device: Where it is to run.

    Raises:
        InvalidParametersError: No parameters have the levels, or the precision after the last step.
        KeyBudgetError: The keys take more than the budget.
    """
    spec = _repeated_spec(specs)
    spare, finer, reached = 0, 0, -math.inf
    while options.precision + spare + finer <= _MOST_PRECISION:
        asked = replace(options, precision=options.precision + spare)
        program, graph = _planned(_Search(function, specs, asked, device, finer))
        has_errors = has_functions(graph)
        parameters, refreshing = program.scheme.parameters, program.scheme.refreshing
        largest = largest_error(program, graph, 2.0**-asked.precision)
        error, bound = largest, largest if largest < _ABSURD else None
        # It is not a number where errors are infinite.
        if not error <= 2.0**-options.precision:
            noise = options.noise(parameters, refreshing)
            error = error_to_expect(program, graph, noise, spec.samples, asked.precision)
        before, reached = reached, -math.log2(error) if error < math.inf else -math.inf
        if reached >= options.precision:
            _require_key_budget(program, options)
            assert isinstance(program.body, SlotProgram)
            require_within_limit(program.body, program.scheme, options)
            if not has_errors and error == largest:
                return replace(program, error=None, error_bound=None), graph
            return replace(program, error=error, error_bound=bound), graph
        if reached <= before or reached == -math.inf:
            break
        lacking = math.ceil(options.precision - reached)
        # Of the chain of bootstraps there is nothing more precise, but there are better functions.
        if refreshing is None:
            spare += lacking
        elif has_errors:
            finer += lacking + _FINER_BITS
        else:
            break
    right = f"{reached:.1f} bits" if reached > 0 else "no bit"
    raise InvalidParametersError(
        f"cannot compile {options.title} at a precision of {options.precision} bits: errors grow "
        f"from step to step, and {spec.times} steps leave {right} of its results "
        "right; ask for less precision, repeat it less often, or give narrower ranges"
    )


def _require_key_budget(program: Program, options: RealOptions) -> None:
    """Refuse keys beyond the budget, which counts those of bootstraps."""
    budget = options.key_budget
    if budget is not None and program.key_bytes > budget:
        raise KeyBudgetError(
            f"cannot plan {program.name} within {budget} bytes of evaluation keys: for all its "
            f"steps it takes {program.key_bytes}; allow as many, or repeat a shallower step",
            program.key_bytes,
        )


def _repeated_spec(specs: Sequence[Spec]) -> RepeatedSpec:
    return next(each for each in specs if isinstance(each, RepeatedSpec))


def _planned(search: _Search) -> tuple[Program, TensorFunction]:
    """A step that is repeated, on the least chain of all levels, or one of bootstraps."""
    options = search.options
    largest = USUAL_RINGS[-1] if options.log_n is None else options.log_n
    try:
        step = search.in_ring(largest)
    except InvalidParametersError:
        if options.bootstrap is False:
            raise
        return search.refreshed_within(largest)
    if not options.bootstrap:
        for ring in RINGS if options.log_n is None else [largest]:
            if not step.has_chain(ring):
                continue
            with suppress(InvalidParametersError):
                found = step if ring == largest else search.in_ring(ring)
                if found.has_chain(ring):
                    return found.deep(), found.graph
    if options.bootstrap is False:
        raise InvalidParametersError(
            f"cannot compile {options.title} without bootstraps: expected a chain of {step.levels} "
            f"levels for {step.repeated.times} steps, which no ring up to degree 2^{largest} has; "
            "leave bootstrap out, or repeat it less often"
        )
    try:
        return step.refreshed(options), step.graph
    except InvalidParametersError:
        # It is deeper than what a bootstrap gives.
        return search.refreshed_within(largest)


@dataclass(frozen=True, slots=True)
class _Search:
    """What is planned in several ways.

    Args:
        function: The step.
        specs: Those of its arguments.
        options: What is asked of it.
        device: Where it is to run.
        finer: By how many bits functions are more precise than usual.
    """

    function: Callable[..., object]
    specs: Sequence[Spec]
    options: RealOptions
    device: str
    finer: int

    @property
    def states(self) -> list[int]:
        """The numbers of the arguments that are carried on."""
        return [n for n, each in enumerate(self.specs) if isinstance(each, RepeatedSpec)]

    def in_ring(self, log_n: int) -> _PlannedStep:
        """The step in a ring, without bootstraps.

        Where a step leaves its states otherwise than it takes them they are brought there, which
        takes a level.
        """
        options = replace(self.options, log_n=log_n, bootstrap=False)
        graph = self._traced(self.specs)
        require_next(graph, self.states)
        program = program_in_units(graph, options, self.device)
        if self.options.bootstrap is not False:
            self._require_shallow(program, graph)
        made = places_of_next(program, len(self.states))
        given = [self.specs[number] for number in self.states]
        places = self._places(made, program.packing.slots)
        placed = placed_at(self.specs, self.states, places)
        if places != made or not all(isinstance(each, PlacedSpec) and each.place for each in given):
            graph = self._traced(placed)
            program = program_in_units(graph, options, self.device)
            made = places_of_next(program, len(self.states))
        if made != places:
            graph = replace(graph, places=tuple(places))
            program = program_in_units(graph, options, self.device)
        return self._step(program, graph)

    def _require_shallow(self, program: Program, graph: TensorFunction) -> None:
        """Refuse a step for which no chain has the levels, nor what a bootstrap leaves of one."""
        body, name = program.body, graph.sources[self.states[0]].name
        assert isinstance(body, SlotProgram)
        wanted = levels_of(body, "inputs")[After(name, program, "").numbers_in(program)[0]]
        spent = wanted - max(levels_of(body, "outputs"))
        log_n, steps = program.scheme.parameters.log_n, _repeated_spec(self.specs).times
        best = refreshing_for(log_n, bound=1.0, insecure=self.options.insecure)
        if spent <= best.output_level - best.input_level:
            return
        if not _has_chain(program, log_n, spent * steps):
            raise InvalidParametersError(
                f"cannot compile {self.options.title}: expected a step of fewer levels than the "
                f"{spent} that it takes, which neither a chain nor a bootstrap in a ring of degree "
                f"2^{log_n} has for {steps} steps; repeat a shallower step"
            )

    def refreshed_within(self, log_n: int) -> tuple[Program, TensorFunction]:
        """The step with bootstraps on the way and before it."""
        options = replace(self.options, log_n=log_n, bootstrap=True)
        defaults = [default_layout(self.specs[n].shape, 1 << (log_n - 1)) for n in self.states]
        places = self._places(defaults, 1 << (log_n - 1))
        graph = self._traced(placed_at(self.specs, self.states, places))
        require_next(graph, self.states)
        graph = replace(graph, places=tuple(places))
        step = self._step(program_in_units(graph, options, self.device), graph)
        return step.refreshed(self.options), graph

    def _traced(self, specs: Sequence[Spec]) -> TensorFunction:
        graph = traced(self.function, specs)
        # What functions are off by adds up.
        steps = _repeated_spec(specs).times
        bits = self.options.precision + steps.bit_length() + _MORE_BITS + self.finer
        results = _with_bits(graph.results, bits)
        return replace(graph, results=results, samples=samples_of_steps(graph))

    def _places(self, made: Sequence[TensorPlace], slots: int) -> list[Layout]:
        """Where states lie: as what they are at first, or as a step leaves them."""
        found: list[Layout] = []
        for number, place in zip(self.states, made, strict=True):
            spec = self.specs[number]
            known = spec.place if isinstance(spec, PlacedSpec) and spec.place is not None else place
            found.append(known if isinstance(known, Layout) else default_layout(spec.shape, slots))
        return found

    def _step(self, program: Program, graph: TensorFunction) -> _PlannedStep:
        carried = tuple(
            Carried(graph.sources[number].name, program.outputs[at].name)
            for at, number in enumerate(self.states)
        )
        repeated = Repeated(_repeated_spec(self.specs).times, carried)
        return _PlannedStep(following(program, graph), graph, repeated)


def _with_bits(results: Sequence[Node], bits: int) -> tuple[Node, ...]:
    """The same with so many bits of functions right, where the user does not say how many."""
    made: dict[Node, Node] = {}
    for node in in_order(results):
        new = on_operands(node, made.__getitem__)
        if isinstance(new, Apply) and new.bits is None:
            new = replace(new, bits=bits)
        made[node] = new
    return tuple(made[each] for each in results)


@dataclass(frozen=True)
class _PlannedStep:
    """A step as it was planned, at its lowest levels.

    Args:
        program: Its program.
        graph: What it computes.
        repeated: How it is repeated.
    """

    program: Program
    graph: TensorFunction
    repeated: Repeated

    @property
    def body(self) -> SlotProgram:
        """Its operations."""
        body = self.program.body
        assert isinstance(body, SlotProgram)
        return body

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The numbers of what is carried on, as inputs and as results."""
        return [
            pair
            for each in self.repeated.carried
            for pair in After(each.input, self.program, each.result).pairs(self.program)
        ]

    @cached_property
    def taken(self) -> int:
        """The level at which it takes what is carried on."""
        return max(levels_of(self.body, "inputs")[own] for own, _ in self.pairs)

    @cached_property
    def spent(self) -> int:
        """Levels that it takes from what is carried on."""
        return max(0, self.taken - min(levels_of(self.body, "outputs")[to] for _, to in self.pairs))

    @property
    def levels(self) -> int:
        """Levels of all steps."""
        return self.body.top_level + self.spent * (self.repeated.times - 1)

    def has_chain(self, log_n: int) -> bool:
        """Whether a ring has the levels of all steps."""
        return _has_chain(self.program, log_n, self.levels)

    def deep(self) -> Program:
        """Its program, the first step as high as all of them take."""
        try:
            made = lifted(self.program, self.levels - self.body.top_level)
        except ParametersMismatchError as refusal:
            raise InvalidParametersError(str(refusal)) from refusal
        return replace(made, repeated=self.repeated)

    def refreshed(self, options: RealOptions) -> Program:
        """Its program, a bootstrap before the step where what is carried on is spent."""
        program, body, inputs = self.program, self.body, [own for own, _ in self.pairs]
        bounds, known = program.input_bounds, program.value_bounds
        assert bounds is not None
        assert known is not None
        log_n, own = program.scheme.parameters.log_n, program.scheme.refreshing
        bound = 2.0 ** math.ceil(math.log2(max(1.0, *(bounds[number] for number in inputs))))
        if own is not None:
            bound = max(bound, own.bound)
        refreshing = refreshing_for(log_n, bound=bound, insecure=options.insecure)
        needed = max(refreshing.input_level, least_level(refreshing, largest_bound(known)))
        top = refreshing.output_level
        raised = body
        if not refreshes(body):
            if self.spent > top - needed:
                raise InvalidParametersError(
                    f"cannot compile {options.title}: expected a step of up to {top - needed} "
                    f"levels, which a bootstrap in a ring of degree 2^{log_n} leaves, got one of "
                    f"{self.spent}; repeat a shallower step"
                )
            raised = with_raised_levels(body, top - self.taken)
        lifting = with_lifts(raised, inputs, needed, refreshing.input_level, top)
        ranges = tuple(
            replace(each, values=tuple(lifting.numbers[value] for value in each.values))
            for each in program.ranges
        )
        scheme = Ckks(refreshing.chain, refreshing, public_inputs=options.public_inputs)
        return replace(
            program, scheme=scheme, body=lifting.body, ranges=ranges, repeated=self.repeated
        )


def _has_chain(program: Program, log_n: int, levels: int) -> bool:
    """Whether a ring has so many levels of the moduli of a program."""
    own: Parameters = program.scheme.parameters
    try:
        Parameters(
            levels=levels,
            scale_bits=own.scale_bits,
            headroom_bits=own.headroom_bits,
            log_n=log_n,
            word_bits=own.word_bits,
            insecure=own.insecure,
        )
    except InvalidParametersError:
        return False
    return True

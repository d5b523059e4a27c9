"""Functions whose numbers leave slots and come back, as one program: steps and circuits in a row.

A step has all that is computed between two crossings. What no circuit needs is left to the last
step that takes it, where bits that come back have the levels for it in any case.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from cloakwork.errors import (
    InvalidArgumentError,
    InvalidParametersError,
    ParametersMismatchError,
)
from cloakwork.frontends.tensors.crossing import Crossing, Cut, Loop
from cloakwork.frontends.tensors.result import RepeatedSpec, ResultSpec, result
from cloakwork.frontends.tensors.tracing import TracedTensor
from cloakwork.plan.parameters.bootstrapping import USUAL_RINGS
from cloakwork.plan.parameters.together import together
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.ir.tensors import (
    Node,
    Source,
    TensorFunction,
    on_operands,
    operand_nodes,
)
from cloakwork.programs.packing.bits import DecisionPacking
from cloakwork.programs.packing.tensor import TensorPacking
from cloakwork.programs.spec import PlacedSpec, Spec
from cloakwork.runtime.after import Result
from cloakwork.runtime.program import Program
from cloakwork.runtime.row import encrypted_ports

# Base-2 logarithms of ring degrees of functions whose bits stay bits.
_RINGS = range(12, 17)
# By how many bits what goes into a loop is more precise than asked: its errors grow there.
_SPARE_BITS = 10
# Plans a function for arguments in a ring; what stands beside a loop by some bits more precise than
# asked, and refreshed only where it has to be.
Planner = Callable[[Callable[..., Any], Sequence[Any], int | None, int | None], Program]


def require_encrypted(specs: Sequence[Any]) -> None:
    """Refuse arguments that clients do not encrypt, beside numbers that leave slots.

    Raises:
        InvalidArgumentError: One is a result of another program.
    """
    if any(isinstance(each, PlacedSpec | Result) for each in specs):
        raise InvalidArgumentError(
            "cannot compile: expected arguments that clients encrypt beside cloakwork.exactly and "
            "cloakwork.repeat, got "
            "the result of another program; compute that in this function, too, or compile the "
            "circuit apart, by compile(after={name: cloakwork.result(program)})"
        )


def program_in_a_row(
    graph: TensorFunction,
    crossings: Sequence[Cut],
    title: str,
    log_n: int | None,
    plan: Planner,
    *,
    insecure: bool,
) -> Program:
    """One program of all steps, circuits and loops of a function.

    Args:
        graph: What the function does.
        crossings: Where its numbers leave slots and come back.
        title: Its name.
        log_n: Base-2 logarithm of the ring degree; None for the least that is large enough.
        plan: Plans a step.
        insecure: Whether parameters below 128-bit security are allowed.

    Raises:
        CloakworkError: What planning and `cloakwork.together` raise.
    """
    staged = _staged(graph, crossings)
    if staged.is_loop:
        # Its own plan takes the ring that it needs.
        return _in_ring(graph, staged, title, log_n, plan, insecure=insecure)
    # What comes back takes more levels than smaller rings have.
    *others, last = (_RINGS if staged.last == 0 else USUAL_RINGS) if log_n is None else [log_n]
    for ring in others:
        with suppress(InvalidParametersError, ParametersMismatchError):
            return _in_ring(graph, staged, title, ring, plan, insecure=insecure)
    return _in_ring(graph, staged, title, last, plan, insecure=insecure)


def _in_ring(
    graph: TensorFunction,
    staged: _Staged,
    title: str,
    ring: int | None,
    plan: Planner,
    *,
    insecure: bool,
) -> Program:
    """The program in a ring."""
    row = _Row(graph, staged, title, ring, plan)
    for stage in range(row.staged.last + 1):
        row.add(stage)
    programs = {each.fingerprint: each for each in row.programs}
    last = together(*programs.values(), insecure=insecure)[-1]
    ports = {port.name for each in row.programs for port in encrypted_ports(each)}
    names = tuple(source.name for source in graph.sources if source.name in ports)
    if isinstance(staged.final, Loop):
        assert isinstance(last.packing, TensorPacking)
        packed = replace(last.packing, form=graph.form)
        if len(programs) == 1:
            packed = _in_users_order(packed, names)
        return replace(last, packing=packed, row=names if len(programs) > 1 else ())
    if not staged.decisions:
        return replace(last, row=names)
    packing = DecisionPacking(last.inputs, last.outputs, staged.decisions, graph.form)
    assert isinstance(last.body, BootstrapProgram)
    return replace(last, body=replace(last.body, title=title), packing=packing, row=names)


def _in_users_order(packing: TensorPacking, names: Sequence[str]) -> TensorPacking:
    """The same arguments in the order of their names."""
    order = [[port.name for port in packing.inputs].index(name) for name in names]
    placed = (replace(each, argument=order.index(each.argument)) for each in packing.placed)
    inputs = tuple(packing.inputs[number] for number in order)
    return replace(packing, inputs=inputs, placed=tuple(placed))


@dataclass(frozen=True, slots=True)
class _Staged:
    """In which step each node is computed, and after which step each circuit follows.

    Args:
        order: The nodes, each after those that it works on.
        steps: The step of each.
        crossings: The step after which each circuit or loop follows.
        cuts: What stands for outputs of these, by circuit or loop and name.
        results: What the last step computes.
        last: The last step.
        final: The circuit or loop whose outputs alone the function returns; None where it returns
            others.
        decisions: Of such a circuit, the names of these outputs.
    """

    order: Sequence[Node]
    steps: Mapping[Node, int]
    crossings: Mapping[Cut, int]
    cuts: Mapping[Node, tuple[Cut, str]]
    results: Sequence[Node]
    last: int
    final: Cut | None = None
    decisions: tuple[str, ...] = ()

    @property
    def is_loop(self) -> bool:
        """Whether it is one loop of what clients encrypt, and nothing else."""
        final = self.final
        return isinstance(final, Loop) and all(isinstance(each, Source) for each in final.operands)

    def is_computed(self, node: Node) -> bool:
        """Whether a step computes it, and neither a client nor a circuit gives it."""
        return not isinstance(node, Source) and node not in self.cuts

    def operands(self, node: Node) -> tuple[Node, ...]:
        """What a step takes to compute a node."""
        return operand_nodes(node) if self.is_computed(node) else ()


def _staged(graph: TensorFunction, crossings: Sequence[Cut]) -> _Staged:
    """Each node in the latest step that is early enough for whatever takes it."""
    cuts = {
        node: (crossing, name) for crossing in crossings for name, node in crossing.results.items()
    }

    def operands(node: Node) -> tuple[Node, ...]:
        return cuts[node][0].operands if node in cuts else operand_nodes(node)

    results: Sequence[Node] = graph.results
    final = _final(results, cuts)
    if final is not None:
        results = final.operands
    order = in_order(results, operands)
    earliest: dict[Node, int] = {}
    for node in order:
        before = max((earliest[each] for each in operands(node)), default=0)
        earliest[node] = before + (node in cuts)
    last = max(earliest[each] for each in results)
    steps: dict[Node, int] = dict.fromkeys(results, last)
    placed: dict[Cut, int] = {}
    for node in reversed(order):
        step = steps[node]
        if node in cuts:
            crossing = cuts[node][0]
            step = placed[crossing] = min(placed.get(crossing, last), step - 1)
        for each in operands(node):
            steps[each] = min(steps.get(each, last), step)
    if final is None:
        return _Staged(order, steps, placed, cuts, results, last)
    names = tuple(cuts[each][1] for each in graph.results) if isinstance(final, Crossing) else ()
    return _Staged(order, steps, {**placed, final: last}, cuts, results, last, final, names)


def _final(results: Sequence[Node], cuts: Mapping[Node, tuple[Cut, str]]) -> Cut | None:
    """The circuit some outputs of which, or the loop whose outputs in order, are all results."""
    found = {cuts[each][0] for each in results if each in cuts}
    if len(found) != 1 or not all(each in cuts for each in results):
        return None
    final = found.pop()
    return None if isinstance(final, Loop) and [*final.results.values()] != [*results] else final


@dataclass(slots=True)
class _Row:
    """The programs of a function, as they are planned one after the other."""

    graph: TensorFunction
    staged: _Staged
    title: str
    ring: int | None
    plan: Planner
    programs: list[Program] = field(default_factory=list)
    # Where what was computed is: a program, and the number or name of its result.
    places: dict[Node, tuple[Program, int | str]] = field(default_factory=dict)

    def add(self, stage: int) -> None:
        """Plan a step and the circuits that follow it."""
        results = self._results(stage)
        if results:
            self._add_step(stage, results)
        for crossing, after in self.staged.crossings.items():
            if after == stage:
                if isinstance(crossing, Loop):
                    self._add_loop(crossing)
                else:
                    self._add_circuit(crossing)

    def _results(self, stage: int) -> list[Node]:
        """What a step computes for others, or hands on to circuits."""
        staged = self.staged
        if stage == staged.last:
            is_loop = isinstance(staged.final, Loop)
            return [each for each in staged.results if not (is_loop and self._is_there(each))]
        needed: dict[Node, None] = {}
        for crossing, after in staged.crossings.items():
            if after == stage:
                handed_on = isinstance(crossing, Crossing)
                needed |= {
                    each: None
                    for each in crossing.operands
                    if each not in self.places and (handed_on or not isinstance(each, Source))
                }
        later = [node for node in staged.order if staged.steps[node] > stage]
        taken = [each for node in later for each in staged.operands(node)]
        taken += [
            each
            for crossing, after in staged.crossings.items()
            if after > stage
            for each in crossing.operands
        ]
        taken += staged.results
        needed |= {
            each: None for each in taken if staged.is_computed(each) and staged.steps[each] == stage
        }
        return list(needed)

    def _add_step(self, stage: int, results: Sequence[Node]) -> None:
        staged = self.staged
        own = [
            node
            for node in staged.order
            if staged.is_computed(node) and staged.steps[node] == stage
        ]
        within = {*own}
        taken = [each for node in own for each in staged.operands(node)]
        arguments = dict.fromkeys(each for each in (*taken, *results) if each not in within)
        if stage == staged.last:
            unused = [each for each in self.graph.sources if each not in staged.steps]
            arguments |= dict.fromkeys(unused)
        is_last = stage == staged.last and staged.final is None
        title = self.title if is_last else f"{self.title}, step {stage + 1}"
        step = _PartOfFunction(title, [*arguments], own, results, self._names(arguments))
        loops = [after for cut, after in staged.crossings.items() if isinstance(cut, Loop)]
        spare = _SPARE_BITS * any(after >= stage for after in loops) if loops else None
        program = self.plan(step, [self._spec(each) for each in arguments], self.ring, spare)
        self.programs.append(program)
        self.places |= {each: (program, number) for number, each in enumerate(results)}

    def _is_there(self, node: Node) -> bool:
        """Whether a program gives a node already, or clients encrypt it."""
        return node in self.places or isinstance(node, Source)

    def _add_loop(self, loop: Loop) -> None:
        """Plan a step that is repeated; what it carries on comes first among its arguments."""
        is_last = loop is self.staged.final
        arguments = [*loop.states, *loop.captured]
        names = self._names([*loop.first, *loop.captured])
        samples = tuple(dict(zip(names, each, strict=True)) for each in loop.samples)
        specs: list[Any] = [
            replace(self._state(*each, loop.times), samples=samples)
            for each in zip(loop.first, loop.ranges, strict=True)
        ]
        specs += [self._spec(each) for each in loop.captured]
        if is_last and not self.programs:
            unused = [each for each in self.graph.sources if each not in self.staged.steps]
            arguments += unused
            names += [each.name for each in unused]
            specs += [self._spec(each) for each in unused]
        within = {*arguments}
        order = in_order(loop.next, lambda node: () if node in within else operand_nodes(node))
        title = self.title if is_last else f"{self.title}, loop {len(self.programs) + 1}"
        nodes = [each for each in order if each not in within]
        step = _PartOfFunction(title, arguments, nodes, loop.next, names)
        program = self.plan(step, specs, self.ring, None)
        self.programs.append(program)
        self.places |= {each: (program, n) for n, each in enumerate(loop.results.values())}

    def _state(self, first: Node, ends: tuple[float, float], times: int) -> RepeatedSpec:
        """What is known of a state of a loop."""
        low, high = ends
        if first not in self.places:
            return RepeatedSpec(first.shape, low=low, high=high, times=times)
        before = result(*self.places[first])
        assert isinstance(before, ResultSpec)
        return RepeatedSpec(
            first.shape,
            low=low,
            high=high,
            place=before.place,
            error=before.error,
            program=before.program,
            result=before.result,
            times=times,
        )

    def _add_circuit(self, crossing: Crossing) -> None:
        ports = crossing.circuit.gates.inputs
        after = {
            port.name: result(*self.places[each])
            for port, each in zip(ports, crossing.operands, strict=True)
        }
        made = crossing.circuit.compile(after=after)
        # Of two circuits that do the same to the same numbers there is one.
        alike = [each for each in self.programs if each.fingerprint == made.fingerprint]
        program = alike[0] if alike else made
        self.programs.append(program)
        self.places |= {node: (program, name) for name, node in crossing.results.items()}

    def _spec(self, argument: Node) -> Any:
        """What is known of an argument of a step."""
        if isinstance(argument, Source):
            spec = self.graph.spec_of[argument]
            # What samples say of numbers on the way is in the nodes.
            return Spec(spec.shape, spec.bound, spec.low, spec.high, spec.kind)
        return result(*self.places[argument])

    def _names(self, arguments: Iterable[Node]) -> list[str]:
        """Names of arguments, those that clients encrypt by the user's."""
        users = {each.name for each in self.graph.sources}
        names: list[str] = []
        for number, each in enumerate(arguments):
            name = each.name if isinstance(each, Source) else f"taken{number}"
            while not isinstance(each, Source) and name in users:
                name += "_"
            names.append(name)
        return names


class _PartOfFunction:
    """A part of a function, as one by itself.

    Args:
        title: Its name.
        arguments: What it takes.
        nodes: What it computes, in order.
        results: What it returns.
        names: Those of the arguments.
    """

    def __init__(
        self,
        title: str,
        arguments: Sequence[Node],
        nodes: Sequence[Node],
        results: Sequence[Node],
        names: Sequence[str],
    ) -> None:
        self.__name__ = title
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(each, inspect.Parameter.POSITIONAL_ONLY) for each in names]
        )
        self._arguments = arguments
        self._nodes = nodes
        self._results = results

    def __call__(self, *tensors: TracedTensor) -> Any:
        made: dict[Node, Node] = {
            each: tensor.node() for each, tensor in zip(self._arguments, tensors, strict=True)
        }
        for node in self._nodes:
            made[node] = on_operands(node, made.__getitem__)
        runner = tensors[0].runner
        found = tuple(TracedTensor(made[each], runner) for each in self._results)
        return found if len(found) > 1 else found[0]

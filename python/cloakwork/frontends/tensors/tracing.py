"""Runs a function on stand-ins for encrypted tensors and records what it does with them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.tensors.clear_operands import beside_columns
from cloakwork.frontends.tensors.crossing import (
    Crossing,
    Cut,
    Deciding,
    Loop,
    decided,
    range_in_slots,
    shape_in_slots,
)
from cloakwork.frontends.tensors.methods import Runner, TensorMethods
from cloakwork.frontends.tensors.numpy.complex_tensors import ComplexTensor
from cloakwork.frontends.tensors.numpy.protocol import NumpyMethods
from cloakwork.frontends.tensors.samples import SampledSpec, samples_of
from cloakwork.plan.functions.approximate import EXACT_BITS
from cloakwork.plan.functions.intervals import Interval, intervals_of, of_spec, uniform
from cloakwork.plan.functions.observed import MARGIN, Observed
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.phases import numbers_of_phases
from cloakwork.programs.ir.tensors import (
    Choice,
    Node,
    Source,
    TensorFunction,
    Within,
    operand_nodes,
)
from cloakwork.programs.packing.results import Leaf, Sequenced
from cloakwork.programs.spec import PhaseSpec, PlacedSpec, Spec

T = TypeVar("T", bound=TensorMethods)

# By which functions on the way are off, as far as ranges of later numbers go.
_BITS = 20


class Trace:
    """One run of a function; tensors of two runs do not mix.

    Args:
        ranges: The intervals of its arguments.
        samples: The arguments, once for each sample.
        margin: By how much numbers may exceed those of samples.
        error: How far its numbers may be off where they leave slots.
    """

    def __init__(
        self,
        ranges: Mapping[Source, Interval],
        samples: Sequence[Mapping[Source, Array]],
        margin: float,
        error: float = 0.0,
    ) -> None:
        self.error = error
        self._ranges = dict(ranges)
        self._known: dict[Node, Interval] = {}
        self.cuts: list[Cut] = []
        # What tensors of the function are.
        self._made: set[Node] = set()
        several: list[Mapping[Node, Array]] = [dict(each.items()) for each in samples]
        self.observed = Observed(several, margin, self.interval_of) if samples else None

    def compute(self, node: Node, _title: str) -> TracedTensor:
        made = node if self.observed is None else self.observed.ranged(node)
        self._made.add(made)
        return TracedTensor(made, self)

    def narrowed(self, node: Node) -> Node:
        """A node in the range that it has on samples, where there are any."""
        return node if self.observed is None else self.observed.narrowed(node)

    def interval_of(self, node: Node) -> Interval:
        """Between which ends the elements of a node lie."""
        nodes = in_order([node])
        self._known = intervals_of(nodes, self._ranges.__getitem__, _BITS, self._known)
        return self._known[node]

    def crossed(self, circuit: Deciding, operands: Sequence[Node]) -> dict[str, TracedTensor]:
        """What a circuit decides on numbers, by the names of its outputs."""
        ports = circuit.gates.outputs
        sources = [Source(port.name, shape_in_slots(port)) for port in ports]
        if self.observed is not None:
            self.observed.decide(sources, operands, partial(decided, circuit))
        results: dict[str, Node] = {}
        for port, source in zip(ports, sources, strict=True):
            low, high = range_in_slots(port)
            self._ranges[source] = uniform(len(source.shape), low, high)
            # They are numbers in the clear, too, and add up as such.
            choice: Choice = "bits" if port.kind == "bits" else ""
            results[port.name] = Within(source, low, high, claimed=False, choice=choice)
        self.cuts.append(Crossing(circuit, tuple(operands), results))
        return {name: self.compute(node, name) for name, node in results.items()}

    def made_of(
        self,
        step: Callable[..., Any],
        states: Mapping[Source, tuple[float, float]],
        within: Observed | None,
    ) -> Any:
        """What a step returns of states in these ranges, and what is observed of all its times."""
        for state, ends in states.items():
            self._ranges[state] = uniform(len(state.shape), *ends)
        observed, self.observed = self.observed, within
        try:
            return step(*(TracedTensor(state, self) for state in states))
        finally:
            self.observed = observed

    @property
    def tensors(self) -> frozenset[Node]:
        """All tensors that the function has so far."""
        return frozenset(self._made)

    def ends_of_next(
        self, nodes: Sequence[Node], states: Mapping[Source, tuple[float, float]]
    ) -> list[tuple[float, float]]:
        """Between which ends the next states lie, of states between others than they are said to.

        Args:
            nodes: The next states.
            states: The ranges of the states that they are made of.
        """
        order = in_order(nodes)
        inside: set[Node] = {*states}
        inside.update(each for each in order if any(one in inside for one in operand_nodes(each)))
        self._known = intervals_of(order, self._ranges.__getitem__, _BITS, self._known)
        known = {each: self._known[each] for each in order if each not in inside}
        own = {state: uniform(len(state.shape), *ends) for state, ends in states.items()}
        found = intervals_of(order, own.__getitem__, _BITS, known)
        return [found[each].ends for each in nodes]

    def repeated(self, loop: Loop) -> list[TracedTensor]:
        """What the last step of a loop makes."""
        self.cuts.append(loop)
        made: list[TracedTensor] = []
        for node, ends in zip(loop.results.values(), loop.ranges, strict=True):
            assert isinstance(node, Within)
            assert isinstance(node.operand, Source)
            self._ranges[node.operand] = uniform(len(node.shape), *ends)
            made.append(self.compute(node, "repeat"))
        return made


class TracedTensor(NumpyMethods):
    """Stands for an encrypted tensor while a function is compiled."""

    __slots__ = ("_node", "runner")

    def __init__(self, node: Node, runner: Runner) -> None:
        self._node = node
        self.runner = runner

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._node.shape

    def node(self) -> Node:
        """What stands for the tensor in a graph of operations."""
        return self._node

    def __repr__(self) -> str:
        return f"TracedTensor(shape={self.shape})"


class _Together:
    """Records what is done with tensors, which are then computed at once.

    Args:
        runner: Who computes with them.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def compute(self, node: Node, _title: str) -> TracedTensor:
        return TracedTensor(node, self)

    def interval_of(self, node: Node) -> Interval:
        """Between which ends the elements of a node lie."""
        return self._runner.interval_of(node)


def planned_together(
    x: T,
    title: str,
    function: Callable[[TracedTensor, int | None], TracedTensor],
    bits: int | None = None,
) -> T:
    """A function of a tensor planned as one step, its parts as precise as the whole needs.

    Args:
        x: The tensor.
        title: What is computed.
        function: What is done with it, on a stand-in, given the bits that functions are to have
            right.
        bits: Bits after the binary point that the result is to have right, as far as the tensor
            itself has them; None for those of the program.
    """
    # Parts may depend on the range, which samples narrow before they are made.
    taken = x.runner.narrowed(x.node()) if isinstance(x.runner, Trace) else x.node()
    stand_in = TracedTensor(taken, _Together(x.runner))
    node = function(stand_in, bits).node()
    if bits is not None:
        # What the tensor is off by already stays, however near functions are.
        exact = function(stand_in, EXACT_BITS).node()
        stays = x.runner.interval_of(exact).largest_error
        off, asked = x.runner.interval_of(node).largest_error - stays, bits
        while 2.0**-bits < off < math.inf:
            asked += math.ceil(math.log2(off) + bits)
            node = function(stand_in, asked).node()
            off = x.runner.interval_of(node).largest_error - stays
    made: T = x.runner.compute(node, title)
    return made


def traced(function: Callable[..., Any], specs: Sequence[Spec]) -> TensorFunction:
    """Run a function once on stand-ins for arguments.

    Raises:
        InvalidArgumentError: It does not take as many tensors, or returns something else than
            tensors made of them, or has numbers leave slots.

    Example:
        >>> form = traced(lambda x, y: (x + y, x), [Spec((3,)), Spec((3,))]).form
        >>> [part.number for part in form.parts], form.is_tuple
        ([0, 1], True)
    """
    graph, cuts = traced_across(function, specs)
    if cuts:
        raise InvalidArgumentError(
            "cannot compile: expected a function that keeps its numbers in slots, as one with a "
            "state does, got cloakwork.exactly or cloakwork.repeat in it; compile a function "
            "of the state apart, and give cloakwork.result of it to the next"
        )
    return graph


def traced_across(
    function: Callable[..., Any], specs: Sequence[Spec], error: float = 0.0
) -> tuple[TensorFunction, list[Cut]]:
    """A function as `traced` runs it, and what programs of their own compute of it.

    Args:
        function: The function.
        specs: What is known of its arguments.
        error: How far numbers may be off where they leave slots.
    """
    names = _names(function, len(specs))
    sources = tuple(
        Source(name, spec.shape, spec.place if isinstance(spec, PlacedSpec) else None)
        for name, spec in zip(names, specs, strict=True)
    )
    pairs = zip(sources, specs, strict=True)
    samples = [dict(zip(sources, each, strict=True)) for each in samples_of(specs)]
    margins = (each.margin for each in specs if isinstance(each, SampledSpec))
    ranges = {source: of_spec(spec) for source, spec in pairs}
    trace = Trace(ranges, samples, next(margins, MARGIN), error)
    arguments = [
        TracedTensor(_meant(source, spec), trace)
        for source, spec in zip(sources, specs, strict=True)
    ]
    try:
        inspect.signature(function).bind(*arguments)
    except (TypeError, ValueError) as unbound:
        raise InvalidArgumentError(
            f"cannot compile: the function does not take {len(specs)} argument(s): {unbound}"
        ) from unbound
    columns = {
        name: spec.columns
        for name, spec in zip(names, specs, strict=True)
        if isinstance(spec, SampledSpec) and spec.columns
    }
    with beside_columns(columns):
        returned = function(*arguments)
    several = tuple(returned) if isinstance(returned, tuple | list) else (returned,)
    if not several or not all(
        isinstance(each, TracedTensor) and each.runner is trace for each in several
    ):
        is_complex = any(isinstance(each, ComplexTensor) for each in several)
        advice = "; return its .real and .imag" if is_complex else ""
        raise InvalidArgumentError(
            "cannot compile: expected the function to return tensors made of its arguments, "
            f"got {shown(returned)}{advice}"
        )
    leaves = tuple(map(Leaf, range(len(several))))
    form = Sequenced(leaves, is_tuple=True) if isinstance(returned, tuple | list) else leaves[0]
    results = tuple(each.node() for each in several)
    made = TensorFunction(sources, tuple(specs), results, form, tuple(samples))
    return made, trace.cuts


def _meant(source: Source, spec: Spec) -> Node:
    """What an argument is: itself, or the numbers of bits that come as phases."""
    if isinstance(spec, PhaseSpec) and spec.bits is not None:
        return numbers_of_phases(source, spec.bits)
    return source


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """Those that the function gives its arguments; numbered where it has none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in parameters if parameter.kind in kinds][:count]
    return names + [f"argument{number}" for number in range(len(names), count)]

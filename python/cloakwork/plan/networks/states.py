"""Networks that keep state: results that are inputs of the next step."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from cloakwork.plan.networks.errors.likely import likely_differences, seen_differences
from cloakwork.plan.networks.fit import Fitted
from cloakwork.plan.networks.lower import NetworkPlan
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import results
from cloakwork.programs.slots import Builder, DropLevel, Output, SlotProgram
from cloakwork.runtime.state import Kept

# Of the noise of a step, what the one that writes a part of a state and all others leave in it.
_WRITTEN_AND_ADDED = 2.0
# What is stated of noise is so many deviations at least, as no one of many numbers exceeds it.
_DEVIATIONS = 3.0


def with_states_carried_on(plan: NetworkPlan, graph: g.Graph, kept: Sequence[Kept]) -> NetworkPlan:
    """A plan whose next states stay at the level where they are made, for the next step to take."""
    names = {each.result for each in kept}
    outputs: set[int] = set()
    first = 0
    for node, places in zip(graph.outputs, plan.lowered.outputs, strict=True):
        if node.name in names:
            outputs |= {*range(first, first + places.ciphertexts)}
        first += places.ciphertexts
    lowered = plan.lowered.changed(lambda program: with_outputs_undropped(program, outputs))
    return replace(plan, lowered=lowered, bounds=lowered.value_bounds(graph, plan.width))


def with_outputs_undropped(program: SlotProgram, outputs: Collection[int]) -> SlotProgram:
    """A program some of whose outputs, by their order, have all levels of what they are of.

    Example:
        >>> from cloakwork.programs.slots import Input
        >>> operations = (Input("x", 2), DropLevel(0, 0), Output(1), Output(1))
        >>> made = with_outputs_undropped(SlotProgram("x", 4, operations, (None,) * 4), {1})
        >>> [made.states[number].level for number in (2, 3)]
        [0, 2]
    """
    builder = Builder(program.title, program.slots, program.numbers)
    count = 0
    for number, operation in enumerate(program.operations):
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        moved = operation
        if isinstance(operation, Output):
            source = operation.operand
            while count in outputs and isinstance(dropped := program.operations[source], DropLevel):
                source = dropped.operand
            moved, count = Output(source), count + 1
        builder.append(moved, program.layouts[number])
    return builder.finish()


@dataclass(frozen=True, slots=True)
class StateErrors:
    """How far states may be off at any step, by the names of the inputs that they are.

    Args:
        largest: At most, as far as is to be expected.
        deviations: The deviations of their errors.
    """

    largest: Mapping[str, float]
    deviations: Mapping[str, float]

    @classmethod
    def of(
        cls, graph: g.Graph, fitted: Fitted, rows: g.Array, kept: Sequence[Kept], noise: float
    ) -> StateErrors:
        """Of the states of a network.

        What a step adds to a state is off by the errors of the step and those of states that it
        depends on: to the keys of a layer by those of the layers before. So after as many rounds as
        there are states all of them are known.

        Args:
            graph: The network.
            fitted: The network of polynomials.
            rows: Inputs to follow errors along.
            kept: The states.
            noise: What the noise of a step is at most, that of bootstraps included. What a step
                adds where it writes nothing is that of a product with 0, which is far less.
        """
        noise *= _WRITTEN_AND_ADDED
        added = _with_what_is_added(graph, kept)
        made = replace(fitted, graph=_with_what_is_added(fitted.graph, kept))
        seen = seen_differences(made, rows, results(added, rows))
        found = cls({}, {})
        for _ in kept:
            before = found
            off = likely_differences(added, made, rows, seen, before.largest, before.deviations)
            found = cls(
                {each.input: off[each.result][0] + noise for each in kept},
                {each.input: off[each.result][1] + noise / _DEVIATIONS for each in kept},
            )
            if found == before:
                break
        return found


def _with_what_is_added(graph: g.Graph, kept: Sequence[Kept]) -> g.Graph:
    """The network with what a step adds to each state in place of the next state."""
    inputs = {each.result: each.input for each in kept}
    nodes = list(graph.nodes)
    for number in graph.output_numbers:
        [made] = nodes[number].inputs
        if nodes[number].name in inputs and isinstance(nodes[made].operation, g.AddLayer):
            others = [
                each
                for each in nodes[made].inputs
                if nodes[each].name != inputs[nodes[number].name]
            ]
            nodes[number] = replace(nodes[number], inputs=tuple(others[:1]))
    return g.build(nodes, graph.form)

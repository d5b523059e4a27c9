"""A graph of an ONNX model in parts that are computed one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onnx import AttributeProto, GraphProto, NodeProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from cloakwork.errors import UnsupportedLayerError
from cloakwork.frontends.nn.onnx.onnx_model import KNOWN_BEFORE, is_own
from cloakwork.frontends.nn.onnx.operators import OPERATORS

_BY_CHANCE = frozenset(
    {
        *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"),
        "RandomUniformLike",
    }
)
_SHOWN = 3


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A node.

    Args:
        name: Its own name, or its operator and place.
        node: The node as the file has it.
        attributes: Its attributes by name, graphs as their steps.
        opset: The version of the operator set.
    """

    name: str
    node: NodeProto
    attributes: Mapping[str, Any]
    opset: int

    def of_known(self, operands: Mapping[str, Any]) -> list[Any]:
        """What the node makes of known numbers."""
        evaluator = ReferenceEvaluator(self.node, opsets={"": self.opset})
        return [*evaluator.run(None, dict(operands))]


@dataclass(frozen=True, slots=True, eq=False)
class OnnxGraph:
    """The nodes of a graph in order, its known numbers, and the names of its results."""

    steps: tuple[Step, ...]
    known: Mapping[str, Any]
    results: tuple[str, ...]


def steps_of(graph: GraphProto, opset: int) -> OnnxGraph:
    """A graph, its attributes and known numbers read."""
    steps = tuple(
        Step(
            node.name or f"{node.op_type}_{place}",
            node,
            {each.name: _attribute(each, opset) for each in node.attribute},
            opset,
        )
        for place, node in enumerate(graph.node)
    )
    known = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    return OnnxGraph(steps, known, tuple(each.name for each in graph.output))


def _attribute(attribute: AttributeProto, opset: int) -> Any:
    value = helper.get_attribute_value(attribute)
    match value:
        case bytes():
            return value.decode()
        case GraphProto():
            return steps_of(value, opset)
        case list() if value and isinstance(value[0], bytes):
            return [each.decode() for each in value]
    return value


def require_supported(graph: OnnxGraph, inputs: Sequence[str]) -> None:
    """Refuse operators that are not in the table and work on what depends on inputs.

    Raises:
        UnsupportedLayerError: There are such; the message names them with their nodes.
    """
    if unknown := unknown_steps(graph, inputs):
        kinds = [*dict.fromkeys(f"{each.node.op_type} of node {each.name!r}" for each in unknown)]
        more = f" and {len(kinds) - _SHOWN} others" if len(kinds) > _SHOWN else ""
        raise UnsupportedLayerError(
            f"cannot compute layer {unknown[0].name!r} on encrypted numbers: expected operators of "
            f"ONNX that are supported, got {', '.join(kinds[:_SHOWN])}{more}; leave them out of "
            "the exported network, and apply what they do before it or after it"
        )


def unknown_steps(graph: OnnxGraph, inputs: Sequence[str]) -> list[Step]:
    """The nodes that work on what depends on inputs, and whose operators are not in the table."""
    return [*_unknown(graph, {*inputs})]


def _unknown(graph: OnnxGraph, depending: set[str]) -> Iterator[Step]:
    """The steps that no function computes, given the names that depend on inputs."""
    for step in graph.steps:
        branches = [each for each in step.attributes.values() if isinstance(each, OnnxGraph)]
        for branch in branches:
            yield from _unknown(branch, depending)
        operator, own = step.node.op_type, is_own(step.node)
        if own and operator in _BY_CHANCE:
            yield step
        depends = not depending.isdisjoint(step.node.input) or any(
            not depending.isdisjoint(names) for names in map(_names, branches)
        )
        if not depends or (own and operator in {"Shape", "Size"}):
            continue
        if not own or operator not in {*OPERATORS, *KNOWN_BEFORE}:
            yield step
        depending.update(step.node.output)


def _names(graph: OnnxGraph) -> set[str]:
    """The names that a branch makes or takes."""
    made = {name for step in graph.steps for name in (*step.node.input, *step.node.output)}
    return made | {*graph.results}

"""An ONNX model as a module of torch.

What does not depend on the inputs, such as shapes, is known whenever a node is computed, and worked
out by the reference of ONNX; torch computes the rest.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from types import MethodType
from typing import Any

import numpy as np
import torch
from onnx import ModelProto, TensorProto

from cloakwork.errors import UnsupportedLayerError
from cloakwork.frontends.nn.onnx.onnx_call import OnnxCall, Value
from cloakwork.frontends.nn.onnx.onnx_graph import (
    OnnxGraph,
    Step,
    require_supported,
    steps_of,
    unknown_steps,
)
from cloakwork.frontends.nn.onnx.onnx_model import opset_of, plain_model, written_out
from cloakwork.frontends.nn.onnx.operators import OPERATORS

# What types of ONNX words have.
_WHOLE = frozenset({TensorProto.INT32, TensorProto.INT64})


class OnnxModule(torch.nn.Module):
    """A model of ONNX, whose inputs are the parameters of `forward`.

    A single result is returned by itself, several as a dict by name.

    Args:
        model: The model, whatever it was read from.

    Attributes:
        takes_words: Whether whole numbers among its inputs may be words.

    Raises:
        UnsupportedLayerError: An operator cannot be computed on encrypted numbers, or the operator
            set is too new.
    """

    def __init__(self, model: ModelProto) -> None:
        """Read the nodes and known numbers of a model."""
        super().__init__()
        model = plain_model(model)
        graph = steps_of(model.graph, opset_of(model))
        given = [each for each in model.graph.input if each.name not in graph.known]
        names = [each.name for each in given]
        if unknown := {step.node.op_type for step in unknown_steps(graph, names)}:
            graph = steps_of(written_out(model, unknown).graph, opset_of(model))
        require_supported(graph, names)
        self._graph = graph
        self._names = {_identifier(name): name for name in names}
        self._declared_batch = _declared_batch(given)
        self.takes_words = _takes_words(given, graph)
        self._weights = _weights(self._graph)
        for place, (name, array) in enumerate(self._weights.items()):
            self.register_buffer(f"weight_{place}", torch.from_numpy(np.array(array)))
            self._weights[name] = f"weight_{place}"
        self._layers: dict[str, str] = {}
        self._add_layers(self._graph)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        parameters = [own, *(inspect.Parameter(name, kind) for name in self._names)]

        def forward(self: OnnxModule, *args: Any, **kwargs: Any) -> Any:
            return self.results({**dict(zip(self._names, args, strict=False)), **kwargs})

        vars(forward)["__signature__"] = inspect.Signature(parameters)
        vars(self)["forward"] = MethodType(forward, self)

    def _add_layers(self, graph: OnnxGraph) -> None:
        """A layer for each name of a node, under a name that no attribute has."""
        for step in graph.steps:
            for attribute in step.attributes.values():
                if isinstance(attribute, OnnxGraph):
                    self._add_layers(attribute)
            if step.node.op_type in OPERATORS and step.name not in self._layers:
                name = step.name.replace(".", "_")
                name = f"{name}_of_onnx" if hasattr(self, name) else name
                self._layers[step.name] = name
                self.add_module(name, _Node())

    def results(self, given: Mapping[str, Any]) -> Any:
        """The results for inputs by the names of `forward`."""
        values = {
            self._names[name]: each if isinstance(each, torch.Tensor) else np.asarray(each)
            for name, each in given.items()
        }
        batch = next((len(each) for each in given.values() if isinstance(each, torch.Tensor)), 1)
        found = self._computed(self._graph, values, batch)
        named = dict(zip(map(_identifier, self._graph.results), found, strict=True))
        return found[0] if len(found) == 1 else named

    def _computed(self, graph: OnnxGraph, values: Mapping[str, Value], batch: int) -> list[Any]:
        made: dict[str, Any] = {**values, **graph.known}
        for step in graph.steps:
            for name, value in zip(step.node.output, self._made(step, made, batch), strict=False):
                made[name] = value
        return [made[name] for name in graph.results]

    def _made(self, step: Step, made: Mapping[str, Any], batch: int) -> list[Any]:
        """What a node makes."""
        names = step.node.input
        operands = {name: made[name] for name in names if name}
        if step.node.op_type == "If":
            return self._branch(step, made, batch)
        depends = any(isinstance(each, torch.Tensor) for each in operands.values())
        if step.node.op_type in {"Shape", "Size"} and depends:
            return [_measured(step, operands[names[0]])]
        if not depends:
            return step.of_known(operands)
        weights = {
            place: getattr(self, self._weights[name])
            for place, name in enumerate(names)
            if name in self._weights
        }
        call = OnnxCall(
            name=step.name,
            operator=step.node.op_type,
            attributes=step.attributes,
            inputs=tuple(operands[name] if name else None for name in names),
            weights=weights,
            outputs=len(step.node.output),
            opset=step.opset,
            declared_batch=self._declared_batch,
            batch=batch,
        )
        found = getattr(self, self._layers[step.name])(call)
        return [*found] if isinstance(found, (tuple, list)) else [found]

    def _branch(self, step: Step, made: Mapping[str, Any], batch: int) -> list[Any]:
        condition = made[step.node.input[0]]
        if isinstance(condition, torch.Tensor):
            raise UnsupportedLayerError(
                f"cannot compute layer {step.name!r} on encrypted numbers: expected a condition "
                "that is known, got If of one that depends on the network's inputs; export the "
                "branch that is to be taken"
            )
        taken = "then_branch" if bool(np.all(condition)) else "else_branch"
        return self._computed(step.attributes[taken], made, batch)


class _Node(torch.nn.Module):
    """A node by itself, so that what is refused has its name."""

    def forward(self, call: OnnxCall) -> Any:
        return OPERATORS[call.operator](call)


def _weights(graph: OnnxGraph) -> dict[str, Any]:
    """Tensors of real numbers in a graph, which are the module's own."""
    return {
        name: array for name, array in graph.known.items() if array.dtype.kind == "f" and array.ndim
    }


def _measured(step: Step, value: torch.Tensor) -> Any:
    """The shape or the size of a value."""
    if step.node.op_type == "Size":
        return np.int64(value.numel())
    start, end = step.attributes.get("start", 0), step.attributes.get("end")
    return np.array(value.shape[start:end], dtype=np.int64)


def _takes_words(inputs: Any, graph: OnnxGraph) -> bool:
    """Whether whole numbers among the inputs choose rows of tables, or are compared with some."""
    are_whole = any(each.type.tensor_type.elem_type in _WHOLE for each in inputs)
    return are_whole and any(
        step.node.op_type == "Equal"
        or (step.node.op_type == "Gather" and step.node.input[0] in graph.known)
        for step in graph.steps
    )


def _declared_batch(inputs: Any) -> int | None:
    """The size of the batch that all inputs fix."""
    sizes = {
        each.type.tensor_type.shape.dim[0].dim_value
        for each in inputs
        if each.type.tensor_type.shape.dim
    }
    return sizes.pop() if len(sizes) == 1 and 0 not in sizes else None


def _identifier(name: str) -> str:
    """A name as a parameter of `forward` may have it.

    Example:
        >>> _identifier("images:0"), _identifier("1")
        ('images_0', '_1')
    """
    found = re.sub(r"\W", "_", name)
    return found if found.isidentifier() else f"_{found}"

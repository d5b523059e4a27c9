"""Which axes of results run along axes of the arguments, so that they have their labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from cloakwork.frontends.tensors.samples import SampledSpec
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.ir.tensors import (
    Contract,
    Node,
    Rearrange,
    Source,
    Sum,
    TensorFunction,
    operand_nodes,
)
from cloakwork.programs.packing.tensor import RealPacking
from cloakwork.runtime.program import Program

# Of one axis, the axes of arguments that it runs along; of a node, those of each of its axes.
Axis: TypeAlias = tuple[tuple[str, int], ...]
Axes: TypeAlias = tuple[Axis, ...]


def labelled(program: Program, graph: TensorFunction) -> Program:
    """A program that knows which axes of its results run along those of frames.

    Args:
        program: The program.
        graph: What its function does.
    """
    if not isinstance(program.packing, RealPacking):
        return program
    frames = {
        source
        for source, spec in graph.spec_of.items()
        if isinstance(spec, SampledSpec) and spec.is_frame
    }
    if not frames:
        return program
    known: dict[Node, Axes] = {}
    for node in in_order(graph.results):
        known[node] = _axes(node, frames, known)
    outputs = tuple(
        replace(port, axes=known[node] if any(known[node]) else ())
        for port, node in zip(program.outputs, graph.results, strict=True)
    )
    packing = replace(program.packing, outputs=outputs)  # type: ignore[type-var]
    return replace(program, packing=packing)


def _axes(node: Node, frames: set[Source], known: Mapping[Node, Axes]) -> Axes:
    """The axes of a node, by those of its operands."""
    match node:
        case Source():
            is_frame = node in frames
            return tuple(((node.name, axis),) if is_frame else () for axis in range(_ndim(node)))
        case Contract():
            return _of_contract(node, known)
        case Sum():
            return _joined([_stretched(each, known[each], node.shape) for each in node.terms])
        case Rearrange():
            return _of_rearranged(node, known[node.operand])
        case _:
            (operand,) = operand_nodes(node)
            return known[operand]


def _ndim(node: Node) -> int:
    return len(node.shape)


def _joined(several: Sequence[Axes]) -> Axes:
    """What axes run along that several tensors meet on."""
    return tuple(
        tuple(dict.fromkeys(label for axis in met for label in axis))
        for met in zip(*several, strict=True)
    )


def _stretched(node: Node, own: Axes, shape: Sequence[int]) -> Axes:
    """The axes of a node in a shape that it is stretched to."""
    missing = len(shape) - len(own)
    pairs = zip(own, node.shape, shape[missing:], strict=True)
    return ((),) * missing + tuple(axis if size == to else () for axis, size, to in pairs)


def _of_contract(node: Contract, known: Mapping[Node, Axes]) -> Axes:
    sizes = dict(zip(node.output, node.shape, strict=True))
    found: dict[str, Axis] = {}
    for operand, term in zip(node.operands, node.labels, strict=True):
        if isinstance(operand, np.ndarray):
            continue
        for label, axis, size in zip(term, known[operand], operand.shape, strict=True):
            if sizes.get(label) == size:
                found[label] = tuple(dict.fromkeys((*found.get(label, ()), *axis)))
    return tuple(found.get(label, ()) for label in node.output)


def _of_rearranged(node: Rearrange, own: Axes) -> Axes:
    """Those axes of the operand that are axes of the result, from their first place to the last."""
    shape = node.operand.shape
    axes: list[Axis] = [()] * _ndim(node)
    for number, axis in enumerate(own):
        if not axis:
            continue
        places = node.elements // math.prod(shape[number + 1 :]) % shape[number]
        for at, size in enumerate(node.shape):
            along = np.arange(size).reshape(-1, *[1] * (_ndim(node) - at - 1))
            if size == shape[number] and np.array_equal(places, np.broadcast_to(along, node.shape)):
                axes[at] = axis
                break
    return tuple(axes)

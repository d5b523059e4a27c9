"""Activations that are written out, as files of ONNX and older models have them.

`x * sigmoid(x)` is SiLU, and `x / 2 * (1 + erf(x / sqrt(2)))` is GELU: as such they take one
polynomial, where as they are written they take one, a product, and numbers that may be far larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import layer_value

_NAMED = ("silu", "gelu", "gelu_tanh", "mish")
# What is written out takes no more operations.
_MOST_OPERATIONS = 12
# All of the named ones are nearly straight behind it.
_TRIED = np.linspace(-12.0, 12.0, 193)
# Constants in the middle of an expression are often of float32.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class NamedActivation:
    """`outer * function(inner * x)`, x being what a node makes.

    Args:
        function: Its name in `programs.functions.FUNCTIONS`.
        source: The number of the node.
        inner: What is multiplied before it.
        outer: What is multiplied after it.
    """

    function: str
    source: int
    inner: float
    outer: float


def named_activation(nodes: Sequence[g.Node]) -> NamedActivation | None:
    """The named activation that the last node makes of another; None where it makes none.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((2,)), (), [])]
        >>> for layer, operands in [(g.Activation("sigmoid"), (0,)), (g.Multiply(), (0, 1))]:
        ...     _ = g.appended(nodes, "made", layer, *operands)
        >>> named_activation(nodes)
        NamedActivation(function='silu', source=0, inner=1.0, outer=1.0)
    """
    last = len(nodes) - 1
    before = _before(nodes, last)
    for source in before[1:]:
        within = _within(nodes, last, source)
        if any(isinstance(nodes[number].operation, g.Activation) for number in within):
            return _named(nodes, within, source)
    return None


def _before(nodes: Sequence[g.Node], last: int) -> list[int]:
    """A node, and those before it by operations on each element alone, the nearest first."""
    found: set[int] = set()
    left = [last]
    while left and len(found) <= 2 * _MOST_OPERATIONS:
        number = left.pop()
        if number not in found:
            found.add(number)
            left += nodes[number].inputs if _is_of_numbers(nodes[number].operation) else ()
    return sorted(found, reverse=True)


def _is_of_numbers(operation: g.Operation) -> bool:
    """Whether a number of the result depends on one of each operand, the same in all places."""
    match operation:
        case g.Affine(scale=scale, shift=shift):
            return scale.size == shift.size == 1
        case g.PolynomialLayer() | g.Activation() | g.AddLayer() | g.Multiply():
            return True
        case _:
            return False


def _within(nodes: Sequence[g.Node], last: int, source: int) -> list[int]:
    """What lies from a node to another, in order, the first aside; none where others go in, too."""
    within: set[int] = set()
    left = [last]
    while left:
        number = left.pop()
        within.add(number)
        is_of_source = number > source and _is_of_numbers(nodes[number].operation)
        if not is_of_source or len(within) > _MOST_OPERATIONS:
            return []
        left += (each for each in nodes[number].inputs if each != source and each not in within)
    return sorted(within)


def _named(nodes: Sequence[g.Node], within: Sequence[int], source: int) -> NamedActivation | None:
    """The named activation that some operations make of a node."""
    values = {source: _TRIED[:, np.newaxis]}
    inner = {1.0}
    for number in within:
        node = nodes[number]
        match node.operation:
            case g.Affine(scale=scale, shift=shift):
                inner.add(float(scale.flat[0]))
                made = values[node.inputs[0]] * scale.flat[0] + shift.flat[0]
            case operation:
                # Others than the named ones may not be defined here.
                with np.errstate(all="ignore"):
                    made = layer_value(operation, [values[each] for each in node.inputs])
        values[number] = made
    written = values[within[-1]][:, 0]
    for function in _NAMED:
        for factor in inner - {0.0}:
            own = FUNCTIONS[function].value(factor * _TRIED)
            far = -1 if factor > 0 else 0
            outer = float(written[far] / own[far])
            if np.abs(outer * own - written).max() <= _ROUNDING * np.abs(written).max():
                return NamedActivation(function, source, factor, outer)
    return None

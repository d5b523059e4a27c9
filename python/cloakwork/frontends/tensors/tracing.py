"""Runs a function on stand-ins for encrypted tensors and records what it does with them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.tensors.methods import TensorMethods
from cloakwork.programs.ir.tensors import Node, Source


class _Trace:
    """One run of a function; tensors of two runs do not mix."""

    def compute(self, node: Node, _title: str) -> TracedTensor:
        return TracedTensor(node, self)


class TracedTensor(TensorMethods):
    """Stands for an encrypted tensor while a function is compiled."""

    __slots__ = ("_node", "runner")

    def __init__(self, node: Node, runner: _Trace) -> None:
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


@dataclass(frozen=True, slots=True)
class Traced:
    """What a function does.

    Args:
        sources: Its arguments.
        results: What it returns.
        single: Whether it returns one tensor rather than several.
    """

    sources: tuple[Source, ...]
    results: tuple[Node, ...]
    single: bool


def traced(function: Callable[..., Any], shapes: Sequence[tuple[int, ...]]) -> Traced:
    """Run a function once on stand-ins of the given shapes.

    Raises:
        InvalidArgumentError: It does not take as many tensors, or returns something else than
            tensors made of them.

    Example:
        >>> traced(lambda x, y: (x + y, x), [(3,), (3,)]).single
        False
    """
    trace = _Trace()
    names = _names(function, len(shapes))
    sources = tuple(Source(name, shape) for name, shape in zip(names, shapes, strict=True))
    arguments = [TracedTensor(source, trace) for source in sources]
    try:
        inspect.signature(function).bind(*arguments)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"cannot compile: the function does not take {len(shapes)} argument(s): {error}"
        ) from error
    returned = function(*arguments)
    several = tuple(returned) if isinstance(returned, tuple | list) else (returned,)
    if not several or not all(
        isinstance(each, TracedTensor) and each.runner is trace for each in several
    ):
        raise InvalidArgumentError(
            "cannot compile: expected the function to return tensors made of its arguments, "
            f"got {shown(returned)}"
        )
    single = not isinstance(returned, tuple | list)
    return Traced(sources, tuple(each.node() for each in several), single)


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """Those that the function gives its arguments; numbered where it has none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in parameters if parameter.kind in kinds][:count]
    return names + [f"argument{number}" for number in range(len(names), count)]

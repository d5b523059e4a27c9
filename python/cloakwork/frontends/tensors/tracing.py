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
from cloakwork.programs.packing.results import Form, Leaf, Sequenced


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
        form: Whether it returns the one tensor, or a tuple.
    """

    sources: tuple[Source, ...]
    results: tuple[Node, ...]
    form: Form


def traced(function: Callable[..., Any], shapes: Sequence[tuple[int, ...]]) -> Traced:
    """Run a function once on stand-ins of the given shapes.

    Raises:
        InvalidArgumentError: It does not take as many tensors, or returns something else than
            tensors made of them.

    Example:
        >>> traced(lambda x, y: (x + y, x), [(3,), (3,)]).form
        Sequenced(parts=(Leaf(number=0), Leaf(number=1)), is_tuple=True)
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
    leaves = tuple(map(Leaf, range(len(several))))
    form = Sequenced(leaves, is_tuple=True) if isinstance(returned, tuple | list) else leaves[0]
    return Traced(sources, tuple(each.node() for each in several), form)


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """Those that the function gives its arguments; numbered where it has none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in parameters if parameter.kind in kinds][:count]
    return names + [f"argument{number}" for number in range(len(names), count)]

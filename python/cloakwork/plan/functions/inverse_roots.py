"""Reciprocals of roots as one function, which takes fewer levels than two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.ir.tensors import Apply, Node, Within, on_operands


def with_inverse_roots(results: Sequence[Node]) -> tuple[Node, ...]:
    """A graph in which what is divided by a root is multiplied by the inverse root.

    Example:
        >>> from cloakwork.programs.ir.tensors import Source
        >>> x = Source("x", (2,))
        >>> root = Within(Apply("sqrt", x), 0.5, 2.0, claimed=True)
        >>> (found,) = with_inverse_roots([Apply("reciprocal", root)])
        >>> found.function, (found.operand.low, found.operand.high), found.operand.operand is x
        ('rsqrt', (0.25, 4.0), True)
    """
    made: dict[Node, Node] = {}
    for node in in_order(results):
        made[node] = _fused(on_operands(node, made.__getitem__))
    return tuple(made[each] for each in results)


def _fused(node: Node) -> Node:
    if not isinstance(node, Apply) or node.function != "reciprocal":
        return node
    root, within = node.operand, list[Within]()
    while isinstance(root, Within):
        within.append(root)
        root = root.operand
    if not isinstance(root, Apply) or root.function != "sqrt":
        return node
    squared = root.operand
    for each in within:
        squared = replace(
            each,
            operand=squared,
            low=max(each.low, 0.0) ** 2,
            high=each.high**2,
            exponent=2 * each.exponent,
        )
    return replace(node, function="rsqrt", operand=squared)

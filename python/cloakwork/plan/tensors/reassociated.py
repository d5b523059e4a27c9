"""Products of many encrypted tensors in the order of the fewest levels.

A loop that multiplies by one tensor after another takes a level each time, where pairs take as many
as the number has bits. What is multiplied several times is squared on the way.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.ir.elementwise import product
from cloakwork.programs.ir.tensors import (
    Apply,
    Contract,
    Evaluate,
    Node,
    Rearrange,
    TensorFunction,
    on_operands,
    operand_nodes,
)

# Levels of a function, about: it is only compared how deep factors are beside one another.
_OF_FUNCTIONS = 6


def reassociated(function: TensorFunction) -> TensorFunction:
    """The same function with its products in another order where that saves levels.

    Example:
        >>> from cloakwork.programs.ir.tensors import Source
        >>> from cloakwork.programs.packing.results import Leaf
        >>> from cloakwork.programs.spec import Spec
        >>> x = power = Source("x", (2,))
        >>> for _ in range(3):
        ...     power = Contract((power, x), ("i", "i"), "i", (2,))
        >>> made = reassociated(TensorFunction((x,), (Spec((2,)),), (power,), Leaf(0)))
        >>> square, same = made.results[0].operands
        >>> square is same, square.operands == (x, x)
        (True, True)
    """
    nodes = in_order(function.results)
    uses = Counter(each for node in nodes for each in operand_nodes(node))
    uses.update(function.results)
    inner = {
        each
        for node in nodes
        if _is_product(node)
        for each in operand_nodes(node)
        if _is_product(each) and uses[each] == 1
    }
    made: dict[Node, Node] = {}
    depths: dict[Node, int] = {}
    factors: dict[Node, list[Node]] = {}
    for node in nodes:
        new = on_operands(node, made.__getitem__)
        depths[new] = _depth(new, depths)
        if _is_product(node):
            factors[node] = [
                factor
                for each in operand_nodes(node)
                for factor in (factors[each] if each in inner else [made[each]])
            ]
            if node not in inner:
                new = _shallowest(new, factors[node], depths)
        made[node] = new
    results = tuple(made[each] for each in function.results)
    if all(one is other for one, other in zip(results, function.results, strict=True)):
        return function
    return replace(function, results=results)


def _is_product(node: Node) -> bool:
    """Whether a node is a product of two encrypted tensors of its shape, element by element."""
    return (
        isinstance(node, Contract)
        and node.labels == (node.output, node.output)
        and all(
            not isinstance(each, np.ndarray) and each.shape == node.shape for each in node.operands
        )
    )


def _depth(node: Node, depths: Mapping[Node, int]) -> int:
    below = max((depths[each] for each in operand_nodes(node)), default=0)
    match node:
        case Contract() | Rearrange():
            return below + 1
        case Apply() | Evaluate():
            return below + _OF_FUNCTIONS
        case _:
            return below


def _shallowest(node: Node, factors: Sequence[Node], depths: dict[Node, int]) -> Node:
    """The product of factors, the shallowest two first; the node itself where that is no deeper."""
    waiting = [(depths[each], number, each) for number, each in enumerate(factors)]
    heapq.heapify(waiting)
    made: dict[tuple[Node, Node], Node] = {}
    count = len(factors)
    while len(waiting) > 1:
        (_, _, one), (depth, _, other) = heapq.heappop(waiting), heapq.heappop(waiting)
        if (one, other) not in made:
            assert isinstance(node, Contract)
            made[one, other] = product(one, other, node.origin)
            depths[made[one, other]] = depth + 1
        heapq.heappush(waiting, (depth + 1, count, made[one, other]))
        count += 1
    ((depth, _, found),) = waiting
    return found if depth < depths[node] else node

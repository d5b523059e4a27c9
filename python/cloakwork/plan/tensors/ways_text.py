"""Which way a function was lowered, in slots or in blocks, and why not the other, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cloakwork.plan.matmul.expression import matrix_expression
from cloakwork.plan.matmul.recognise import matrix_pair
from cloakwork.plan.tensors.lower import in_order
from cloakwork.plan.tensors.search import Task, end_of_search
from cloakwork.programs.ir.tensors import (
    Apply,
    Contract,
    Evaluate,
    Node,
    Rearrange,
    Sum,
    Within,
    operand_nodes,
)
from cloakwork.schemes.device.devices import CPU

_MADE: Mapping[type[Node], str] = {
    Contract: "a sum or a product of elements",
    Sum: "a sum with what is not a matrix of products",
    Rearrange: "a part, a reshape or a flip",
    Within: "a range",
    Apply: "a function",
    Evaluate: "a function",
}
# Of a refusal, no more than its first sentence is a reason.
_LONGEST_REASON = 160


def with_search(way: str, results: Sequence[Node], operations: int) -> str:
    """A way in slots, and where the search for others ended before its end.

    Args:
        way: The way in words; empty where nothing is to be said of it.
        results: What was planned.
        operations: Of the program.
    """
    ended = end_of_search(results, operations)
    return "; ".join(each for each in (way or "in slots" * bool(ended), ended) if each)


def unlooked(task: Task, device: str, *, is_placed: bool) -> str:
    """Why products of matrices were planned in slots without looking at blocks.

    Nothing is said of what has no products of two encrypted matrices.
    """
    products = [node for node in in_order(task.results) if matrix_pair(node)]
    if not products:
        return ""
    if task.options.bootstrap:
        return "in slots; blocks, which are for products of matrices, have no bootstraps"
    if device != CPU:
        return "in slots; blocks, which are for products of matrices, do not run on devices"
    if is_placed:
        return "in slots; blocks choose where numbers lie, and those of other programs lie in slots"
    return f"in slots; blocks take whole matrices, {_obstacle(task.results, products)}"


def _obstacle(results: Sequence[Node], products: Sequence[Node]) -> str:
    """The first thing that is done with products which no expression of matrices has."""
    above: set[Node] = {*products}
    for node in in_order(results):
        if node in above or not any(each in above for each in operand_nodes(node)):
            continue
        above.add(node)
        if matrix_expression([node]) is None:
            return f"and of a product{_at(node)} {_MADE[type(node)]} is made"
    return f"and a result is not made of the product{_at(products[-1])} alone"


def _at(node: Node) -> str:
    origin = getattr(node, "origin", "")
    return f" at {origin}" if origin else ""


def refused(way: str, other: str, refusal: Exception) -> str:
    """A way that was taken as the other one was refused.

    Example:
        >>> refused("in slots", "blocks", ValueError("cannot do it: too few primes; use more"))
        'in slots; blocks were refused: too few primes'
    """
    reason = f"{refusal}".split("; ")[0].rpartition("cannot ")[2].partition(": ")[2]
    return f"{way}; {other} were refused: {(reason or f'{refusal}')[:_LONGEST_REASON]}"


def way_taken(blocks: tuple[float, int], slots: tuple[float, int]) -> str:
    """Which of two ways was taken, by what a run costs and by the ciphertexts in and out.

    Example:
        >>> way_taken((1.0, 3), (2.5, 8)), way_taken((1.0, 8), (2.5, 3))
        ('in blocks; slots cost 2.5 times as much', 'in slots; blocks, for 0.4 of the cost...
    """
    (cost, ciphertexts), (of_slots, fewer) = blocks, slots
    if cost < of_slots and ciphertexts <= fewer:
        return f"in blocks; slots cost {of_slots / cost:.2g} times as much"
    if cost < of_slots:
        return (
            f"in slots; blocks, for {cost / of_slots:.2g} of the cost, have {ciphertexts} "
            f"ciphertexts in and out in place of {fewer}"
        )
    return f"in slots; blocks cost {cost / of_slots:.2g} times as much"

"""Ranges that users give made those of all slots, where a plan without takes other slots too far.

Sums leave partial sums in the slots beside them. Of these no range says anything, and what is
multiplied by itself again and again outgrows every scale there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cloakwork.plan.functions.approximate import remade
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.ir.tensors import Node, Within


def has_claims(results: Sequence[Node]) -> bool:
    """Whether users give any range.

    Example:
        >>> from cloakwork.programs.ir.tensors import Source
        >>> has_claims([Within(Source("x", (2,)), 0.0, 1.0, claimed=True)])
        True
    """
    return any(isinstance(node, Within) and node.claimed for node in in_order(results))


def with_claims_cleared(results: Sequence[Node]) -> tuple[Node, ...]:
    """A graph without functions, in which other slots are cleared where a user gives a range."""
    made: dict[Node, Node] = {}
    for node in in_order(results):
        new = remade(node, made)
        if isinstance(new, Within):
            new = replace(new, cleared=new.claimed)
        made[node] = new
    return tuple(made[each] for each in results)

"""Truths: numbers that are 1 for true and 0 for false, as comparisons make them.

They are to numbers what numpy's booleans are: two of them add up to their disjunction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.ir.elementwise import LABELS, minus_from
from cloakwork.programs.ir.tensors import Contract, Node, Sum, Within

Operand: TypeAlias = Node | NDArray[np.float64]
Connective: TypeAlias = Callable[[Node, Operand, tuple[int, ...], str], Node]


def as_truths(node: Node) -> Node:
    """A node of which the planner does not see that its numbers are truths."""
    return Within(node, 0.0, 1.0, claimed=False, choice="truths")


def conjunction(left: Node, right: Operand, shape: tuple[int, ...], origin: str) -> Node:
    """Where both hold."""
    return as_truths(_product(left, right, shape, origin))


def disjunction(left: Node, right: Operand, shape: tuple[int, ...], origin: str) -> Node:
    """Where one holds, or both."""
    return _sum_less_shared(left, right, shape, origin, 1)


def exclusion(left: Node, right: Operand, shape: tuple[int, ...], origin: str) -> Node:
    """Where one holds and the other does not."""
    return _sum_less_shared(left, right, shape, origin, 2)


def _sum_less_shared(
    left: Node, right: Operand, shape: tuple[int, ...], origin: str, times: int
) -> Node:
    """The sum of both, less what holds in both so many times."""
    if isinstance(right, np.ndarray):
        clear = np.broadcast_to(right, shape)
        alone = _product(left, np.asarray(1.0 - times * right), shape, origin)
        return as_truths(Sum((alone,), (1,), clear, shape, origin))
    shared = (_product(left, right, shape, origin),) * times
    return as_truths(Sum((left, right, *shared), (1, 1, *(-1,) * times), None, shape, origin))


def negation(node: Node, origin: str) -> Node:
    """Where it does not hold."""
    return as_truths(minus_from(1.0, node, origin))


def numbers(node: Node, origin: str) -> Node:
    """Truths as numbers, which add up to numbers."""
    return Sum((node,), (1,), None, node.shape, origin)


def _product(left: Node, right: Operand, shape: tuple[int, ...], origin: str) -> Node:
    labels = LABELS[: len(shape)]
    terms = tuple(labels[len(shape) - len(each.shape) :] for each in (left, right))
    return Contract((left, right), terms, labels, shape, origin)

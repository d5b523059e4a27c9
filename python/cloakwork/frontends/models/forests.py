"""Forests of decision trees over encrypted conditions, as functions of integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.circuit.selection import select
from cloakwork.frontends.models.features import Condition

# Trees that are deeper are products of all conditions on the way to a leaf, which is less deep.
_DEEPEST_BY_NODES = 4


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of a tree.

    Args:
        values: What it adds to each score.
    """

    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class InnerNode:
    """An inner node of a tree.

    Args:
        condition: What it asks.
        holds: The tree where it holds.
        fails: The tree where it does not.
    """

    condition: Condition
    holds: Tree
    fails: Tree


Tree: TypeAlias = Leaf | InnerNode
# A leaf's scores, and the conditions on the way to it, by their numbers, with what they are.
_Path: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, bool], ...]]


@dataclass(frozen=True, eq=False)
class Forest:
    """Scores that are sums over trees.

    Args:
        trees: The trees.
        base: What is added to each score.
    """

    trees: tuple[Tree, ...]
    base: tuple[float, ...]

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions, each once, in order."""
        return tuple(sorted({each for tree in self.trees for each in _conditions(tree)}))

    @property
    def greatest(self) -> float:
        """The greatest absolute value of a leaf."""
        ends = (abs(each) for tree in self.trees for leaf in _leaves(tree) for each in leaf.values)
        return max(ends, default=0.0)

    def scaled(self, scale: float) -> IntegerForest:
        """The forest with leaves that are integers."""
        numbers = {each: number for number, each in enumerate(self.conditions)}

        def paths(tree: Tree, way: tuple[tuple[int, bool], ...]) -> Iterator[_Path]:
            if isinstance(tree, Leaf):
                yield tuple(round(each * scale) for each in tree.values), way
                return
            number = numbers[tree.condition]
            yield from paths(tree.fails, (*way, (number, False)))
            yield from paths(tree.holds, (*way, (number, True)))

        trees = tuple(tuple(paths(tree, ())) for tree in self.trees)
        return IntegerForest(trees, tuple(round(each * scale) for each in self.base))


@dataclass(frozen=True, slots=True)
class IntegerForest:
    """A forest of integers: for each tree its leaves from left to right, with the ways to them.

    Args:
        trees: The trees.
        base: What is added to each score.
    """

    trees: tuple[tuple[_Path, ...], ...]
    base: tuple[int, ...]

    def scores_by_bits(self, bits: Any) -> list[Any]:
        """The scores, of conditions as bits.

        A node of a tree takes one AND: that the way to a child is taken is that to the node and
        the condition, and to the other the XOR of both. Bits of what a tree adds are XORs of its
        leaves, of which one alone is reached; so a sum of many trees is all that is left.
        """
        totals: list[Any] = list(self.base)
        for tree in self.trees:
            reached = _reached(tree, bits)
            for score in range(len(totals)):
                values = [leaf[score] for leaf, _ in tree]
                least = min(values)
                totals[score] = totals[score] + least
                for place in range((max(values) - least).bit_length()):
                    found = [
                        bit
                        for bit, value in zip(reached, values, strict=True)
                        if value - least >> place & 1
                    ]
                    if found:
                        bit = reduce(lambda one, other: one ^ other, found)
                        totals[score] = totals[score] + bit * (1 << place)
        return totals

    def scores_by_products(self, bits: Any) -> list[Any]:
        """The scores, of conditions as numbers that are added and multiplied alone.

        A small tree chooses between its sides node by node, of which the lowest multiply by clear
        integers. Of a deeper one, or one of several scores, each leaf is the product of what leads
        to it, half by half, and halves are shared.
        """
        totals: list[Any] = list(self.base)
        for tree in self.trees:
            scores = [
                score
                for score in range(len(totals))
                if any(leaf[score] != tree[0][0][score] for leaf, _ in tree)
            ]
            deepest = max(len(way) for _, way in tree)
            if deepest <= _DEEPEST_BY_NODES and len(scores) <= 1:
                for score in scores:
                    values = [(leaf[score], way) for leaf, way in tree]
                    totals[score] = totals[score] + _chosen(values, bits, 0)
            else:
                _add_products(totals, tree, scores, bits)
            for score in set(range(len(totals))) - {*scores}:
                totals[score] = totals[score] + tree[0][0][score]
        return totals


def _reached(tree: Sequence[_Path], bits: Any) -> list[Any]:
    """Whether each leaf of a tree is reached."""
    made: dict[tuple[tuple[int, bool], ...], Any] = {}

    def reached(way: tuple[tuple[int, bool], ...]) -> Any:
        if way not in made:
            (*before, (number, holds)) = way
            if not before:
                made[way] = bits[number] if holds else bits[number] ^ 1
            elif holds:
                made[way] = reached((*before,)) & bits[number]
            else:
                made[way] = reached((*before,)) ^ reached((*before, (number, True)))
        return made[way]

    return [reached(way) if way else 1 for _, way in tree]


def _chosen(leaves: Sequence[tuple[int, Sequence[tuple[int, bool]]]], bits: Any, depth: int) -> Any:
    """The value of a tree, chosen node by node from the lowest up."""
    first = leaves[0]
    if len(leaves) == 1:
        return first[0]
    number, _ = first[1][depth]
    middle = next(place for place, leaf in enumerate(leaves) if leaf[1][depth][1])
    fails = _chosen(leaves[:middle], bits, depth + 1)
    holds = _chosen(leaves[middle:], bits, depth + 1)
    if isinstance(bits[number], np.ndarray):
        return np.where(bits[number], holds, fails)
    return select(bits[number], holds, fails)


def _add_products(
    totals: list[Any], tree: Sequence[_Path], scores: Sequence[int], bits: Any
) -> None:
    """Add what a tree gives to scores: of each leaf but one its values times what leads to it."""
    made: dict[tuple[tuple[int, bool], ...], Any] = {}

    def product(way: tuple[tuple[int, bool], ...]) -> Any:
        if way not in made:
            if len(way) == 1:
                ((number, holds),) = way
                made[way] = bits[number] if holds else 1 - bits[number]
            else:
                half = 1 << (len(way) - 1).bit_length() - 1
                made[way] = product(way[:half]) * product(way[half:])
        return made[way]

    # One leaf is reached where none of the others is.
    rest = max(tree, key=lambda leaf: len(leaf[1]))
    for score in scores:
        totals[score] = totals[score] + rest[0][score]
    for leaf in tree:
        if leaf is not rest:
            for score in scores:
                factor = leaf[0][score] - rest[0][score]
                if factor:
                    totals[score] = totals[score] + product(leaf[1]) * factor


def _conditions(tree: Tree) -> Iterator[Condition]:
    if isinstance(tree, InnerNode):
        yield tree.condition
        yield from _conditions(tree.fails)
        yield from _conditions(tree.holds)


def _leaves(tree: Tree) -> Iterator[Leaf]:
    if isinstance(tree, Leaf):
        yield tree
    else:
        yield from _leaves(tree.fails)
        yield from _leaves(tree.holds)


def merged(tree: Tree) -> Tree:
    """A tree without nodes whose sides are the same.

    Example:
        >>> merged(InnerNode(Condition(0, 1.0), Leaf((2.0,)), Leaf((2.0,))))
        Leaf(values=(2.0,))
    """
    if isinstance(tree, Leaf):
        return tree
    holds, fails = merged(tree.holds), merged(tree.fails)
    return holds if holds == fails else InnerNode(tree.condition, holds, fails)


def leaves_as_array(forest: Forest) -> NDArray[np.float64]:
    """The values of all leaves, a row for each."""
    return np.array([leaf.values for tree in forest.trees for leaf in _leaves(tree)])

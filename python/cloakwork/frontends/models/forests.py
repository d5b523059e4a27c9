"""Forests of decision trees over encrypted conditions, as functions of integers."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.models.features import Condition
from cloakwork.plan.circuits.matches import ConditionPair, CountedTerm, Matches

# Weights that do not tell which way costs less are so many times the least.
_NEAR = 1.1
# Conditions in a row of a block that are tried.
_HEIGHTS = range(1, 9)
# Levels that a program has beside those of its products in a row, about.
_LEVELS_BESIDE = 4
# What a product costs of which only a sum of many is relinearised.
_SUMMED = 0.25


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
        base = tuple(round(each * scale) for each in self.base)
        return IntegerForest(trees, base, self._tracks())

    def _tracks(self) -> tuple[int, ...]:
        """For each condition a number, the same for those of which a later one implies others."""
        numbers: dict[Condition, int] = {}
        alike = (replace(each, threshold=0.0) for each in self.conditions)
        return tuple(numbers.setdefault(each, len(numbers)) for each in alike)


@dataclass(frozen=True)
class IntegerForest:
    """A forest of integers: for each tree its leaves from left to right, with the ways to them.

    Args:
        trees: The trees.
        base: What is added to each score.
        tracks: For each condition a number, the same for those of one feature in one order: where
            one of these holds, so do all before it.
    """

    trees: tuple[tuple[_Path, ...], ...]
    base: tuple[int, ...]
    tracks: tuple[int, ...]

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The least and the greatest value of each score."""
        ends = [(each, each) for each in self.base]
        for tree in self.trees:
            for score, values in enumerate(zip(*(leaf for leaf, _ in tree), strict=True)):
                low, high = ends[score]
                ends[score] = low + min(values), high + max(values)
        return tuple(ends)

    @cached_property
    def matches(self) -> Matches:
        """The scores as sums over leaves, but for those that most leaves of a tree are like."""
        base = np.array(self.base)
        terms: list[CountedTerm] = []
        for tree in self.trees:
            ((usual, _),) = Counter(leaf for leaf, _ in tree).most_common(1)
            base += usual
            for leaf, way in tree:
                factors = self._factors(way)
                if leaf != usual and all(each.may_hold for each in factors):
                    values = tuple(value - own for value, own in zip(leaf, usual, strict=True))
                    terms.append(CountedTerm(factors, values))
        return Matches(len(self.tracks), tuple(terms), tuple(base.tolist()))

    def _factors(self, way: Sequence[tuple[int, bool]]) -> tuple[ConditionPair, ...]:
        """A way as what it asks of each track: the strictest that holds, and that fails."""
        holds: dict[int, int] = {}
        fails: dict[int, int] = {}
        for number, is_held in way:
            track = self.tracks[number]
            if is_held:
                holds[track] = max(number, holds.get(track, number))
            else:
                fails[track] = min(number, fails.get(track, number))
        tracks = sorted(holds.keys() | fails.keys())
        return tuple(ConditionPair(holds.get(track), fails.get(track)) for track in tracks)

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

    def scores_by_products(self, bits: Any, height: int | None = None) -> list[Any]:
        """The scores, of conditions as numbers that are added and multiplied alone.

        A tree is cut into blocks of a few conditions in a row. Of every node it is computed whether
        it is reached from the first of its block, which is one product for two children, and of
        every first one whether it is reached from the root. What the leaves of a block add is then
        one product more for each score, and a sum of products costs little more than one.

        Args:
            bits: The conditions.
            height: The conditions in a row of a block; by default the first of `heights`.
        """
        totals: list[Any] = list(self.base)
        for tree in self.trees:
            usual = [_commonest(each) for each in zip(*(leaf for leaf, _ in tree), strict=True)]
            for score, value in enumerate(usual):
                totals[score] = totals[score] + value
            leaves = [(tuple(map(operator.sub, values, usual)), way) for values, way in tree]
            _Block(totals, bits, height or self.heights[0]).add(leaves, 0, None)
        return totals

    @property
    def deepest(self) -> IntegerForest:
        """The one tree that has the longest way to a leaf, by itself."""
        tree = max(self.trees, key=lambda leaves: max(len(way) for _, way in leaves))
        return replace(self, trees=(tree,))

    @cached_property
    def heights(self) -> Sequence[int]:
        """Conditions in a row of blocks for which products are few and few in a row, best first."""
        weights = {height: self._weight(height) for height in _HEIGHTS}
        limit = _NEAR * min(weights.values())
        return sorted((each for each in weights if weights[each] <= limit), key=weights.__getitem__)

    @property
    def products(self) -> int:
        """How many products tell which nodes are reached."""
        return self._products(self.heights[0])

    def _weight(self, height: int) -> float:
        """About what products cost: each as much as there are levels."""
        deepest = len(self._depths) - 1
        in_a_row = min(height, deepest) - 1 + -(-deepest // height) - 1
        blocks = sum(self._depths[height::height])
        deeper = sum(len(way) > height for tree in self.trees for _, way in tree)
        summed = min(deeper, blocks * len(self.base))
        products = self._products(height) + _SUMMED * summed
        return products * (in_a_row + _LEVELS_BESIDE)

    def _products(self, height: int) -> int:
        return sum(
            nodes
            for depth, nodes in enumerate(self._depths)
            if depth % height > 0 or depth > height
        )

    @cached_property
    def _depths(self) -> Sequence[int]:
        """How many inner nodes there are of each depth; no leaf is deeper than so many."""
        inner = [
            len(way)
            for tree in self.trees
            for way in {way[:end] for _, way in tree for end in range(len(way))}
        ]
        return (*np.bincount(inner).tolist(), 0)


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


@dataclass(frozen=True, slots=True)
class _Block:
    """Adds what a part of a tree gives to scores, block by block.

    Args:
        totals: The scores, which it adds to.
        bits: The conditions.
        height: Conditions in a row of a block.
    """

    totals: list[Any]
    bits: Any
    height: int

    def add(self, leaves: Sequence[_Path], depth: int, reached: Any) -> None:
        """Add what a block gives, and those below it.

        Args:
            leaves: The leaves below its first node.
            depth: How deep that is.
            reached: Whether it is reached; None where it always is.
        """
        sums: list[Any] = [0] * len(self.totals)
        for part, at, inside in self._parts(leaves, depth, depth + self.height, None):
            if len(part) > 1:
                self.add(part, at, _times(reached, inside))
                continue
            for score, value in enumerate(part[0][0]):
                if value:
                    added = 1 if inside is None else inside
                    sums[score] = sums[score] + (added if value == 1 else added * value)
        for score, total in enumerate(sums):
            # A clear 0 is a score that no leaf of the block adds to.
            if not isinstance(total, int) or total:
                self.totals[score] = self.totals[score] + _times(reached, total)

    def _parts(
        self, leaves: Sequence[_Path], depth: int, end: int, inside: Any
    ) -> Iterator[tuple[Sequence[_Path], int, Any]]:
        """The leaves of a block, and the first nodes below it, with whether each is reached."""
        if len(leaves) == 1 or depth == end:
            yield leaves, depth, inside
            return
        number, _ = leaves[0][1][depth]
        middle = next(place for place, leaf in enumerate(leaves) if leaf[1][depth][1])
        holds = _times(inside, self.bits[number])
        fails = (1 if inside is None else inside) - holds
        yield from self._parts(leaves[:middle], depth + 1, end, fails)
        yield from self._parts(leaves[middle:], depth + 1, end, holds)


def _commonest(values: Sequence[int]) -> int:
    ((value, _),) = Counter(values).most_common(1)
    return value


def _times(one: Any, other: Any) -> Any:
    """A product of which the first factor may be None, which is 1."""
    return other if one is None else one * other


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

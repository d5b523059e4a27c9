"""The order of the products of an expression of matrices, by exact dynamic programming.

A product of two products takes both as they lie. In (A B)(C D) the left operand has to lie by
diagonals, and those of A B are the diagonal pair of (A B)^T = B^T A^T, which costs as much as that
of A B. So no order has to be paid for with a change of layout, and what orders differ by are the
sizes of the products and the levels they stand at: a product that is d products away from the
result takes its operands at level d + 1. The least cost of all orders of a part of a chain follows
from those of its parts, for every distance from the result.

Two inner indices share a slot where two matrices from outside are multiplied, and leave something
in the other halves of the results. So does a product with such an operand; with two of them it
would be wrong, and one of both is computed without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from cloakwork.plan.matmul.expression import (
    Combination,
    Expression,
    Matrix,
    MatrixChain,
    Pointwise,
    Spread,
    Transposed,
    Weighted,
    are_transposes,
)
from cloakwork.plan.matmul.lanes import Digit, Lanes
from cloakwork.plan.matmul.product import HANDLING, KEY
from cloakwork.runtime.costs import Costs

_NEVER = math.inf


@dataclass(frozen=True, slots=True)
class ChainSplit:
    """Where a part of a chain is cut in two, and what the halves of slots hold.

    Args:
        at: The factor that the right operand begins with.
        halves: Whether the left operand and the right one may have something in both halves.
        parts: Inner indices that share a slot, of two matrices from outside.
    """

    at: int
    halves: tuple[bool, bool] = (False, False)
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a chain.

    Args:
        chain: The chain.
        sizes: Those of its axes.
        digits: How each of its axes is shared out.
        first: The first of its factors.
        last: The factor after the last one.
    """

    chain: MatrixChain
    sizes: tuple[int, ...]
    digits: tuple[Digit, ...]
    first: int
    last: int

    @property
    def length(self) -> int:
        """How many factors."""
        return self.last - self.first

    @property
    def factors(self) -> tuple[Expression, ...]:
        """They themselves."""
        return self.chain.factors[self.first : self.last]

    @property
    def is_known(self) -> bool:
        """Whether all of them are in the clear."""
        return all(isinstance(each, Matrix) and each.is_known for each in self.factors)

    def cut(self, at: int) -> tuple[Part, Part]:
        """The left and the right operand."""
        chain, sizes, digits = self.chain, self.sizes, self.digits
        left, right = (self.first, at), (at, self.last)
        return Part(chain, sizes, digits, *left), Part(chain, sizes, digits, *right)


class Ordering:
    """The cheapest order of an expression that is computed in given lanes.

    Args:
        expression: What is computed.
        lanes: How lanes are shared out.
        summed: Which inner index of the chains that results are made of is shared out.
        costs: What operations cost, levels from 0 up.
        levels: How many levels there may be, at most as many as have costs.
    """

    def __init__(
        self, expression: Expression, lanes: Lanes, summed: int, costs: Costs, levels: int
    ) -> None:
        self.expression = expression
        self.lanes = lanes
        self._summed = summed
        self._costs = costs
        self.levels = levels
        self._outer = {expression, *_terms(expression)}
        self._sizes: dict[MatrixChain, tuple[int, ...]] = {}
        self._best: dict[tuple[object, ...], tuple[float, ChainSplit | None]] = {}

    @property
    def cost(self) -> float:
        """What all operations and the handling of ciphertexts and keys cost; infinite if never."""
        ends: tuple[Digit, Digit] = ("rows", "columns")
        return self._handled + self.value(self.expression, ends, 0, halves=self.lanes.has_halves)

    @property
    def least_cost(self) -> float:
        """What it costs at the least: keys, and results that are made and handled."""
        of = self.expression
        if not isinstance(of, MatrixChain):
            return self._handled
        return self._handled + self._switching(self.whole(of, ("rows", "columns")), 0)

    @cached_property
    def _handled(self) -> float:
        lanes, bottom, top = self.lanes, self._costs.at(0), self._costs.at(self.levels)
        outputs = self._outputs(self.expression.shape, ("rows", "columns"))
        keys = 2 * lanes.side - 1 + len(lanes.sums)
        return HANDLING * bottom.addition * outputs + KEY * top.rotation * keys

    def whole(self, chain: MatrixChain, digits: tuple[Digit, Digit]) -> Part:
        """All of a chain whose outer axes are shared out like this."""
        inner: list[Digit] = ["whole"] * (len(chain.factors) - 1)
        if chain in self._outer and 0 < self._summed <= len(inner):
            inner[self._summed - 1] = "summed"
        all_digits = (digits[0], *inner, digits[1])
        return Part(chain, self._sizes_of(chain), all_digits, 0, len(chain.factors))

    def _sizes_of(self, chain: MatrixChain) -> tuple[int, ...]:
        if chain not in self._sizes:
            self._sizes[chain] = chain.sizes
        return self._sizes[chain]

    def value(
        self, of: Expression, digits: tuple[Digit, Digit], level: int, *, halves: bool
    ) -> float:
        """What an expression costs at a level, all that it is made of included."""
        if isinstance(of, Transposed):
            return self.value(of.of, (digits[1], digits[0]), level, halves=halves)
        if level > self.levels:
            return _NEVER
        at = self._costs.at(level)
        outputs = self._outputs(of.shape, digits)
        match of:
            case Matrix():
                return HANDLING * at.addition * outputs
            case Spread(axis=axis, shape=shape):
                vectors = self.lanes.blocks(shape[axis], digits[axis])
                turns = 0 if axis else self.lanes.side - 1
                return vectors * (HANDLING * at.addition + turns * at.hoisted_rotation)
            case MatrixChain():
                return self.part(self.whole(of, digits), level, halves=halves)
            case Combination():
                return self._combination(of, digits, level, halves)
        if level + 1 > self.levels:
            return _NEVER
        above = self._costs.at(level + 1)
        match of:
            case Weighted():
                each = above.plaintext_product + above.rescale
                return outputs * each + self.value(of.of, digits, level + 1, halves=halves)
            case Pointwise(left=left, right=right):
                each = above.product + above.relinearisation + above.rescale
                factors = [left] if left is right else [left, right]
                return outputs * each + sum(
                    self.value(factor, digits, level + 1, halves=False) for factor in factors
                )

    def part(self, part: Part, level: int, *, halves: bool) -> float:
        """What a part of a chain costs, as a matrix."""
        digits = part.digits[part.first], part.digits[part.last]
        if part.length == 1:
            return self.value(part.factors[0], digits, level, halves=halves)
        return self._unswitched(part, level, halves)[0] + self._switching(part, level)

    def split(self, part: Part, level: int, *, halves: bool) -> ChainSplit:
        """Where a part of a chain is cut in two."""
        found = self._unswitched(part, level, halves)[1]
        assert found is not None
        return found

    def _combination(
        self, of: Combination, digits: tuple[Digit, Digit], level: int, halves: bool
    ) -> float:
        """Products are summed before their keys are switched."""
        chains = [each for _, each in of.terms if isinstance(each, MatrixChain)]
        others = [each for _, each in of.terms if not isinstance(each, MatrixChain)]
        outputs = self._outputs(of.shape, digits)
        total = outputs * self._costs.at(level).addition * len(others)
        total += sum(self.value(each, digits, level, halves=halves) for each in others)
        summed: set[bool] = set()
        for chain in chains:
            part = self.whole(chain, digits)
            cost, split = self._unswitched(part, level, halves)
            if split is None:
                return _NEVER
            # Those of shares are summed by themselves.
            is_shared = self.lanes.shown(part.digits[split.at]) == "summed"
            total += cost if is_shared in summed else cost + self._switching(part, level)
            summed.add(is_shared)
        return total

    def _outputs(self, shape: tuple[int, int], digits: tuple[Digit, Digit]) -> int:
        blocks = map(self.lanes.blocks, shape, digits)
        return math.prod(blocks) * self.lanes.side

    def _switching(self, part: Part, level: int) -> float:
        """What it takes to make vectors of a product."""
        if level + 1 > self.levels:
            return _NEVER
        top = self._costs.at(level + 1)
        sizes, digits = part.sizes, part.digits
        shape, ends = (sizes[part.first], sizes[part.last]), (digits[part.first], digits[part.last])
        return self._outputs(shape, ends) * (top.product_switch + top.rescale)

    def _unswitched(self, part: Part, level: int, halves: bool) -> tuple[float, ChainSplit | None]:
        """What a product costs before keys are switched, at the best cut."""
        if level + 1 > self.levels:
            return _NEVER, None
        chain, first, last = part.chain, part.first, part.last
        key = (chain, part.digits, first, last, level, halves)
        if key not in self._best:
            cuts = [self._cut(part, at, level, halves) for at in range(part.first + 1, part.last)]
            self._best[key] = min(cuts, key=lambda each: each[0])
        return self._best[key]

    def _cut(self, part: Part, at: int, level: int, halves: bool) -> tuple[float, ChainSplit]:
        lanes, bottom = self.lanes, self._costs.at(level)
        sizes, digits = part.sizes, part.digits
        tall = lanes.blocks(sizes[part.first], digits[part.first])
        wide = lanes.blocks(sizes[part.last], digits[part.last])
        lane_sums = (lanes.size(digits[at]) - 1).bit_length()
        sums = lane_sums * tall * wide * lanes.side * (bottom.rotation + bottom.addition)
        of = self._of_matrices if self.is_of_matrices(part) else self._of_products
        cost, split = of(part, at, level, halves, (tall, wide))
        return sums + cost, split

    def _of_matrices(
        self, part: Part, at: int, level: int, halves: bool, blocks: tuple[int, int]
    ) -> tuple[float, ChainSplit]:
        """By two inner indices in a slot, or by one where one packing serves both operands."""
        lanes, top = self.lanes, self._costs.at(level + 1)
        size, digit = part.sizes[at], part.digits[at]
        packings = {1: max(blocks) if self._lie_equally(part) else sum(blocks)}
        # A right operand shares out its inner index above its columns.
        turned_over = part.digits[part.first] == "rows" and part.last < len(part.chain.factors)
        crosses = turned_over and digit == "summed"
        if halves and not crosses and lanes.column_parts == 1:
            packings[2] = sum(blocks)
        costs: dict[int, float] = {}
        for parts, packed in packings.items():
            terms = lanes.terms(size, digit, parts)
            products = math.prod(blocks) * top.rotated_products(terms, lanes.side)
            costs[parts] = products + HANDLING * top.addition * terms * packed
        best = min(costs, key=lambda parts: costs[parts])
        return costs[best], ChainSplit(at, parts=best)

    def _of_products(
        self, part: Part, at: int, level: int, halves: bool, blocks: tuple[int, int]
    ) -> tuple[float, ChainSplit]:
        """With something in both halves of the slots of one operand at most."""
        lanes, top = self.lanes, self._costs.at(level + 1)
        terms = lanes.runs(part.sizes[at], part.digits[at])
        left, right = part.cut(at)
        costs: dict[tuple[bool, bool], float] = {}
        for way in [(True, False), (False, True)] if halves else [(False, False)]:
            costs[way] = sum(
                self.part(each, level + 1, halves=may)
                for each, may in zip((left, right), way, strict=True)
            )
        if part.length == 2 and self._lie_equally(part):
            costs[False, False] = self.part(right, level + 1, halves=False)
        best = min(costs, key=lambda way: costs[way])
        products = math.prod(blocks) * top.rotated_products(terms, lanes.side)
        return products + costs[best], ChainSplit(at, best)

    def _lie_equally(self, part: Part) -> bool:
        """Whether two factors are transposes of one another whose vectors are the same."""
        ends = (self.lanes.shown(part.digits[each]) for each in (part.first, part.last))
        return are_transposes(*part.factors) and all(each == "whole" for each in ends)

    @staticmethod
    def is_of_matrices(part: Part) -> bool:
        """Whether it is the product of two matrices from outside."""
        return part.length == 2 and all(isinstance(each, Matrix) for each in part.factors)


def _terms(expression: Expression) -> tuple[Expression, ...]:
    if not isinstance(expression, Combination):
        return ()
    return tuple(each for _, each in expression.terms)

"""The order in which the operands of an einsum are contracted, two at a time.

Up to six operands every tree is tried: the cheapest of each depth is kept for each
set of operands, as a set that costs a little more may be worth the level it saves.
(The optimal searches of opt_einsum keep one tree for each set, and their costs see
neither its depth nor what is encrypted.) Above six the trees are too many, and
opt_einsum's greedy search goes by the same cost.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from opt_einsum.paths import greedy

from cloakwork.plan.cost import price

_SEARCHED_OPERANDS = 6

_Tree: TypeAlias = int | tuple["_Tree", "_Tree"]
_Pair: TypeAlias = tuple[int, int]
# opt_einsum knows a tensor by its labels, and weighs products only of those that share one
# to be summed. So there are labels of size 1 besides: the numbers of the operands that went
# into a tensor, which stay, and one for each pair of operands, summed when the two meet.
_Marked: TypeAlias = frozenset[str | int | _Pair]
_Candidate: TypeAlias = tuple[tuple[float, int, int], _Marked, _Marked, _Marked]


@dataclass(frozen=True, slots=True)
class Step:
    """One contraction of a path; operands are numbered as given, then each step's result.

    Args:
        left: Number of the first operand.
        right: Number of the second; None where the only operand is rearranged or summed.
        labels: Labels of each operand, one per axis.
        output: Labels of the result.
    """

    left: int
    right: int | None
    labels: tuple[str, ...]
    output: str


def contraction_path(
    inputs: tuple[str, ...],
    output: str,
    sizes: Mapping[str, int],
    encrypted: tuple[bool, ...],
    slots: int,
) -> tuple[Step, ...]:
    """The steps, in order, that contract the operands to the output at least cost.

    A step sums the labels that nothing after it has. A product of two clear tensors is
    nearly free, one with a ciphertext costs diagonals, one of two ciphertexts costs
    ciphertext products and rotations; each of the last two takes a level, which costs too.

    Source: Pfeifer, Haegeman and Verstraete, "Faster identification of optimal contraction
    sequences for tensor networks", Physical Review E 90, 2014, for the search over sets of
    operands; the costs and the depths are our own.

    Example:
        >>> sizes = {"i": 2, "j": 64, "k": 64, "l": 64}
        >>> for step in contraction_path(("ij", "jk", "kl"), "il", sizes, (True,) * 3, 8192):
        ...     print(step.left, step.right, ",".join(step.labels), "->", step.output)
        0 1 ij,jk -> ik
        3 2 ik,kl -> il
    """
    if len(inputs) == 1:
        return (Step(0, None, inputs, output),)
    einsum = _Einsum(inputs, output, sizes, encrypted, slots)
    if len(inputs) <= _SEARCHED_OPERANDS:
        pairs = _flat(_cheapest_tree(einsum), len(inputs))
    else:
        pairs = _greedy_pairs(einsum)
    return tuple(_steps(einsum, pairs))


@dataclass(frozen=True, slots=True)
class _Einsum:
    """What is to be contracted, and what it costs to contract two parts of it."""

    inputs: tuple[str, ...]
    output: str
    sizes: Mapping[str, int]
    encrypted: tuple[bool, ...]
    slots: int

    def labels(self, members: Set[int]) -> frozenset[str]:
        """Those of the contraction of these operands, or of the operand where it is one."""
        own = frozenset().union(*(self.inputs[number] for number in members))
        if len(members) == 1:
            return own
        later = set(range(len(self.inputs))) - members
        return own & set(self.output).union(*(self.inputs[number] for number in later))

    def is_encrypted(self, members: Set[int]) -> bool:
        return any(self.encrypted[number] for number in members)

    def work(self, left: Set[int], right: Set[int]) -> float:
        """The cost of contracting two parts already contracted, without the level."""
        first, second, kept = self.labels(left), self.labels(right), self.labels(left | right)
        lanes = (first & second) | kept
        match self.is_encrypted(left), self.is_encrypted(right):
            case True, True:
                return self._of_ciphertexts(first, second, lanes, kept)
            case True, False:
                return self._of_diagonals(first, lanes, kept)
            case False, True:
                return self._of_diagonals(second, lanes, kept)
            case _:
                return price.CLEAR_PRODUCT * self._product(first | second)

    def _of_ciphertexts(
        self, first: Set[str], second: Set[str], lanes: Set[str], kept: Set[str]
    ) -> float:
        """Sum what is one's own, copy along what one lacks, multiply, sum what is not kept."""
        before = self._doublings(first - lanes) + self._doublings(second - lanes)
        each = sum(self._doublings(lanes - labels) for labels in (first, second, kept))
        return before + self._ciphertexts(lanes) * (price.PRODUCT + each)

    def _of_diagonals(self, encrypted: Set[str], lanes: Set[str], kept: Set[str]) -> float:
        """A matrix from what is summed to what is new.

        As many diagonals as its shorter side is long; copies or a sum along the longer one.
        """
        before = self._doublings(encrypted - lanes)
        summed, new = self._product(lanes - kept), self._product(lanes - encrypted)
        short, long = sorted((summed, new))
        turned = self._ciphertexts(encrypted & lanes) + self._ciphertexts(kept)
        steps = math.sqrt(short) if short > 1 else 0.0
        steps += _doublings(math.ceil(long / short)) / 2
        diagonals = max(short, self._ciphertexts(lanes))
        return before + price.DIAGONAL_OF_OPEN_LAYOUT * diagonals + turned * steps

    def _ciphertexts(self, labels: Set[str]) -> int:
        return math.ceil(self._product(labels) / self.slots)

    def _doublings(self, labels: Set[str]) -> int:
        return _doublings(self._product(labels))

    def _product(self, labels: Set[str]) -> int:
        return math.prod(self.sizes[label] for label in labels)


def _doublings(size: int) -> int:
    """Rotations that copy one number to, or sum up, so many slots."""
    return (size - 1).bit_length()


def _cheapest_tree(einsum: _Einsum) -> _Tree:
    numbers = range(len(einsum.inputs))
    best: dict[frozenset[int], dict[int, tuple[float, _Tree]]] = {
        frozenset({number}): {0: (0.0, number)} for number in numbers
    }
    for size in range(2, len(numbers) + 1):
        for whole in map(frozenset, itertools.combinations(numbers, size)):
            best[whole] = _best_of_each_depth(einsum, whole, best)
    found = best[frozenset(numbers)]
    return found[min(found, key=lambda depth: found[depth][0] + price.LEVEL_OF_ORDER * depth)][1]


def _best_of_each_depth(
    einsum: _Einsum,
    whole: frozenset[int],
    best: Mapping[frozenset[int], Mapping[int, tuple[float, _Tree]]],
) -> dict[int, tuple[float, _Tree]]:
    found: dict[int, tuple[float, _Tree]] = {}
    level = int(einsum.is_encrypted(whole))
    for left, right in _halves(whole):
        work = einsum.work(left, right)
        for (one_depth, one), (two_depth, two) in itertools.product(
            best[left].items(), best[right].items()
        ):
            depth = max(one_depth, two_depth) + level
            cost = one[0] + two[0] + work
            if depth not in found or cost < found[depth][0]:
                found[depth] = (cost, (one[1], two[1]))
    return found


def _halves(whole: frozenset[int]) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Every way to part a set in two, the lowest number on the left."""
    lowest, *rest = sorted(whole)
    for size in range(len(rest)):
        for others in itertools.combinations(rest, size):
            left = frozenset((lowest, *others))
            yield left, whole - left


def _flat(tree: _Tree, operands: int) -> list[_Pair]:
    """The pairs of a tree, inner ones first."""
    pairs: list[_Pair] = []

    def number_of(part: _Tree) -> int:
        if isinstance(part, int):
            return part
        pairs.append((number_of(part[0]), number_of(part[1])))
        return operands + len(pairs) - 1

    number_of(tree)
    return pairs


def _greedy_pairs(einsum: _Einsum) -> list[_Pair]:
    numbers = range(len(einsum.inputs))
    depths = {frozenset({number}): 0 for number in numbers}

    def depth(left: frozenset[int], right: frozenset[int]) -> int:
        return max(depths[left], depths[right]) + int(einsum.is_encrypted(left | right))

    def cost(_size: int, _left: int, _right: int, _k: _Marked, one: _Marked, two: _Marked) -> float:
        left, right = _members(one), _members(two)
        return einsum.work(left, right) + price.LEVEL_OF_ORDER * depth(left, right)

    def choose(queue: list[_Candidate], standing: Set[_Marked]) -> _Candidate | None:
        candidate = heapq.heappop(queue)
        _, one, two, _ = candidate
        if one not in standing or two not in standing:
            return None
        left, right = _members(one), _members(two)
        depths[left | right] = depth(left, right)
        return candidate

    meetings = list(itertools.combinations(numbers, 2))
    marked = [
        frozenset({number, *labels, *(pair for pair in meetings if number in pair)})
        for number, labels in enumerate(einsum.inputs)
    ]
    sizes: dict[str | int | _Pair, int] = dict.fromkeys([*numbers, *meetings], 1)
    sizes.update(einsum.sizes.items())
    path = greedy(
        marked,
        frozenset({*einsum.output, *numbers}),
        sizes,
        choose_fn=choose,
        cost_fn=cost,
    )
    standing = list(numbers)
    pairs: list[_Pair] = []
    for one, two in path:
        pairs.append((standing[one], standing[two]))
        standing = [number for number in standing if number not in pairs[-1]]
        standing.append(len(einsum.inputs) + len(pairs) - 1)
    return pairs


def _members(tensor: _Marked) -> frozenset[int]:
    return frozenset(label for label in tensor if isinstance(label, int))


def _steps(einsum: _Einsum, pairs: Sequence[_Pair]) -> Iterator[Step]:
    labels = list(einsum.inputs)
    members = [frozenset({number}) for number in range(len(labels))]
    for left, right in pairs:
        members.append(members[left] | members[right])
        kept = einsum.labels(members[-1])
        both = dict.fromkeys(labels[left] + labels[right])
        is_last = len(members[-1]) == len(einsum.inputs)
        result = einsum.output if is_last else "".join(label for label in both if label in kept)
        yield Step(left, right, (labels[left], labels[right]), result)
        labels.append(result)

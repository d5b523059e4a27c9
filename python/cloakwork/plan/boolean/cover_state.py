"""The state of a cover under construction: what is made, what is required, what can be shared."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from itertools import islice

from cloakwork.plan.boolean.planes import Planes
from cloakwork.plan.boolean.steps import Cover

# The weight of an encoding that an AND cannot be computed without.
URGENT = 1 << 16


class Progress:
    """What the steps so far have made.

    Args:
        planes: The planes of the network.
        slack: How many bootstraps deeper than needed a step may come for the sake of a
            re-encoding saved; infinite for the fewest bootstraps.

    Attributes:
        cover: The steps.
        level: By input, AND and long XOR that is done the bootstraps on the way to it.
        quarter: By node made in quarter or finer encoding the same.
        chain: By node made by a product in a finer encoding how many such products follow one
            another.
    """

    def __init__(self, planes: Planes, slack: float) -> None:
        self.planes = planes
        self.slack = slack
        self.cover = Cover()
        inputs = range(1 + planes.network.input_count)
        self.level: dict[int, int] = dict.fromkeys(inputs, 0)
        self.quarter: dict[int, int] = dict.fromkeys(inputs, 0)
        self.chain: dict[int, int] = {}
        # Natural levels of sums, from their parts; found once these are done.
        self._natural: dict[int, int] = {}

    def half_level(self, node: int) -> int:
        """Bootstraps on the way to a node in half encoding, from what it is taken now."""
        if node in self.cover.replaces:
            return self.quarter[node]
        return self.natural_level(node)

    def natural_level(self, node: int) -> int:
        """Bootstraps on the way to a node in half encoding, taken from its parts."""
        if node not in self._natural:
            levels = map(self.level.__getitem__, self.planes.network.forms[node])
            self._natural[node] = max(levels, default=0)
        return self._natural[node]

    def in_time(self, node: int) -> bool:
        """Whether a node is in quarter encoding, and about as early as by a re-encoding."""
        return node in self.quarter and self.quarter[node] <= self.half_level(node) + 1 + self.slack

    def keeps_up(self, x: int, y: int) -> bool:
        """Whether x in quarter encoding is there about as early as y in half encoding."""
        return self.quarter[x] <= self.half_level(y) + self.slack

    def triple(self, node: int) -> tuple[int, int, int] | None:
        """Three nodes in quarter encoding whose majority does an AND."""
        quarter = self.quarter
        triples = []
        inside = [each for each in self.planes.plane[node] if self.in_time(each)]
        if len(inside) >= 2:
            inside.sort(key=quarter.__getitem__)
            triples.append((inside[0], inside[1], 0))
        for coset in self.planes.cosets[node]:
            inside = [each for each in coset if self.in_time(each)]
            if len(inside) >= 3:
                inside.sort(key=quarter.__getitem__)
                triples.append((inside[0], inside[1], inside[2]))
        if not triples:
            return None
        return min(triples, key=lambda triple: max(map(quarter.__getitem__, triple)))

    def feasible(self, node: int) -> bool:
        """Whether one bootstrap does an AND."""
        return any(map(self.in_time, self.planes.plane[node])) or bool(self.triple(node))


class RequiredEncodings:
    """The nodes that ANDs to come require in quarter encoding.

    Args:
        progress: What is made.
        generous: Whether ANDs that could be done also require what might spare a re-encoding as
            part of a majority.
    """

    def __init__(self, progress: Progress, *, generous: bool) -> None:
        self._progress = progress
        self._planes = progress.planes
        self._generous = generous
        self._weights: dict[int, int] = defaultdict(int)
        self._required_by: dict[int, tuple[int, list[int]]] = {}

    def weight(self, node: int) -> int:
        """How much a node is required in quarter encoding."""
        return 0 if node in self._progress.quarter else self._weights[node]

    def update(self, node: int) -> None:
        """Require what would make an AND feasible or, less urgent, a majority."""
        self.remove(node)
        plane = [each for each in self._planes.plane[node] if each not in self._progress.quarter]
        if not self._progress.feasible(node):
            required = plane
            for coset in self._planes.cosets[node]:
                if sum(each in self._progress.quarter for each in coset) == 2:
                    required += [each for each in coset if each not in self._progress.quarter]
            self._required_by[node] = URGENT, required
        elif self._generous and not self._progress.triple(node):
            self._required_by[node] = 1, plane
        else:
            return
        weight, required = self._required_by[node]
        for each in required:
            self._weights[each] += weight

    def remove(self, node: int) -> None:
        """Require nothing more for an AND."""
        weight, required = self._required_by.pop(node, (0, []))
        for each in required:
            self._weights[each] -= weight


class Sharing:
    """Ready ANDs by the operands that they could share with others.

    Args:
        progress: What is made.
        most_shared: The most ANDs of one bootstrap.
        longest_chain: How many products in finer encodings may follow one another.
    """

    def __init__(self, progress: Progress, most_shared: int, longest_chain: int) -> None:
        self._progress = progress
        self._most_shared = most_shared
        # An operand of a shared bootstrap is in an encoding finer by as many halves as others are.
        self._longest_chain = max(0, longest_chain - most_shared)
        # By operand the ANDs, each with the other operand; and operands, those of most first.
        self._sharing: dict[int, dict[int, int]] = defaultdict(dict)
        self._counted: list[tuple[int, int]] = []

    def update(self, node: int) -> None:
        """Find the operands that a ready AND could share."""
        progress = self._progress
        plane = progress.planes.plane[node] if self._most_shared > 1 else ()
        for shared in plane:
            finer = [
                each
                for each in plane
                if each != shared
                and each in progress.quarter
                and progress.chain.get(each, 0) <= self._longest_chain
                and progress.keeps_up(each, shared)
            ]
            if finer:
                self._sharing[shared][node] = min(finer, key=progress.quarter.__getitem__)
                self._count(shared)
            else:
                self._drop(node, shared)

    def remove(self, node: int) -> None:
        """Remove an AND that is done."""
        for shared in self._progress.planes.plane[node]:
            self._drop(node, shared)

    def largest(self) -> int:
        """The operand that most ready ANDs share, 0 if there is none that two do."""
        while self._counted:
            count, shared = self._counted[0]
            if len(self._sharing[shared]) == -count:
                return shared
            heappop(self._counted)
        return 0

    def sharers(self, shared: int) -> list[tuple[int, int]]:
        """ANDs that one bootstrap does, each with the operand that is not shared."""
        return list(islice(self._sharing[shared].items(), self._most_shared))

    def _drop(self, node: int, shared: int) -> None:
        if self._sharing[shared].pop(node, None) is not None:
            self._count(shared)

    def _count(self, shared: int) -> None:
        if len(self._sharing[shared]) > 1:
            heappush(self._counted, (-len(self._sharing[shared]), shared))

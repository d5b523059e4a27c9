"""What to re-encode where no AND that is ready can be done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from heapq import nsmallest
from random import Random

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.boolean.cover_state import Progress
from cloakwork.plan.boolean.steps import Reencoding

# ANDs that are looked at.
_WINDOW = 40
# How much a re-encoding helps, the node in quarter encoding that it takes, and what it makes.
_Gain = tuple[tuple[int, int, int, int], int, tuple[int, ...]]
# The low bits of a mark.
_LOW = (1 << 20) - 1


class Reencodings:
    """The choice of re-encodings: what most ANDs want, in pairs where one bootstrap can do that.

    Args:
        progress: What is done.
        most_outputs: The most outputs of a bootstrap.
    """

    def __init__(self, progress: Progress, most_outputs: int) -> None:
        self._progress = progress
        self._planes = progress.planes
        self._network = progress.planes.network
        self._most_outputs = most_outputs
        # Sums of forms are looked for by sums of random numbers, one for each basis node.
        self._random = Random(0)
        self._mark_of: dict[int, int] = {}
        self._mark_of_node: dict[int, int] = {}
        self._marked: dict[int, int] = {}
        # By the low bits of a mark, how many there are, so that most pairs need not be looked at.
        self._is_likely = np.zeros(_LOW + 1, dtype=np.int32)
        for node in range(1, 1 + self._network.input_count):
            self.note(node)

    def note(self, node: int) -> None:
        """Note a node made in quarter encoding: re-encodings may use it."""
        mark = self._mark(node)
        self._marked[mark] = node
        self._is_likely[mark & _LOW] += 1

    def choose(self, infeasible: Iterable[int]) -> Reencoding:
        """The re-encoding that helps most of some ANDs that cannot be done yet."""
        counts: dict[int, int] = defaultdict(int)
        for node in nsmallest(_WINDOW, infeasible):
            for each in self._planes.plane[node]:
                counts[each] += 1
            for coset in self._planes.cosets[node]:
                inside = [each for each in coset if self._progress.in_time(each)]
                if len(inside) == 2:
                    for each in self._known(coset):
                        counts[each] += 1
        required = [each for each in counts if not self._progress.in_time(each)]
        partners, pairs = self._pairs(required)
        best = self._best_alone(required, counts, partners)
        if self._most_outputs > 1:
            for x, y, other in pairs:
                gain = (
                    counts[y] + counts[other],
                    partners[y] + partners[other],
                    -self._progress.half_level(y),
                    -y,
                )
                best = max(best, (gain, x, (y, other)))
        _, x, makes = best
        return Reencoding(x, makes[0], makes)

    def _best_alone(
        self, required: list[int], counts: Mapping[int, int], partners: Mapping[int, int]
    ) -> _Gain:
        """The node that most ANDs want, and of those that as many want the earliest."""
        most = max((counts[each], partners[each]) for each in required)
        level, node = min(
            (self._progress.half_level(each), each)
            for each in required
            if (counts[each], partners[each]) == most
        )
        return (*most, -level, -node), 0, (node,)

    def _known(self, coset: tuple[int, ...]) -> Iterable[int]:
        """The nodes that could be re-encoded by now."""
        return (
            each
            for each in coset
            if each not in self._progress.quarter
            and all(base in self._progress.level for base in self._network.forms[each])
        )

    def _pairs(self, required: list[int]) -> tuple[dict[int, int], list[tuple[int, int, int]]]:
        """What one bootstrap may re-encode together."""
        known = self._mark_of_node
        made = [known[each] if each in known else self._mark(each) for each in required]
        marks = np.array(made, dtype=np.int64)
        first, second = self._likely(marks)
        sums = marks[first] ^ marks[second]
        order = np.argsort(marks)
        places = order[np.searchsorted(marks, sums, sorter=order) % len(marks)]
        inside = marks[places] == sums
        counts = np.bincount(places[inside], minlength=len(marks))
        partners = dict(zip(required, counts.tolist(), strict=True))
        pairs = []
        forms = self._network.forms
        for one, two, mark in zip(
            first[~inside].tolist(), second[~inside].tolist(), sums[~inside].tolist(), strict=True
        ):
            x, y, other = self._marked.get(mark, 0), required[one], required[two]
            if (
                mark in self._marked
                and forms[x] == forms[y] ^ forms[other]
                and all(self._progress.keeps_up(x, each) for each in (y, other))
            ):
                pairs.append((x, y, other))
        return partners, pairs

    def _likely(self, marks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs of marks whose sum may be one of them, or of a node in quarter encoding."""
        low = marks & _LOW
        self._is_likely[low] += 1
        first, second = _pairs_of(len(marks))
        found = np.flatnonzero(self._is_likely[low[first] ^ low[second]])
        self._is_likely[low] -= 1
        return first[found], second[found]

    def _mark(self, node: int) -> int:
        """The sum of the random numbers of what a node is the sum of."""
        if node in self._mark_of_node:
            return self._mark_of_node[node]
        mark = 0
        for base in self._network.forms[node]:
            if base not in self._mark_of:
                self._mark_of[base] = self._random.getrandbits(62)
            mark ^= self._mark_of[base]
        self._mark_of_node[node] = mark
        return mark


@lru_cache(maxsize=64)
def _pairs_of(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs of so many places."""
    first, second = np.triu_indices(count, 1)
    return first, second

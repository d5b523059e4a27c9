"""Which nodes are wanted in quarter encoding, and how much."""

from __future__ import annotations

from collections import defaultdict

from cloakwork.plan.boolean.progress import Progress

# What a wish weighs that an AND cannot do without.
URGENT = 1 << 16


class Wishes:
    """What the ANDs that are not done want in quarter encoding.

    Args:
        progress: What is done.
        generous: Whether ANDs that could be done want what might spare a re-encoding as part of a
            majority.
    """

    def __init__(self, progress: Progress, *, generous: bool) -> None:
        self._progress = progress
        self._planes = progress.planes
        self._generous = generous
        self._wanted: dict[int, int] = defaultdict(int)
        self._wanted_by: dict[int, tuple[int, list[int]]] = {}

    def of(self, node: int) -> int:
        """How much a node is wanted in quarter encoding."""
        return 0 if node in self._progress.quarter else self._wanted[node]

    def note(self, node: int) -> None:
        """Note what would make an AND feasible; or, less urgent, one for a majority."""
        self.drop(node)
        plane = [each for each in self._planes.plane[node] if each not in self._progress.quarter]
        if not self._progress.feasible(node):
            wanted = plane
            for coset in self._planes.cosets[node]:
                if sum(each in self._progress.quarter for each in coset) == 2:
                    wanted += [each for each in coset if each not in self._progress.quarter]
            self._wanted_by[node] = URGENT, wanted
        elif self._generous and not self._progress.triple(node):
            self._wanted_by[node] = 1, plane
        else:
            return
        weight, wanted = self._wanted_by[node]
        for each in wanted:
            self._wanted[each] += weight

    def drop(self, node: int) -> None:
        """Forget what an AND wants."""
        weight, wanted = self._wanted_by.pop(node, (0, []))
        for each in wanted:
            self._wanted[each] -= weight

"""Which ANDs that are ready can share a bootstrap: those of one operand."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from itertools import islice

from cloakwork.plan.boolean.progress import Progress


class Sharing:
    """Ready ANDs by the operands that they could share with others.

    Args:
        progress: What is done.
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

    def note(self, node: int) -> None:
        """Note the operands that a ready AND could share."""
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

    def drop(self, node: int) -> None:
        """Forget an AND: it is done."""
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

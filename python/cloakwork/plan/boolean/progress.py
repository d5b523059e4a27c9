"""How far a cover is: what is done, in which encodings, at which levels of bootstraps."""

from __future__ import annotations

from cloakwork.plan.boolean.planes import Planes
from cloakwork.plan.boolean.steps import Cover


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

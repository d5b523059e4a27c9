"""Schedules improved by simulated annealing: nodes change lanes and vectors at random."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

from cloakwork.plan.circuits.forms import Forms, InputNode, ProductNode, forms_of
from cloakwork.plan.circuits.schedule import Stage
from cloakwork.plan.circuits.targets import LaneSchedule

# In the units of costs: a rotation is 1 or more.
_HOT = 1.2
_COLD = 0.03


def annealed(
    forms: Forms,
    start: LaneSchedule,
    stages: Mapping[int, Stage],
    cost: Callable[[LaneSchedule], float],
    steps: int,
    seed: int,
) -> LaneSchedule:
    """The cheapest schedule met."""
    generator = random.Random(seed)
    state = _State(forms, start, stages)
    best, best_cost = start, cost(start)
    current_cost = best_cost
    for step in range(steps):
        temperature = _HOT * (_COLD / _HOT) ** (step / steps)
        undo = state.move(generator)
        if undo is None:
            continue
        schedule = state.schedule()
        found = cost(schedule)
        if found <= current_cost or generator.random() < math.exp(
            (current_cost - found) / temperature
        ):
            current_cost = found
            if found < best_cost:
                best, best_cost = schedule, found
        else:
            undo()
    return best


class _State:
    def __init__(self, forms: Forms, start: LaneSchedule, stages: Mapping[int, Stage]) -> None:
        self._forms = forms
        self._stages = stages
        self._lanes = dict(start.lanes)
        self._parts: dict[int, int] = {}
        self._flipped = set(start.flipped)
        self._first = start.first
        self._scalars = [n for n in forms.live if isinstance(forms.nodes[n], InputNode)]
        first: dict[Stage, int] = {}
        for pack in start.packs:
            part = first.get(stages[pack[0]], 0)
            first[stages[pack[0]]] = part + 1
            for node in pack:
                self._parts[node] = part
        self._nodes = sorted(self._lanes)
        self._neighbours: dict[int, list[int]] = {node: [] for node in self._nodes}
        for node in self._nodes:
            for form in forms_of(forms.nodes[node]):
                for term, _ in form.terms:
                    if term in self._lanes:
                        self._neighbours[node].append(term)
                        self._neighbours[term].append(node)
        self._peers: dict[Stage, list[int]] = {}
        for node in self._nodes:
            self._peers.setdefault(stages[node], []).append(node)

    def schedule(self) -> LaneSchedule:
        """The schedule as it stands."""
        packs: dict[tuple[Stage, int], list[int]] = {}
        for node in self._nodes:
            packs.setdefault((self._stages[node], self._parts[node]), []).append(node)
        return LaneSchedule(
            tuple(tuple(packs[key]) for key in sorted(packs)),
            dict(self._lanes),
            frozenset(self._flipped),
            self._first,
        )

    def move(self, generator: random.Random) -> Callable[[], None] | None:
        """Change something; what takes it back, or None where the change is not legal."""
        if generator.random() < 0.15:
            return self._reorder(generator)
        node = generator.choice(self._nodes)
        peers = self._peers[self._stages[node]]
        chance = generator.random()
        if chance < 0.1 and isinstance(self._forms.nodes[node], ProductNode):
            self._flipped ^= {node}
            return lambda: self._flipped.symmetric_difference_update({node})
        lanes, parts = dict(self._lanes), dict(self._parts)
        if chance < 0.25 and len(peers) > 1:
            other = generator.choice(peers)
            self._exchange(node, other)
        elif chance < 0.45:
            self._parts[node] = generator.randrange(
                1 + max(self._parts[peer] for peer in peers) + 1
            )
        elif chance < 0.55:
            shift = generator.choice((-2, -1, 1, 2))
            for peer in peers:
                if self._parts[peer] == self._parts[node]:
                    self._lanes[peer] += shift
        elif chance < 0.6:
            # All that is made from then on.
            shift = generator.choice((-4, -3, -2, -1, 1, 2, 3, 4))
            for later in self._nodes:
                if self._stages[later] >= self._stages[node]:
                    self._lanes[later] += shift
        else:
            self._lanes[node] = self._new_lane(node, generator)
        if chance >= 0.45 and generator.random() < 0.3:
            self._parts[node] = generator.randrange(
                1 + max(self._parts[peer] for peer in peers) + 1
            )
        at = {(self._parts[peer], self._lanes[peer]) for peer in peers}
        if len(at) < len(peers) or (self._lanes == lanes and self._parts == parts):
            self._lanes, self._parts = lanes, parts
            return None

        def undo() -> None:
            self._lanes, self._parts = lanes, parts

        return undo

    def _reorder(self, generator: random.Random) -> Callable[[], None]:
        before = self._first
        node = generator.choice(self._scalars)
        rest = tuple(each for each in before if each != node)
        self._first = rest if node in before and generator.random() < 0.5 else (node, *rest)

        def undo() -> None:
            self._first = before

        return undo

    def _exchange(self, node: int, other: int) -> None:
        for of in (self._lanes, self._parts):
            of[node], of[other] = of[other], of[node]

    def _new_lane(self, node: int, generator: random.Random) -> int:
        neighbours = self._neighbours[node]
        if neighbours and generator.random() < 0.6:
            return self._lanes[generator.choice(neighbours)]
        return self._lanes[node] + generator.choice((-3, -2, -1, 1, 2, 3))

"""First schedules: lanes given from the results down, so that operands lie under their users.

A result takes a lane. Whatever it is computed from takes the same lane in its own vector, and
where several of its operands lie in one vector, the next ones lie one stride further each. So
the terms of all sums of one vector are the same offsets apart, and so are all pairs of factors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cloakwork.plan.circuits.forms import Forms, InputNode, ProductNode, SumNode, forms_of
from cloakwork.plan.circuits.targets import LaneSchedule

# When a vector can be made: its level, 0 for products and 1 for sums, sums of that level before.
Stage: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Shape:
    """How a schedule is laid out.

    Args:
        late: Whether products come as late as they can, not as early.
        apart: Levels whose products go to several vectors, so many operands of a user to each,
            instead of all lying a stride apart in one.
        sums_apart: Whether every sum that a user needs goes to another vector.
        gap: Lanes between strides.
        block: Operands of a user that lie in one vector at the levels that go apart.
    """

    late: bool = False
    apart: frozenset[int] = frozenset()
    sums_apart: bool = True
    gap: int = 0
    block: int = 1


def stages(forms: Forms, *, late: bool) -> dict[int, Stage]:
    """When each node is made, inputs not counted."""
    live = forms.live
    levels = forms.levels
    if late:
        levels = _late(forms, live, levels)
    found: dict[int, Stage] = {}
    for number in live:
        match forms.nodes[number]:
            case ProductNode():
                found[number] = (levels[number], 0, 0)
            case SumNode(form=form):
                below = [found[term] for term, _ in form.terms if term in found]
                level = max((stage[0] for stage in below), default=0)
                sums = [stage[2] for stage in below if stage[0] == level and stage[1]]
                found[number] = (level, 1, 1 + max(sums, default=0))
            case InputNode():
                pass
    return found


def _late(forms: Forms, live: Sequence[int], levels: Sequence[int]) -> list[int]:
    latest = [max(levels, default=0)] * len(levels)
    for number in reversed(live):
        node = forms.nodes[number]
        bound = latest[number] - isinstance(node, ProductNode)
        for form in forms_of(node):
            for term, _ in form.terms:
                latest[term] = min(latest[term], bound)
    return latest


def scheduled(forms: Forms, shape: Shape) -> LaneSchedule:
    """A schedule of this shape."""
    return _Layer(forms, shape).schedule()


def one_by_one(forms: Forms, *, late: bool) -> LaneSchedule:
    """The schedule in which every node has a vector of its own, all in one lane."""
    at = stages(forms, late=late)
    nodes = sorted(at, key=lambda node: (at[node], node))
    return LaneSchedule(tuple((node,) for node in nodes), dict.fromkeys(nodes, 0))


class _Layer:
    def __init__(self, forms: Forms, shape: Shape) -> None:
        self._forms = forms
        self._shape = shape
        self._stages = stages(forms, late=shape.late)
        self._lanes: dict[int, int] = {}
        self._parts: dict[int, int] = {}
        self._taken: set[tuple[Stage, int, int]] = set()
        self._strides: dict[Stage, int] = {}
        self._least, self._most = 0, 0

    def schedule(self) -> LaneSchedule:
        for lane, node in enumerate(self._results()):
            self._take(node, 0, lane)
        for stage in sorted(set(self._stages.values()), reverse=True):
            members = [node for node, at in self._stages.items() if at == stage]
            for node in sorted(members, key=lambda each: (self._parts[each], self._lanes[each])):
                self._place_operands(node)
        packs: dict[tuple[Stage, int], list[int]] = {}
        for node in sorted(self._stages):
            packs.setdefault((self._stages[node], self._parts[node]), []).append(node)
        return LaneSchedule(tuple(tuple(packs[each]) for each in sorted(packs)), self._lanes)

    def _results(self) -> Iterator[int]:
        seen: set[int] = set()
        for form in self._forms.outputs:
            for node, _ in form.terms:
                if node in self._stages and node not in seen:
                    seen.add(node)
                    yield node

    def _place_operands(self, node: int) -> None:
        lane = self._lanes[node]
        ordinals: dict[Stage, int] = {}
        operands = {
            term: None for form in forms_of(self._forms.nodes[node]) for term, _ in form.terms
        }
        for operand in operands:
            stage = self._stages.get(operand)
            if stage is None:
                continue
            ordinal = ordinals.get(stage, 0)
            ordinals[stage] = ordinal + 1
            if operand in self._lanes:
                continue
            stride = self._strides.setdefault(stage, self._most - self._least + 1 + self._shape.gap)
            is_apart = self._shape.sums_apart if stage[1] else stage[0] in self._shape.apart
            if is_apart:
                part, place = divmod(ordinal, 1 if stage[1] else self._shape.block)
                lane_there = lane + place * stride
                while (stage, part, lane_there) in self._taken:
                    part += 1
                self._take(operand, part, lane_there)
            else:
                free = lane + ordinal * stride
                while (stage, 0, free) in self._taken:
                    free += stride
                self._take(operand, 0, free)

    def _take(self, node: int, part: int, lane: int) -> None:
        stage = self._stages[node]
        while (stage, part, lane) in self._taken:
            lane += 1
        self._lanes[node] = lane
        self._parts[node] = part
        self._taken.add((stage, part, lane))
        self._least, self._most = min(self._least, lane), max(self._most, lane)

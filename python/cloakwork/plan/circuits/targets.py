"""The vectors that a schedule asks for: in each lane a form, in other lanes anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cloakwork.plan.circuits.forms import Forms, IntegerForm, ProductNode, SumNode


@dataclass(frozen=True, slots=True)
class LaneSchedule:
    """Which nodes are made in one vector, and where in it.

    Args:
        packs: The nodes of every vector, in an order of evaluation; all of a pack are products,
            or all are sums.
        lanes: The slot of every node of a pack in its vector.
        flipped: Products whose operands change places.
        first: Scalars of inputs that are placed before the others, in order.
    """

    packs: tuple[tuple[int, ...], ...]
    lanes: Mapping[int, int]
    flipped: frozenset[int] = frozenset()
    first: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """A vector asked for: the form wanted in each lane.

    Args:
        pack: The pack that uses it.
        forms: By lane.
    """

    pack: int
    forms: Mapping[int, IntegerForm]


def targets_of(forms: Forms, schedule: LaneSchedule) -> list[tuple[Target, ...]]:
    """The vectors that each pack is made of: two factors, or one for squares and for sums."""
    asked: list[tuple[Target, ...]] = []
    for number, pack in enumerate(schedule.packs):
        left: dict[int, IntegerForm] = {}
        right: dict[int, IntegerForm] = {}
        for member in pack:
            node, lane = forms.nodes[member], schedule.lanes[member]
            match node:
                case ProductNode(left=one, right=other):
                    flips = member in schedule.flipped
                    left[lane], right[lane] = (other, one) if flips else (one, other)
                case SumNode(form=form):
                    left[lane] = form
                case _:
                    raise AssertionError("inputs are in no pack")
        if not right or left == right:
            asked.append((Target(number, left),))
        else:
            asked.append((Target(number, left), Target(number, right)))
    return asked

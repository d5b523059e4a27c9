"""The search for the uses of bootstraps at which a program costs least.

The decisions are made from the results back, one step after another. What is known once a step is
placed is, for each value that later steps use, at which levels it is wanted, by itself and
refreshed: the frontier. Two ways that lead to one frontier differ in nothing but what they cost so
far, so that of each the cheapest is kept. That is the shortest path through the levels of a chain
of operations (Ebel, Garimella, Reagen, "Orion", ASPLOS 2025, section 5), and through joins it is
exact, too, as all values that are alive are in the frontier at once. An input leaves it with its
first use: nothing makes it, so that what it takes is known then.

All ways want something of the same values, so that a frontier is a row of numbers, and a step is
placed for all ways at once. Of a step is remembered for each way which one it goes on from, so that
time and memory grow with the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidParametersError
from cloakwork.plan.passes.steps import Step, StepGraph, first_uses, users_first
from cloakwork.plan.passes.wanted import Numbers, Wanted, WantedNumbers
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Input, Linear, Output, Rotate, SlotProgram
from cloakwork.runtime.costs import Costs, operation_seconds, saved_seconds
from cloakwork.runtime.schedule import degrees
from cloakwork.runtime.shared_rotations import shared_rotations

# Frontiers after a step: beyond so many, steps are joined; then so many are kept.
_MOST = 1 << 10
# Ways to place a step of many operands, not all of which are decided on.
_MOST_BETWEEN = 1 << 14


class TooManyError(Exception):
    """There are more frontiers than are followed one by one."""


@dataclass(frozen=True, slots=True)
class Placements:
    """Ways to place the last steps.

    Args:
        wanted: By value that is alive, for each way the number of what is wanted.
        costs: What everything costs that is placed, in seconds.
        before: The ways that they go on from, before the step that was placed last.
        refreshed: By operand of that step, for each way whether it is used refreshed.
    """

    wanted: Mapping[int, Numbers]
    costs: NDArray[np.float64]
    before: Numbers
    refreshed: Sequence[NDArray[np.bool_]] = ()

    def __len__(self) -> int:
        return len(self.costs)

    def only(self, ways: Numbers | NDArray[np.bool_]) -> Placements:
        """Some of the ways, in the order given, one as often as it is."""
        return Placements(
            {value: each[ways] for value, each in self.wanted.items()},
            self.costs[ways],
            self.before[ways],
            [each[ways] for each in self.refreshed],
        )

    def cheapest(self) -> Placements:
        """Of the ways to each frontier the first of the cheapest."""
        if not self.wanted:
            return self.only(np.argsort(self.costs, kind="stable")[:1])
        rows = np.stack([*self.wanted.values()], axis=1)
        _, first, frontiers = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        frontiers = frontiers.ravel()
        by_cost = np.lexsort((self.costs, frontiers))
        starts = np.flatnonzero(np.diff(frontiers[by_cost], prepend=-1))
        return self.only(by_cost[starts][np.argsort(first)])


Kept: TypeAlias = Callable[[Placements, int], Placements]


def all_ways(ways: Placements, most: int) -> Placements:
    """All, where they are not too many."""
    if len(ways) > most:
        raise TooManyError
    return ways


class Placement:
    """One search for the cheapest uses of bootstraps.

    Args:
        program: The computation, of any depth.
        graph: Its steps.
        refreshing: What bootstraps do.
        costs: What operations and bootstraps cost.
        floor: The level of the results.
        allowed: The values that may be refreshed.
        price_of_keys: The part of its time that a transform is dearer for each level.
    """

    def __init__(
        self,
        program: SlotProgram,
        graph: StepGraph,
        refreshing: Refreshing,
        costs: Costs,
        floor: int,
        allowed: Collection[int],
        price_of_keys: float,
    ) -> None:
        self._program = program
        self._alike = graph.alike
        self._least, self._level = refreshing.input_level, refreshing.output_level
        self._costs = costs
        self._floor = floor
        self._allowed = allowed
        self._price_of_keys = price_of_keys
        self._degrees = degrees(program)
        self._shared = shared_rotations(program)
        self._steps = users_first(graph)
        self._first_uses = first_uses(graph, self._steps)
        self._numbers = WantedNumbers(self._least)

    def cheapest_uses(self, kept: Kept) -> set[tuple[int, int]]:
        """The operations that use a refreshed value, and the value."""
        ways = Placements({}, np.zeros(1), np.zeros(1, dtype=np.int64))
        passed: list[tuple[Numbers, Sequence[NDArray[np.bool_]]]] = []
        for number, step in enumerate(self._steps):
            ways = kept(self._placed(number, ways, kept).cheapest(), _MOST)
            if not len(ways):
                raise InvalidParametersError(
                    f"cannot bootstrap {self._program.title}: "
                    f"{self._program.line(step.numbers[0])} takes {step.depth} levels, a refreshed "
                    f"value has {self._level - self._least}; ask for parameters with more"
                )
            passed.append((ways.before, ways.refreshed))
        uses: set[tuple[int, int]] = set()
        # Nothing is wanted before the first step, as inputs are no longer: one way is left.
        way = 0
        for step, (before, refreshed) in zip(reversed(self._steps), reversed(passed), strict=True):
            for name, is_refreshed in zip(step.operands, refreshed, strict=True):
                if is_refreshed[way]:
                    uses.update(product(step.numbers, self._alike[name]))
            way = before[way]
        return uses

    def most_promising(self, ways: Placements, most: int) -> Placements:
        """Those that seem to lead to the least cost.

        That is what is placed, with the part of a bootstrap that the highest level will have taken.
        """
        if len(ways) <= most:
            return ways
        levels = [self._numbers.levels(each) for each in ways.wanted.values()]
        parts = (np.max(levels, axis=0) - self._least) / (self._level - self._least)
        promises = ways.costs + np.maximum(parts, 0.0) * self._costs.bootstrap
        return ways.only(np.argsort(promises, kind="stable")[:most])

    def _placed(self, number: int, ways: Placements, kept: Kept) -> Placements:
        """The ways once a step is placed as well, by each choice of refreshed operands."""
        levels, found = self._made(number, ways)
        for operand in self._steps[number].operands:
            used = self._used(number, found, operand, levels[found.before])
            found = kept(used, _MOST_BETWEEN)
        wanted = dict(found.wanted)
        costs = found.costs
        for value in self._first_uses[number]:
            of_input = wanted.pop(value)
            costs = costs + self._below(value, of_input, self._numbers.levels(of_input))
        return replace(found, wanted=wanted, costs=costs)

    def _made(self, number: int, ways: Placements) -> tuple[Numbers, Placements]:
        """By way the level of a step, and the ways with what it makes that are not too high."""
        step, wanted = self._steps[number], dict(ways.wanted)
        nothing = np.zeros(len(ways), dtype=np.int64)
        made = {value: wanted.pop(value, nothing) for value in step.made}
        results = np.full(len(ways), 0 if made else self._floor)
        for each in made.values():
            results = np.maximum(results, self._numbers.levels(each))
        costs, levels = ways.costs, results + step.depth
        for value, each in made.items():
            costs = costs + self._below(value, each, results)
        found = Placements(wanted, costs, np.arange(len(ways))).only(levels <= self._level)
        within, places = np.unique(levels[found.before], return_inverse=True)
        prices = [self._price(step, level) for level in within.tolist()]
        return levels, replace(found, costs=found.costs + np.array(prices)[places])

    def _used(self, number: int, ways: Placements, operand: int, levels: Numbers) -> Placements:
        """The ways with an operand as it is, and refreshed where that may help."""
        step = self._steps[number]
        may_refresh = self._may_refresh(step, operand) & (levels > self._least)
        chosen = np.repeat(np.arange(len(ways)), 1 + may_refresh)
        refreshed = np.diff(chosen, prepend=-1) == 0
        ways, levels = ways.only(chosen), levels[chosen]
        before = ways.wanted.get(operand, np.zeros(len(ways), dtype=np.int64))
        rotates = step.depth == 0 and isinstance(self._program.operations[step.numbers[0]], Rotate)
        costs = ways.costs
        if rotates:
            costs = costs - self._numbers.seconds(before, 2 * levels + refreshed, self._hoisted)
        wanted = self._numbers.used(before, levels, refreshed, rotated=rotates)
        return replace(
            ways,
            wanted={**ways.wanted, operand: wanted},
            costs=costs,
            refreshed=[*ways.refreshed, refreshed],
        )

    def _hoisted(self, wanted: Wanted, place: int) -> float:
        """What a rotation saves where the same is rotated before."""
        level, refreshed = divmod(place, 2)
        if (bool(refreshed), level) not in wanted.rotated:
            return 0.0
        at = self._costs.at(level)
        return at.rotation - at.hoisted_rotation

    def _may_refresh(self, step: Step, value: int) -> bool:
        """Whether a bootstrap of an operand may help; inputs are encrypted at any level."""
        operations = self._program.operations
        is_input = isinstance(operations[value], Input)
        is_result = isinstance(operations[step.numbers[0]], Output)
        is_allowed = all(each in self._allowed for each in self._alike[value])
        return not is_input and not is_result and is_allowed

    def _below(self, value: int, wanted: Numbers, levels: Numbers) -> NDArray[np.float64]:
        """What brings a value, and those treated alike, from levels to where it is wanted."""
        count = len(self._alike[value])

        def seconds(wanted: Wanted, level: int) -> float:
            drops = sum(each < level for each in wanted.itself)
            cost = count * drops * self._costs.at(level).drop_level
            if wanted.refreshed:
                drops = sum(each < self._level for each in wanted.refreshed)
                cost += count * drops * self._costs.at(self._level).drop_level
                # Those treated alike are refreshed two at a time.
                pairs, single = divmod(count, 2)
                cost += pairs * self._costs.bootstrap_pair + single * self._costs.bootstrap
            return cost

        return self._numbers.seconds(wanted, levels, seconds)

    def _price(self, step: Step, level: int) -> float:
        """What the operations of a step take at a level."""
        rotated: set[int] = set()
        seconds = 0.0
        for number in step.numbers:
            operation = self._program.operations[number]
            context = self._program.context(number)
            states = (
                each if each.level is None else replace(each, level=level)
                for each in context.states
            )
            context = replace(context, states=tuple(states))
            if isinstance(operation, Rotate) and operation.operand in rotated:
                seconds += self._costs.at(level).hoisted_rotation
                continue
            taken = operation_seconds(operation, context, self._degrees, number, self._costs)
            if number in self._shared:
                taken -= saved_seconds(self._shared[number], self._costs.at(level))
            if isinstance(operation, Linear):
                taken *= 1 + self._price_of_keys * level
            seconds += taken
            if isinstance(operation, Rotate):
                rotated.add(operation.operand)
        return seconds

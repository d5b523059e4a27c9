"""Where bootstraps stand: at the least modelled time of the whole program.

A program that is deeper than its chain is cut by bootstraps of values. Which uses of which values
are served by a bootstrap decides everything else: each operation then stands at the lowest level
that works (`plan.passes.levels`), and what it costs there is known.

The decisions are made from the results back, one step after another. A step is an operation, or all
products that meet in a sum before they are rescaled, which stand at one level. What is known once a
step is placed is, for each value that later steps use, at which levels it is wanted, by itself and
refreshed: the frontier. Two ways that lead to one frontier differ in nothing but what they cost so
far, so that of each the cheapest is kept. That is the shortest path through the levels of a chain
of operations (Ebel, Garimella, Reagen, "Orion", ASPLOS 2025, section 5), and through joins it is
exact, too, as all values that are alive are in the frontier at once. An input leaves it with its
first use: nothing makes it, so that what it takes is known then.

Where so many values are alive that the frontiers are too many, steps that do the same to values
made alike, as to the ciphertexts of one tensor, are decided on together; and if there are still too
many, the most promising are kept. Then the result may be dearer than the least.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from operator import itemgetter
from typing import TypeAlias

from cloakwork.errors import InvalidParametersError, KeyBudgetError
from cloakwork.plan.passes.key_budget import within_key_budget
from cloakwork.plan.passes.levels import Refreshed, groups_of, lowest_levels, sources_of
from cloakwork.programs.keys import required_keys
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Constant,
    DropLevel,
    Input,
    Linear,
    Output,
    Rescale,
    Rotate,
    SlotProgram,
)
from cloakwork.runtime.costs import Costs, operation_seconds, saved_seconds
from cloakwork.runtime.schedule import degrees
from cloakwork.runtime.shared_rotations import shared_rotations

# Frontiers after a step: beyond so many, steps are joined; then so many are kept.
_MOST_EXACT = 1 << 10
_MOST_KEPT = 1 << 10


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """At which levels later steps use a value; a search has one object for each such.

    Args:
        itself: Levels of uses of the value itself.
        refreshed: Levels of uses of its bootstrap.
        rotated: Those at which it is rotated, and whether refreshed: further rotations cost less.
    """

    itself: frozenset[int] = frozenset()
    refreshed: frozenset[int] = frozenset()
    rotated: frozenset[tuple[bool, int]] = frozenset()

    @property
    def parts(self) -> tuple[object, ...]:
        """All that is known of the value."""
        return self.itself, self.refreshed, self.rotated

    def used(self, level: int, *, refreshed: bool, rotated: bool) -> _Wanted:
        """With one use more."""
        turned = self.rotated | {(refreshed, level)} if rotated else self.rotated
        if refreshed:
            return _Wanted(self.itself, self.refreshed | {level}, turned)
        return _Wanted(self.itself | {level}, self.refreshed, turned)

    def level(self, least: int) -> int:
        """The level that the value must have, a refreshed one that of what is refreshed."""
        return max(self.itself | ({least} if self.refreshed else {0}))


_Frontier: TypeAlias = tuple[tuple[int, _Wanted], ...]


@dataclass(frozen=True, slots=True)
class _Uses:
    """The uses of refreshed values that were decided on, the last ones and those before."""

    step: int
    values: tuple[int, ...]
    before: _Uses | None

    def all(self) -> Iterator[tuple[int, int]]:
        """The step and the value of every use."""
        each: _Uses | None = self
        while each is not None:
            yield from ((each.step, value) for value in each.values)
            each = each.before


@dataclass(frozen=True, slots=True)
class _Way:
    """How a frontier was come to.

    Args:
        cost: What everything costs that is placed.
        uses: The uses of refreshed values.
    """

    cost: float
    uses: _Uses | None = None


@dataclass(slots=True)
class _Step:
    """Operations that stand at one level.

    Values are named by their numbers; where steps are joined, all that are treated alike by the
    number of the first.

    Args:
        depth: Levels that it takes.
        numbers: The numbers of its operations.
        operands: The values that it works on, drops left out.
        made: The values that it makes, all at one level.
    """

    depth: int
    numbers: list[int] = field(default_factory=list)
    operands: dict[int, None] = field(default_factory=dict)
    made: list[int] = field(default_factory=list)


def with_bootstraps(
    program: SlotProgram,
    refreshing: Refreshing,
    costs: Costs,
    *,
    floor: int = 0,
    together: Sequence[int] = (),
    among: Collection[int] | None = None,
    price_of_keys: float = 0.0,
) -> SlotProgram:
    """The same computation on a chain of few levels, with bootstraps where they cost least.

    Args:
        program: The computation, of any depth.
        refreshing: What bootstraps do.
        costs: What operations and bootstraps cost.
        floor: The level of the results.
        together: How many inputs in a row stand at one level.
        among: The values that may be refreshed; None is all.
        price_of_keys: The part of its time that a transform is dearer for each level that it
            stands at, as its keys are longer.
    """
    graph = _graph_of(program)
    sources = sources_of(program)
    allowed = frozenset(sources if among is None else (sources[value] for value in among))

    def placement(steps: _Graph) -> _Placement:
        return _Placement(program, steps, refreshing, costs, floor, allowed, price_of_keys)

    try:
        uses = placement(graph).cheapest_uses(_refused)
    except _TooManyError:
        joined = placement(_joined(graph, program))
        uses = joined.cheapest_uses(joined.most_promising)
    refreshed = Refreshed(uses, refreshing.input_level, refreshing.output_level)
    return lowest_levels(program, floor=floor, together=together, refreshed=refreshed)


def within_key_budget_beside(
    program: SlotProgram, refreshing: Refreshing, budget: int | None
) -> SlotProgram:
    """A program of the same outputs whose evaluation keys fit the budget, those of bootstraps too.

    Example:
        >>> from cloakwork._native import BootstrappingParameters
        >>> made = Refreshing(BootstrappingParameters(8, insecure=True))
        >>> turn = SlotProgram("turn", 128, (Input("x", 0), Rotate(0, 3), Output(1)), (None,) * 3)
        >>> within_key_budget_beside(turn, made, None) is turn
        True
    """
    key_bytes_at = refreshing.chain.evaluation_key_bytes
    if budget is None or not refreshes(program):
        return within_key_budget(program, key_bytes_at, budget)
    own, least = refreshing.key_bytes, key_bytes_beside(program, refreshing)
    if least <= budget:
        return program
    # Some of the keys serve both, which is not counted on.
    try:
        found = within_key_budget(program, key_bytes_at, max(0, budget - own))
    except KeyBudgetError as refusal:
        least = min(least, own + refusal.least)
    else:
        if own <= budget:
            return found
    raise KeyBudgetError(
        f"cannot plan {program.title} within {budget} bytes of evaluation keys: with those of a "
        f"bootstrap, {own}, it takes {least} at least; allow {least} bytes or more, or make it "
        "shallower",
        least,
    )


def key_bytes_beside(program: SlotProgram, refreshing: Refreshing) -> int:
    """Bytes of a program's evaluation keys and of those of bootstraps."""
    added = required_keys(program).beyond(refreshing.keys)
    return refreshing.key_bytes + added.nbytes(refreshing.chain.evaluation_key_bytes)


class _TooManyError(Exception):
    """There are more frontiers than are followed one by one."""


_Ways: TypeAlias = Mapping[_Frontier, _Way]


def _refused(ways: _Ways) -> _Ways:
    """All frontiers, where they are not too many."""
    if len(ways) > _MOST_EXACT:
        raise _TooManyError
    return ways


class _Placement:
    """One search for the cheapest uses of bootstraps."""

    def __init__(
        self,
        program: SlotProgram,
        graph: _Graph,
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
        self._steps = _users_first(graph)
        self._first_uses = _first_uses(graph, self._steps)
        self._prices: dict[tuple[int, int], float] = {}
        # Frontiers are compared far oftener than there are different wants.
        self._unwanted = _Wanted()
        self._wanted = {self._unwanted.parts: self._unwanted}
        self._used: dict[tuple[_Wanted, int, bool, bool], _Wanted] = {}
        self._levels: dict[_Wanted, int] = {}

    def cheapest_uses(self, kept: Callable[[_Ways], _Ways]) -> set[tuple[int, int]]:
        """The operations that use a refreshed value, and the value."""
        ways: _Ways = {(): _Way(0.0)}
        for number, step in enumerate(self._steps):
            ways = kept(self._placed(number, ways))
            if not ways:
                raise InvalidParametersError(
                    f"cannot bootstrap {self._program.title}: "
                    f"{self._program.line(step.numbers[0])} takes {step.depth} levels, a refreshed "
                    f"value has {self._level - self._least}; ask for parameters with more"
                )
        # Nothing is wanted before the first step, as inputs are no longer.
        [way] = ways.values()
        uses = way.uses
        return {
            (user, value)
            for number, name in (() if uses is None else uses.all())
            for user in self._steps[number].numbers
            for value in self._alike[name]
        }

    def most_promising(self, ways: _Ways) -> _Ways:
        """The frontiers that seem to lead to the least cost."""
        if len(ways) <= _MOST_KEPT:
            return ways
        return dict(heapq.nsmallest(_MOST_KEPT, ways.items(), key=self._promise))

    def _placed(self, number: int, ways: _Ways) -> _Ways:
        """The frontiers once a step is placed as well."""
        found: dict[_Frontier, _Way] = {}
        for frontier, way in ways.items():
            for reached, taken, refreshed in self._placements(number, dict(frontier)):
                cost, known = way.cost + taken, found.get(reached)
                if known is None or cost < known.cost:
                    uses = _Uses(number, refreshed, way.uses) if refreshed else way.uses
                    found[reached] = _Way(cost, uses)
        return found

    def _placements(
        self, number: int, wanted: dict[int, _Wanted]
    ) -> Iterator[tuple[_Frontier, float, tuple[int, ...]]]:
        """For each choice of refreshed operands the frontier, what the step takes, the choice."""
        step, program = self._steps[number], self._program
        made = {value: wanted.pop(value, self._unwanted) for value in step.made}
        result = max(map(self._level_of, made.values()), default=self._floor)
        level = result + step.depth
        if level > self._level:
            return
        below = sum(self._below(*each, result) for each in made.items())
        rotates = isinstance(program.operations[step.numbers[0]], Rotate) and step.depth == 0
        choices = [
            (False, True) if self._may_refresh(step, value, level) else (False,)
            for value in step.operands
        ]
        is_sorted = all(value in wanted for value in step.operands)
        for chosen in product(*choices):
            reached, taken = dict(wanted), below + self._price(number, level)
            for value, refreshed in zip(step.operands, chosen, strict=True):
                before = reached.get(value, self._unwanted)
                if rotates and (refreshed, level) in before.rotated:
                    at = self._costs.at(level)
                    taken += at.hoisted_rotation - at.rotation
                reached[value] = self._with_use(before, level, refreshed, rotates)
            for value in self._first_uses[number]:
                of_input = reached.pop(value)
                taken += self._below(value, of_input, self._level_of(of_input))
            items = reached.items()
            # By value; only those that nothing has used before stand at the end.
            frontier = tuple(items) if is_sorted else tuple(sorted(items, key=itemgetter(0)))
            names = zip(step.operands, chosen, strict=True)
            yield frontier, taken, tuple(value for value, refreshed in names if refreshed)

    def _with_use(self, before: _Wanted, level: int, refreshed: bool, rotated: bool) -> _Wanted:
        """What is wanted of a value with one use more."""
        key = before, level, refreshed, rotated
        if key not in self._used:
            made = before.used(level, refreshed=refreshed, rotated=rotated)
            self._used[key] = self._wanted.setdefault(made.parts, made)
        return self._used[key]

    def _level_of(self, wanted: _Wanted) -> int:
        """The level that a value must have."""
        if wanted not in self._levels:
            self._levels[wanted] = wanted.level(self._least)
        return self._levels[wanted]

    def _may_refresh(self, step: _Step, value: int, level: int) -> bool:
        """Whether a bootstrap of an operand may help; inputs are encrypted at any level."""
        operations = self._program.operations
        is_input = isinstance(operations[value], Input)
        is_result = isinstance(operations[step.numbers[0]], Output)
        is_allowed = all(each in self._allowed for each in self._alike[value])
        return level > self._least and not is_input and not is_result and is_allowed

    def _below(self, value: int, wanted: _Wanted, level: int) -> float:
        """What brings a value, and those treated alike, from a level to where it is wanted."""
        count = len(self._alike[value])
        drops = sum(each < level for each in wanted.itself)
        cost = count * drops * self._costs.at(level).drop_level
        if wanted.refreshed:
            drops = sum(each < self._level for each in wanted.refreshed)
            cost += count * drops * self._costs.at(self._level).drop_level
            # Those treated alike are refreshed two at a time.
            pairs, single = divmod(count, 2)
            cost += pairs * self._costs.bootstrap_pair + single * self._costs.bootstrap
        return cost

    def _price(self, number: int, level: int) -> float:
        """What the operations of a step take at a level."""
        if (number, level) not in self._prices:
            self._prices[number, level] = self._seconds(self._steps[number], level)
        return self._prices[number, level]

    def _seconds(self, step: _Step, level: int) -> float:
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

    def _promise(self, found: tuple[_Frontier, _Way]) -> float:
        """The cost so far, with the part of a bootstrap that the highest level will have taken."""
        frontier, way = found
        highest = max((self._level_of(wanted) for _, wanted in frontier), default=0)
        part = (highest - self._least) / (self._level - self._least)
        return way.cost + max(part, 0.0) * self._costs.bootstrap


@dataclass(frozen=True, slots=True)
class _Graph:
    """The steps of a program.

    Args:
        steps: By name.
        maker: For each value the name of the step that makes it; inputs have none.
        alike: For each value, and each input, all that it stands for.
    """

    steps: Mapping[int, _Step]
    maker: Mapping[int, int]
    alike: Mapping[int, Sequence[int]]


def _graph_of(program: SlotProgram) -> _Graph:
    """The steps of a program, each value standing for itself."""
    sources, groups = sources_of(program), groups_of(program)
    steps: dict[int, _Step] = {}
    maker: dict[int, int] = {}
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Input | Constant | DropLevel):
            continue
        waiting = program.states[number].waiting
        of_products = waiting or isinstance(operation, Rescale)
        name = groups[number if waiting else operation.operands[0]] if of_products else number
        step = steps.setdefault(name, _Step(1 if of_products else operation.depth))
        step.numbers.append(number)
        for operand in operation.operands:
            state = program.states[operand]
            if state.level is not None and not state.waiting:
                step.operands[sources[operand]] = None
        if not waiting and not isinstance(operation, Output):
            step.made.append(number)
            maker[number] = name
    return _Graph(steps, maker, {value: (value,) for value in sources})


def _joined(graph: _Graph, program: SlotProgram) -> _Graph:
    """The graph with steps joined that do the same to values that are made alike."""
    # By value the first that is made alike; inputs of one level are.
    first: dict[int, int] = {}
    inputs: dict[int | None, int] = {}
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Input):
            first[number] = inputs.setdefault(program.states[number].level, number)
    names: dict[Hashable, int] = {}
    steps: dict[int, _Step] = {}
    maker: dict[int, int] = {}
    for step in reversed(_users_first(graph)):
        operands = tuple(first[value] for value in step.operands)
        kinds = tuple(program.operations[number].kind for number in step.numbers)
        levels = tuple(program.states[number].level for number in step.numbers)
        name = names.setdefault((kinds, levels, operands), step.numbers[0])
        joined = steps.setdefault(name, _Step(step.depth))
        joined.numbers += step.numbers
        joined.operands |= dict.fromkeys(operands)
        joined.made = joined.made or step.made
        for value, representative in zip(step.made, joined.made, strict=True):
            first[value] = representative
            maker[representative] = name
    alike: dict[int, list[int]] = {}
    for value, representative in first.items():
        alike.setdefault(representative, []).append(value)
    return _Graph(steps, maker, alike)


def _first_uses(graph: _Graph, steps: Sequence[_Step]) -> list[list[int]]:
    """For each step the inputs that no later one uses, where steps stand with users first."""
    spent: list[list[int]] = [[] for _ in steps]
    numbers = {
        value: number
        for number, step in enumerate(steps)
        for value in step.operands
        if value not in graph.maker
    }
    for value, number in numbers.items():
        spent[number].append(value)
    return spent


def _users_first(graph: _Graph) -> list[_Step]:
    """The steps, those that come last in the program first as far as may be."""
    steps = graph.steps
    before = {
        name: {graph.maker[value] for value in step.operands if value in graph.maker}
        for name, step in steps.items()
    }
    users = dict.fromkeys(steps, 0)
    for names in before.values():
        for name in names:
            users[name] += 1
    free = [(-steps[name].numbers[-1], name) for name, count in users.items() if not count]
    heapq.heapify(free)
    ordered: list[_Step] = []
    while free:
        _, name = heapq.heappop(free)
        ordered.append(steps[name])
        for each in before[name]:
            users[each] -= 1
            if not users[each]:
                heapq.heappush(free, (-steps[each].numbers[-1], each))
    return ordered

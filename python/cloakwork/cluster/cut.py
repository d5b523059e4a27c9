"""Cuts work into grains: tasks of a sensible size, each for one lane, that exchange little.

A lane is a place where one grain is done at a time: a thread of a worker. The cut is made in
three steps, each deterministic, so that a run that is started anew finds the files of the last.

1. Tasks take lanes in program order, each the one on which it ends first, what it needs having
   been moved there: list scheduling by earliest finish time, as in HEFT (Topcuoglu, Hariri, Wu,
   "Performance-effective and low-complexity task scheduling", 2002), but in program order, which
   bounds the values in memory. Products of blocks of matrices take those of a grid; see `grid`.
2. The stage of a task counts the moves from lane to lane before it. Tasks of one lane and stage
   are a grain; a long one, or one of too many bytes, is cut in the order of its tasks. Stages rise
   along every move, so that grains never wait for each other in a circle.
3. A grain too small to be worth a task of Dask joins a neighbour, where no circle comes of it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cloakwork.cluster.grid import Grid
from cloakwork.cluster.work import Network, Work

# Seconds of a grain at most, where its tasks allow: what a killed worker costs.
_MOST = 4.0
# Grains visited in search of a circle before a neighbour is given up.
_SEARCHED = 2000


@dataclass(frozen=True, slots=True)
class Grain:
    """Tasks that one lane does in one go.

    Args:
        lane: The lane.
        tasks: The tasks in order.
        inputs: The inputs of the program among the values needed.
        needs: The grains before it, by their places in the cut, with the values taken of each.
        gives: The values made that other grains need.
        results: The values made that are results.
        seconds: What it takes, by the model.
    """

    lane: int
    tasks: tuple[int, ...]
    inputs: tuple[int, ...]
    needs: tuple[tuple[int, tuple[int, ...]], ...]
    gives: tuple[int, ...]
    results: tuple[int, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Message:
    """Values of one grain that the grains of another lane need, moved together.

    Args:
        grain: The place in the cut of the grain that makes them.
        lane: The lane that needs them.
        values: The values, rising.
    """

    grain: int
    lane: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """All grains, each after those that it needs.

    Args:
        lanes: How many lanes there are.
        pieces: About how many grains each was to have.
        grains: The grains.
        grid: How lanes share out blocks of matrices; None where it was not asked for.
        most_bytes: What the values of a grain may take; None for any.
    """

    lanes: int
    pieces: int
    grains: tuple[Grain, ...]
    grid: Grid | None = None
    most_bytes: int | None = None

    def tasks_of_lanes(self) -> list[list[int]]:
        """The tasks of each lane."""
        found: list[list[int]] = [[] for _ in range(self.lanes)]
        for grain in self.grains:
            found[grain.lane] += grain.tasks
        return found

    def messages(self) -> list[Message]:
        """What moves from lane to lane, in the order of the grains that make it."""
        wanted: dict[tuple[int, int], set[int]] = {}
        for grain in self.grains:
            for maker, values in grain.needs:
                if self.grains[maker].lane != grain.lane:
                    wanted.setdefault((maker, grain.lane), set()).update(values)
        return [Message(*place, tuple(sorted(wanted[place]))) for place in sorted(wanted)]


def cut(
    work: Work,
    lanes: int,
    pieces: int,
    network: Network,
    grid: Grid | None = None,
    most_bytes: int | None = None,
) -> Cut:
    """Cut work for so many lanes.

    Args:
        work: The work.
        lanes: The lanes, all of which need not be used.
        pieces: About how many grains each lane is to have, if they are neither long nor short.
        network: What tasks and moves cost.
        grid: How lanes share out blocks of matrices; by default each takes the lane on which it
            ends first.
        most_bytes: What the values of a grain may take, unless a single task takes more.

    Example:
        >>> work = Work([1.0] * 2, [(0,), (0,)], [(1,), (2,)], [8] * 3, frozenset({0}), (1, 2))
        >>> [(grain.lane, grain.results) for grain in cut(work, 2, 1, Network()).grains]
        [(0, (1,)), (1, (2,))]
    """
    tasks = work.needed_tasks()
    lane_of = _lanes(work, tasks, lanes, network, grid)
    total = sum(work.seconds[task] for task in tasks)
    aim = min(max(total / (lanes * pieces), 2 * network.least_work), _MOST)
    fits = _Fitting(work, most_bytes)
    groups = _groups(work, tasks, lane_of, aim, fits)
    merged = _Merging(work, groups, network.least_work, fits).merged()
    return Cut(lanes, pieces, _grains(work, merged), grid, most_bytes)


@dataclass(frozen=True, slots=True)
class _Fitting:
    """Whether the values of tasks take no more bytes than they may."""

    work: Work
    most_bytes: int | None

    def __call__(self, tasks: Sequence[int]) -> bool:
        if self.most_bytes is None:
            return True
        work = self.work
        made = {value for task in tasks for value in work.gives[task]}
        # All values at once are more than the peak, and counted faster.
        if work.bytes_of(_used(work, tasks) | made) <= self.most_bytes:
            return True
        return work.peak_bytes(sorted(tasks), made & set(work.results)) <= self.most_bytes


@dataclass(slots=True)
class _Group:
    """Tasks that become a grain."""

    lane: int
    tasks: list[int]
    seconds: float


def _lanes(
    work: Work, tasks: Sequence[int], lanes: int, network: Network, grid: Grid | None
) -> dict[int, int]:
    """The lane of each task."""
    free = [0.0] * lanes
    lane_of: dict[int, int] = {}
    # When each value is there, by lane; inputs are read wherever they are needed.
    there: dict[int, dict[int, float]] = {value: {} for value in work.inputs}
    for task in tasks:
        if grid is not None and task in work.blocks:
            options = {grid.lane(work.blocks[task]) % lanes}
        else:
            options = {lane_of[maker] for maker in work.makers_of(work.needs[task])}
            options.add(min(range(lanes), key=free.__getitem__))
        ends = ((_end(work, task, lane, free[lane], there, network), lane) for lane in options)
        end, lane = min(ends)
        lane_of[task] = lane
        free[lane] = end
        for value in work.needs[task]:
            there[value].setdefault(lane, end)
        for value in work.gives[task]:
            there[value] = {lane: end}
    return lane_of


def _end(
    work: Work,
    task: int,
    lane: int,
    free: float,
    there: Mapping[int, Mapping[int, float]],
    network: Network,
) -> float:
    """When a task ends on a lane that is free from a time on."""
    start, moving = free, 0.0
    for value in work.needs[task]:
        when = there[value]
        if lane in when:
            start = max(start, when[lane])
        elif value in work.inputs:
            moving += work.sizes[value] / network.bytes_per_second
        else:
            start = max(start, min(when.values()))
            moving += network.crossing(work.sizes[value])
    return start + moving + work.seconds[task]


def _groups(
    work: Work,
    tasks: Sequence[int],
    lane_of: Mapping[int, int],
    aim: float,
    fits: Callable[[Sequence[int]], bool],
) -> list[_Group]:
    """The tasks by lane and stage, in groups that take about as long as aimed at."""
    stage_of: dict[int, int] = {}
    together: dict[tuple[int, int], list[int]] = {}
    for task in tasks:
        lane = lane_of[task]
        stage_of[task] = max(
            (
                stage_of[maker] + (lane_of[maker] != lane)
                for maker in work.makers_of(work.needs[task])
            ),
            default=0,
        )
        together.setdefault((stage_of[task], lane), []).append(task)
    return [
        group
        for (_, lane), members in sorted(together.items())
        for group in _pieces(work, lane, members, aim, fits)
    ]


def _pieces(
    work: Work,
    lane: int,
    tasks: Sequence[int],
    aim: float,
    fits: Callable[[Sequence[int]], bool],
) -> list[_Group]:
    """Tasks in order, in groups that take about as long as aimed at."""
    total = sum(work.seconds[task] for task in tasks)
    share = total / max(1, round(total / aim))
    groups = [_Group(lane, [], 0.0)]
    done = 0.0
    for task in tasks:
        seconds = work.seconds[task]
        # Where half of the task would lie beyond the end of the share.
        beyond = done + seconds / 2 > share * len(groups)
        if groups[-1].tasks and (beyond or not fits([*groups[-1].tasks, task])):
            groups.append(_Group(lane, [], 0.0))
        groups[-1].tasks.append(task)
        groups[-1].seconds += seconds
        done += seconds
    return groups


class _Merging:
    """Groups, and which need values of which, while small ones join others."""

    def __init__(
        self,
        work: Work,
        groups: Sequence[_Group],
        least: float,
        fits: Callable[[Sequence[int]], bool],
    ) -> None:
        self._least = least
        self._fits = fits
        self._groups = dict(enumerate(groups))
        group_of = {task: number for number, group in self._groups.items() for task in group.tasks}
        # Bytes that each group needs of others, and the other way around.
        self._before: dict[int, dict[int, int]] = {number: {} for number in self._groups}
        self._after: dict[int, dict[int, int]] = {number: {} for number in self._groups}
        for number, group in self._groups.items():
            for value in _used(work, group.tasks):
                maker = work.makers.get(value)
                if maker is not None and group_of[maker] != number:
                    self._link(group_of[maker], number, work.sizes[value])

    def _link(self, first: int, second: int, nbytes: int) -> None:
        self._after[first][second] = self._after[first].get(second, 0) + nbytes
        self._before[second][first] = self._before[second].get(first, 0) + nbytes

    def merged(self) -> list[_Group]:
        """The groups once no small one can join another."""
        small = [
            (group.seconds, number)
            for number, group in self._groups.items()
            if group.seconds < self._least
        ]
        heapq.heapify(small)
        while small:
            seconds, number = heapq.heappop(small)
            if number not in self._groups or self._groups[number].seconds != seconds:
                continue
            joined = self._joined(number)
            if joined is not None and self._groups[joined].seconds < self._least:
                heapq.heappush(small, (self._groups[joined].seconds, joined))
        return list(self._groups.values())

    def _joined(self, number: int) -> int | None:
        """The group that a group has joined; None where it can join none."""
        own = self._groups[number].lane
        shared = {**self._before[number]}
        for other, nbytes in self._after[number].items():
            shared[other] = shared.get(other, 0) + nbytes
        # Where it stays on its lane first, then where most bytes need not move.
        options = sorted(
            shared,
            key=lambda other: (self._groups[other].lane != own, -shared[other], other),
        )
        if not options and len(self._groups) > 1:
            # What neither needs nor is needed may join any, the one with the least to do first.
            options = [min(self._groups.keys() - {number}, key=self._load)]
        for other in options:
            first, second = (number, other) if other in self._after[number] else (other, number)
            together = [*self._groups[number].tasks, *self._groups[other].tasks]
            if self._fits(together) and not self._is_circle(first, second):
                self._join(number, other)
                return other
        return None

    def _load(self, number: int) -> tuple[float, int]:
        return self._groups[number].seconds, number

    def _is_circle(self, first: int, second: int) -> bool:
        """Whether a third group needs the first, and is needed by the second, on any way."""
        left = [each for each in self._after[first] if each != second]
        seen = set(left)
        while left:
            if len(seen) > _SEARCHED:
                return True
            for each in self._after[left.pop()]:
                if each == second:
                    return True
                if each not in seen:
                    seen.add(each)
                    left.append(each)
        return False

    def _join(self, number: int, other: int) -> None:
        """Let a group join another."""
        gone, kept = self._groups.pop(number), self._groups[other]
        if gone.seconds > kept.seconds:
            kept.lane = gone.lane
        kept.tasks = sorted([*kept.tasks, *gone.tasks])
        kept.seconds += gone.seconds
        for before, nbytes in self._before.pop(number).items():
            del self._after[before][number]
            if before != other:
                self._link(before, other, nbytes)
        for after, nbytes in self._after.pop(number).items():
            del self._before[after][number]
            if after != other:
                self._link(other, after, nbytes)


def _grains(work: Work, groups: Sequence[_Group]) -> tuple[Grain, ...]:
    """The groups as grains, each after those that it needs, first tasks first."""
    group_of = {task: number for number, group in enumerate(groups) for task in group.tasks}
    needs = [_needs(work, group, group_of, number) for number, group in enumerate(groups)]
    wanted = {value for of_group in needs for values in of_group.values() for value in values}
    results = set(work.results)
    order = _order(groups, needs)
    place = {number: where for where, number in enumerate(order)}

    def grain(group: _Group, taken: Mapping[int, Sequence[int]]) -> Grain:
        return Grain(
            group.lane,
            tuple(group.tasks),
            tuple(sorted(_used(work, group.tasks) & work.inputs)),
            tuple(sorted((place[maker], tuple(sorted(own))) for maker, own in taken.items())),
            _made(work, group.tasks, wanted),
            _made(work, group.tasks, results),
            group.seconds,
        )

    return tuple(grain(groups[number], needs[number]) for number in order)


def _used(work: Work, tasks: Iterable[int]) -> set[int]:
    return {value for task in tasks for value in work.needs[task]}


def _made(work: Work, tasks: Iterable[int], among: set[int]) -> tuple[int, ...]:
    return tuple(sorted(value for task in tasks for value in work.gives[task] if value in among))


def _needs(
    work: Work, group: _Group, group_of: Mapping[int, int], own: int
) -> dict[int, list[int]]:
    """The values that a group takes from others, by group."""
    found: dict[int, list[int]] = {}
    for value in _used(work, group.tasks):
        maker = work.makers.get(value)
        if maker is not None and group_of[maker] != own:
            found.setdefault(group_of[maker], []).append(value)
    return found


def _order(groups: Sequence[_Group], needs: Sequence[Mapping[int, object]]) -> list[int]:
    """The groups, each after those that it needs, those with the first tasks first."""
    waiting = [len(of_group) for of_group in needs]
    users: list[list[int]] = [[] for _ in groups]
    for number, of_group in enumerate(needs):
        for maker in of_group:
            users[maker].append(number)
    ready = [(group.tasks[0], number) for number, group in enumerate(groups) if not waiting[number]]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, number = heapq.heappop(ready)
        order.append(number)
        for user in users[number]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (groups[user].tasks[0], user))
    assert len(order) == len(groups), "grains wait for each other in a circle"
    return order

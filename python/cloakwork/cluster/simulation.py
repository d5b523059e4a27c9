"""Simulates a cut on lanes: how long it takes, and what moves; nothing here is measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from cloakwork.cluster.cut import Cut, cut
from cloakwork.cluster.grid import Grid, grids
from cloakwork.cluster.work import Network, Work

# What a cut into more must gain to be taken, and the grains of a lane that are tried.
_GAIN = 0.97
_PIECES = (6, 12, 24)
# Cuts that are remembered: a program is often run more than once.
_PLANS = 16


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a run is expected to take.

    Args:
        seconds: From start to end.
        moved_bytes: Bytes of the values that move from lane to lane.
        messages: In how many messages they move.
    """

    seconds: float
    moved_bytes: int
    messages: int


def simulated(work: Work, made: Cut, network: Network) -> Simulated:
    """Let every lane do its grains in the order of the cut, each when what it needs is there.

    Example:
        >>> work = Work([1.0] * 2, [(0,), (1,)], [(1,), (2,)], [0] * 3, frozenset({0}), (2,))
        >>> network = Network(task_seconds=0.5)
        >>> simulated(work, cut(work, 1, 1, network), network)
        Simulated(seconds=2.5, moved_bytes=0, messages=0)
    """
    messages = made.messages()
    arriving = {(each.grain, each.lane): work.bytes_of(each.values) for each in messages}
    free = [0.0] * made.lanes
    had: list[set[int]] = [set() for _ in range(made.lanes)]
    ends: list[float] = []
    for grain in made.grains:
        ready = 0.0
        for maker, _ in grain.needs:
            crossed = arriving.get((maker, grain.lane))
            waited = 0.0 if crossed is None else network.crossing(crossed)
            ready = max(ready, ends[maker] + waited)
        # What a lane has read stays there.
        read = work.bytes_of(set(grain.inputs) - had[grain.lane]) / network.bytes_per_second
        had[grain.lane].update(grain.inputs)
        end = max(ready, free[grain.lane]) + network.task_seconds + read + grain.seconds
        free[grain.lane] = end
        ends.append(end)
    return Simulated(max(ends, default=0.0), sum(arriving.values()), len(messages))


@lru_cache(_PLANS)
def best_cut(work: Work, lanes: int, network: Network, most_bytes: int | None = None) -> Cut:
    """The cut for up to so many lanes that takes least by simulation.

    Further lanes, and more pieces, are taken only where they gain: a short program stays on one.

    Args:
        work: The work.
        lanes: The most lanes.
        network: What tasks and moves cost.
        most_bytes: What the values of a grain may take.

    Example:
        >>> work = Work([1e-3] * 2, [(0,), (0,)], [(1,), (2,)], [8] * 3, frozenset({0}), (1, 2))
        >>> best_cut(work, 8, Network()).lanes
        1
    """
    best = cut(work, 1, _PIECES[0], network, most_bytes=most_bytes)
    least = simulated(work, best, network).seconds
    for count, pieces in product(_counts(lanes), _PIECES):
        for grid in _grids(work, count):
            made = cut(work, count, pieces, network, grid, most_bytes)
            seconds = simulated(work, made, network).seconds
            if seconds < _GAIN * least:
                best, least = made, seconds
    return best


def _grids(work: Work, lanes: int) -> list[Grid | None]:
    """None, and the grids of which every lane has something to multiply."""
    if not work.blocks:
        return [None]
    rows, columns, inner = (1 + max(each) for each in zip(*work.blocks.values(), strict=True))
    return [
        None,
        *(
            grid
            for grid in grids(lanes)
            if grid.rows <= rows and grid.columns <= columns and grid.inner <= inner
        ),
    ]


def _counts(lanes: int) -> list[int]:
    """Powers of two from 2 up, and the lanes themselves."""
    powers = {1 << bits for bits in range(1, lanes.bit_length())}
    return sorted({*(each for each in powers if each < lanes), lanes} - {1})

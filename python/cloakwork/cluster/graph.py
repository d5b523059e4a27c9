"""The tasks of Dask that a job is: grains, what is sent between them, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, TypeAlias

from cloakwork.cluster.answers import Answer
from cloakwork.cluster.cut import Cut
from cloakwork.cluster.job import Order
from cloakwork.cluster.worker import Send, done

Key: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """A job as Dask takes it.

    Args:
        tasks: The tasks by key, which no other attempt has.
        lanes: The lane that each is meant for.
        places: The place in the cut of each, by which they are done first.
        answers: The orders of the grains that are to be done, by the keys of their answers.
    """

    tasks: Mapping[Key, Any]
    lanes: Mapping[Key, int]
    places: Mapping[Key, int]
    answers: Mapping[Key, Order]


def graph_of(title: str, made: Cut, orders: Sequence[Order], needed: Mapping[int, bool]) -> Graph:
    """The tasks for the results that are missing.

    Args:
        title: What Dask's dashboard calls them.
        made: The cut.
        orders: The order for every grain.
        needed: The places of the grains that are to be done; see `needed.needed_grains`.
    """
    # What another attempt has left on workers, a failure such as a full disk, is not for this one.
    job = token_hex(16)
    answers: dict[Key, Order] = {}
    tasks: dict[Key, Any] = {}
    lanes: dict[Key, int] = {}
    places: dict[Key, int] = {}

    def add(key: Key, task: Any, place: int) -> None:
        tasks[key] = task
        lanes[key] = made.grains[place].lane
        places[key] = place

    for place, is_done in needed.items():
        grain = made.grains[place]
        given: list[Key] = []
        if not is_done:
            given = [_source(title, job, made, maker, grain.lane) for maker, _ in grain.needs]
        add(_grain(title, job, place), (done, orders[place], given), place)
        answer = Answer(orders[place].job.digest, orders[place].name)
        answers[_answer(title, job, place)] = orders[place]
        add(_answer(title, job, place), (answer, _grain(title, job, place)), place)
    for each in made.messages():
        if each.grain in needed:
            key = _message(title, job, each.grain, each.lane)
            add(key, (Send(each.values), _grain(title, job, each.grain)), each.grain)
    return Graph(tasks, lanes, places, answers)


def _source(title: str, job: str, made: Cut, maker: int, lane: int) -> Key:
    """What a grain on a lane takes of another: all of one on its lane, else what is sent."""
    if made.grains[maker].lane == lane:
        return _grain(title, job, maker)
    return _message(title, job, maker, lane)


def _grain(title: str, job: str, place: int) -> Key:
    return (f"{title}-{job}", place)


def _message(title: str, job: str, place: int, lane: int) -> Key:
    return (f"{title} sends-{job}", place, lane)


def _answer(title: str, job: str, place: int) -> Key:
    return (f"{title} answers-{job}", place)

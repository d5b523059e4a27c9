"""Cuts: every task once, nothing in a circle, grains of a sensible size, always the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.cluster.cut import Cut, Message, cut
from cloakwork.cluster.work import Network, Work
from tests.cluster.random_work import few, works

# What tasks and moves cost next to nothing, so that work is cut as finely as it can be.
FREE = Network(1e-9, 1e-9, 1e15)
NETWORKS = st.sampled_from([Network(), FREE])
LANES, PIECES = st.integers(1, 9), st.integers(1, 9)


def products(count: int, seconds: float) -> Work:
    """Products of inputs, which are added up one after the other."""
    inputs = range(count)
    made = range(count, 2 * count)
    sums = range(2 * count, 3 * count - 1)
    needs: list[tuple[int, ...]] = [(each,) for each in inputs]
    needs += [(before, each) for before, each in zip([made[0], *sums], made[1:], strict=False)]
    gives = [(each,) for each in (*made, *sums)]
    taken = [seconds] * count + [seconds / 1000] * (count - 1)
    return Work(taken, needs, gives, [10**6] * (3 * count), frozenset(inputs), (sums[-1],))


@few
@given(works(), LANES, PIECES, NETWORKS)
def test_every_needed_task_is_done_once(
    work: Work, lanes: int, pieces: int, network: Network
) -> None:
    made = cut(work, lanes, pieces, network)
    tasks = [task for grain in made.grains for task in grain.tasks]
    assert sorted(tasks) == work.needed_tasks()
    assert all(0 <= grain.lane < lanes for grain in made.grains)
    assert all(list(grain.tasks) == sorted(grain.tasks) for grain in made.grains)
    assert sum(grain.seconds for grain in made.grains) == pytest.approx(
        sum(work.seconds[task] for task in tasks)
    )


@few
@given(works(), LANES, PIECES, NETWORKS)
def test_a_grain_has_all_that_its_tasks_need(
    work: Work, lanes: int, pieces: int, network: Network
) -> None:
    made = cut(work, lanes, pieces, network)
    for place, grain in enumerate(made.grains):
        there = set(grain.inputs)
        assert there <= work.inputs
        for maker, values in grain.needs:
            assert maker < place, "a grain stands before one that it needs"
            assert set(values) <= set(made.grains[maker].gives)
            there.update(values)
        for task in grain.tasks:
            assert set(work.needs[task]) <= there
            there.update(work.gives[task])


@few
@given(works(), LANES, PIECES, NETWORKS)
def test_every_result_that_is_made_is_that_of_one_grain(
    work: Work, lanes: int, pieces: int, network: Network
) -> None:
    made = cut(work, lanes, pieces, network)
    results = [value for grain in made.grains for value in grain.results]
    assert sorted(results) == sorted(set(work.results) - work.inputs)


@few
@given(works(), LANES, PIECES, NETWORKS)
def test_the_same_work_is_cut_the_same_way(
    work: Work, lanes: int, pieces: int, network: Network
) -> None:
    assert cut(work, lanes, pieces, network) == cut(work, lanes, pieces, network)


@few
@given(works(), LANES, PIECES, NETWORKS)
def test_messages_are_what_crosses_lanes(
    work: Work, lanes: int, pieces: int, network: Network
) -> None:
    made = cut(work, lanes, pieces, network)
    crossing = {
        (maker, grain.lane, value)
        for grain in made.grains
        for maker, values in grain.needs
        for value in values
        if made.grains[maker].lane != grain.lane
    }
    told = [(each.grain, each.lane, value) for each in made.messages() for value in each.values]
    assert sorted(told) == sorted(crossing)
    assert len({(each.grain, each.lane) for each in made.messages()}) == len(made.messages())


def test_equal_work_is_shared_evenly() -> None:
    made = cut(products(64, 0.1), 4, 6, Network())
    loads = [0.0] * 4
    for grain in made.grains:
        loads[grain.lane] += grain.seconds
    assert max(loads) <= 1.1 * sum(loads) / 4


def test_a_chain_stays_on_its_lane() -> None:
    needs = [(each,) for each in range(20)]
    gives = [(each,) for each in range(1, 21)]
    chain = Work([0.1] * 20, needs, gives, [10**6] * 21, frozenset({0}), (20,))
    made = cut(chain, 4, 6, Network())
    assert {grain.lane for grain in made.grains} == {0}
    assert made.messages() == []


@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_grains_are_worth_a_task_and_few(lanes: int) -> None:
    work = products(1000, 0.005)
    made = cut(work, lanes, 6, Network())
    assert min(grain.seconds for grain in made.grains) >= Network().least_work
    assert len(made.grains) <= 2 * 6 * lanes


def test_short_work_is_one_grain() -> None:
    assert len(cut(products(4, 0.001), 8, 6, Network()).grains) == 1


def test_a_grain_is_not_longer_than_a_killed_worker_may_cost() -> None:
    made = cut(products(100, 1.0), 1, 1, Network())
    assert max(grain.seconds for grain in made.grains) <= 5.0


def test_values_for_one_lane_are_one_message() -> None:
    work = Work(
        [0.1] * 4 + [0.2],
        [(0,), (0,), (0,), (0,), (1, 2, 3, 4)],
        [(1,), (2,), (3,), (4,), (5,)],
        [10] * 6,
        frozenset({0}),
        (5,),
    )
    made = cut(work, 2, 1, Network())
    assert made.messages() == [Message(1, 0, (2, 4))]


def test_a_cut_says_what_it_was_asked_for() -> None:
    made = cut(products(8, 0.1), 3, 7, Network())
    assert isinstance(made, Cut)
    assert (made.lanes, made.pieces) == (3, 7)

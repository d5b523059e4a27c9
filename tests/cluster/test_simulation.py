"""Simulated runs: bounds that any run keeps, and the cuts that are chosen by them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.cluster.cut import cut
from cloakwork.cluster.simulation import best_cut, simulated
from cloakwork.cluster.work import Network, Work
from tests.cluster.random_work import few, works
from tests.cluster.test_cut import products

FREE = Network(0.0, 0.0, math.inf)


@few
@given(works(), st.integers(1, 8))
def test_no_run_is_shorter_than_its_work_allows(work: Work, lanes: int) -> None:
    made = cut(work, lanes, 6, Network())
    total = sum(work.seconds[task] for task in work.needed_tasks())
    found = simulated(work, made, FREE)
    assert found.seconds >= total / lanes * (1 - 1e-9)
    assert found.seconds <= total * (1 + 1e-9)


@few
@given(works())
def test_one_lane_takes_the_work_and_its_tasks(work: Work) -> None:
    network = Network()
    made = cut(work, 1, 6, network)
    # What a lane has read it has.
    inputs = {value for grain in made.grains for value in grain.inputs}
    read = work.bytes_of(inputs) / network.bytes_per_second
    work_itself = sum(grain.seconds for grain in made.grains)
    found = simulated(work, made, network)
    expected = work_itself + read + len(made.grains) * network.task_seconds
    assert found.seconds == pytest.approx(expected)
    assert (found.moved_bytes, found.messages) == (0, 0)


@few
@given(works(), st.integers(1, 8))
def test_moved_bytes_are_those_of_the_messages(work: Work, lanes: int) -> None:
    made = cut(work, lanes, 6, Network())
    found = simulated(work, made, Network())
    assert found.moved_bytes == sum(work.bytes_of(each.values) for each in made.messages())


@few
@given(works(), st.integers(1, 8))
def test_more_lanes_are_never_worse_by_the_model(work: Work, lanes: int) -> None:
    alone = simulated(work, best_cut(work, 1, Network()), Network())
    best = simulated(work, best_cut(work, lanes, Network()), Network())
    assert best.seconds <= alone.seconds


def test_long_work_of_equal_parts_takes_all_lanes() -> None:
    work = products(256, 0.1)
    alone = simulated(work, best_cut(work, 1, Network()), Network()).seconds
    shared = simulated(work, best_cut(work, 8, Network()), Network()).seconds
    assert shared <= alone / 6


def test_a_slow_network_keeps_work_together() -> None:
    work = products(16, 0.01)
    slow = Network(message_seconds=1.0)
    assert best_cut(work, 8, slow).lanes == 1

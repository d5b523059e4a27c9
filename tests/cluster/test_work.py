"""What programs are as work: their tasks, values and bytes."""

from __future__ import annotations

import math

import pytest

from cloakwork.cluster.forms import form_of
from cloakwork.cluster.work import Work
from cloakwork.programs.bootstraps import BOOTSTRAP
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.schedule import schedule
from tests.families import BITS, CIRCUITS, ENCRYPTED, NETWORKS, TENSORS, Family


@pytest.mark.parametrize("family", ENCRYPTED, ids=str)
def test_tasks_stand_after_those_that_they_need(family: Family) -> None:
    work = form_of(family.program).work
    made = set(work.inputs)
    for needed, given in zip(work.needs, work.gives, strict=True):
        assert set(needed) <= made
        assert made.isdisjoint(given)
        made.update(given)
    assert set(work.results) <= made
    assert all(seconds >= 0 for seconds in work.seconds)
    assert len(work.seconds) == len(work.needs) == len(work.gives)


@pytest.mark.parametrize("family", [TENSORS, NETWORKS, CIRCUITS], ids=str)
def test_slot_programs_have_the_bytes_of_their_ciphertexts(family: Family) -> None:
    work, body = form_of(family.program).work, family.program.body
    assert isinstance(body, SlotProgram)
    client, evaluator = family.keys()
    (values,) = evaluator._values(family.encrypted(), "inputs", "test")
    for number, value in zip(schedule(body).inputs, values.values(), strict=True):
        assert work.sizes[number] == value.nbytes
    (made,) = client._values(evaluator.run(family.encrypted()), "outputs", "test")
    assert [work.sizes[value] for value in work.results] == [each.nbytes for each in made.values()]


def test_programs_over_bits_take_the_time_of_their_bootstraps() -> None:
    work, body = form_of(BITS.program).work, BITS.program.body
    assert not isinstance(body, SlotProgram)
    assert math.fsum(work.seconds) == pytest.approx(0.008 * body.bootstrap_count, rel=1e-2)
    slow = [task for task, seconds in enumerate(work.seconds) if seconds > 0.001]
    assert slow == [node for node, kind in enumerate(body.kinds) if kind == BOOTSTRAP]
    assert set(work.sizes) == {BITS.program.scheme.value_bytes}


def test_needed_tasks_are_those_that_results_depend_on() -> None:
    needs = [(0,), (1,), (0,), (2, 0)]
    work = Work([1.0] * 4, needs, [(1,), (2,), (3,), (4,)], [8] * 5, frozenset({0}), (4, 0))
    assert work.needed_tasks() == [0, 1, 3]


def test_the_peak_counts_what_is_there_at_once() -> None:
    needs = [(0,), (1,), (1, 2), (3,)]
    work = Work(
        [1.0] * 4, needs, [(1,), (2,), (3,), (4,)], [1, 10, 100, 1000, 10000], frozenset({0}), (4,)
    )
    assert work.peak_bytes([0, 1, 2, 3], [4]) == 11001
    assert work.peak_bytes([1, 3], [4]) == 11010
    assert work.peak_bytes([1, 2], [2, 3]) == 1110
    # A value that nobody needs is gone at once.
    assert work.peak_bytes([0], []) == 11

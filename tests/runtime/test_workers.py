"""The order in which tasks may start, whoever finishes first."""

from hypothesis import given
from hypothesis import strategies as st

from cloakwork.programs.slots import Input, Neg, SlotProgram
from cloakwork.runtime.schedule import schedule
from cloakwork.runtime.workers import ReadyTasks
from tests.runtime.slot_programs import programs

PROGRAMS = programs(slots=8, level=2, longest=120)


@given(PROGRAMS, st.integers(1, 4), st.integers(1, 6), st.randoms(use_true_random=False))
def test_tasks_start_after_their_operands_and_not_far_ahead(
    program: SlotProgram, workers: int, lookahead: int, random: st.DataObject
) -> None:
    plan = schedule(program)
    queue = ReadyTasks(plan, lookahead=lookahead)
    made = {n for n, operation in enumerate(program.operations) if isinstance(operation, Input)}
    under_way: list[int] = []
    unfinished = set(range(len(plan.tasks)))
    while unfinished:
        assert not queue.exhausted
        while len(under_way) < workers and (task := queue.take()) is not None:
            assert task < min(unfinished) + lookahead
            assert made >= set(plan.operands[task])
            under_way.append(task)
        task = under_way.pop(random.randrange(len(under_way)))  # type: ignore[attr-defined]
        queue.finish(task)
        unfinished.remove(task)
        made |= set(plan.tasks[task])
    assert queue.exhausted
    assert queue.take() is None


@given(PROGRAMS, st.integers(1, 6))
def test_one_worker_goes_in_program_order(program: SlotProgram, lookahead: int) -> None:
    queue = ReadyTasks(schedule(program), lookahead=lookahead)
    taken = []
    while (task := queue.take()) is not None:
        taken.append(task)
        queue.finish(task)
    assert taken == list(range(len(taken)))
    assert queue.exhausted


def test_as_many_tasks_as_the_lookahead_start_beside_each_other() -> None:
    program = SlotProgram("", 8, (Input("x", 1), *[Neg(0)] * 9), (None,) * 10)
    queue = ReadyTasks(schedule(program), lookahead=4)
    assert [queue.take() for _ in range(5)] == [0, 1, 2, 3, None]
    assert not queue.can_take
    queue.finish(2)
    assert queue.take() is None
    queue.finish(0)
    assert [queue.take(), queue.take()] == [4, None]
    queue.finish(1)
    assert [queue.take(), queue.take(), queue.take()] == [5, 6, None]


def test_a_program_without_work_is_finished() -> None:
    queue = ReadyTasks(schedule(SlotProgram("", 8, (Input("x", 1),), (None,))), lookahead=1)
    assert queue.exhausted
    assert not queue.can_take

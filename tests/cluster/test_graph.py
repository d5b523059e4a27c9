"""Graphs of Dask: every grain and message once, and nothing for what files hold already."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cloakwork.cluster.cut import Cut, cut
from cloakwork.cluster.dispatch import graph_of
from cloakwork.cluster.job import Job, Order, order
from cloakwork.cluster.placing import needed_grains
from cloakwork.cluster.work import Work
from cloakwork.runtime.folder import Folder
from tests.cluster.random_work import few, works
from tests.cluster.test_cut import FREE

JOB = Job("0" * 32, "evaluator-1", Folder("/jobs"), Folder("/jobs/0"), False, "1.0")


def orders(work: Work, made: Cut) -> list[Order]:
    return [order(JOB, grain, work.bytes_of(grain.gives)) for grain in made.grains]


@few
@given(works(), st.integers(1, 5))
def test_every_task_has_what_it_needs(work: Work, lanes: int) -> None:
    made = cut(work, lanes, 6, FREE)
    given_orders = orders(work, made)
    needed = needed_grains(made, given_orders, set())
    assert sorted(needed) == list(range(len(made.grains)))
    assert not any(needed.values())
    graph = graph_of("test", made, given_orders, needed)
    for task in graph.tasks.values():
        sources = task[2] if len(task) == 3 else [task[1]]
        assert all(key in graph.tasks for key in sources)
    count = 2 * len(made.grains) + len(made.messages())
    assert len(graph.tasks) == len(graph.lanes) == len(graph.places) == count
    assert list(graph.answers.values()) == given_orders


@few
@given(works(), st.integers(1, 5))
def test_nothing_is_done_where_all_results_are_there(work: Work, lanes: int) -> None:
    made = cut(work, lanes, 6, FREE)
    given_orders = orders(work, made)
    present = {each.results_file for each in given_orders}
    needed = needed_grains(made, given_orders, present)
    assert needed == {}
    assert graph_of("test", made, given_orders, needed).tasks == {}


@few
@given(works(), st.integers(1, 5), st.data())
def test_what_is_there_is_not_done_again(work: Work, lanes: int, data: st.DataObject) -> None:
    made = cut(work, lanes, 6, FREE)
    given_orders = orders(work, made)
    files = sorted(
        {each.results_file for each in given_orders}
        | {each.values_file for each in given_orders if each.keeps}
    )
    present = set(data.draw(st.lists(st.sampled_from(files)))) if files else set()
    needed = needed_grains(made, given_orders, present)
    graph = graph_of("test", made, given_orders, needed)
    for place, is_done in needed.items():
        assert is_done == given_orders[place].is_done(present)
        sources = {maker for maker, _ in made.grains[place].needs}
        assert is_done or sources <= needed.keys()
        (task,) = (
            task
            for task in graph.tasks.values()
            if len(task) == 3 and task[1].grain is made.grains[place]
        )
        assert len(task[2]) == (0 if is_done else len(sources))

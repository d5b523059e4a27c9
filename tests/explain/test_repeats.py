"""Rows that repeat themselves."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.explain.slots import runs_of


@given(st.text("abc", max_size=40))
def test_runs_written_out_are_the_row(row: str) -> None:
    runs = runs_of(row)
    written = "".join(row[run.start : run.start + run.length] * run.times for run in runs)
    assert written == row
    ends = [run.start + run.length * run.times for run in runs]
    assert [run.start for run in runs] == [0, *ends][: len(runs)]


def test_what_comes_twice_is_told_twice() -> None:
    assert [run.times for run in runs_of("aabbcc")] == [1] * 6


def test_a_row_of_one_pair_is_one_run() -> None:
    row = "".join(itertools.repeat("ab", 16))
    assert [(run.start, run.length, run.times) for run in runs_of(row)] == [(0, 2, 16)]


def test_a_product_of_many_blocks_is_told_once() -> None:
    program = cw.compile_matmul((512, 16), (16, 512))
    told = cw.explain(program)
    assert told.count("switch keys") == 1
    assert "    1 to 2 again" in told

"""What explain prints."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError
from cloakwork.explain.slots import explain_slots, runs_of
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.frontends.tensors.tensor import Tensor
from cloakwork.programs.slots import Add, Builder, Input, Output, Rotate, SlotProgram
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.clear_real import ClearReal
from tests.products import real_product

SESSION = cw.Session(depth=3, backend="clear", insecure=True, log_n=11)
RANDOM = np.random.default_rng(0)


def program_of(tensor: Tensor) -> SlotProgram:
    assert tensor.program is not None
    return tensor.program


def matrix_product(session: cw.Session) -> Tensor:
    left = session.encrypt(RANDOM.uniform(-1, 1, (16, 32)))
    right = session.encrypt(RANDOM.uniform(-1, 1, (32, 32)))
    return cw.einsum("ik,kj->ij", left, right)


def test_a_plan_shows_layouts_work_levels_and_keys() -> None:
    x = SESSION.encrypt(np.full((4, 5), 0.125))
    text = cw.explain(cw.einsum("ij,kj->ik", x, np.ones((3, 5))))
    for words in (
        "einsum ij,kj->ik",
        "clear backend: hides nothing",
        "operand0  (4, 5)  0:4@5 1:5@1",
        "result  (4, 3)",
        "slot 0:[0,0] 1:[0,1]",
        "by constants into",
        "rotations",
        "levels  3 to 2",
        "memory",
        "error   below 2^",
        "not modelled",
        "= input operand0",
    ):
        assert words in text


def test_no_number_of_a_tensor_is_told() -> None:
    numbers = RANDOM.uniform(0.1, 0.9, (4, 5))
    x = SESSION.encrypt(numbers)
    weights = RANDOM.uniform(0.1, 0.9, (4, 5))
    for tensor in (x, x * weights, x @ weights.T, x + weights):
        text = cw.explain(tensor)
        assert not any(str(number)[:5] in text for number in [*numbers.flat, *weights.flat])


def test_a_fresh_tensor_has_no_plan() -> None:
    assert cw.explain(SESSION.encrypt(1.0)).startswith("made here, not computed")


@pytest.mark.parametrize("x", [1.0, np.ones(3), SESSION])
def test_what_is_no_tensor_is_refused(x: object) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot explain"):
        cw.explain(x)  # type: ignore[arg-type]


@pytest.mark.parametrize("log_n", [11, 14])
def test_a_matrix_product_fits_a_screen(log_n: int) -> None:
    session = cw.Session(depth=3, backend="clear", insecure=True, log_n=log_n)
    lines = cw.explain(matrix_product(session)).split("\n")
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 100


def test_a_matrix_product_can_be_redone_by_hand() -> None:
    session = cw.Session(depth=3, backend="clear", insecure=True, log_n=14)
    text = cw.explain(matrix_product(session))
    for pattern in (
        r"operand0  \(16, 32\)  0:16@32 1:32@1\n",
        r"move (ik|kj) into [ij]:\d+@\d+(/\d+)? k:32@\d+(/\d+)?, level 3 to \d\n",
        r"linear: diagonals -?\d+, .*\(\d+\), \d+ baby steps -?\d+, ",
        r"copy ik along j:32@\d+(/\d+)?, level \d\n",
        r"add rotations by -\d+, -\d+, -\d+, -\d+, -\d+\n",
        r"multiply ik by ",
        r"sum over k, level \d\n",
        r"add rotations by \d+, \d+, \d+, \d+(, \d+)?\n",
    ):
        assert re.search(pattern, text), pattern
    assert "%0 = input" not in text


def test_a_tensor_of_many_ciphertexts_comes_once() -> None:
    x = SESSION.encrypt(np.ones((100, 64)))
    count = x.layout.ciphertexts
    assert count > 4
    text = cw.explain(x.sum(axis=1))
    assert text.count("(100, 64)") == 1
    assert f"{count} ciphertexts of 1024 slots" in text
    rows = x.layout.grid[0]
    assert re.search(rf"\b{rows} x add; add rotations by 1, 2, 4, 8, 16\b", text)


def test_every_step_of_a_program_of_several_steps_is_told_under_its_line() -> None:
    builder = Builder("two lines", 1024)
    x = builder.append(Input("x", 1))
    for line, steps in (("a.py:1", 3), ("a.py:2", 5)):
        builder.origin, builder.stage = line, f"turn {steps}"
        x = builder.append(Add(x, builder.append(Rotate(x, steps))))
    builder.append(Output(x))
    text = explain_slots(builder.finish(), ClearReal(SESSION.parameters))
    found = [text.index(words) for words in ("a.py:1", "turn 3", "a.py:2", "turn 5")]
    assert found == sorted(found)


def test_a_long_program_of_no_stages_is_told_in_few_lines() -> None:
    builder = Builder("long", 1024)
    value = builder.append(Input("x", 1))
    for number in range(3000):
        value = builder.append(Add(value, builder.append(Rotate(value, 1 + number % 1000))))
    builder.append(Output(value))
    lines = explain_slots(builder.finish(), Ckks(SESSION.parameters)).split("\n")
    assert len(lines) < 30
    assert max(map(len, lines)) <= 100


def test_an_empty_program() -> None:
    text = explain_slots(SlotProgram("nothing", 1024, (), ()), Ckks(SESSION.parameters))
    assert text.startswith("nothing\n")


def test_ciphertexts_are_measured_and_modelled() -> None:
    session = cw.Session(depth=2, insecure=True, log_n=10)
    x = session.encrypt(np.ones((4, 4)))
    text = cw.explain(x @ x)
    assert "INSECURE" in text
    assert "hides nothing" not in text
    for words in (" measured, ", " modelled", "by kind (modelled): ", "relinearisation, "):
        assert words in text


def test_a_program_that_has_not_run_is_modelled_only() -> None:
    program = cw.compile(lambda x: x.sum(), (4, 4), log_n=11, insecure=True)
    text = cw.explain(program)
    assert " modelled" in text
    assert "measured" not in text
    client, evaluator = program.keygen()
    profile = cw.Profile()
    evaluator.run(client.encrypt(np.ones((4, 4))), profile=profile)
    assert " measured, " in cw.explain(program, profile)


def test_counts_of_a_matrix_product() -> None:
    a, b = SESSION.encrypt(np.ones((4, 5))), SESSION.encrypt(np.ones((5, 3)))
    found = counted_operations(program_of(cw.einsum("ij,jk->ik", a, b)))
    assert found["ciphertext product"] == 1
    assert found["rescale"] <= 3
    assert found["rotation"] <= 25


def test_a_tensor_over_many_ciphertexts_is_shown_once() -> None:
    x = SESSION.encrypt(np.ones((60, 70)))
    y = SESSION.encrypt(np.ones((60, 1)))
    result: cw.Tensor = x * y
    text = cw.explain(result)
    lines = [
        line.split("  ")[1] for line in text.splitlines() if line.startswith("  ") and "(" in line
    ]
    assert [name for name in lines if name.startswith(("operand", "result"))] == [
        "operand0",
        "operand1",
        "result",
    ]
    assert f"{len(result.values)} ciphertexts of 1024 slots" in text
    assert f"{result.nbytes / 1024:.1f} KiB for the result" in text


def test_a_view_shows_where_it_starts() -> None:
    text = cw.explain(SESSION.encrypt(np.ones((4, 5)))[1:, ::-1])
    assert "result  (3, 5)  0:3@5 1:5@-1 from 9" in text
    assert "the rest anything" in text
    assert "slot 5:[0,4] 6:[0,3]" in text


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
    program = real_product((512, 16), (16, 512))
    told = cw.explain(program)
    assert told.count("switch keys") == 1
    assert "    1 to 2 again" in told


@pytest.mark.parametrize("told", [cw.explain, cw.estimate])
def test_what_has_a_program_is_refused_with_its_place(told: Callable[[Any], Any]) -> None:
    index = cw.index(np.eye(4), log_n=10, insecure=True)
    with pytest.raises(InvalidArgumentError, match=r"got an? Index; take its program, \.program"):
        told(index)

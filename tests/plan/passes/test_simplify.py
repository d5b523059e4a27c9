"""Simplification: the same results, less to do."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.plan.passes.simplify import drop_dead, fold_constants, share_common, simplified
from cloakwork.programs.layout import Axis, Layout
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Operation,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    SlotProgram,
    Sub,
    Vector,
)
from cloakwork.programs.text import from_text, to_text
from tests.programs.random_programs import facts, programs, results

ONES, ZEROS, RAMP = np.ones(8), np.zeros(8), np.arange(8.0)


def program_of(*operations: Operation) -> SlotProgram:
    return SlotProgram("t", 8, operations, (None,) * len(operations))


def lines(program: SlotProgram) -> list[str]:
    return [program.line(number).split(" = ")[1] for number in range(len(program.operations))]


@pytest.mark.parametrize("simplify", [drop_dead, share_common, fold_constants, simplified])
@given(program=programs())
def test_the_results_are_the_same(
    simplify: Callable[[SlotProgram], SlotProgram], program: SlotProgram
) -> None:
    simpler = simplify(program)
    assert results(simpler) == results(program)
    assert len(simpler.operations) <= len(program.operations)
    ends = [[o for o in p.operations if isinstance(o, Input)] for p in (simpler, program)]
    assert [(o.name, o.level) for o in ends[0]] == [(o.name, o.level) for o in ends[1]]


@given(programs())
def test_simplified_is_final(program: SlotProgram) -> None:
    final = simplified(program)
    for simplify in (drop_dead, share_common, fold_constants, simplified):
        assert simplify(final) is final


@given(programs())
def test_shared_twice_over_is_as_shared_once(program: SlotProgram) -> None:
    """Two copies of a program over the same inputs share all but their outputs."""
    entries = [n for n, o in enumerate(program.operations) if isinstance(o, Input)]
    builder = Builder(program.title, program.slots)
    number_of = {n: builder.append(program.operations[n]) for n in entries}
    once = share_common(drop_dead(program))
    for _ in range(2):
        for number, operation in enumerate(program.operations):
            if number not in entries:
                moved = [number_of[operand] for operand in operation.operands]
                number_of[number] = builder.append(operation.with_operands(moved))
    twice = share_common(drop_dead(builder.finish()))
    outputs = sum(isinstance(o, Output) for o in program.operations)
    assert len(twice.operations) == len(once.operations) + outputs


def test_drop_dead_keeps_inputs_and_what_outputs_use() -> None:
    program = program_of(
        Input("x", 2), Input("y", 2), Neg(0), Constant(ONES), Mul(2, 3), Rotate(0, 1), Output(5)
    )
    assert lines(drop_dead(program)) == ["input x", "input y", "rotate %0 by 1", "output %2"]


def test_share_common_compares_vectors_by_what_they_hold() -> None:
    program = program_of(
        Input("x", 2),
        Constant(RAMP),
        Constant(RAMP.copy()),
        Mul(0, 1),
        Mul(2, 0),
        Add(3, 4),
        Linear(0, {0: ONES, 1: RAMP}, 2),
        Linear(0, {1: RAMP.copy(), 0: ONES.copy()}, 2),
        Linear(0, {1: RAMP, 0: RAMP}, 2),
        Linear(0, {0: ONES, 1: RAMP}, 1),
    )
    assert lines(share_common(program)) == [
        "input x",
        "constant",
        "mul %0 %1",
        "add %2 %2",
        "linear %0 {2 diagonals, 2 baby steps}",
        "linear %0 {2 diagonals, 2 baby steps}",
        "linear %0 {2 diagonals, 1 baby steps}",
    ]


def test_share_common_keeps_what_differs() -> None:
    program = program_of(
        Input("x", 2),
        Input("x", 2),
        Sub(0, 1),
        Sub(1, 0),
        Rotate(0, 1),
        Rotate(0, 2),
        DropLevel(0, 1),
        DropLevel(0, 0),
        Polynomial(0, (0.0, 1.0), "monomial"),
        Polynomial(0, (0.0, 1.0), "chebyshev"),
        Constant(ZEROS),
        Constant(-ZEROS),
        Neg(0),
        Output(0),
        Output(0),
    )
    assert share_common(program) is program


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([Constant(ZEROS), Add(0, 1)], []),
        ([Constant(ZEROS), Add(1, 0)], []),
        ([Constant(-ZEROS), Sub(0, 1)], []),
        ([Constant(ZEROS), Sub(1, 0)], ["neg %0"]),
        ([Constant(ONES), Add(0, 1)], ["constant", "add %0 %1"]),
        ([Constant(RAMP), Add(0, 1)], ["constant", "add %0 %1"]),
        ([Neg(0), Neg(1)], []),
        ([Neg(0), Neg(1), Neg(2)], ["neg %0"]),
        ([Rotate(0, 3), Rotate(1, 4)], ["rotate %0 by 7"]),
        ([Rotate(0, 3), Rotate(1, 4), Rotate(2, 2)], ["rotate %0 by 1"]),
        ([Rotate(0, 3), Rotate(1, 5)], []),
        (
            [Rotate(0, 3), Rotate(1, 4), Add(1, 2)],
            ["rotate %0 by 3", "rotate %1 by 4", "add %1 %2"],
        ),
        ([Rotate(0, 3), Rotate(1, 5), Add(1, 2)], ["rotate %0 by 3", "add %1 %0"]),
        ([Rotate(0, 3), Constant(ZEROS), Add(1, 2), Rotate(3, 1)], ["rotate %0 by 4"]),
        ([DropLevel(0, 2), DropLevel(1, 0)], ["drop_level %0 to 0"]),
        ([DropLevel(0, 2), Constant(ZEROS), Add(1, 2), DropLevel(3, 1)], ["drop_level %0 to 1"]),
        ([Constant(ONES), Mul(0, 1), Rescale(2)], ["drop_level %0 to 2"]),
        ([Constant(ONES), Mul(1, 0), Rescale(2)], ["drop_level %0 to 2"]),
        ([Constant(RAMP), Mul(1, 0), Rescale(2)], ["constant", "mul %1 %0", "rescale %2"]),
    ],
)
def test_what_folds(operations: list[Operation], expected: list[str]) -> None:
    found = lines(simplified(program_of(Input("x", 3), *operations, Output(len(operations)))))
    assert found[0] == "input x"
    assert found[1:-1] == expected
    assert found[-1] == f"output %{len(expected) if expected else 0}"


def test_a_drop_that_others_use_stays() -> None:
    program = program_of(Input("x", 3), DropLevel(0, 2), DropLevel(1, 1), Output(1), Output(2))
    assert simplified(program) is program


def test_layouts_origins_and_stages_follow_their_operations() -> None:
    layouts = tuple(Layout(8, (Axis(n, 1),)) for n in range(1, 6))
    operations = (Input("x", 1), Neg(0), Rotate(0, 1), Rotate(0, 1), Output(3))
    program = SlotProgram(
        "t", 8, operations, layouts, ("a", "b", "c", "d", "e"), ("p", "q", "r", "s", "t")
    )
    simpler = simplified(program)
    assert lines(simpler) == ["input x", "rotate %0 by 1", "output %1"]
    assert simpler.layouts == (layouts[0], layouts[2], layouts[4])
    assert simpler.origins == ("a", "c", "e")
    assert simpler.stages == ("p", "r", "t")


@given(st.integers(1, 40))
def test_a_chain_folds_whole(length: int) -> None:
    builder = Builder("", 8)
    value = builder.append(Input("x", 0))
    for _ in range(length):
        value = builder.append(Rotate(value, 3))
    builder.append(Output(value))
    total = 3 * length % 8
    expected = ["input x", f"rotate %0 by {total}", "output %1"]
    assert lines(simplified(builder.finish())) == (expected if total else ["input x", "output %0"])


def test_a_program_that_is_simple_stays_itself() -> None:
    program = program_of(Input("x", 1), Rotate(0, 1), Output(1))
    assert facts(simplified(program)) == facts(program)
    assert simplified(program) is program


class MadeOnDemand(Mapping[int, Vector]):
    """Diagonals that are made anew whenever they are asked for."""

    def __init__(self, numbers: Mapping[int, float]) -> None:
        self._numbers = numbers

    def __getitem__(self, number: int) -> Vector:
        return np.full(8, self._numbers[number])

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def test_vectors_made_on_demand_do_not_take_one_another_for_themselves() -> None:
    numbers = {d: float(d) for d in range(8)}
    first, second = MadeOnDemand(numbers), MadeOnDemand(numbers | {7: 0.5})
    program = program_of(
        Input("x", 1), *(Linear(0, diagonals, 2) for diagonals in (first, second, first))
    )
    assert len(share_common(program).operations) == 3
    text = to_text(program)
    assert to_text(from_text(text)) == text

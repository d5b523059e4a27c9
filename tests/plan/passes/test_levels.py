"""Levels: the same results, no level too many."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.passes.levels import depth_of, lowest_levels
from cloakwork.plan.passes.simplify import drop_dead
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
    WeightedSums,
    polynomial_depth,
)
from tests.programs.random_programs import KINDS, facts, programs, results


def input_levels(program: SlotProgram) -> list[int]:
    return [entry.level for entry in program.operations if isinstance(entry, Input)]


@given(programs(KINDS), st.integers(0, 2))
def test_the_results_are_the_same(program: SlotProgram, floor: int) -> None:
    lowered = lowest_levels(program, floor=floor)
    assert results(lowered) == results(program)
    for operation, state in zip(lowered.operations, lowered.states, strict=True):
        if isinstance(operation, Output):
            assert state.level == floor


@given(programs(KINDS))
def test_the_deepest_input_is_at_the_depth(program: SlotProgram) -> None:
    lowered = lowest_levels(drop_dead(program))
    assert max(input_levels(lowered)) == depth_of(program) == depth_of(lowered)


def least_levels(program: SlotProgram, floor: int) -> list[int]:
    """The least level of every value, raised step by step until every rule holds."""
    levels = [0] * len(program.operations)

    def raised(number: int, level: int) -> bool:
        is_higher = program.states[number].level is not None and level > levels[number]
        levels[number] = max(levels[number], level)
        return is_higher

    def raise_all() -> bool:
        has_changed = False
        for number, operation in enumerate(program.operations):
            taken = 0
            if isinstance(operation, Output):
                has_changed |= raised(number, floor)
            elif isinstance(operation, Mul | Linear | RotatedProducts):
                has_changed |= raised(number, 1)
            elif isinstance(operation, Rescale | WeightedSums):
                taken = 1
            elif isinstance(operation, Polynomial):
                taken = polynomial_depth(operation.coefficients)
            for operand in operation.operands:
                has_changed |= raised(operand, levels[number] + taken)
                if program.states[operand].waiting or program.states[operand].sums:
                    has_changed |= raised(number, levels[operand] - taken)
        return has_changed

    while raise_all():
        pass
    return levels


@given(programs(KINDS), st.integers(0, 2))
def test_no_operation_can_stand_lower(program: SlotProgram, floor: int) -> None:
    lowered = lowest_levels(program, floor=floor)
    found, least = (
        [
            level
            for level, state, operation in zip(levels, p.states, p.operations, strict=True)
            if state.level is not None and not isinstance(operation, DropLevel)
        ]
        for p, levels in (
            (lowered, [state.level for state in lowered.states]),
            (program, least_levels(program, floor)),
        )
    )
    assert found == least


@given(programs(KINDS))
def test_no_input_rises_and_a_second_time_changes_nothing(program: SlotProgram) -> None:
    lowered = lowest_levels(program)
    pairs = zip(input_levels(lowered), input_levels(program), strict=True)
    assert all(after <= before for after, before in pairs)
    assert facts(lowest_levels(lowered)) == facts(lowered)


@given(programs(KINDS))
def test_drops_stand_only_where_levels_differ(program: SlotProgram) -> None:
    lowered = lowest_levels(program)
    drops = [entry for entry in lowered.operations if isinstance(entry, DropLevel)]
    assert max(Counter((drop.operand, drop.level) for drop in drops).values(), default=1) == 1
    assert not any(isinstance(lowered.operations[drop.operand], DropLevel) for drop in drops)
    kept = [entry for entry in lowered.operations if not isinstance(entry, DropLevel)]
    before = [entry for entry in program.operations if not isinstance(entry, DropLevel)]
    assert [type(entry) for entry in kept] == [type(entry) for entry in before]


def test_one_drop_serves_all_consumers_at_its_level() -> None:
    builder = Builder("", slots=4)
    x = builder.append(Input("x", 7))
    y = builder.append(Rescale(builder.append(Mul(x, x))))
    low = builder.append(DropLevel(x, 6))
    total = builder.append(Add(builder.append(Add(y, low)), builder.append(Rotate(low, 1))))
    builder.append(Output(total))
    lowered = lowest_levels(builder.finish())
    assert [lowered.line(number) for number in range(len(lowered.operations))] == [
        "%0 = input x",
        "%1 = mul %0 %0",
        "%2 = rescale %1",
        "%3 = drop_level %0 to 0",
        "%4 = add %2 %3",
        "%5 = rotate %3 by 1",
        "%6 = add %4 %5",
        "%7 = output %6",
    ]


def test_products_added_before_their_rescale_stand_at_one_level() -> None:
    """x * x is needed at level 3 by itself and, in a sum with y * y, at level 1."""
    builder = Builder("", slots=4)
    x, y = builder.append(Input("x", 9)), builder.append(Input("y", 9))
    first, second = builder.append(Mul(x, x)), builder.append(Mul(y, y))
    deep = builder.append(Rescale(first))
    cubic = builder.append(Polynomial(deep, (0.0, 0.0, 0.0, 1.0), "monomial"))
    shallow = builder.append(Rescale(builder.append(Add(first, second))))
    builder.append(Output(cubic))
    builder.append(Output(shallow))
    lowered = lowest_levels(builder.finish())
    assert input_levels(lowered) == [3, 3]
    assert lowered.line(len(lowered.operations) - 2) == "%9 = drop_level %7 to 0"


def test_an_input_that_nothing_uses_stands_at_level_0() -> None:
    builder = Builder("", slots=4)
    builder.append(Output(builder.append(Input("x", 3))))
    builder.append(Input("unused", 3))
    assert input_levels(lowest_levels(builder.finish(), floor=2)) == [2, 0]


def test_layouts_and_origins_stay_and_drops_take_those_of_their_value() -> None:
    builder = Builder("t", slots=4)
    builder.origin, builder.stage = "a.py:1", "enter"
    x = builder.append(Input("x", 3))
    builder.origin, builder.stage = "a.py:2", "mask"
    c = builder.append(Constant(np.ones(4)))
    y = builder.append(Rescale(builder.append(Mul(x, c))))
    builder.append(Output(builder.append(Add(y, builder.append(DropLevel(x, 2))))))
    lowered = lowest_levels(builder.finish())
    assert lowered.title == "t"
    origins = {lowered.line(n): origin for n, origin in enumerate(lowered.origins)}
    assert origins["%4 = drop_level %0 to 0"] == "a.py:1"
    assert origins["%5 = add %3 %4"] == "a.py:2"
    assert lowered.stages == ("enter", "mask", "mask", "mask", "enter", "mask", "mask")
    assert all(entry.operands != (1,) for entry in lowered.operations)


@pytest.mark.parametrize("floor", [-1, True, 1.0, "0", 10**9])
def test_a_floor_that_is_no_level(floor: int) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot lower"):
        lowest_levels(SlotProgram("", 4, (), ()), floor=floor)


def test_many_operations() -> None:
    builder = Builder("", slots=1)
    values = [builder.append(Input("x", 40_000))]
    for _ in range(10_000):
        product = builder.append(Mul(values[-1], values[-1]))
        values.append(builder.append(Rescale(product)))
    builder.append(Output(values[-1]))
    lowered = lowest_levels(builder.finish())
    assert input_levels(lowered) == [10_000]


def test_inputs_that_stand_together_are_at_the_highest_of_their_levels() -> None:
    operations = (
        Input("x.0", 5),
        Input("x.1", 5),
        Input("y", 5),
        Mul(0, 0),
        Rescale(3),
        DropLevel(1, 4),
        Add(4, 5),
        Output(6),
    )
    program = SlotProgram("", 4, operations, (None,) * len(operations))
    alone, together = (lowest_levels(program, together=groups) for groups in ((), (2, 1)))
    levels = [
        [e.level for e in each.operations if isinstance(e, Input)] for each in (alone, together)
    ]
    assert levels == [[1, 0, 0], [1, 1, 0]]
    assert sum(isinstance(each, DropLevel) for each in together.operations) == 1

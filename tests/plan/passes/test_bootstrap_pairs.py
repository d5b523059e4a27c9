"""Bootstraps two at a time: of independent values, where it takes less, computing the same."""

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from cloakwork.plan.parameters.bootstrapping import refreshing_for
from cloakwork.plan.passes.bootstrap_pairs import with_pairs
from cloakwork.plan.passes.bootstraps import with_bootstraps
from cloakwork.programs.slots import (
    Add,
    Bootstrap,
    Builder,
    Input,
    Mul,
    Neg,
    Output,
    PairedBootstrap,
    Rescale,
    SlotProgram,
    State,
)
from cloakwork.runtime.costs import modelled_for, total_seconds
from cloakwork.runtime.executor import run
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.schedule import bootstrap_pairs
from cloakwork.schemes.clear_real import ClearBackend, ClearVector
from tests.system.deep_programs import deep_program
from tests.thoroughness import part

REFRESHING = refreshing_for(7, bound=2.0, insecure=True)
SLOTS = REFRESHING.chain.slots
LEAST, LEVEL = REFRESHING.input_level, REFRESHING.output_level
COSTS = modelled_for(REFRESHING.chain).with_bootstrap(REFRESHING)


def singles(program: SlotProgram) -> int:
    return sum(type(each) is Bootstrap for each in program.operations)


def results(program: SlotProgram) -> list[list[float]]:
    inputs = [each for each in program.operations if isinstance(each, Input)]
    rng = np.random.default_rng(1)
    values = [ClearVector(rng.uniform(-0.6, 0.6, SLOTS), each.level) for each in inputs]
    return [each.slots.tolist() for each in run(program, ClearBackend(), values, threads=1)]


def names(program: SlotProgram) -> list[str]:
    return [each.name for each in program.operations if isinstance(each, Input)]


def chains(*bootstraps: int) -> SlotProgram:
    """Values, each refreshed so often, one after the other, and not otherwise changed."""
    builder = Builder("chains", SLOTS)
    for number, count in enumerate(bootstraps):
        value = builder.append(Input(f"x{number}", LEVEL))
        for _ in range(count):
            value = builder.append(Bootstrap(builder.append(Neg(value)), LEAST, LEVEL))
        builder.append(Output(value))
    return builder.finish()


@pytest.mark.parametrize(
    ("counts", "pairs", "left"),
    [
        ((1,), 0, 1),
        ((3,), 0, 3),
        ((1, 1), 1, 0),
        ((2, 3), 2, 1),
        ((1, 2, 3), 2, 2),
        ((2,) * 4, 4, 0),
    ],
)
def test_values_that_come_after_as_many_bootstraps_are_refreshed_together(
    counts: tuple[int, ...], pairs: int, left: int
) -> None:
    program = chains(*counts)
    paired = with_pairs(program, REFRESHING, COSTS)
    assert (len(bootstrap_pairs(paired)), singles(paired)) == (pairs, left)
    assert results(paired) == results(program)
    saved = pairs * (2 * COSTS.bootstrap - COSTS.bootstrap_pair)
    expected = total_seconds(program, COSTS) - saved
    assert total_seconds(paired, COSTS) == pytest.approx(expected)


def random_programs() -> Iterator[SlotProgram]:
    """Deep ones, of values that join, two in one program so that there is something to pair."""
    for seed in range(part(16)):
        rng = random.Random(seed)
        builder = Builder("two", SLOTS)
        ends = []
        for half, source in enumerate(deep_program(2 * seed + each, REFRESHING) for each in (0, 1)):
            new_of: dict[int, int] = {}
            for number, operation in enumerate(source.operations):
                if isinstance(operation, Output):
                    ends.append(new_of[operation.operand])
                    continue
                operands = [new_of[operand] for operand in operation.operands]
                moved = operation.with_operands(operands)
                if isinstance(operation, Input):
                    moved = replace(operation, name=f"{operation.name}.{half}")
                new_of[number] = builder.append(moved)
        rng.shuffle(ends)
        for end in ends:
            builder.append(Output(end))
        yield builder.finish()


@pytest.mark.random
def test_random_programs_compute_the_same_and_take_no_longer() -> None:
    found = 0
    for program in random_programs():
        paired = with_pairs(program, REFRESHING, COSTS)
        assert results(paired) == results(program)
        assert names(paired) == names(program)
        assert total_seconds(paired, COSTS) <= total_seconds(program, COSTS)
        pairs = len(bootstrap_pairs(paired))
        assert singles(paired) + 2 * pairs == singles(program)
        found += pairs
    assert found >= part(17)


def test_where_two_at_once_take_longer_nothing_changes() -> None:
    dear = replace(COSTS, bootstrap_pair=2 * COSTS.bootstrap)
    program = chains(1, 1)
    assert with_pairs(program, REFRESHING, dear) is program


def test_values_that_would_take_too_much_memory_while_they_wait_are_left_alone() -> None:
    """Both values of many are ready early, and the others of their pairs late."""
    builder = Builder("late", SLOTS)
    early = [builder.append(Input(f"x{number}", LEVEL)) for number in range(3)]
    total = early[0]
    for value in early:
        fresh = builder.append(Bootstrap(value, LEAST, LEVEL))
        square = builder.append(Rescale(builder.append(Mul(fresh, fresh))))
        total = square if total == early[0] else builder.append(Add(total, square))
    builder.append(Output(total))
    program = builder.finish()

    def bytes_at(state: State) -> int:
        return REFRESHING.chain.n * 8 * REFRESHING.chain.prime_count(state.level or 0)

    paired = with_pairs(program, REFRESHING, COSTS)
    before, after = (predicted_peak_bytes(each, bytes_at) for each in (program, paired))
    assert after <= before + REFRESHING.key_bytes / 8


def test_pairs_of_placed_bootstraps_have_operands_before_them() -> None:
    """The second of a pair may be computed long after the first was used."""
    builder = Builder("join", SLOTS)
    values = [builder.append(Input(f"x{number}", 30)) for number in range(3)]
    for _ in range(14):
        values = [builder.append(Rescale(builder.append(Mul(each, each)))) for each in values]
    total = builder.append(Add(builder.append(Add(values[0], values[1])), values[2]))
    builder.append(Output(total))
    placed = with_bootstraps(builder.finish(), REFRESHING, COSTS)
    paired = with_pairs(placed, REFRESHING, COSTS)
    assert (len(bootstrap_pairs(paired)), singles(paired)) == (1, singles(placed) - 2)
    assert results(paired) == results(placed)
    for number, operation in enumerate(paired.operations):
        if isinstance(operation, PairedBootstrap):
            assert max(operation.operands) < number

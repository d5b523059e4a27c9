"""Where the modulus is switched, and to which factors."""

from __future__ import annotations

from cloakwork._native import BgvNoiseModel
from cloakwork.plan.circuits.levels import (
    SWITCHINGS,
    Chain,
    Switching,
    levelled,
    lowest_lane_levels,
    switches,
)
from cloakwork.programs.slots import (
    Add,
    DropLevel,
    Input,
    Mul,
    Operation,
    Output,
    Rescale,
    SlotProgram,
    Sub,
)

MODEL = BgvNoiseModel(13, 65537)
LEVEL_BITS = 30
BEFORE = SWITCHINGS[0].before
PLAIN = Switching(BEFORE, canonical=(), early=False)


def program_of(*operations: Operation) -> SlotProgram:
    return SlotProgram("some", 4, operations, (None,) * len(operations), numbers="integer")


def made(program: SlotProgram, switching: Switching) -> list[Operation]:
    asked = switches(program, MODEL, LEVEL_BITS, switching)
    levels = lowest_lane_levels(program, asked, Chain(LEVEL_BITS, 60))
    return list(levelled(program, asked, levels).operations)


FACTOR = program_of(Input("x", 0), Input("y", 0), Mul(0, 1), Mul(1, 2), Output(3))


def test_a_factor_that_only_loses_primes_is_dropped() -> None:
    operations = made(FACTOR, PLAIN)
    assert [type(each) for each in operations if isinstance(each, Rescale | DropLevel)] == [
        DropLevel,
        Rescale,
    ]


def test_a_factor_takes_the_factor_of_its_level_where_that_is_asked_for() -> None:
    operations = made(FACTOR, Switching(BEFORE, canonical=(Mul,), early=False))
    switched = [each for each in operations if isinstance(each, Rescale | DropLevel)]
    assert all(isinstance(each, Rescale) for each in switched)
    assert {type(operations[each.operand]) for each in switched} == {Input, Mul}


# One product, of which two sums are factors.
SUMS = program_of(
    Input("x", 0),
    Input("y", 0),
    Mul(0, 1),
    Add(2, 0),
    Sub(2, 1),
    Mul(3, 4),
    Output(5),
)


def test_what_several_sums_share_is_switched_once() -> None:
    early = Switching(BEFORE, canonical=(), early=True)
    counts = []
    for switching in (PLAIN, early):
        operations = made(SUMS, switching)
        products = [number for number, each in enumerate(operations) if isinstance(each, Mul)]
        rescaled = [each.operand for each in operations if isinstance(each, Rescale)]
        counts.append(len(rescaled))
        assert (products[0] in rescaled) == switching.early
    assert counts == [2, 1]


def test_a_sum_that_is_a_result_is_not_switched_early() -> None:
    program = program_of(*SUMS.operations[:-1], Output(3), Output(5))
    early = Switching(BEFORE, canonical=(), early=True)
    operations = made(program, early)
    product = next(number for number, each in enumerate(operations) if isinstance(each, Mul))
    [first] = [number for number, each in enumerate(operations) if isinstance(each, Add)]
    assert operations[first].operands == (product, 0)

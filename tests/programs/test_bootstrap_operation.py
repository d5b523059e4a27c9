"""The operation that refreshes: when it is legal, and how it comes back from text and files."""

import numpy as np
import pytest

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.records import read_slots, slots_record
from cloakwork.programs.slots import (
    Bootstrap,
    BootstrapOfCoefficients,
    Input,
    Mul,
    Output,
    PairedBootstrap,
    SlotProgram,
    State,
)
from cloakwork.programs.text import from_text, to_text
from tests.programs.random_programs import facts
from tests.programs.test_records import fields_of


def refreshed(level: int, bootstrap: Bootstrap) -> SlotProgram:
    operations = (Input("x", level), bootstrap, Output(1))
    return SlotProgram("fresh", 4, operations, (None,) * 3)


def test_the_value_stands_at_the_level_of_the_parameters() -> None:
    program = refreshed(4, Bootstrap(0, 3, 13))
    assert program.states[1] == State(13)
    assert program.line(1) == "%1 = bootstrap %0 to 13"


@pytest.mark.parametrize(
    ("level", "bootstrap", "reason"),
    [
        (2, Bootstrap(0, 3, 13), "it takes 3 level"),
        (9, Bootstrap(0, 3, 3), "from 3 to 3"),
        (9, Bootstrap(0, -1, 3), "from -1 to 3"),
        (9, Bootstrap(0, 3, 10**7), "above"),
        (9, Bootstrap(0, 3, True), "not an integer"),
    ],
)
def test_levels_that_do_not_fit(level: int, bootstrap: Bootstrap, reason: str) -> None:
    with pytest.raises(InvalidProgramError, match=reason):
        refreshed(level, bootstrap)


def test_a_product_is_rescaled_first_and_integers_are_not_refreshed() -> None:
    with pytest.raises(InvalidProgramError, match="not rescaled"):
        SlotProgram("", 4, (Input("x", 4), Mul(0, 0), Bootstrap(1, 3, 13)), (None,) * 3)
    operations = (Input("x", 4), Bootstrap(0, 3, 13))
    with pytest.raises(InvalidProgramError, match="programs over integers have none"):
        SlotProgram("", 4, operations, (None,) * 2, numbers="integer")


def test_text_and_records_come_back() -> None:
    program = refreshed(4, Bootstrap(0, 3, 13))
    assert "%1 = bootstrap %0 from 3 to 13" in to_text(program)
    assert facts(from_text(to_text(program))) == facts(program)
    again = read_slots(fields_of(slots_record(program))).operations[1]
    assert isinstance(again, Bootstrap)
    assert (again.operand, again.least, again.level) == (0, 3, 13)


def paired(levels: tuple[int, int], *bootstraps: Bootstrap) -> SlotProgram:
    inputs = (Input(name, level) for name, level in zip("xy", levels, strict=True))
    operations = (*inputs, *bootstraps, Output(2))
    return SlotProgram("pair", 4, operations, (None,) * len(operations))


def test_two_values_of_any_levels_are_refreshed_at_once() -> None:
    program = paired((3, 9), PairedBootstrap(0, 3, 13, 1), PairedBootstrap(1, 3, 13, 0))
    assert program.states[2:4] == (State(13), State(13))
    assert program.line(2) == "%2 = paired_bootstrap %0 %1 to 13"


@pytest.mark.parametrize(
    ("levels", "bootstrap", "reason"),
    [
        ((2, 9), PairedBootstrap(0, 3, 13, 1), "it takes 3 level"),
        ((9, 2), PairedBootstrap(0, 3, 13, 1), "it takes 3 level"),
        ((9, 9), PairedBootstrap(0, 3, 3, 1), "from 3 to 3"),
        ((9, 9), PairedBootstrap(0, 3, 13, 2), "comes later"),
    ],
)
def test_pairs_that_do_not_fit(
    levels: tuple[int, int], bootstrap: PairedBootstrap, reason: str
) -> None:
    with pytest.raises(InvalidProgramError, match=reason):
        paired(levels, bootstrap)


def test_text_and_records_of_pairs_come_back() -> None:
    program = paired((4, 4), PairedBootstrap(0, 3, 13, 1), PairedBootstrap(1, 3, 13, 0))
    assert "%2 = paired_bootstrap %0 %1 from 3 to 13" in to_text(program)
    assert facts(from_text(to_text(program))) == facts(program)
    again = read_slots(fields_of(slots_record(program))).operations[3]
    assert isinstance(again, PairedBootstrap)
    assert (again.operand, again.least, again.level, again.other) == (1, 3, 13, 0)


def test_coefficients_come_back_from_text_and_records() -> None:
    program = refreshed(1, BootstrapOfCoefficients(0, 0, 13))
    assert "%1 = bootstrap_of_coefficients %0 from 0 to 13" in to_text(program)
    assert facts(from_text(to_text(program))) == facts(program)
    again = read_slots(fields_of(slots_record(program))).operations[1]
    assert isinstance(again, BootstrapOfCoefficients)
    assert (again.operand, again.least, again.level) == (0, 0, 13)


def test_coefficients_are_bounded_by_the_mean_of_the_squares_of_slots() -> None:
    made = BootstrapOfCoefficients(0, 0, 13).bound([np.full(64, 16.0)])
    assert made.tolist() == [2.0] * 64

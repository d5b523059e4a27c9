"""What operations take by the model on this machine."""

from __future__ import annotations

import numpy as np
import pytest

from cloakwork._native import Parameters
from cloakwork.explain.modelled import costs_here, seconds_with_kept
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.patterns import Patterns
from cloakwork.programs.slots import Input, Linear, Output, Rescale, SlotProgram
from cloakwork.runtime.costs import modelled_for


def share_of_rotations(digits: int, level: int) -> float:
    """How much of what is counted a rotation takes, beside an addition."""
    parameters = Parameters(levels=8, log_n=11, digits=digits, insecure=True)
    here, counted = costs_here(parameters).at(level), modelled_for(parameters).at(level)
    return (here.rotation / here.addition) / (counted.rotation / counted.addition)


def test_a_key_switch_takes_longer_with_more_digits() -> None:
    few, many = share_of_rotations(3, 8), share_of_rotations(8, 8)
    assert share_of_rotations(1, 8) == pytest.approx(few)
    assert many > 1.9 * few


def test_at_lower_levels_there_are_fewer_of_them() -> None:
    assert share_of_rotations(8, 0) == pytest.approx(share_of_rotations(1, 0))
    assert share_of_rotations(8, 0) < share_of_rotations(8, 5) < share_of_rotations(8, 8)


def test_diagonals_that_repeat_themselves_are_encoded_sooner() -> None:
    parameters = Parameters(levels=1, log_n=11, insecure=True)
    costs, slots = modelled_for(parameters), parameters.slots
    found: dict[bool, list[float]] = {False: [], True: []}
    for times in (1, 2, 4, 8):
        period = slots // times
        numbers, targets = np.divmod(np.arange(8 * period), period)
        copies = np.arange(0, slots, period)
        diagonals = SparseDiagonals.repeated(
            slots, numbers, targets, np.ones(8 * period), Patterns(copies)
        )
        operations = (Input("x", 1), Linear(0, diagonals, 4), Rescale(1), Output(2))
        program = SlotProgram("", slots, operations, (None,) * 4)
        for is_kept, seconds in found.items():
            kept = [1] if is_kept else []
            seconds.append(seconds_with_kept(program, parameters, costs, kept)[1])
    assert len(set(found[True])) == 1
    # What each time adds halves with the length of what is encoded.
    saved = -np.diff(found[False])
    assert saved[0] == pytest.approx(2 * saved[1]) == pytest.approx(4 * saved[2])
    assert min(found[False]) > found[True][0]


def test_diagonals_take_longer_from_memory_than_from_a_cache() -> None:
    seconds: list[float] = []
    for log_n in (15, 16):
        parameters = Parameters(levels=1, log_n=log_n, insecure=True)
        slots = parameters.slots
        diagonals = {number: np.ones(slots) for number in range(64)}
        operations = (Input("x", 1), Linear(0, diagonals, 8), Rescale(1), Output(2))
        program = SlotProgram("", slots, operations, (None,) * 4)
        # Costs are counted in transforms, of which both rings take as many.
        costs = modelled_for(parameters)
        seconds.append(seconds_with_kept(program, parameters, costs, [1])[1])
    from_cache, from_memory = seconds
    assert from_memory > 1.1 * from_cache

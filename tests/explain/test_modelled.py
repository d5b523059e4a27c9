"""What operations take by the model on this machine."""

from __future__ import annotations

import pytest

from cloakwork._native import Parameters
from cloakwork.explain.modelled import costs_here
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

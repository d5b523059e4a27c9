"""Prices by which plans are chosen: in rotations, in transforms, and comparable across rings."""

from __future__ import annotations

from cloakwork._native import Parameters
from cloakwork.plan.cost.bgv import Limbs, counted_costs, expected_limbs
from cloakwork.plan.cost.price import price
from cloakwork.programs.slots import Input, Rotate
from cloakwork.runtime.costs import comparable, modelled_for


def test_rotations_of_one_value_share_its_decomposition() -> None:
    assert price([Input("x", 1), Rotate(0, 1), Rotate(0, 2), Rotate(1, 1)], 8, 1) == 2.5


def test_digits_are_as_few_as_the_modulus_allows() -> None:
    assert expected_limbs(58, 30, 0, 106) == Limbs((2,), digit=1, special=2)
    assert expected_limbs(64, 30, 0, 106) == Limbs((3,), digit=1, special=1)


def test_more_limbs_and_first_rotations_cost_more() -> None:
    costs = counted_costs(Limbs((2, 3), digit=1, special=1), log_n=14)
    assert costs.at(0).rotation < costs.at(1).rotation
    assert costs.at(0).hoisted_rotation < costs.at(0).rotation / 1.5


def test_costs_of_rings_are_compared_in_one_unit() -> None:
    small, large = (Parameters(levels=1, log_n=n, insecure=True) for n in (10, 11))
    assert comparable(small).at(1).rotation < comparable(large).at(1).rotation
    assert modelled_for(small).at(1).rotation == 10 * small.key_prime_count

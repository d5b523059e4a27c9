"""The memory of values: predicted and measured."""

import numpy as np
from hypothesis import given, settings

from cloakwork._native import Parameters
from cloakwork.programs.slots import (
    Add,
    Constant,
    DropLevel,
    Input,
    Mul,
    Neg,
    Operation,
    Output,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
    State,
    SwitchProduct,
)
from cloakwork.runtime.executor import run
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.profile import Profile
from cloakwork.schemes.ckks import CkksBackend
from tests.runtime.slot_programs import programs
from tests.schemes.ckks_secret import CkksSecret

PARAMETERS = Parameters(levels=2, log_n=8, insecure=True)
KEY = CkksSecret(PARAMETERS)
BACKEND = CkksBackend(PARAMETERS, KEY.evaluation_keys(2, dict.fromkeys(range(1, 4), 2)))
X = [
    KEY.encrypt(np.full(PARAMETERS.slots, 0.5), bound=1.0, level=PARAMETERS.levels)
    for _ in range(2)
]


def peak(*operations: Operation) -> int:
    program = SlotProgram("", 8, operations, (None,) * len(operations))
    return predicted_peak_bytes(program, lambda state: 100 * (1 + (state.level or 0)))


def test_values_die_at_their_last_use() -> None:
    assert peak(Input("x", 0), Neg(0), Neg(1), Neg(2), Output(3)) == 300
    assert peak(Input("x", 0), Neg(0), Neg(1), Add(0, 2), Output(3)) == 300
    assert peak(Input("x", 0), Neg(0), Neg(1), Neg(2), Output(1), Output(3)) == 400


def test_inputs_are_held_to_the_end() -> None:
    assert peak(Input("x", 0), Input("y", 0), Neg(0), Output(2)) == 300


def test_values_without_a_use_die_at_once() -> None:
    assert peak(Input("x", 0), Input("y", 0), Neg(0), Neg(0), Neg(0)) == 300


def test_constants_and_outputs_take_nothing() -> None:
    assert peak(Input("x", 0), Constant(np.ones(8)), Add(0, 1), Output(2), Output(2)) == 200


def test_lower_levels_take_less() -> None:
    assert peak(Input("x", 1), DropLevel(0, 0), Neg(1), Neg(2), Output(3)) == 400


def test_rotations_made_together_live_together() -> None:
    sums = Add(1, 2), Add(3, 4)
    assert peak(Input("x", 0), Rotate(0, 1), Rotate(0, 2), Rotate(0, 3), *sums) == 500
    assert peak(Input("x", 0), Rotate(0, 1), Rotate(1, 2), Rotate(2, 3)) == 300


def test_a_product_and_what_it_is_rescaled_to_are_one_value() -> None:
    products = RotatedProducts((0,), (0,), 4)
    pairs = SwitchProduct(1, 0), Rescale(2), SwitchProduct(1, 4), Rescale(4)
    # Four polynomials for each of two rotations; results are at the level below.
    assert peak(Input("x", 1), products, *pairs, Add(3, 5), Output(6)) == 200 + 800 + 100 + 200


def test_a_product_that_waits_for_relinearisation_is_half_as_large_again() -> None:
    assert peak(Input("x", 1), Mul(0, 0), Rescale(1), Output(2)) == 200 + 300 + 100
    assert peak(Input("x", 1), Constant(np.ones(8)), Mul(0, 1), Rescale(2)) == 200 + 200 + 100


def test_the_bytes_of_every_level() -> None:
    for level in range(PARAMETERS.levels + 1):
        value = BACKEND.drop_level(X[0], level) if level < PARAMETERS.levels else X[0]
        assert KEY.scheme.bytes_at(State(level)) == value.nbytes


@settings(max_examples=40, deadline=None)
@given(programs(slots=PARAMETERS.slots, level=2))
def test_the_prediction_is_what_ciphertexts_take(program: SlotProgram) -> None:
    profile = Profile()
    run(program, BACKEND, X, threads=1, profile=profile)
    assert profile.peak_bytes == predicted_peak_bytes(program, KEY.scheme.bytes_at)

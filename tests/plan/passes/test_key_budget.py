"""Programs fitted to the keys that there is room for."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork._native import Parameters
from cloakwork.errors import InvalidArgumentError, KeyBudgetError
from cloakwork.plan.passes.key_budget import powers_of_two_only, within_key_budget
from cloakwork.plan.passes.rotation_paths import powers_of_two
from cloakwork.plan.tensors.placed import sum_steps
from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.keys import required_keys
from cloakwork.programs.layout import Axis
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Output,
    Rescale,
    Rotate,
    SlotProgram,
    Sub,
)
from cloakwork.runtime.executor import run
from cloakwork.schemes.ckks import CkksBackend
from cloakwork.schemes.clear_real import ClearBackend, ClearVector
from tests.schemes.ckks_secret import CkksSecret
from tests.thoroughness import part

SLOTS = 64
TOP = 3
RNG = np.random.default_rng(5)


def key_bytes_at(level: int) -> int:
    return 100 + 40 * level


def key_bytes(program: SlotProgram) -> int:
    return required_keys(program).nbytes(key_bytes_at)


def rotations(program: SlotProgram) -> int:
    return sum(isinstance(operation, Rotate) for operation in program.operations)


def linears(program: SlotProgram) -> int:
    return sum(isinstance(operation, Linear) for operation in program.operations)


def outputs(program: SlotProgram) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    vectors = np.random.default_rng(1).uniform(-1, 1, (2, program.slots))
    wanted = sum(isinstance(operation, Input) for operation in program.operations)
    values = [ClearVector(vector, TOP) for vector in vectors[:wanted]]
    return [value.slots for value in run(program, ClearBackend(), values)]


def assert_same(found: SlotProgram, expected: SlotProgram) -> None:
    for left, right in zip(outputs(found), outputs(expected), strict=True):
        assert np.abs(left - right).max() < 1e-9 * max(1.0, np.abs(right).max())


def linear(diagonals: Sequence[int], slots: int) -> SlotProgram:
    builder = Builder("linear", slots)
    x = builder.append(Input("x", TOP))
    vectors = {number: RNG.uniform(-1, 1, slots) for number in diagonals}
    width = cheapest_split(vectors, slots).baby_steps
    product = builder.append(Linear(x, vectors, width))
    builder.append(Output(builder.append(Rescale(product))))
    return builder.finish()


@st.composite
def programs(draw: st.DrawFn) -> SlotProgram:
    """Chains of rotations, transforms, products and sums of two inputs."""
    builder = Builder("any", SLOTS)
    values = [builder.append(Input(name, TOP)) for name in "xy"]
    seed = draw(st.integers(0, 99))
    vectors = np.random.default_rng(seed)
    for _ in range(draw(st.integers(1, 8))):
        value = draw(st.sampled_from(values))
        level = builder.level(value)
        kind = draw(st.sampled_from(["rotate", "linear", "mul", "add", "waiting", "constant"]))
        if kind == "rotate" or level == 0:
            value = builder.append(Rotate(value, draw(st.integers(1, SLOTS - 1))))
        elif kind == "linear":
            numbers = draw(st.sets(st.integers(0, SLOTS - 1), min_size=1, max_size=12))
            diagonals = {number: vectors.uniform(-1, 1, SLOTS) for number in numbers}
            width = draw(st.integers(1, SLOTS))
            value = builder.append(Rescale(builder.append(Linear(value, diagonals, width))))
        elif kind == "mul":
            value = builder.append(Rescale(builder.append(Mul(value, value))))
        elif kind == "waiting":
            turned = builder.append(Rotate(builder.append(Mul(value, value)), 5))
            value = builder.append(Rescale(turned))
        elif kind == "constant":
            clear = builder.append(Constant(vectors.uniform(-1, 1, SLOTS)))
            value = builder.append(Sub(clear, builder.append(Neg(value))))
        else:
            lowered = builder.append(DropLevel(value, level - 1))
            value = builder.append(Add(lowered, lowered))
        values.append(value)
    for value in values[-3:]:
        builder.append(Output(value))
    return builder.finish()


@settings(max_examples=part(60), deadline=None)
@given(programs(), st.floats(0, 1.1))
def test_the_outputs_stay_and_the_keys_fit(program: SlotProgram, share: float) -> None:
    budget = int(share * key_bytes(program))
    try:
        fitted = within_key_budget(program, key_bytes_at, budget)
    except KeyBudgetError as error:
        allowed = re.search(r"allow (\d+) bytes", str(error))
        assert allowed is not None
        smallest = int(allowed[1])
        assert smallest > budget
        fitted, budget = within_key_budget(program, key_bytes_at, smallest), smallest
        with pytest.raises(KeyBudgetError):
            within_key_budget(program, key_bytes_at, smallest - 1)
    assert key_bytes(fitted) <= budget
    assert_same(fitted, program)


@settings(max_examples=40, deadline=None)
@given(programs())
def test_powers_of_two_are_all_that_is_left(program: SlotProgram) -> None:
    fitted = powers_of_two_only(program)
    assert set(required_keys(fitted).rotations) <= set(powers_of_two(SLOTS))
    assert_same(fitted, program)


def test_without_a_limit_the_program_stays() -> None:
    program = linear(range(20), SLOTS)
    assert within_key_budget(program, key_bytes_at, None) is program
    assert within_key_budget(program, key_bytes_at, key_bytes(program)) is program


@pytest.mark.parametrize("budget", [-1, True, 2.5])
def test_other_budgets_are_refused(budget: int) -> None:
    with pytest.raises(InvalidArgumentError, match="budget"):
        within_key_budget(linear([1], SLOTS), key_bytes_at, budget)


def test_the_relinearisation_key_counts() -> None:
    builder = Builder("square", SLOTS)
    x = builder.append(Input("x", TOP))
    builder.append(Output(builder.append(Rescale(builder.append(Mul(x, x))))))
    program = builder.finish()
    with pytest.raises(KeyBudgetError, match=f"allow {key_bytes_at(TOP)} bytes or more"):
        within_key_budget(program, key_bytes_at, key_bytes_at(TOP) - 1)


# The rotations are those of the best split: 15 + 7, 15 + 15, 7 + 8.
@pytest.mark.parametrize(
    ("diagonals", "count"),
    [
        (range(127), 22),
        (range(256), 30),
        ([-d % 4096 for d in range(64)], 15),
        ([d % 4096 for d in range(-63, 64)], 22),
    ],
    ids=["127", "256", "64 to the right", "63 to either side"],
)
def test_powers_of_two_cost_a_regular_transform_no_further_rotation(
    diagonals: Sequence[int], count: int
) -> None:
    program = linear(diagonals, 4096)
    fitted = powers_of_two_only(program)
    assert (rotations(fitted), linears(fitted)) == (count, 0)
    assert len(required_keys(fitted).rotations) <= 3
    assert_same(fitted, program)


def test_two_keys_carry_127_diagonals() -> None:
    program = linear(range(127), 4096)
    fitted = within_key_budget(program, key_bytes_at, 2 * key_bytes_at(TOP))
    assert required_keys(fitted).rotations == {1: TOP, 16: TOP}
    assert rotations(fitted) == 22


def test_diagonals_far_apart_are_carried_by_their_spacings() -> None:
    program = linear(range(0, 12700, 127), 16384)
    assert rotations(powers_of_two_only(program)) <= 53
    fitted = within_key_budget(program, key_bytes_at, 4 * key_bytes_at(TOP))
    assert rotations(fitted) <= 21


def test_more_room_turns_a_chain_of_baby_steps_into_hoisted_rotations() -> None:
    program = linear(range(127), 4096)
    fitted = within_key_budget(program, key_bytes_at, 16 * key_bytes_at(TOP))
    x = next(n for n, op in enumerate(fitted.operations) if isinstance(op, Input))
    of_the_input = [
        operation
        for operation in fitted.operations
        if isinstance(operation, Rotate) and operation.operand == x
    ]
    assert len(of_the_input) == 15
    assert rotations(fitted) == 22


def test_a_transform_stays_where_its_keys_fit_beside_one_that_does_not() -> None:
    builder = Builder("two", 1024)
    x = builder.append(Input("x", TOP))
    for count in (6, 200):
        diagonals = {number: RNG.uniform(-1, 1, 1024) for number in range(count)}
        width = cheapest_split(diagonals, 1024).baby_steps
        x = builder.append(Rescale(builder.append(Linear(x, diagonals, width))))
    builder.append(Output(x))
    program = builder.finish()
    fitted = within_key_budget(program, key_bytes_at, 8 * key_bytes_at(TOP))
    assert linears(fitted) == 1
    assert_same(fitted, program)


def test_logarithmic_sums_stay_as_they_are() -> None:
    builder = Builder("sum", 1024)
    x = builder.append(Input("x", TOP))
    for step in sum_steps(Axis(256, 2)):
        x = builder.append(Add(x, builder.append(Rotate(x, step.rotation))))
    builder.append(Output(x))
    program = builder.finish()
    fitted = powers_of_two_only(program)
    assert rotations(fitted) == rotations(program) == 8
    assert required_keys(fitted) == required_keys(program)


def test_the_key_that_saves_most_is_kept() -> None:
    # Powers of two are there in any case; by them 85 takes four rotations and 3 takes two.
    builder = Builder("turns", 256)
    x = builder.append(Input("x", TOP))
    turns = [85, 3, 1, 2, 4, 8, 16, 32, 64]
    for steps in turns:
        x = builder.append(Rotate(x, steps))
    builder.append(Output(x))
    program = builder.finish()
    for keys, count in ((9, 9), (8, 10), (7, 13)):
        fitted = within_key_budget(program, key_bytes_at, keys * key_bytes_at(TOP))
        assert rotations(fitted) == count
        assert_same(fitted, program)


def test_a_spacing_needed_low_down_takes_no_power_from_above() -> None:
    builder = Builder("high and low", SLOTS)
    x = builder.append(Rotate(builder.append(Input("x", TOP)), 1))
    x = builder.append(Rotate(x, SLOTS - 1))
    low = builder.append(DropLevel(x, 1))
    vectors = {number: RNG.uniform(-1, 1, SLOTS) for number in range(49)}
    builder.append(Output(builder.append(Rescale(builder.append(Linear(low, vectors, 7))))))
    program = builder.finish()
    fitted = within_key_budget(program, key_bytes_at, 4 * key_bytes_at(TOP))
    assert key_bytes(fitted) <= 4 * key_bytes_at(TOP)
    assert_same(fitted, program)


@pytest.mark.parametrize(
    ("diagonals", "width", "keys"),
    [
        ([0, 4, 6, 16, 22, 26, 40, 50, 52, 54], 20, 5),
        ([0, 10, 12, 30, 44, 58], 10, 6),
        ([0, 6, 12, 32, 34, 36, 38, 40, 50, 62], 10, 4),
    ],
)
def test_a_split_that_the_keys_held_cannot_make_is_no_choice(
    diagonals: Sequence[int], width: int, keys: int
) -> None:
    # Even diagonals do with even keys, and of the splits some have odd baby steps.
    builder = Builder("even", SLOTS)
    x = builder.append(Input("x", TOP))
    vectors = {number: RNG.uniform(-1, 1, SLOTS) for number in diagonals}
    builder.append(Output(builder.append(Rescale(builder.append(Linear(x, vectors, width))))))
    program = builder.finish()
    fitted = within_key_budget(program, key_bytes_at, keys * key_bytes_at(TOP))
    assert key_bytes(fitted) <= keys * key_bytes_at(TOP)
    assert_same(fitted, program)


def test_a_program_keeps_the_lines_that_it_comes_from_and_its_stages() -> None:
    builder = Builder("traced", SLOTS)
    x = builder.append(Input("x", TOP))
    builder.origin, builder.stage = "line 7", "shift"
    builder.append(Output(builder.append(Rotate(x, 11))))
    fitted = powers_of_two_only(builder.finish())
    assert fitted.origins == ("", "line 7", "line 7", "line 7", "line 7")
    assert fitted.stages == ("", "shift", "shift", "shift", "shift")


def test_ciphertexts_agree() -> None:
    parameters = Parameters(levels=TOP, scale_bits=42, log_n=10, insecure=True)
    program = powers_of_two_only(linear(range(0, 40, 3), parameters.slots))
    key = CkksSecret(parameters)
    demand = required_keys(program)
    keys = key.evaluation_keys(demand.relinearisation_level, demand.rotations)
    vector = np.random.default_rng(1).uniform(-1, 1, (2, parameters.slots))[0]
    encrypted = key.encrypt(vector, bound=1.0, level=TOP)
    (found,) = run(program, CkksBackend(parameters, keys), [encrypted])
    assert np.abs(key.decrypt(found) - outputs(program)[0]).max() < 1e-5

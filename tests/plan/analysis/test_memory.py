"""What an evaluator's process is predicted to take."""

from dataclasses import replace

import numpy as np
import pytest

from cloakwork._native import BootstrappingParameters, Parameters
from cloakwork.plan.analysis.memory import process_memory
from cloakwork.programs.bsgs import split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.keys import required_keys
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Bootstrap,
    Builder,
    Input,
    Linear,
    Mul,
    Output,
    Rescale,
    SlotProgram,
)
from cloakwork.runtime.held_memory import matrix_memory
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.numbers import engine_bytes
from cloakwork.schemes.encoded_cache import ciphertext_bytes, transform_bytes

PARAMETERS = Parameters(levels=3, log_n=10, insecure=True)
SLOTS = PARAMETERS.slots
REFRESHING = Refreshing(BootstrappingParameters(8, insecure=True))


def encoded(parameters: Parameters, diagonals: int, level: int) -> int:
    """Bytes of a transform of `program`, encoded."""
    vectors = {d: d + np.arange(float(parameters.slots)) for d in range(diagonals)}
    return transform_bytes(parameters, vectors, split(vectors, parameters.slots, 4), level, 1)


def program(*diagonals: int) -> SlotProgram:
    """Transforms of so many diagonals one after another, each of other numbers."""
    builder = Builder("transforms", SLOTS)
    value = builder.append(Input("x", PARAMETERS.levels))
    for number, count in enumerate(diagonals):
        vectors = {d: np.arange(float(SLOTS)) + d + 100.0 * number for d in range(count)}
        value = builder.append(Rescale(builder.append(Linear(value, vectors, 4))))
    builder.append(Output(value))
    return builder.finish()


def test_counts_layers_that_fit_what_is_kept() -> None:
    made = program(16, 8)
    first, second = encoded(PARAMETERS, 16, 3), encoded(PARAMETERS, 8, 2)
    kept = {
        budget: process_memory(made, PARAMETERS, budget).layers
        for budget in (0, first - 1, first, first + second - 1, first + second)
    }
    assert list(kept.values()) == [0, second, first, first, first + second]


def test_counts_equal_diagonals_once() -> None:
    vector = np.ones(SLOTS)
    builder = Builder("equal", SLOTS)
    value = builder.append(Input("x", 1))
    value = builder.append(Linear(value, {0: vector, 1: vector.copy(), 2: 2 * vector}, 4))
    value = builder.append(Rescale(value))
    builder.append(Output(value))
    assert process_memory(builder.finish(), PARAMETERS, 0).numbers == 2 * 8 * SLOTS


def test_work_grows_by_two_polynomials_for_each_step() -> None:
    # Baby steps 0 to 3, 4 diagonals for each giant step; so many need no limbs for key switching.
    few, many = (process_memory(program(count), PARAMETERS, 10**9) for count in (32, 36))
    numbers = engine_bytes({d: np.ones(SLOTS) for d in range(4)}, SLOTS)
    polynomials = 2 * 4 * PARAMETERS.n * PARAMETERS.prime_count(3)
    assert many.workspace - few.workspace == polynomials + numbers


def test_equal_weights_of_sparse_diagonals_are_held_once() -> None:
    sources, targets = np.divmod(np.arange(64 * 64), 64)
    sparse = SparseDiagonals(SLOTS, sources, targets, 0.5 + np.arange(4096.0) % 3)
    builder = Builder("sparse", SLOTS)
    value = builder.append(Linear(builder.append(Input("x", 1)), sparse, 8))
    builder.append(Output(builder.append(Rescale(value))))
    memory = process_memory(builder.finish(), PARAMETERS, 0)
    assert memory.numbers == sparse.nbytes + sparse.patterns.nbytes < 5 * 4096


@pytest.mark.parametrize("squares", [0, 1])
def test_keys_are_those_of_the_program(squares: int) -> None:
    builder = Builder("squares", SLOTS)
    value = builder.append(Input("x", 2))
    for _ in range(squares):
        value = builder.append(Rescale(builder.append(Mul(value, value))))
    builder.append(Output(value))
    made = process_memory(builder.finish(), PARAMETERS, 0)
    assert made.keys == squares * PARAMETERS.evaluation_key_bytes(2)
    assert made.total == sum((made.interpreter, made.keys, made.numbers, made.workspace))


def bootstrapped() -> SlotProgram:
    """A bootstrap between two transforms."""
    levels = REFRESHING.input_level, REFRESHING.output_level
    slots = REFRESHING.chain.slots
    builder = Builder("refreshed", slots)
    value = builder.append(Input("x", levels[0] + 1))
    vectors = {d: 1.0 + d + np.arange(float(slots)) for d in range(8)}
    value = builder.append(Rescale(builder.append(Linear(value, vectors, 4))))
    value = builder.append(Bootstrap(value, *levels))
    value = builder.append(Rescale(builder.append(Linear(value, vectors, 4))))
    builder.append(Output(value))
    return builder.finish()


def test_bootstraps_come_first_among_what_is_kept() -> None:
    made, chain = bootstrapped(), REFRESHING.chain
    circuit = REFRESHING.encoded_bytes
    first = encoded(chain, 8, REFRESHING.input_level + 1)
    second = encoded(chain, 8, REFRESHING.output_level)
    kept = {
        budget: process_memory(made, chain, budget, REFRESHING).layers
        for budget in (0, circuit - 1, circuit, circuit + first, circuit + first + second)
    }
    below = first + second if first + second < circuit else first
    assert list(kept.values()) == [0, below, circuit, circuit + first, circuit + first + second]


def test_keys_and_numbers_of_bootstraps_count() -> None:
    made, chain = bootstrapped(), REFRESHING.chain
    memory = process_memory(made, chain, 0, REFRESHING)
    needed = required_keys(made).joined(REFRESHING.keys)
    assert memory.keys == needed.nbytes(chain.evaluation_key_bytes) + chain.encapsulation_key_bytes
    assert memory.numbers == 8 * 8 * chain.slots + REFRESHING.circuit.nbytes
    # What a bootstrap works in counts, whatever its diagonals.
    assert memory.workspace > process_memory(made, chain, 0).workspace


def test_a_limit_leaves_less_to_layers_and_then_to_keys() -> None:
    made = program(16, 8)
    whole = process_memory(made, PARAMETERS, 10**9)
    held = matrix_memory(made, PARAMETERS)
    values = predicted_peak_bytes(
        made, lambda state: ciphertext_bytes(PARAMETERS, state.level or 0)
    )
    plenty = process_memory(made, PARAMETERS, 10**9, limit=held.most + values + whole.layers)
    assert plenty == whole
    tight = process_memory(made, PARAMETERS, 10**9, limit=held.most + values)
    streamed = process_memory(made, PARAMETERS, 0)
    assert tight == streamed
    assert tight == replace(whole, layers=0, workspace=streamed.workspace)
    # Diagonals that are encoded for a giant step, and polynomials on their way side by side.
    assert streamed.workspace > whole.workspace
    least = process_memory(made, PARAMETERS, 10**9, limit=held.least + values)
    assert least.keys == whole.keys - held.uniform
    assert least.layers == 0
    assert least.workspace <= whole.workspace

"""Weighted sums: what they compute, what they cost, and what is not legal."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork._native import Parameters
from cloakwork.base.record import Fields
from cloakwork.errors import InvalidProgramError, MalformedBytesError
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.keys import required_keys
from cloakwork.programs.records import read_slots, slots_record
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    Input,
    Mul,
    Operation,
    Output,
    SlotProgram,
    TakeSum,
    WeightedSums,
)
from cloakwork.programs.text import from_text, to_text
from cloakwork.runtime.costs import modelled_for, total_seconds
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.simulate import results

SLOTS = 8


def program_of(weights: Any, offsets: Any) -> SlotProgram:
    """All sums of as many inputs as there are weights for each."""
    builder = Builder("sums", SLOTS)
    terms = [builder.append(Input(str(number), 2)) for number in range(weights.shape[1])]
    sums = builder.append(WeightedSums(tuple(terms), weights, offsets))
    taken = [builder.append(TakeSum(sums, number)) for number in range(len(offsets))]
    for value in taken:
        builder.append(Output(value))
    return builder.finish()


def arrays(sums: int, terms: int, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, (sums, terms)), random.uniform(-1, 1, sums)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32))
def test_sums_are_products_with_a_matrix(sums: int, terms: int, seed: int) -> None:
    weights, offsets = arrays(sums, terms, seed)
    program = program_of(weights, offsets)
    vectors = np.random.default_rng(seed + 1).uniform(-1, 1, (terms, SLOTS))
    expected = weights @ vectors + offsets[:, np.newaxis]
    np.testing.assert_allclose(results(program, list(vectors)), expected, atol=1e-12)
    bounds = value_bounds(program, [np.abs(vector) for vector in vectors])
    # What bounds the sums is of no single vector.
    assert bounds[terms] is None
    reached = np.abs(weights) @ np.abs(vectors) + np.abs(offsets)[:, np.newaxis]
    found = np.array(bounds[terms + 1 : terms + 1 + sums], dtype=np.float64)
    np.testing.assert_allclose(found, reached.max(axis=1))


def test_they_take_a_level_and_no_key_and_count_what_they_do() -> None:
    program = program_of(*arrays(3, 4))
    sums, first = 4, 5
    assert (program.states[sums].level, program.states[sums].sums) == (1, 3)
    assert (program.states[first].level, program.states[first].sums) == (1, 0)
    needed = required_keys(program)
    assert (needed.relinearisation_level, dict(needed.rotations)) == (None, {})
    context = program.context(sums)
    assert program.operations[sums].counts(context) == {"weighted term": 12, "rescale": 3}
    # Four inputs at level 2, beside them three sums at level 1, then those taken.
    peak = predicted_peak_bytes(program, lambda state: 10 * (1 + (state.level or 0)))
    assert peak == 4 * 30 + (3 + 3) * 20
    costs = modelled_for(Parameters(levels=2, log_n=10, insecure=True))
    more = program_of(*arrays(6, 4))
    assert total_seconds(program, costs) < total_seconds(more, costs)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (WeightedSums((0, 0), *arrays(1, 3)), "weights of 1 sums of 2 vectors"),
        (WeightedSums((0,), np.ones((2, 1)), np.ones(1)), "weights of 1 sums"),
        (WeightedSums((), np.ones((1, 0)), np.ones(1)), "of 0 vectors"),
        (WeightedSums((0,), np.ones((0, 1)), np.ones(0)), "of 0 sums"),
        (WeightedSums((0,), np.ones(1), np.ones(1)), "expected 2 axes, got 1"),
        (WeightedSums((0,), np.ones((1, 1), dtype=np.float32), np.ones(1)), "float32"),
        (WeightedSums((0,), np.full((1, 1), np.nan), np.ones(1)), "not finite"),
        (WeightedSums((0,), np.ones((1, 1)), np.full(1, np.inf)), "not finite"),
        (WeightedSums((0, 1), *arrays(1, 2)), "not at one level"),
        (WeightedSums((2,), *arrays(1, 1)), "constant"),
        (WeightedSums((3,), *arrays(1, 1)), "takes 1 level"),
        (WeightedSums((5,), *arrays(1, 1)), "not rescaled"),
        (TakeSum(0, 0), "a vector, not weighted sums"),
        (TakeSum(4, 2), "no sum 2, of 2"),
        (TakeSum(4, -1), "no sum -1"),
        (TakeSum(4, 1.0), "not an integer"),  # type: ignore[arg-type]
        (Add(4, 4), "take one of them by take_sum"),
        (Output(4), "take one of them by take_sum"),
    ],
)
def test_what_is_not_legal_is_refused(operation: Operation, reason: str) -> None:
    builder = Builder("", SLOTS)
    for level in (2, 1):
        builder.append(Input("x", level))
    builder.append(Constant(np.ones(SLOTS)))
    builder.append(Input("z", 0))
    builder.append(WeightedSums((0,), *arrays(2, 1)))
    builder.append(Mul(0, 0))
    with pytest.raises(InvalidProgramError, match=reason):
        builder.append(operation)


def test_a_person_can_write_them() -> None:
    text = to_text(program_of(np.array([[1.0, -0.5]]), np.array([0.25])))
    assert "%2 = weighted_sums %0 %1 [[1.0, -0.5]] plus [[0.25]]" in text
    assert "%3 = take_sum %2 number 0" in text
    assert to_text(from_text(text)) == text
    with pytest.raises(InvalidProgramError, match="different lengths"):
        from_text(text.replace("[[1.0, -0.5]]", "[[1.0, -0.5], [1.0]]"))
    with pytest.raises(InvalidProgramError, match="m0 is not given"):
        from_text(text.replace("[[1.0, -0.5]]", "m0"))


@pytest.mark.parametrize(
    "matrices",
    [3, [3], [np.ones(2)], [np.ones((1, 2), dtype=np.int64)], [np.full((1, 2), np.nan)], []],
    ids=str,
)
def test_hostile_matrices_are_refused(matrices: Any) -> None:
    record = slots_record(program_of(*arrays(1, 2)))
    assert len(record["matrices"]) == 2
    with pytest.raises(MalformedBytesError, match="cannot read"):
        read_slots(Fields({**record, "matrices": matrices}, "a program"))

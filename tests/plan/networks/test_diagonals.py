"""Products of packed tensors with clear matrices, against numpy."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cloakwork.plan.networks.diagonals import (
    ClearMatrix,
    append_product,
    fold_steps,
    folded,
    product_cost,
)
from cloakwork.programs.bsgs import split
from cloakwork.programs.keys import required_keys
from cloakwork.programs.places import Places
from cloakwork.programs.slots import Builder, Input, Linear, Output, Rotate, SlotProgram
from cloakwork.runtime.costs import modelled
from cloakwork.runtime.simulate import results

COSTS = modelled([1, 2], special_limbs=1)


@st.composite
def packings(draw: st.DrawFn, slots: int) -> Places:
    """Up to as many elements as a few ciphertexts hold, anywhere in them or in order."""
    size = draw(st.integers(1, 2 * slots))
    if draw(st.booleans()):
        return Places(slots, np.arange(size))
    span = draw(st.integers(size, 3 * slots))
    return Places(slots, np.random.default_rng(size).permutation(span)[:size])


@st.composite
def products(draw: st.DrawFn) -> tuple[Places, Places, np.ndarray, int]:
    """An operand's packing, a result's, a sparse matrix between them, and a batch."""
    slots = draw(st.sampled_from([1, 4, 32]))
    operand, result = draw(packings(slots)), draw(packings(slots))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    matrix = generator.normal(size=(len(result.places), len(operand.places)))
    matrix[generator.uniform(size=matrix.shape) > draw(st.floats(0.01, 1))] = 0.0
    matrix[0, 0] = 1.0
    return operand, result, matrix, draw(st.sampled_from([1, 2, 8]))


def elements(matrix: np.ndarray) -> ClearMatrix:
    rows, columns = np.nonzero(matrix)
    return ClearMatrix(rows, columns, matrix[rows, columns])


def program_of(operand: Places, result: Places, matrix: np.ndarray, batch: int) -> SlotProgram:
    builder = Builder("product", operand.slots * batch)
    inputs = [builder.append(Input(str(n), 1)) for n in range(operand.ciphertexts)]
    made = append_product(builder, inputs, elements(matrix), operand, result, hoisted=0.5)
    for value in made:
        if value is not None:
            builder.append(Output(folded(builder, value, operand, result)))
    return builder.finish()


@settings(deadline=None)
@given(products())
def test_equals_the_product(product: tuple[Places, Places, np.ndarray, int]) -> None:
    operand, result, matrix, batch = product
    x = np.random.default_rng(1).normal(size=(batch, matrix.shape[1]))
    program = program_of(operand, result, matrix, batch)
    found = iter(results(program, operand.pack(x)))
    expected = result.pack(x @ matrix.T)
    # The whole pattern: every copy, and zeros where no element lies.
    for number, wanted in enumerate(expected):
        rows = result.places // result.slots == number
        got = next(found) if np.any(matrix[rows]) else np.zeros_like(wanted)
        np.testing.assert_allclose(got, wanted, atol=1e-9)


@settings(deadline=None)
@given(products())
@example(
    (
        Places(32, np.array([2, 5, 3, 7, 0, 4])),
        Places(32, np.array([10, 7])),
        np.array([[1.0, 2.0, 0.0, 3.0, 0.0, 0.0], [4.0, 5.0, 6.0, 7.0, 0.0, 0.0]]),
        1,
    )
)
def test_costs_what_it_takes(product: tuple[Places, Places, np.ndarray, int]) -> None:
    operand, result, matrix, batch = product
    program = program_of(operand, result, matrix, batch)
    rotations = sum(isinstance(each, Rotate) for each in program.operations)
    diagonals = 0
    for each in program.operations:
        if isinstance(each, Linear):
            diagonals += len(each.diagonals)
            rotations += split(each.diagonals, program.slots, each.baby_steps).rotations
    cost = product_cost(elements(matrix), operand, result, COSTS, level=1)
    assert cost.diagonals == diagonals
    empty = result.ciphertexts - sum(isinstance(each, Output) for each in program.operations)
    assert cost.rotations == rotations + empty * len(fold_steps(operand, result))


def test_a_wide_layer_takes_as_many_diagonals_as_it_has_results() -> None:
    operand, result = (Places(4096, np.arange(size)) for size in (784, 128))
    program = program_of(operand, result, np.ones((128, 784)), batch=1)
    [linear] = [each for each in program.operations if isinstance(each, Linear)]
    assert len(linear.diagonals) == 128
    # 15 baby and 7 giant steps, and 3 that sum 1024 slots to 128.
    assert len(required_keys(program).rotations) == 25

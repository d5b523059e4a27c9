"""Products of packed tensors with clear matrices, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cloakwork.plan.networks.diagonals import (
    append_product,
    cost_of_diagonals,
    diagonals_between,
    fold_steps,
    folded,
)
from cloakwork.plan.networks.matrices import matrix_of
from cloakwork.plan.networks.matrix import Matrix
from cloakwork.plan.networks.packings.convolution import Image, ImageGrid
from cloakwork.programs.bsgs import split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import layer_value
from cloakwork.programs.keys import required_keys
from cloakwork.programs.places import Places
from cloakwork.programs.slots import Builder, Input, Linear, Output, Rotate, SlotProgram
from cloakwork.runtime.costs import modelled
from cloakwork.runtime.numbers import number_bytes
from cloakwork.runtime.shared_rotations import shared_rotations
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


def program_of(operand: Places, result: Places, matrix: np.ndarray, batch: int) -> SlotProgram:
    builder = Builder("product", operand.slots * batch)
    inputs = [builder.append(Input(str(n), 1)) for n in range(operand.ciphertexts)]
    made = append_product(builder, inputs, Matrix.of(matrix), operand, result, hoisted=0.5)
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
    rotations -= sum(each.rotations for each in shared_rotations(program).values())
    found = diagonals_between(Matrix.of(matrix), operand, result)
    cost = cost_of_diagonals(found, operand, result, COSTS, level=1)
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


def laid(
    layer: g.ConvolutionLayer, shape: g.Shape, operand: Places, result: Places, batch: int
) -> tuple[SlotProgram, list[SparseDiagonals]]:
    """The program of a convolution between two packings, and the diagonals of its transforms."""
    after = layer_value(layer, [np.zeros((1, *shape))]).shape[1:]
    matrix, _ = matrix_of(g.Node("y", layer, (0,), after), shape)
    builder = Builder("product", operand.slots * batch)
    inputs = [builder.append(Input(str(n), 1)) for n in range(operand.ciphertexts)]
    for value in append_product(builder, inputs, matrix, operand, result, hoisted=0.5):
        assert value is not None
        builder.append(Output(folded(builder, value, operand, result)))
    program = builder.finish()
    transforms = [each.diagonals for each in program.operations if isinstance(each, Linear)]
    return program, [each for each in transforms if isinstance(each, SparseDiagonals)]


IN_ORDER, GRID, PHASES, NARROW = (
    ImageGrid((1, 1), 8, 64),
    ImageGrid((1, 1), 9, 72),
    ImageGrid((2, 2), 4, 16),
    ImageGrid((1, 1), 8, 80),
)


@pytest.mark.parametrize("grid", [IN_ORDER, GRID, PHASES, NARROW], ids=str)
@pytest.mark.parametrize("slots", [64, 256, 2048])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("batch", [1, 4])
def test_convolutions_on_grids(grid: ImageGrid, slots: int, stride: int, batch: int) -> None:
    generator = np.random.default_rng(slots + stride)
    weight = generator.normal(size=(6, 4, 3, 3))
    layer = g.ConvolutionLayer(weight, np.zeros(6), (stride, stride), ((1, 1), (1, 1)))
    images = generator.normal(size=(batch, 4, 8, 8))
    expected = layer_value(layer, [images])
    operand = grid.packing(Image((4, 8, 8), (1, 1)), slots)
    result = grid.packing(Image(expected.shape[1:], (stride, stride)), slots)
    assert operand is not None
    assert result is not None
    program, _ = laid(layer, (4, 8, 8), operand, result, batch)
    found = results(program, operand.pack(images.reshape(batch, -1)))
    unpacked = result.unpack(found, batch)
    np.testing.assert_allclose(unpacked, expected.reshape(batch, -1), atol=1e-12)


def test_a_wide_convolution_takes_numbers_for_its_weights_alone() -> None:
    weight = np.random.default_rng(0).normal(size=(64, 64, 3, 3))
    layer = g.ConvolutionLayer(weight, np.zeros(64), padding=((1, 1), (1, 1)))
    places = Places(16384, np.arange(64 * 64 * 64))
    matrix, _ = matrix_of(g.Node("y", layer, (0,), (64, 64, 64)), (64, 64, 64))
    builder = Builder("product", 16384)
    inputs = [builder.append(Input(str(n), 1)) for n in range(places.ciphertexts)]
    made = append_product(builder, inputs, matrix, places, places, hoisted=0.5)
    for value in made:
        assert value is not None
        builder.append(Output(folded(builder, value, places, places)))
    program = builder.finish()
    found = [each.diagonals for each in program.operations if isinstance(each, Linear)]
    sparse = [each for each in found if isinstance(each, SparseDiagonals)]
    assert len(sparse) == len(found) == 256
    assert sum(each.stored for each in sparse) == weight.size
    assert sum(each.elements for each in sparse) == matrix.nnz
    # A pattern for each tap, of a step for each pixel that it meets, for all transforms.
    [patterns] = {id(each.patterns): each.patterns for each in sparse}.values()
    assert len(patterns.steps) == 190 * 190
    # 8 bytes of a weight, 6 of its slot and its pattern, and 24 for each diagonal of each block.
    assert number_bytes(program) < 14 * weight.size + 32 * 9216 + 2 * 190 * 190 + 2**14


def test_pixels_that_are_all_differently_far_apart_have_no_patterns() -> None:
    layer = g.ConvolutionLayer(np.ones((2, 2, 3, 3)), np.zeros(2), (2, 2), ((1, 1), (1, 1)))
    operand, result = Places(512, np.arange(2 * 64)), Places(512, np.arange(2 * 16))
    _, transforms = laid(layer, (2, 8, 8), operand, result, batch=1)
    assert [len(each.patterns) for each in transforms] == [1]

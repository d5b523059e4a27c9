"""Matrices between images against their elements, and those of layers against the layers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloakwork.errors import MemoryBudgetError
from cloakwork.plan.networks.grouping import Grouping
from cloakwork.plan.networks.matrices import beside, matrix_of
from cloakwork.plan.networks.matrix import Matrix, PixelPairs, Sparse, identity
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import layer_value


def dense(matrix: Matrix) -> NDArray[np.float64]:
    elements: NDArray[np.float64] = matrix.sparse().toarray()
    return elements


def made(
    seed: int,
    channels: tuple[int, int],
    pixels: tuple[int, int],
    groupings: tuple[Grouping, Grouping] | None = None,
) -> Matrix:
    """A matrix of a few matrices between channels, some elements of which are 0."""
    generator = np.random.default_rng(seed)
    count = int(generator.integers(1, 4))
    cells = generator.permutation(pixels[0] * pixels[1])[: generator.integers(1, 12)]
    rows, columns = np.divmod(cells, pixels[1])
    pairs = PixelPairs(rows, columns, generator.integers(0, count, len(rows)), pixels)
    weights = generator.integers(-2, 3, (count, *channels)).astype(float)
    found = Matrix.of_images(tuple(map(Sparse, weights)), pairs)
    return found if groupings is None else Matrix(found.channels, pairs, *groupings)


def without_zeros(matrix: Matrix) -> Matrix:
    return Matrix.of(dense(matrix))


def shuffled(seed: int, tokens: int, features: int) -> Grouping:
    """The features of tokens, both in any order."""
    generator = np.random.default_rng(seed)
    elements = Grouping.of_tokens(tokens, features).elements
    return Grouping(generator.permutation(generator.permutation(elements), axis=1))


@settings(deadline=None)
@given(
    st.integers(0, 2**32),
    st.tuples(*[st.integers(1, 4)] * 3),
    st.tuples(*[st.integers(1, 5)] * 3),
)
def test_products_sums_and_what_follows_from_them(
    seed: int, channels: tuple[int, int, int], pixels: tuple[int, int, int]
) -> None:
    left = made(seed, channels[:2], pixels[:2])
    right = made(seed + 1, channels[1:], pixels[1:])
    other = made(seed + 2, channels[:2], pixels[:2])
    np.testing.assert_array_equal(dense(left @ right), dense(left) @ dense(right))
    np.testing.assert_array_equal(dense(left + other), dense(left) + dense(other))
    np.testing.assert_array_equal(dense(left.scaled(-2.0)), -2 * dense(left))
    both = (dense(left) != 0).astype(int) @ (dense(right) != 0)
    full = without_zeros(left), without_zeros(right)
    assert full[0].least_nnz_of_product(full[1]) <= np.count_nonzero(both)
    few = Matrix.of(np.eye(left.shape[1])[: left.shape[1] // 2].T)
    assert full[0].least_nnz_of_product(few) == np.count_nonzero(dense(left) @ dense(few))
    assert left.shape == dense(left).shape
    assert left.nonzeros == np.count_nonzero(dense(left))
    vector = np.random.default_rng(seed).integers(-3, 4, left.shape[1]).astype(float)
    np.testing.assert_array_equal(left.applied(vector), dense(left) @ vector)
    np.testing.assert_array_equal(left.row_sums(), np.abs(dense(left)).sum(axis=1))


@settings(deadline=None)
@given(st.integers(0, 2**32), *[st.integers(1, 4)] * 4, st.booleans())
def test_products_and_sums_of_elements_in_any_order(
    seed: int, tokens: int, inner: int, outer: int, middle: int, is_of_tokens: bool
) -> None:
    def group(salt: int, features: int) -> Grouping:
        if salt % 2 and not is_of_tokens:
            return Grouping.of_images(features, tokens)
        return shuffled(seed + salt, tokens, features)

    def between(salt: int, after: int, before: int) -> Matrix:
        sides = group(salt, after), group(salt + 1, before)
        return made(seed + salt, (after, before), (tokens, tokens), sides)

    left, right = between(0, outer, middle), between(2, middle, inner)
    other = between(4, outer, middle)
    np.testing.assert_array_equal(dense(left @ right), dense(left) @ dense(right))
    np.testing.assert_array_equal(dense(left + other), dense(left) + dense(other))
    vector = np.arange(left.shape[1], dtype=np.float64)
    np.testing.assert_array_equal(left.applied(vector), dense(left) @ vector)
    square = between(6, inner, inner)
    full = square + Matrix.of(np.eye(len(dense(square))))
    for each in square, full, left:
        assert each.has_full_diagonal == bool(
            len(dense(each)) == len(dense(each).T) and dense(each).diagonal().all()
        )
        counts = [np.count_nonzero(dense(each), axis=axis) for axis in (1, 0)]
        assert [count.tolist() for count in each.counts] == [each.tolist() for each in counts]
        assert each.sums_each_once == (counts[0].max() > 1 >= counts[1].max())


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4))
def test_what_only_moves_elements_keeps_the_structure(
    seed: int, tokens: int, features: int
) -> None:
    generator = np.random.default_rng(seed)
    order = generator.permutation(tokens * features)
    moves = Matrix.of(np.eye(len(order))[order]).scaled(-2.0)
    layer = made(seed, (features, features), (tokens, tokens))
    found = moves.moves
    assert found is not None
    assert (found.sources.tolist(), found.factor) == (order.tolist(), -2.0)
    for product, expected in (
        (moves @ layer, dense(moves) @ dense(layer)),
        (layer @ moves, dense(layer) @ dense(moves)),
    ):
        np.testing.assert_array_equal(dense(product), expected)
        assert len(product.channels) <= len(layer.channels) or not layer.is_structured


def test_layers_of_tokens_are_as_large_as_their_weights() -> None:
    """Also where queries are parted into heads before, or put together after."""
    weight = np.random.default_rng(0).normal(size=(6, 6))
    layer = g.LinearLayer(weight, np.zeros(6))
    swapped = np.arange(8 * 6).reshape(8, 2, 3).transpose(1, 0, 2).ravel()
    heads = g.Rearrange(swapped, (2, 8, 3))
    together = g.Rearrange(np.argsort(swapped), (8, 6))
    first, _ = matrix_of(g.Node("w", layer, (0,), (8, 6)), (8, 6))
    apart, _ = matrix_of(g.Node("heads", heads, (0,), (2, 8, 3)), (8, 6))
    back, _ = matrix_of(g.Node("back", together, (0,), (8, 6)), (2, 8, 3))
    whole = first @ (back @ (apart @ first))
    np.testing.assert_allclose(dense(whole), np.kron(np.eye(8), weight @ weight))
    assert sum(each.nnz for each in whole.channels) == 36


def test_matrices_of_another_structure_lose_theirs() -> None:
    convolution = made(5, (2, 3), (4, 6))
    flat = Matrix.of(np.random.default_rng(0).integers(-2, 3, (5, 8)).astype(float))
    np.testing.assert_array_equal(dense(flat @ convolution), dense(flat) @ dense(convolution))
    other = Matrix.of(dense(convolution))
    np.testing.assert_array_equal(dense(convolution + other), 2 * dense(convolution))


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[g.ConvolutionLayer, g.Shape]:
    def pair(least: int, most: int) -> g.Pair:
        return draw(st.integers(least, most)), draw(st.integers(least, most))

    groups, generator = draw(st.integers(1, 2)), np.random.default_rng(draw(st.integers(0, 99)))
    inner, outer, kernel = draw(st.integers(1, 3)), draw(st.integers(1, 3)), pair(1, 3)
    padding = pair(0, 2), pair(0, 2)
    weight = generator.normal(size=(outer * groups, inner, *kernel))
    bias = generator.normal(size=outer * groups)
    layer = g.ConvolutionLayer(weight, bias, pair(1, 2), padding, pair(1, 2), groups)
    height, width = pair(5, 7)
    return layer, (inner * groups, height, width)


@settings(deadline=None)
@given(convolutions())
def test_convolutions(convolution: tuple[g.ConvolutionLayer, g.Shape]) -> None:
    layer, shape = convolution
    image = np.random.default_rng(0).normal(size=(1, *shape))
    expected = layer_value(layer, [image])
    matrix, bias = matrix_of(g.Node("y", layer, (0,), expected.shape[1:]), shape)
    assert len(matrix.channels) == layer.weight[0, 0].size
    np.testing.assert_allclose(matrix.applied(image) + bias, expected.ravel(), atol=1e-12)
    np.testing.assert_allclose(dense(matrix) @ image.ravel() + bias, expected.ravel(), atol=1e-12)


@pytest.mark.parametrize("counts", [True, False])
def test_pools(counts: bool) -> None:
    layer = g.AveragePool((3, 2), (2, 1), ((1, 1), (1, 0)), counts)
    image = np.random.default_rng(0).normal(size=(1, 3, 5, 4))
    expected = layer_value(layer, [image])
    matrix, _ = matrix_of(g.Node("y", layer, (0,), expected.shape[1:]), (3, 5, 4))
    np.testing.assert_allclose(matrix.applied(image), expected.ravel(), atol=1e-12)


PADDED = np.pad(np.arange(24).reshape(2, 3, 4), ((0, 1), (1, 0), (0, 2)), constant_values=-1)


@pytest.mark.parametrize(
    ("indices", "shape", "is_structured"),
    [
        # Channels in another order, rows upside down, and an empty channel.
        (np.arange(24).reshape(2, 3, 4)[[1, 0, 1], ::-1], (3, 3, 4), True),
        (PADDED, (3, 4, 6), True),
        (np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2), (3, 2, 4), False),
        (np.full((2, 3, 4), -1), (2, 3, 4), False),
        (np.arange(24), (24,), False),
    ],
)
def test_elements_in_another_order(
    indices: NDArray[np.int64], shape: g.Shape, is_structured: bool
) -> None:
    layer = g.Rearrange(indices.ravel(), shape)
    matrix, _ = matrix_of(g.Node("y", layer, (0,), shape), (2, 3, 4))
    assert matrix.is_structured == is_structured
    image = np.random.default_rng(0).normal(size=(1, 2, 3, 4))
    expected = layer_value(layer, [image])
    np.testing.assert_array_equal(matrix.applied(image), expected.ravel())


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_images_beside_each_other(axis: int) -> None:
    images = np.random.default_rng(0).normal(size=(2, 2, 3, 4))
    placed = [beside([(2, 3, 4)] * 2, axis, number) for number in range(2)]
    assert all(each.is_structured for each in placed)
    found = sum(matrix.applied(image) for matrix, image in zip(placed, images, strict=True))
    np.testing.assert_array_equal(found, np.concatenate([*images], axis=axis).ravel())


def test_a_multiple_of_the_identity_is_one() -> None:
    assert identity((2, 3, 4)).scaled(-0.5).multiple() == -0.5
    assert (identity((2, 3, 4)) + identity((2, 3, 4))).multiple() == 2.0
    scaled = g.Affine(np.array([1.0, 2.0]).reshape(2, 1, 1), np.zeros((1, 1, 1)))
    assert matrix_of(g.Node("y", scaled, (0,), (2, 3, 4)), (2, 3, 4))[0].multiple() is None


def test_a_wide_convolution_is_held_by_its_weights() -> None:
    weight = np.random.default_rng(0).normal(size=(64, 64, 3, 3))
    layer = g.ConvolutionLayer(weight, np.zeros(64), padding=((1, 1), (1, 1)))
    matrix, _ = matrix_of(g.Node("y", layer, (0,), (64, 64, 64)), (64, 64, 64))
    scaled = matrix.scaled(0.5) @ identity((64, 64, 64)) + matrix
    assert sum(each.nnz for each in scaled.channels) == weight.size
    # 190 of 192 pixels of a row meet the three taps of a row, and as many of a column.
    assert scaled.nnz == 64 * 64 * 190 * 190


def test_more_elements_than_memory_holds_are_refused() -> None:
    wide = Matrix.of_images((Sparse(np.ones((1 << 9, 1 << 9))),), PixelPairs.equal(1 << 20))
    with pytest.raises(MemoryBudgetError, match=r"274877906944 elements.*a larger machine"):
        wide.sparse()

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.errors import InvalidLayoutError, ShapeMismatchError, SlotMismatchError
from cloakwork.programs.matrices import EMPTY, GARBAGE, BlockLayout, Blocks, Role, counts
from cloakwork.schemes.clear import rotated_products

SLOTS = 64


@st.composite
def all_blocks(draw: st.DrawFn) -> Blocks:
    """Any legal way to share out few slots."""
    side = 1 << draw(st.integers(0, 6))
    rows = draw(st.integers(1, 2))
    left = rows * SLOTS // side
    sizes = []
    for _ in range(3):
        sizes.append(draw(st.integers(1, left)))
        left //= sizes[-1]
    batch, tall, wide = sizes
    shares = 1 << draw(st.integers(0, left.bit_length() - 1))
    if rows > 1 and SLOTS // side % (shares * wide):
        shares = 1
    inner, columns = draw(st.sampled_from([(1, 1), (2, 1), (1, 2)]))
    run = draw(st.sampled_from([1, 3]))
    return Blocks(SLOTS, side, rows, batch, tall, shares, wide, run, inner, columns)


SIZES = st.tuples(st.integers(1, 5), *(st.integers(1, 40) for _ in range(3)))


@given(all_blocks(), SIZES, st.integers(0, 2**32))
def test_rotated_products_of_blocks_are_matrix_products(
    blocks: Blocks, sizes: tuple[int, int, int, int], seed: int
) -> None:
    batch, rows, inner, columns = sizes
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(batch, rows, inner)), rng.normal(size=(batch, inner, columns))
    left, right = BlockLayout(blocks, "left", a.shape), BlockLayout(blocks, "right", b.shape)
    result = BlockLayout(blocks, "product", (batch, rows, columns))
    u, v = (
        layout.pack(each).reshape(*layout.grid, blocks.rows, SLOTS)
        for layout, each in ((left, a), (right, b))
    )
    made: list[np.ndarray] = []
    for group, tall, wide in np.ndindex(*result.grid[:-1]):
        for product in rotated_products(u[group, tall], v[group, :, wide], blocks.step):
            vector = product
            for steps in blocks.lane_sums():
                vector = vector + np.roll(vector, -steps, axis=-1)
            made.append(vector if blocks.column_parts == 2 else vector.real)
    np.testing.assert_allclose(result.unpack(made), a @ b, atol=1e-9)
    found = counts(blocks, *sizes)
    assert (found.left, found.right) == (left.ciphertexts, right.ciphertexts)
    assert (found.products, found.groups * blocks.side) == (len(made), len(made))


@given(all_blocks(), SIZES, st.sampled_from(["left", "right", "product"]), st.integers(1, 4))
def test_packing_is_undone_and_known_to_explain(
    blocks: Blocks, sizes: tuple[int, int, int, int], role: str, copies: int
) -> None:
    blocks = replace(blocks, copies=min(copies, blocks.lanes // blocks.used_lanes))
    shape = sizes[:3]
    layout = BlockLayout(blocks, role, shape)  # type: ignore[arg-type]
    numbers = 1.0 + np.arange(np.prod(shape)).reshape(shape)
    vectors = layout.pack(numbers)
    assert vectors.shape == (layout.ciphertexts, blocks.rows * SLOTS)
    np.testing.assert_array_equal(layout.unpack(list(vectors)), numbers)
    elements = layout.elements(np.arange(layout.ciphertexts))
    held = elements >= 0
    np.testing.assert_array_equal(vectors.real[held], numbers.ravel()[elements[held]])
    assert not vectors.real[~held].any()
    assert set(np.unique(elements[~held])) <= {EMPTY, GARBAGE}
    first = held & ~layout.is_copy()
    parts = [layout.elements(np.arange(layout.ciphertexts), part) for part in range(layout.parts)]
    places = np.concatenate([each[first & (each >= 0)] for each in parts])
    # Every element has one place that is no copy.
    if layout.parts == 1:
        assert sorted(places) == [*range(numbers.size)]


@given(all_blocks(), SIZES, st.sampled_from(["left", "right"]))
def test_fullness_is_what_ones_come_to(
    blocks: Blocks, sizes: tuple[int, int, int, int], role: str
) -> None:
    layout = BlockLayout(blocks, role, sizes[:3])  # type: ignore[arg-type]
    packed = np.abs(layout.pack(np.ones(layout.shape)))
    fullness = np.stack(layout.fullness())
    assert fullness.shape == packed.shape
    assert (fullness >= packed - 1e-12).all()
    whole = (blocks.left_rows, blocks.right_columns)[role == "right"]
    if layout.shape[1 if role == "left" else 2] % whole == 0 and sizes[0] % blocks.batch == 0:
        np.testing.assert_allclose(fullness, packed)


@pytest.mark.parametrize(
    "wrong",
    [
        {"side": 3},
        {"side": 0},
        {"side": 8, "tall": 16},
        {"side": 8, "rows": 3},
        {"side": 8, "inner_parts": 2, "column_parts": 2},
        {"side": 32, "rows": 2, "shares": 4},
        {"side": 8, "rows": 2, "shares": 2, "wide": 3},
        {"side": 8, "wide": 1 << 20},
    ],
)
def test_blocks_that_do_not_fit_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidLayoutError, match="cannot lay out blocks"):
        Blocks(SLOTS, **wrong)


def test_what_does_not_fit_a_layout_is_refused() -> None:
    layout = BlockLayout(Blocks(SLOTS, side=8), "left", (1, 8, 4))
    with pytest.raises(ShapeMismatchError):
        layout.pack(np.ones((1, 8, 5)))
    with pytest.raises(SlotMismatchError, match="expected 4 vector"):
        layout.unpack([np.ones(SLOTS)])
    with pytest.raises(SlotMismatchError):
        layout.unpack([np.ones(8)] * 4)
    with pytest.raises(InvalidLayoutError):
        BlockLayout(layout.blocks, "left", (1, 0, 4))
    with pytest.raises(InvalidLayoutError):
        BlockLayout(layout.blocks, "left", (1 << 20, 1 << 20, 4))


@pytest.mark.parametrize("role", ["left", "right", "product", "diagonals"])
def test_some_vectors_are_those_of_all(role: Role) -> None:
    blocks = Blocks(SLOTS, side=4, tall=2, wide=2, run=4, inner_parts=2)
    layout = BlockLayout(blocks, role, (1, 12, 20))
    stored = np.random.default_rng(3).normal(size=(1, 20, 12)).astype(np.float32)
    # As it is where it is contiguous, by three indices where it is a view.
    for matrices in (np.ascontiguousarray(stored.swapaxes(1, 2)), stored.swapaxes(1, 2)):
        vectors = layout.pack(matrices.astype(np.float64))
        numbers = np.arange(layout.ciphertexts)[::-2]
        some = layout.pack_some(matrices, numbers, np.float64)
        np.testing.assert_array_equal(np.stack(some), vectors[numbers])
        found = np.zeros_like(matrices)
        for number in range(layout.ciphertexts):
            layout.put(found, {number: vectors[number]})
        np.testing.assert_array_equal(found, matrices)


def test_a_large_matrix_is_packed_by_arrays() -> None:
    """As many vectors as a product of 1024 has, each by numpy alone."""
    blocks = Blocks(2048, side=128, tall=4, wide=4, inner_parts=2)
    layout = BlockLayout(blocks, "product", (1, 1024, 1024))
    numbers = np.random.default_rng(0).normal(size=layout.shape)
    np.testing.assert_array_equal(layout.unpack(list(layout.pack(numbers))), numbers)


def test_layouts_say_what_they_are() -> None:
    layout = BlockLayout(Blocks(2048, side=64, tall=8, wide=4), "product", (1, 512, 256))
    assert str(layout) == (
        "diagonal pair of 512 x 256, 64 rows of 32 slots for 8 row blocks x 4 column blocks"
    )
    assert "3 matrices" in str(BlockLayout(Blocks(4, side=2), "left", (3, 2, 2)))

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import (
    Add,
    AddProducts,
    Builder,
    Constant,
    DiagonalProducts,
    Input,
    Operation,
    Output,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
    SwitchProduct,
)
from cloakwork.programs.text import from_text, to_text
from cloakwork.runtime.executor import run
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.simulate import results
from cloakwork.schemes.clear import rotated_products, skewed
from cloakwork.schemes.clear_integer import ClearIntegersBackend, exact
from cloakwork.schemes.clear_real import ClearBackend, ClearVector

SLOTS = 12


def program_of(terms: int, step: int, *, shares: int = 1) -> SlotProgram:
    """The products of two lists for every rotation, added up as often as there are shares."""
    builder = Builder("products", SLOTS)
    inputs = [builder.append(Input(str(number), 1)) for number in range(2 * terms)]
    products = builder.append(RotatedProducts(tuple(inputs[:terms]), tuple(inputs[terms:]), step))
    total = products
    for _ in range(shares - 1):
        total = builder.append(AddProducts(total, products))
    for steps in range(0, SLOTS, step):
        builder.append(Output(builder.append(Rescale(builder.append(SwitchProduct(total, steps))))))
    return builder.finish()


@given(
    st.integers(1, 4),
    st.sampled_from([1, 2, 3, 4, 6, 12]),
    st.integers(1, 3),
    st.integers(0, 2**32),
)
def test_products_are_sums_of_rotations_times_vectors(
    terms: int, step: int, shares: int, seed: int
) -> None:
    vectors = np.random.default_rng(seed).uniform(-1, 1, (2 * terms, SLOTS))
    found = results(program_of(terms, step, shares=shares), list(vectors))
    for t, vector in enumerate(found):
        expected = shares * sum(
            np.roll(vectors[j], -t * step) * vectors[terms + j] for j in range(terms)
        )
        np.testing.assert_allclose(vector, expected, atol=1e-12)


@given(st.sampled_from([1, 2, 3, 4, 6, 12]), st.integers(1, 2), st.integers(0, 2**32))
def test_diagonals_of_matrices_give_those_of_their_product(
    turns: int, runs: int, seed: int
) -> None:
    step = SLOTS // turns
    a, b = np.random.default_rng(seed).uniform(-1, 1, (2, runs, step, turns, turns))
    own = np.arange(turns)
    # Vector r: row h of each lane holds A[h, h + r] and B[h + r, h].
    u, v = (
        np.stack([each[:, :, own, (own + r) % turns] for r in range(turns)], axis=1)
        .swapaxes(2, 3)
        .reshape(runs * turns, SLOTS)
        for each in (a, b.swapaxes(2, 3))
    )
    builder = Builder("diagonals", SLOTS)
    inputs = [builder.append(Input(str(number), 1)) for number in range(2 * runs * turns)]
    terms = runs * turns
    products = builder.append(DiagonalProducts(tuple(inputs[:terms]), tuple(inputs[terms:]), step))
    for t in range(turns):
        taken = builder.append(Rescale(builder.append(SwitchProduct(products, t * step))))
        builder.append(Output(taken))
    program = builder.finish()
    assert to_text(from_text(to_text(program))) == to_text(program)
    found = results(program, [*u, *v])
    expected = (a @ b).sum(axis=0)
    bounds = value_bounds(program, list(np.abs([*u, *v])))
    for t, vector in enumerate(found):
        diagonal = expected[:, (own + t) % turns, own].T.ravel()
        np.testing.assert_allclose(vector, diagonal, atol=1e-12)
        assert np.abs(vector).max() <= (bounds[-1] or 0.0) * (1 + 1e-12)
    integers = ClearIntegersBackend()
    rounded = [np.rint(100 * side).astype(np.int64) for side in (u, v)]
    one, other = ([exact(each, 0) for each in side] for side in rounded)
    made = integers.diagonal_products(one, other, step)
    again = np.stack([integers.switch_product(made, t * step).slots for t in range(turns)])
    left, right = (skewed(side, step) for side in rounded)
    assert np.array_equal(again, rotated_products(left, right, step))


@pytest.mark.parametrize("bits", [5, 28, 40])
def test_integers_are_exact_whatever_their_size(bits: int) -> None:
    rng = np.random.default_rng(bits)
    numbers = rng.integers(-(1 << bits), 1 << bits, (4, 2, SLOTS)).astype(object)
    backend = ClearIntegersBackend()
    u, v = ([exact(each, 0) for each in numbers[n : n + 2]] for n in (0, 2))
    products = backend.rotated_products(u, v, 3)
    total = backend.add_products(products, products)
    for t in range(4):
        rotated = [np.roll(numbers[j], -3 * t, axis=-1) for j in range(2)]
        expected = 2 * (rotated[0] * numbers[2] + rotated[1] * numbers[3])
        assert backend.switch_product(total, 3 * t).slots.tolist() == expected.tolist()


def test_programs_print_and_read_back() -> None:
    program = program_of(3, 4, shares=2)
    text = to_text(program)
    assert "%6 = rotated_products %0 %1 %2 %3 %4 %5 step 4" in text
    assert "%7 = add_products %6 %6" in text
    assert "%8 = switch_product %7 by 0" in text
    assert to_text(from_text(text)) == text
    assert "(%0 to %2) (%3 to %5) step 4" in str(program)


def test_keys_are_one_of_each_rotation_and_one_of_each_rotated_product() -> None:
    needed = required_keys(program_of(2, 3))
    assert needed.relinearisation_level == 1
    assert needed.rotations == needed.rotated_products == {3: 1, 6: 1, 9: 1}
    # d = 4: one for no rotation, two for each other.
    assert len(needed) == 2 * 4 - 1
    assert needed.nbytes(lambda level: 10 + level) == 7 * 11
    assert sum(len(part) for part in needed.parts(2)) == len(needed)
    assert not needed.beyond(needed)
    assert needed.joined(needed) == needed


def test_bounds_hold_for_every_rotation_and_know_empty_lanes() -> None:
    program = program_of(1, 2)
    left, right = np.zeros(SLOTS), np.full(SLOTS, 2.0)
    left[4] = 3.0
    bounds = value_bounds(program, [left, right])
    assert bounds[2] is None
    assert bounds[3:] == [6.0] * (len(bounds) - 3)
    right[::2] = 0.0
    # Slot 4 is in lane 0 of 2, where nothing is left on the right.
    assert value_bounds(program, [left, right])[3] == 0.0


def test_memory_counts_four_polynomials_for_each_product() -> None:
    program = program_of(1, 3)
    # Two inputs, four products twice as large, one vector that is made of them.
    assert predicted_peak_bytes(program, lambda state: 100) >= 2 * 100 + 4 * 200


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (RotatedProducts((0,), (), 2), "equally long"),
        (RotatedProducts((), (), 2), "equally long"),
        (RotatedProducts((0,), (1,), 5), "does not divide"),
        (RotatedProducts((0,), (1,), 0), "does not divide"),
        (RotatedProducts((0,), (1,), True), "not an integer"),
        (RotatedProducts((0,), (2,), 2), "not at one level"),
        (RotatedProducts((3,), (3,), 2), "constant"),
        (RotatedProducts((4,), (4,), 2), "rotated products"),
        (AddProducts(0, 1), "not rotated products"),
        (AddProducts(4, 5), "differ"),
        (SwitchProduct(0, 0), "not rotated products"),
        (SwitchProduct(4, 3), "no multiple of 2"),
        (SwitchProduct(4, 12), "no multiple of 2"),
        (SwitchProduct(4, -2), "no multiple of 2"),
        (Add(4, 4), "take one of them by switch_product"),
        (Rotate(4, 2), "take one of them by switch_product"),
        (Rescale(4), "take one of them by switch_product"),
        (Output(4), "take one of them by switch_product"),
    ],
)
def test_illegal_operations_are_refused(operation: Operation, reason: str) -> None:
    builder = Builder("refused", SLOTS)
    for level in (1, 1, 2):
        builder.append(Input("x", level))
    builder.append(Constant(np.ones(SLOTS)))
    builder.append(RotatedProducts((0,), (1,), 2))
    builder.append(RotatedProducts((0,), (1,), 3))
    with pytest.raises(InvalidProgramError, match=reason):
        builder.append(operation)


def test_products_take_a_level() -> None:
    builder = Builder("no level", SLOTS)
    builder.append(Input("x", 0))
    with pytest.raises(InvalidProgramError, match="level"):
        builder.append(RotatedProducts((0,), (0,), 2))


def test_operands_of_any_kind_of_number_keep_imaginary_parts() -> None:
    """Numbers in both halves of slots: (a - ib)(c + id) has the real part ac + bd."""
    builder = Builder("halves", 2)
    u, v = (builder.append(Input(name, 1)) for name in "uv")
    products = builder.append(RotatedProducts((u,), (v,), 1))
    builder.append(Output(builder.append(Rescale(builder.append(SwitchProduct(products, 1))))))
    left = ClearVector(np.array([1 - 2j, 3 - 4j]), 1)
    right = ClearVector(np.array([5 + 6j, 7 + 8j]), 1)
    found = run(builder.finish(), ClearBackend(), [left, right])[0].slots
    assert found.real.tolist() == [3 * 5 + 4 * 6, 1 * 7 + 2 * 8]

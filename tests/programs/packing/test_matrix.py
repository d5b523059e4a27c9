import numpy as np
import pytest

from cloakwork.base.record import Fields, record_of
from cloakwork.errors import InvalidProgramError, MalformedBytesError
from cloakwork.programs.matrices import BlockLayout, Blocks, MatrixPlace, Role
from cloakwork.programs.packing.matrix import (
    IntegerMatrixPacking,
    MatrixPacking,
    PlacedMatrix,
)
from cloakwork.programs.packing.results import Leaf
from cloakwork.programs.port import Port

BLOCKS = Blocks(16, side=4, tall=2, wide=2)


def place(role: Role, *, transposed: bool = False) -> MatrixPlace:
    layout = BlockLayout(BLOCKS, role, (1, 5, 5))
    return MatrixPlace(layout, (1, 0) if transposed else (0, 1), (5, 5))


def packing(result: MatrixPlace | None = None) -> MatrixPacking:
    ports = [Port(name, "real", 0, (5, 5), -2.0, 2.0) for name in ("a", "result")]
    placed = (PlacedMatrix(0, place("left")), PlacedMatrix(0, place("right", transposed=True)))
    results = (place("product") if result is None else result,)
    return MatrixPacking((ports[0],), (ports[1],), placed, results, Leaf(0))


def test_a_tensor_is_packed_as_matrices_and_read_back() -> None:
    tensor = np.arange(3.0 * 4 * 5).reshape(3, 4, 5)
    layout = BlockLayout(BLOCKS, "product", (4, 5, 3))
    seen = MatrixPlace(layout, (1, 2, 0), (4, 5, 3))
    assert seen.shape == (3, 4, 5)
    np.testing.assert_array_equal(seen.unpack(list(seen.pack(tensor))), tensor)


def test_an_argument_may_go_in_twice() -> None:
    numbers = np.arange(25.0).reshape(5, 5) / 25
    packed = packing().pack({"a": numbers}, "pack")
    assert packed.count is None
    found = list(packed.runs[0].values())
    assert len(found) == sum(packing().vector_counts[:1]) == len(packing().held)
    left = place("left").pack(numbers)
    right = place("right", transposed=True).pack(numbers)
    np.testing.assert_array_equal(np.stack(found), np.concatenate([left, right]))


def test_bounds_are_those_of_ports_where_there_are_numbers() -> None:
    bounds = packing().input_bounds()
    assert bounds is not None
    assert {float(each.max()) for each in bounds} == {2.0}
    assert any((each == 0).any() for each in bounds)


def test_records_are_read_back_and_checked() -> None:
    record = record_of(packing())
    assert Fields(record, "the packing").made(MatrixPacking) == packing()
    record["placed"][0]["place"]["layout"]["blocks"]["side"] = 0
    with pytest.raises((MalformedBytesError, ValueError)):
        Fields(record, "the packing").made(MatrixPacking)


def test_packings_that_do_not_fit_are_refused() -> None:
    wrong = MatrixPlace(BlockLayout(BLOCKS, "product", (1, 5, 4)), (0, 1), (5, 4))
    with pytest.raises(InvalidProgramError, match="another shape"):
        packing(wrong)
    twice = MatrixPlace(BlockLayout(BLOCKS, "product", (1, 5, 5)), (0, 0), (5, 5))
    with pytest.raises((InvalidProgramError, ValueError)):
        packing(twice)


def test_integers_modulo_a_prime_are_the_nearest_to_zero() -> None:
    ports = [Port(name, "integer", 0, (5, 5), -8, 8) for name in ("a", "result")]
    placed = (PlacedMatrix(0, place("left")),)
    made = IntegerMatrixPacking(
        (ports[0],), (ports[1],), placed, (place("product"),), Leaf(0), modulus=17
    )
    numbers = np.arange(25).reshape(5, 5)
    vectors = list(place("product").pack(numbers))
    found = made.unpack([vectors], None)
    assert ((found - numbers) % 17 == 0).all()
    assert np.abs(found).max() <= 8

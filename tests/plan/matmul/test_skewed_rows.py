"""Products of matrices that lie row by row and fill a ciphertext each."""

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.plan.matmul.skewed_rows import skewed_product
from cloakwork.plan.passes.levels import depth_of
from cloakwork.programs.keys import required_keys
from cloakwork.programs.layout import Layout, default_layout
from cloakwork.programs.slots import (
    Builder,
    Input,
    Linear,
    Mul,
    Output,
    Rotate,
    RotatedProducts,
    SlotProgram,
    SwitchProduct,
    TwiceReal,
)
from cloakwork.runtime.simulate import results


def planned(rows: int, side: int) -> tuple[SlotProgram, Layout]:
    """The program of a product, and where its result lies."""
    builder = Builder("a @ b", side**2)
    left, right = (default_layout(shape, side**2) for shape in ((rows, side), (side, side)))
    a, b = builder.append(Input("a", 2), left), builder.append(Input("b", 2), right)
    builder.append(Output(skewed_product(builder, a, b, rows)), left)
    return builder.finish(), left


@pytest.mark.parametrize(("rows", "side"), [(2, 4), (64, 64), (2, 64), (16, 64), (32, 128)])
def test_products_are_right(rows: int, side: int) -> None:
    program, layout = planned(rows, side)
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (rows, side)), rng.uniform(-1, 1, (side, side))
    inputs = [default_layout(each.shape, side**2).pack(each)[0] for each in (x, y)]
    found = results(program, inputs)
    np.testing.assert_allclose(layout.unpack(found), x @ y, atol=1e-9)
    # What holds no element holds zero.
    assert np.count_nonzero(found[0]) == rows * side
    assert depth_of(program) == 2


def test_decompositions_and_keys_are_few() -> None:
    program, _ = planned(64, 64)
    operations = program.operations
    # One for each half that becomes imaginary; all rows of B but one; X_0 both ways; both parts.
    rotated = [each.operand for each in operations if isinstance(each, Rotate)]
    assert len(rotated) == 2 + 63 + 2 * 31 + 2 * 31
    # 95 diagonals, by baby steps and giant steps.
    (skewing,) = (each for each in operations if isinstance(each, Linear))
    assert (len(skewing.diagonals), len(skewing.rotations(4096))) == (95, 20)
    # 33 columns share a mask for each distance, each other column has two.
    assert sum(isinstance(each, Mul) for each in operations) == 64 + 2 * 31
    (products,) = (each for each in operations if isinstance(each, RotatedProducts))
    assert len(products.left) == 1 + 2 * 31
    ends = sum(isinstance(each, SwitchProduct | TwiceReal) for each in operations)
    assert ends == 2
    # Rotations of one value share its decomposition. The parts of the right matrix are 31 and 31.
    assert len(set(rotated)) == 2 + 1 + 1 + 62
    assert len(required_keys(program).rotations) == 128


def test_a_session_takes_it_where_matrices_fill_a_ciphertext() -> None:
    session = cw.Session(depth=2)
    assert session.parameters.slots == 64**2
    rng = np.random.default_rng(1)
    a, b = rng.uniform(-1, 1, (64, 64)), rng.uniform(-1, 1, (64, 64))
    x, y = session.encrypt(a, bound=1), session.encrypt(b, bound=1)
    product = x @ y
    assert product.program is not None
    assert any(isinstance(each, Linear) for each in product.program.operations)
    assert product.precision > 18
    np.testing.assert_allclose(session.decrypt(product), a @ b, rtol=0, atol=2**-product.precision)

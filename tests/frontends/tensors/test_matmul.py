from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork import errors
from tests.thoroughness import part

PRECISION = 12
ERROR = 2.0**-PRECISION


def test_eager_tensors_are_multiplied() -> None:
    session = cw.Session(depth=3, backend="clear")
    a, b = np.random.default_rng(0).uniform(-1, 1, (2, 3, 4, 4))
    x, y = session.encrypt(a), session.encrypt(b)
    for found, expected in (
        (cw.matmul(x, y), a @ b),
        (cw.matmul(x, b), a @ b),
        (cw.matmul(a, y), a @ b),
        (cw.matmul(x, b[0]), a @ b[0]),
    ):
        np.testing.assert_allclose(session.decrypt(found), expected, atol=1e-9)


def test_compiled_functions_take_it_as_the_operator() -> None:
    program = cw.compile(cw.matmul, (80, 70), (70, 90), precision=PRECISION)
    assert program.packing.kind == "matrices"
    a, b = np.ones((80, 70)), np.ones((70, 90))
    assert np.abs(program.run_clear(a, b) - 70).max() < ERROR


def test_wrong_use_is_refused_by_name() -> None:
    session = cw.Session(depth=1, backend="clear")
    x = session.encrypt(np.ones((2, 3)))
    with pytest.raises(errors.InvalidArgumentError, match="one encrypted operand"):
        cw.matmul([[1.0]], [[1.0]])
    with pytest.raises(errors.ShapeMismatchError):
        cw.matmul(x, x)
    with pytest.raises(errors.NotRealError):
        cw.matmul(x, np.ones((3, 2)) * 1j)
    with pytest.raises(errors.ParametersMismatchError):
        cw.matmul(x, cw.Session(depth=1, backend="clear").encrypt(np.ones((3, 2))))


SIZES = st.sampled_from([1, 2, 5, 30, 64, 130])
TERMS = ("ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ki,jk->ji", "bik,bkj->bij", "bki,jbk->bji")


@settings(max_examples=part(12))
@given(st.sampled_from(TERMS), st.tuples(SIZES, SIZES, SIZES), st.integers(0, 2**32))
def test_contractions_are_right_tall_flat_batched_and_transposed(
    terms: str, sizes: tuple[int, int, int], seed: int
) -> None:
    size_of = dict(zip("ikj", sizes, strict=True)) | {"b": 3}
    left, right = terms.partition("->")[0].split(",")
    shapes = [tuple(size_of[label] for label in each) for each in (left, right)]
    rng = np.random.default_rng(seed)
    a, b = (rng.uniform(-1, 1, shape) for shape in shapes)
    program = cw.compile(lambda x, y: cw.einsum(terms, x, y), *shapes, precision=PRECISION)
    np.testing.assert_allclose(program.run_clear(a, b), np.einsum(terms, a, b), atol=1e-9)


@pytest.mark.parametrize(
    ("terms", "shapes"),
    [
        ("ki,jk->ji", ((70, 90), (40, 70))),
        ("bik,bkj->bij", ((5, 40, 20), (5, 20, 30))),
        ("ik,kj->ij", ((900, 20), (20, 8))),
        ("ik,kj->ij", ((8, 500), (500, 9))),
    ],
)
def test_contractions_of_ciphertexts_are_within_their_precision(
    terms: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(-1, 1, shape) for shape in shapes)
    program = cw.compile(lambda x, y: cw.einsum(terms, x, y), *shapes, precision=PRECISION)
    assert np.abs(program.run(a, b) - np.einsum(terms, a, b)).max() < ERROR


def test_chains_of_ciphertexts_are_within_their_precision() -> None:
    shapes = ((40, 30), (30, 50), (50, 20), (20, 60))
    rng = np.random.default_rng(2)
    arrays = [rng.uniform(-0.2, 0.2, shape) for shape in shapes]
    program = cw.compile(
        lambda a, b, c, d: (a @ b) @ (c @ d),
        *(cw.Spec(shape, bound=0.2) for shape in shapes),
        precision=PRECISION,
    )
    assert program.packing.kind == "matrices"
    expected = np.linalg.multi_dot(arrays)
    assert np.abs(program.run(*arrays) - expected).max() < ERROR


SHAPES = {"x": (30, 300), "w": (20, 30), "v": (6, 20)}


def squares(x: cw.Tensor, w: cw.Tensor, v: cw.Tensor) -> cw.Tensor:
    return v @ (w @ x) ** 2


def ranged_squares(x: cw.Tensor, w: cw.Tensor, v: cw.Tensor) -> cw.Tensor:
    return cw.within(v @ cw.within(w @ x, -4, 4) ** 2, -20, 20)


def compiled(function: Any) -> cw.Program:
    program = cw.compile(function, *SHAPES.values(), precision=PRECISION, public_inputs=True)
    assert program.packing.kind == "matrices"
    return program


def drawn(scale: float) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {name: rng.uniform(-scale, scale, shape) for name, shape in SHAPES.items()}


def test_ranges_of_numbers_on_the_way_make_parameters_smaller() -> None:
    wide, narrow = compiled(squares), compiled(ranged_squares)
    assert narrow.scheme.parameters.log_qp < wide.scheme.parameters.log_qp
    assert narrow.output_bounds == (20.0,) * len(narrow.output_bounds or ())
    arrays = drawn(0.7)
    expected = arrays["v"] @ (arrays["w"] @ arrays["x"]) ** 2
    assert np.abs(narrow.run(**arrays) - expected).max() < ERROR
    assert np.abs(narrow.run_clear(**arrays) - expected).max() < ERROR


def test_whoever_has_all_inputs_refuses_those_that_leave_a_range() -> None:
    program, arrays = compiled(ranged_squares), drawn(1.0)
    client, _ = program.keygen()
    for refused in (client.encrypt, program.run_clear, client.public_key().encrypt):
        with pytest.raises(errors.ValueOutOfRangeError, match=r"product 1.*-4 to 4.*within"):
            refused(**arrays)
    outside = program.simulate(**arrays).outside
    assert ["product 1" in each for each in outside] == [True, False]


def test_results_that_leave_their_range_are_refused_when_they_are_decrypted() -> None:
    program = compiled(lambda x, w, v: cw.within(squares(x, w, v), -1, 1))
    client, evaluator = program.keygen()
    # Each has one matrix, and cannot know the product.
    parts = [client.public_key().encrypt(**{name: each}) for name, each in drawn(0.7).items()]
    with pytest.raises(errors.ValueOutOfRangeError, match="exceeds 1, the most"):
        client.decrypt(evaluator.run(parts))


def test_programs_with_ranges_are_loaded_again(tmp_path: Path) -> None:
    program = compiled(ranged_squares)
    program.save(tmp_path / "program")
    loaded = cw.load(tmp_path / "program", cw.Program)
    assert loaded.value_bounds == program.value_bounds
    with pytest.raises(errors.ValueOutOfRangeError):
        loaded.run_clear(**drawn(1.0))


@pytest.mark.parametrize("shape", [(37, 50), (50, 37)])
def test_a_matrix_times_its_transpose_is_right_of_ciphertexts(shape: tuple[int, int]) -> None:
    a = np.random.default_rng(5).uniform(-1, 1, shape)
    program = cw.compile(lambda x: x @ x.T, shape, precision=PRECISION, insecure=True, log_n=10)
    assert program.packing.kind == "matrices"
    assert np.abs(program.run(a) - a @ a.T).max() < ERROR


def test_matrices_in_the_clear_are_factors_of_ciphertexts() -> None:
    rng = np.random.default_rng(6)
    weights = rng.uniform(-1, 1, (40, 50))
    a, b = rng.uniform(-1, 1, (30, 40)), rng.uniform(-1, 1, (50, 20))
    program = cw.compile(
        lambda x, y: x @ weights @ y, a.shape, b.shape, precision=8, insecure=True, log_n=11
    )
    assert program.packing.kind == "matrices"
    assert np.abs(program.run(a, b) - a @ weights @ b).max() < 2.0**-8


def attention(q: Any, k: Any, v: Any) -> Any:
    return cw.einsum("bqd,bkd->bqk", q, k) @ v


def test_batches_of_chains_are_right_of_ciphertexts() -> None:
    q, k, v = np.random.default_rng(7).uniform(-1, 1, (3, 3, 40, 32))
    program = cw.compile(attention, q.shape, k.shape, v.shape, precision=8, insecure=True, log_n=11)
    assert program.packing.kind == "matrices"
    expected = np.einsum("bqd,bkd->bqk", q, k) @ v
    assert np.abs(program.run(q, k, v) - expected).max() < 2.0**-8


def test_eager_products_of_rows_are_within_their_precision(tmp_path: Path) -> None:
    session = cw.Session(depth=2, insecure=True, log_n=13)
    a, b = np.random.default_rng(4).uniform(-1, 1, (2, 64, 64))
    made = session.encrypt(a, bound=1) @ session.encrypt(b, bound=1)
    assert np.abs(session.decrypt(made) - a @ b).max() < 2.0**-made.precision
    # By the bounds of the operands a result is no larger than the inner size.
    assert (made.level, [each.bound for each in made.values]) == (0, [64.0])
    # An evaluator that has the session's keys computes the same.
    evaluator = session.evaluator()
    paths = [tmp_path / name for name in "ab"]
    for path, each in zip(paths, (a, b), strict=True):
        session.encrypt(each, bound=1).save(path)
    one, other = map(evaluator.load, paths)
    there = one @ other
    assert there.program is not None
    assert made.program is not None
    assert len(there.program.operations) == len(made.program.operations)
    there.save(paths[0])
    assert np.abs(session.decrypt(session.load(paths[0])) - a @ b).max() < ERROR
    again = session.decrypt((made + made)[:2, 1:])
    assert np.abs(again - 2 * (a @ b)[:2, 1:]).max() < ERROR


def test_eager_products_of_rows_keep_a_key_budget() -> None:
    free = cw.Session(depth=2, insecure=True, log_n=11)
    a = np.eye(32)
    free.encrypt(a) @ free.encrypt(a)
    budget = free.key_bytes // 2
    session = cw.Session(depth=2, insecure=True, log_n=11, key_budget=budget)
    tight = session.encrypt(a) @ session.encrypt(a)
    assert session.key_bytes <= budget
    np.testing.assert_allclose(session.decrypt(tight), a, atol=ERROR)


def test_inputs_that_are_always_zero_are_encrypted_by_others_too() -> None:
    shapes = {"x": (20, 2000), "w": (100, 20), "v": (3, 100)}
    program = cw.compile(squares, *shapes.values(), precision=PRECISION, public_inputs=True)
    # Of three rows, some diagonals of the last columns have no element.
    assert program.packing.kind == "matrices"
    assert min(each.max() for each in program.packing.input_bounds() or ()) == 0
    client, evaluator = program.keygen()
    rng = np.random.default_rng(5)
    x, w, v = (rng.uniform(-1, 1, shape) for shape in shapes.values())
    parts = [client.public_key().encrypt(**each) for each in ({"x": x}, {"w": w, "v": v})]
    found = client.decrypt(evaluator.run(parts))
    assert np.abs(found - v @ (w @ x) ** 2).max() < ERROR

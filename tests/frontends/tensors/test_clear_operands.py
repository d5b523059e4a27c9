"""Clear matrices of other packages beside encrypted tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, ProgramTooLargeError, ShapeMismatchError

WEIGHTS = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, -1.0]])
VECTOR = np.array([1.0, -0.5, 0.25])


def sparse(kind: str) -> Any:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    return getattr(scipy_sparse, kind)(WEIGHTS)


@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array"])
def test_sparse_matrices_are_operands(kind: str) -> None:
    matrix = sparse(kind)
    functions: list[Callable[[Any], Any]] = [
        lambda x: matrix @ x,
        lambda x: x @ matrix.T,
        lambda x: np.dot(matrix, x),
        lambda x: cw.einsum("ij,j->i", matrix, x),
    ]
    for function in functions:
        program = cw.compile(function, (3,), precision=10)
        np.testing.assert_allclose(program.run_clear(VECTOR), WEIGHTS @ VECTOR, atol=2**-10)


def test_sparse_matrices_of_too_many_zeros_are_refused() -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    size = 1 << 14
    scattered = scipy_sparse.random_array((size, size), density=1e-6, rng=0)
    with pytest.raises(ProgramTooLargeError, match=r"up to 64 diagonals .* with 26\d diagonals"):
        cw.compile(lambda x: scattered @ x, (size,))
    with pytest.raises(ProgramTooLargeError, match="1 diagonals times a tensor of 3 axes"):
        cw.compile(lambda x: scipy_sparse.eye_array(size) @ x, (2, size, 2))
    with pytest.raises(ProgramTooLargeError, match="write matrix @ x"):
        cw.compile(lambda x: cw.einsum("ij,j->i", scipy_sparse.eye_array(size), x), (size,))
    with pytest.raises(ShapeMismatchError, match=r"\(16384, 16384\) and \(3,\) do not fit"):
        cw.compile(lambda x: scipy_sparse.eye_array(size) @ x, (3,))
    with pytest.raises(InvalidArgumentError, match="decrypt it first"):
        cw.compile(lambda x: sparse("csr_array") * x, (3,))


def banded(rows: int, columns: int) -> Any:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(rows + columns)
    steps = [-3, -1, 0, 1, 40]
    diagonals = [rng.uniform(-1, 1, columns) for _ in steps]
    return scipy_sparse.dia_array((np.stack(diagonals), steps), shape=(rows, columns))


@pytest.mark.parametrize("shape", [(200, 200), (190, 210), (300, 100)])
def test_products_with_banded_matrices_take_their_diagonals(shape: tuple[int, int]) -> None:
    matrix = banded(*shape).tocsr()
    rows, columns = shape
    x, y = (np.random.default_rng(0).uniform(-1, 1, size) for size in (columns, rows))
    functions: list[tuple[Callable[[Any], Any], Any, Any]] = [
        (lambda v: matrix @ v, x, matrix @ x),
        (lambda v: v @ matrix, y, y @ matrix),
        (lambda v: np.matmul(v, matrix), y, y @ matrix),
        (lambda v: matrix @ v, np.outer(x, [1, 0.5]), np.outer(matrix @ x, [1, 0.5])),
        (lambda v: v @ matrix, np.outer([1, 0.5], y), np.outer([1, 0.5], y @ matrix)),
    ]
    for function, given, expected in functions:
        program = cw.compile(function, given.shape, precision=12, insecure=True, log_n=10)
        assert max(program.packing.vector_counts) <= 2
        np.testing.assert_allclose(program.run(given), expected, atol=2**-12)


def test_a_sparse_matrix_may_be_larger_than_its_zeros_could_be_held() -> None:
    matrix = banded(20_000, 20_000)
    program = cw.compile(lambda x: matrix @ x, (20_000,), precision=12)
    assert program.required_keys is not None
    assert len(program.required_keys.rotations) <= 12
    x = np.random.default_rng(0).uniform(-1, 1, 20_000)
    np.testing.assert_allclose(program.run_clear(x), matrix @ x, atol=2**-12)


def test_products_of_comparisons_with_sparse_matrices_are_numpys() -> None:
    matrix = banded(64, 64).tocsr()
    program = cw.compile(lambda x: matrix @ (x > 0), (64,), precision=8)
    x = np.random.default_rng(0).choice([-1.0, 1.0], 64)
    np.testing.assert_allclose(program.run_clear(x), matrix @ (x > 0), atol=2**-8)
    with pytest.raises(InvalidArgumentError, match="sums of products are numpy's of booleans"):
        cw.compile(lambda x: matrix.astype(bool) @ (x > 0), (64,))


def test_arrays_of_jax_are_samples_operands_and_inputs() -> None:
    jax_numpy = pytest.importorskip("jax.numpy")
    weights, vector = jax_numpy.asarray(WEIGHTS), jax_numpy.asarray(VECTOR)
    program = cw.compile(lambda x: weights @ x - 1 + (vector * x).sum(), vector, precision=10)
    expected = WEIGHTS @ VECTOR - 1 + (VECTOR**2).sum()
    np.testing.assert_allclose(program.run_clear(vector), expected, atol=2**-10)
    short = cw.compile(
        lambda x: x * vector.astype(jax_numpy.bfloat16), vector.astype("bfloat16"), precision=10
    )
    np.testing.assert_allclose(short.run_clear(vector), VECTOR**2, atol=2**-10)


def test_tensors_of_torch_are_operands_and_inputs() -> None:
    torch = pytest.importorskip("torch")
    weights, vector = torch.tensor(WEIGHTS), torch.tensor(VECTOR)
    program = cw.compile(lambda x: weights @ x - 1 + (vector * x).sum(), (3,), precision=10)
    expected = WEIGHTS @ VECTOR - 1 + (VECTOR**2).sum()
    np.testing.assert_allclose(program.run_clear(vector), expected, atol=2**-10)


def test_what_knows_itself_as_an_array_is_an_operand() -> None:
    class Known:
        """As arrays of jax."""

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
            return WEIGHTS

    program = cw.compile(lambda x: x @ np.asarray(Known()).T, (3,), precision=10)
    np.testing.assert_allclose(program.run_clear(VECTOR), WEIGHTS @ VECTOR, atol=2**-10)
    other = cw.compile(lambda x: x * Known(), (3,), precision=10)
    np.testing.assert_allclose(other.run_clear(VECTOR), WEIGHTS * VECTOR, atol=2**-10)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("kind", ["csr_matrix", "coo_matrix", "matrix", "csr_array"])
def test_products_of_matrices_by_a_star_are_refused(kind: str) -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    square = np.array([[0.5, 1.0], [0.0, -1.0]])
    matrix = getattr(np if kind == "matrix" else scipy_sparse, kind)(square)
    session = cw.Session(depth=1, backend="clear")
    x = session.encrypt([[1.0, 0.5], [-0.5, 1.0]])
    functions: list[Callable[[Any], Any]] = [lambda x: matrix * x, lambda x: x * matrix]
    if kind == "csr_array":
        # A product of elements to scipy, too.
        found = session.decrypt(functions[1](x))
        np.testing.assert_allclose(found, square * session.decrypt(x), atol=1e-6)
        return
    for function in functions:
        with pytest.raises(InvalidArgumentError, match=f"got {kind}, of which .* write @"):
            function(x)
        with pytest.raises(InvalidArgumentError, match="write @"):
            cw.compile(function, (2, 2), precision=10)
    found = session.decrypt(matrix @ x)
    np.testing.assert_allclose(found, square @ session.decrypt(x), atol=1e-6)

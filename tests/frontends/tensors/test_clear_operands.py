"""Clear matrices of other packages beside encrypted tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, ProgramTooLargeError

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
    with pytest.raises(ProgramTooLargeError, match="multiply by blocks of it"):
        cw.compile(lambda x: scipy_sparse.eye_array(1 << 14) @ x, (1 << 14,))
    with pytest.raises(InvalidArgumentError, match="decrypt it first"):
        cw.compile(lambda x: sparse("csr_array") * x, (3,))


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

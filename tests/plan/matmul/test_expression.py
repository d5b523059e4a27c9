import numpy as np
import pytest

from cloakwork.plan.matmul.expression import (
    Combination,
    Matrix,
    MatrixChain,
    Pointwise,
    Spread,
    Transposed,
    Weighted,
    least_multiplications,
    matrix_expression,
    read_most,
)
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Source, Sum

A, B, C = (Source(name, (3, 3)) for name in "abc")


def product(one: Node, other: Node) -> Contract:
    return Contract((one, other), ("ik", "kj"), "ij", (one.shape[0], other.shape[1]))


def transpose(node: Node) -> Contract:
    return Contract((node,), ("ij",), "ji", node.shape[::-1])


def names(chain: object) -> list[str]:
    """The matrices of a chain, transposed ones in capitals."""
    assert isinstance(chain, MatrixChain)
    factors = [each.factor for each in chain.factors if isinstance(each, Matrix)]
    return [each.source.name.upper() if each.transposed else each.source.name for each in factors]


def test_products_of_products_are_one_chain() -> None:
    found = matrix_expression([product(product(A, B), product(C, A))])
    assert names(found) == ["a", "b", "c", "a"]


def test_transposes_go_to_the_matrices_from_outside() -> None:
    found = matrix_expression([transpose(product(product(A, transpose(B)), C))])
    assert names(found) == ["C", "b", "A"]


def test_a_product_that_is_used_twice_is_computed_once() -> None:
    shared = product(A, B)
    found = matrix_expression([product(transpose(shared), shared)])
    assert isinstance(found, MatrixChain)
    left, right = found.factors
    assert isinstance(left, Transposed)
    assert left.of is right
    assert names(right) == ["a", "b"]


def test_sums_in_sums_are_one() -> None:
    inner = Sum((product(A, B), C), (1, -1), np.ones((3, 3)), (3, 3))
    outer = Sum((product(B, A), inner), (1, -1), None, (3, 3))
    found = matrix_expression([outer])
    assert isinstance(found, Combination)
    assert [sign for sign, _ in found.terms] == [1, -1, 1]
    assert found.constant is not None
    assert (found.constant == -1).all()


def test_vectors_are_spread_and_numbers_in_the_clear_are_weights() -> None:
    row, column = Source("row", (3,)), Source("column", (3, 1))
    weighted = Contract((product(A, B), np.arange(3.0)), ("ij", "j"), "ij", (3, 3))
    found = matrix_expression([transpose(Sum((weighted, row, column), (1, 1, 1), None, (3, 3)))])
    assert isinstance(found, Combination)
    weights, *spread = (each for _, each in found.terms)
    assert isinstance(weights, Weighted)
    np.testing.assert_array_equal(weights.weights, np.repeat(np.arange(3.0), 3).reshape(3, 3))
    assert [each.axis for each in spread if isinstance(each, Spread)] == [0, 1]


def test_squares_are_products_of_single_numbers() -> None:
    hidden = product(A, B)
    found = matrix_expression([Contract((hidden, hidden), ("ij", "ij"), "ij", (3, 3))])
    assert isinstance(found, Pointwise)
    assert found.left is found.right


@pytest.mark.parametrize(
    "results",
    [
        [A],
        [product(A, B)] * 2,
        [Contract((A, A), ("ij", "ij"), "ij", (3, 3))],
        [Contract((A, B), ("ij", "ij"), "", ())],
        [product(A, Contract((B, C), ("ik", "ij"), "ij", (3, 3)))],
        [Sum((product(A, B), transpose(Source("v", (1, 3)))), (1, 1), None, (3, 3))],
        # Rows of both operands are filled beyond the matrix.
        [
            product(
                Sum((product(A, B), Source("v", (3,))), (1, 1), None, (3, 3)),
                Sum((product(B, C), Source("w", (3, 1))), (1, 1), None, (3, 3)),
            )
        ],
    ],
)
def test_everything_else_is_left_alone(results: list[Node]) -> None:
    assert matrix_expression(results) is None


def test_the_fewest_multiplications_are_those_of_the_best_order() -> None:
    one, two, three = Source("x", (10, 100)), Source("y", (100, 5)), Source("z", (5, 50))
    found = matrix_expression([product(one, product(two, three))])
    assert found is not None
    assert least_multiplications(found) == 7500


def matrix_of(whole: Source, number: int) -> Rearrange:
    elements = np.arange(27).reshape(3, 9)[number].reshape(3, 3)
    return Rearrange(whole, elements)


def test_a_matrix_of_a_tensor_is_one_wherever_it_is_taken() -> None:
    whole = Source("t", (3, 3, 3))
    found = matrix_expression(
        [product(product(matrix_of(whole, 1), transpose(matrix_of(whole, 2))), matrix_of(whole, 1))]
    )
    assert isinstance(found, MatrixChain)
    assert names(found) == ["t[1]", "T[2]", "t[1]"]
    first, _, last = (each.factor.source for each in found.factors if isinstance(each, Matrix))
    assert first is last


def test_a_tensor_of_which_little_is_read_is_none_of_matrices() -> None:
    whole = Source("t", (3, 3, 3))
    found = matrix_expression([product(matrix_of(whole, 1), A)])
    assert found is not None
    assert not read_most([found])
    columns = Rearrange(Source("w", (3, 6)), np.arange(18).reshape(3, 6)[:, :3])
    assert matrix_expression([product(columns, A)]) is None

import numpy as np
import pytest

from cloakwork.plan.matmul.product import Product
from cloakwork.plan.matmul.recognise import matrix_contraction
from cloakwork.programs.ir.tensors import Contract, Node, Source, Sum


def contraction_of(expression: str, *shapes: tuple[int, ...]) -> Contract:
    terms, output = expression.split("->")
    labels = tuple(terms.split(","))
    sizes = {
        label: size
        for term, shape in zip(labels, shapes, strict=True)
        for label, size in zip(term, shape, strict=True)
    }
    sources = tuple(Source(str(number), shape) for number, shape in enumerate(shapes))
    return Contract(sources, labels, output, tuple(sizes[label] for label in output))


@pytest.mark.parametrize(
    ("expression", "shapes", "product"),
    [
        ("ik,kj->ij", [(2, 3), (3, 4)], Product(1, 2, 3, 4)),
        ("ik,jk->ji", [(2, 3), (4, 3)], Product(1, 2, 3, 4)),
        ("bik,bkj->bij", [(5, 2, 3), (5, 3, 4)], Product(5, 2, 3, 4)),
        ("bqhd,bkhd->bhqk", [(2, 5, 3, 7), (2, 6, 3, 7)], Product(6, 5, 7, 6)),
        ("ikl,klj->ij", [(2, 3, 4), (3, 4, 5)], Product(1, 2, 12, 5)),
    ],
)
def test_products_of_matrices_are_found_and_seen(
    expression: str, shapes: list[tuple[int, ...]], product: Product
) -> None:
    found = matrix_contraction([contraction_of(expression, *shapes)])
    assert found is not None
    assert found.product == product
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in shapes]
    a, b = (
        array.transpose(view.order).reshape(shape)
        for array, view, shape in zip(
            arrays, found.operands, (product.left_shape, product.right_shape), strict=True
        )
    )
    made = (a @ b).reshape(found.result.sizes).transpose(np.argsort(found.result.order))
    np.testing.assert_allclose(made, np.einsum(expression, *arrays))


def test_transposes_before_and_after_are_looked_through() -> None:
    x, y = Source("x", (3, 2)), Source("y", (3, 4))
    turned = Contract((x,), ("ab",), "ba", (2, 3))
    product = Contract((turned, y), ("ik", "kj"), "ij", (2, 4))
    found = matrix_contraction([Contract((product,), ("ij",), "ji", (4, 2))])
    assert found is not None
    assert found.sources == (x, y)
    assert found.operands[0].order == (1, 0)
    assert found.result.order == (1, 0)


X = Source("x", (3, 3))


@pytest.mark.parametrize(
    "results",
    [
        [X],
        [Contract((X, X), ("ij", "ij"), "ij", (3, 3))],
        [Contract((X, X), ("ii", "ij"), "j", (3,))],
        [Contract((X, X), ("ik", "lj"), "ij", (3, 3))],
        [Contract((X, np.ones((3, 3))), ("ik", "kj"), "ij", (3, 3))],
        [Contract((X, Source("y", (1, 3))), ("ik", "kj"), "ij", (3, 3))],
        [Sum((X, X), (1, 1), None, (3, 3))],
        [Contract((Sum((X, X), (1, 1), None, (3, 3)), X), ("ik", "kj"), "ij", (3, 3))],
        [Contract((X, X), ("ik", "kj"), "ij", (3, 3))] * 2,
    ],
)
def test_everything_else_is_left_alone(results: list[Node]) -> None:
    assert matrix_contraction(results) is None

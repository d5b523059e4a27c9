"""Sums of products of two tensors: in the clear, as products of elements, and their errors."""

from __future__ import annotations

from string import ascii_lowercase

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import InvalidProgramError
from cloakwork.plan.networks.calibration import calibrate
from cloakwork.plan.networks.errors.fitted import errors_after
from cloakwork.plan.networks.errors.likely import likely_difference
from cloakwork.plan.networks.fit import fit
from cloakwork.plan.networks.spread import with_products_spread
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import layer_value, results


def contraction(seed: int) -> tuple[g.Contraction, tuple[g.Shape, g.Shape]]:
    """One of random letters in random orders, and the shapes of its operands."""
    generator = np.random.default_rng(seed)
    of_left, of_right, of_both, summed = np.split(
        np.array([*ascii_lowercase[:8]]), np.cumsum(generator.integers(0, 3, 3))
    )
    summed = summed[: generator.integers(1, 3)]
    sizes = dict(zip(ascii_lowercase, generator.integers(1, 4, 26).tolist(), strict=True))
    left, right, result = (
        "".join(generator.permutation(np.concatenate(parts)))
        for parts in (
            (of_left, of_both, summed),
            (of_right, of_both, summed),
            (of_left, of_right, of_both),
        )
    )
    shapes = tuple(tuple(sizes[letter] for letter in letters) for letters in (left, right))
    return g.Contraction(left, right, result), (shapes[0], shapes[1])


def network(seed: int, activation: str = "") -> g.Graph:
    """A contraction of two inputs, after an activation of the first where one is named."""
    operation, shapes = contraction(seed)
    nodes: list[g.Node] = []
    for name, shape in zip("xy", shapes, strict=True):
        nodes.append(g.node(name, g.InputLayer(shape, 1.0), (), nodes))
    factor = 0
    if activation:
        nodes.append(g.node("act", g.Activation(activation), (0,), nodes))
        factor = 2
    nodes.append(g.node("product", operation, (factor, 1), nodes))
    nodes.append(g.node("z", g.OutputLayer(), (len(nodes) - 1,), nodes))
    return g.build(nodes)


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_contractions_and_products_of_elements_are_einsum(seed: int) -> None:
    graph = network(seed)
    operation, _ = contraction(seed)
    generator = np.random.default_rng(seed)
    factors = [generator.uniform(-1, 1, (3, *node.shape)) for node in graph.inputs]
    letters = f"Z{operation.left},Z{operation.right}->Z{operation.result}"
    expected = np.einsum(letters, *factors).reshape(3, -1)
    rows = np.concatenate([each.reshape(3, -1) for each in factors], axis=1)
    for each in graph, with_products_spread(graph):
        np.testing.assert_allclose(results(each, rows), expected, atol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_errors_are_those_of_products_of_elements(seed: int) -> None:
    graph = network(seed, "tanh")
    generator = np.random.default_rng(seed)
    width = sum(int(np.prod(node.shape)) for node in graph.inputs)
    rows = generator.uniform(-1, 1, (4, width))
    both = [graph, with_products_spread(graph)]
    whole, spread = (
        likely_difference(each, fit(each, calibrate(each, [rows]), precision=8), rows, {"y": 0.01})
        for each in both
    )
    # What is not seen to be equal is not: copies of one number have one error.
    assert whole == pytest.approx(spread, rel=0.2)
    operation, shapes = contraction(seed)
    exact = [generator.uniform(-1, 1, (1, *shape)) for shape in shapes]
    off = [generator.uniform(-0.1, 0.1, each.shape) for each in exact]
    seen = layer_value(operation, [one + by for one, by in zip(exact, off, strict=True)])
    bound = errors_after(operation, [*map(np.abs, exact)], [*map(np.abs, off)])
    assert (np.abs(seen - layer_value(operation, exact)) <= bound + 1e-12).all()


@pytest.mark.parametrize(
    ("letters", "shapes"),
    [
        (("ij", "jk", "ik"), ((2, 3), (4, 5))),
        (("ij", "jk", "i"), ((2, 3), (3, 5))),
        (("ii", "jk", "ik"), ((2, 2), (3, 5))),
        (("ij", "jk", "ikl"), ((2, 3), (3, 5))),
        (("ij", "j", "i"), ((2, 3), (3, 5))),
    ],
)
def test_letters_that_do_not_fit_are_refused(
    letters: tuple[str, str, str], shapes: tuple[g.Shape, g.Shape]
) -> None:
    nodes = [
        g.node(name, g.InputLayer(shape), (), []) for name, shape in zip("xy", shapes, strict=True)
    ]
    with pytest.raises(InvalidProgramError, match="Contraction fits its operands"):
        g.node("product", g.Contraction(*letters), (0, 1), nodes)

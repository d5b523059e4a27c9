"""What users say of products on the way is followed to the values that stand for them."""

import numpy as np
import pytest

from cloakwork.plan.matmul.chain import Geometry, bounds_in, lowered_chain
from cloakwork.plan.matmul.claims import element_ceilings, followed_claims, whole_ceilings
from cloakwork.plan.matmul.expression import matrix_expression
from cloakwork.plan.matmul.spine import Slotwise, spines
from cloakwork.plan.passes.levels import lowest_levels
from cloakwork.plan.passes.simplify import simplified
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.ir.tensors import Contract, Node, Source, Sum, Within
from cloakwork.programs.slots import Output
from cloakwork.runtime.simulate import extremes, results

SLOTS = 64
SHAPES = {"x": (6, 20), "w": (13, 6), "v": (5, 13)}
SOURCES = {name: Source(name, shape) for name, shape in SHAPES.items()}
TALL = Geometry(SLOTS, 8, tall=2, wide=2)


def product(one: Node, other: Node) -> Contract:
    return Contract((one, other), ("ik", "kj"), "ij", (one.shape[0], other.shape[1]))


def square(node: Node) -> Contract:
    return Contract((node, node), ("ij", "ij"), "ij", node.shape)


def network() -> Node:
    """v (w x)^2, with what is said of each product and of the square."""
    hidden = Within(product(SOURCES["w"], SOURCES["x"]), -3.0, 3.0, claimed=True)
    active = Within(square(hidden), -1.0, 8.0, claimed=True)
    return Within(product(SOURCES["v"], active), -20.0, 20.0, claimed=True)


def test_claims_are_of_the_vectors_of_what_they_say() -> None:
    (spine,) = spines([network()])
    lowered = lowered_chain("network", spine, TALL)
    program, claims = followed_claims(
        lowered.program, lowered.claims, lambda each: lowest_levels(simplified(each))
    )
    names = [(each.name, each.low, each.high) for each in claims]
    assert names == [
        ("product 1", -3.0, 3.0),
        ("function of product 1", -1.0, 8.0),
        ("product 2", -20.0, 20.0),
    ]
    unclaimed = lowest_levels(simplified(lowered.program))
    assert [*map(str, program.operations)] == [*map(str, unclaimed.operations)]
    rng = np.random.default_rng(0)
    arrays = {name: rng.uniform(-1, 1, shape) for name, shape in SHAPES.items()}
    inputs = [v for source, place in lowered.sources for v in place.pack(arrays[source.name])]
    first = arrays["w"] @ arrays["x"]
    expected = [first, first**2, arrays["v"] @ first**2]
    found = extremes(program, [inputs], [each.range for each in claims], 1)
    extreme = [(each.min(), each.max(), np.abs(each).min()) for each in expected]
    np.testing.assert_allclose(found, extreme)
    made = [each.real for each in results(program, inputs)]
    np.testing.assert_allclose(lowered.results[0].unpack(made), expected[-1], atol=1e-9)


def test_claims_say_nothing_of_slots_that_hold_anything() -> None:
    (spine,) = spines([network()])
    lowered = lowered_chain("network", spine, TALL)
    *_, last = lowered.claims
    inputs = bounds_in(lowered, dict.fromkeys(SOURCES.values(), 1.0))
    assert last.layout.garbage
    garbage = last.layout.garbage_slots()
    elements = last.layout.elements(np.arange(last.layout.ciphertexts))
    assert not (elements[:, garbage] >= 0).any()
    assert np.isinf(last.of_elements()).tolist() == garbage.tolist()

    def largest(ceilings: object) -> float:
        bounds = value_bounds(lowered.program, inputs, ceilings)  # type: ignore[arg-type]
        operations = zip(lowered.program.operations, bounds, strict=True)
        return max(bound or 0.0 for each, bound in operations if isinstance(each, Output))

    assert largest(whole_ceilings(lowered.claims)) == 20
    # A share of 8 units, whose squares are at most 8, stands beside every sum.
    assert largest(element_ceilings(lowered.claims)) == 8 * 8


@pytest.mark.parametrize(("shift", "is_chain"), [(0.5, True), (2.0, False)])
def test_what_stands_beside_elements_has_to_keep_a_range_too(shift: float, is_chain: bool) -> None:
    hidden = product(SOURCES["w"], SOURCES["x"])
    shifted = Sum((hidden,), (1,), np.full(hidden.shape, shift), hidden.shape)
    # Slots without an element hold the shift.
    active = Within(shifted, -1.0, 1.0, claimed=True)
    assert bool(spines([product(SOURCES["v"], active)])) == is_chain


def test_products_that_ranges_are_said_of_have_a_slot_each() -> None:
    hidden = Within(product(SOURCES["w"], SOURCES["x"]), -3.0, 3.0, claimed=True)
    result = product(SOURCES["v"], hidden)
    # The imaginary parts of slots that two numbers share hold anything.
    assert matrix_expression([result]) is None
    (spine,) = spines([result])
    assert [each.ranges for each in spine.steps if isinstance(each, Slotwise)] == [[hidden]]

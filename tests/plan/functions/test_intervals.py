"""What tensors hold lies within the intervals that are known of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.plan.functions.intervals import Interval, intervals_of, uniform
from cloakwork.programs.ir.elementwise import product
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Source, Sum, Within

TERMS = [
    ("ij", "jk", "ik"),
    ("ij", "ij", "ij"),
    ("ij", "ij", ""),
    ("ij", "i", "j"),
    ("ij", "j", ""),
]


def inside(interval: Interval, values: Any) -> bool:
    low = np.broadcast_to(interval.low, np.shape(values))
    high = np.broadcast_to(interval.high, np.shape(values))
    return bool((low - 1e-9 <= values).all() and (values <= high + 1e-9).all())


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(TERMS),
    st.tuples(st.floats(-2, 2), st.floats(0, 2)),
    st.tuples(st.floats(-2, 2), st.floats(0, 2)),
    st.booleans(),
    st.integers(0, 99),
)
def test_contractions(
    terms: tuple[str, str, str],
    one: tuple[float, float],
    other: tuple[float, float],
    is_clear: bool,
    seed: int,
) -> None:
    left, right, output = terms
    sizes = {"i": 2, "j": 3, "k": 4}
    shapes = [tuple(sizes[label] for label in term) for term in (left, right, output)]
    ranges = [(low, low + width) for low, width in (one, other)]
    rng = np.random.default_rng(seed)
    x, y = (rng.uniform(*ends, shape) for ends, shape in zip(ranges, shapes[:2], strict=True))
    sources = [Source(name, shape) for name, shape in zip("xy", shapes[:2], strict=True)]
    known = {
        source: uniform(len(source.shape), *ends)
        for source, ends in zip(sources, ranges, strict=True)
    }
    second: Any = y if is_clear else sources[1]
    node = Contract((sources[0], second), (left, right), output, shapes[2])
    found = intervals_of([*sources, node], known.__getitem__, 20)[node]
    assert inside(found, np.einsum(f"{left},{right}->{output}", x, y))
    # Where every number is at an end, so is the sum.
    if is_clear:
        ends_of_x = np.where(y > 0, *ranges[0][::-1]) if left == right else None
        if ends_of_x is not None and output == "":
            np.testing.assert_allclose(found.high, (ends_of_x * y).sum())


def test_squares_are_not_negative_and_rearranged_elements_keep_their_ranges() -> None:
    x = Source("x", (2, 2))
    scaled = Contract((x, np.array([[1.0, 2.0], [3.0, 4.0]])), ("ij", "ij"), "ij", (2, 2))
    square = product(scaled, scaled, "")
    turned = Rearrange(square, np.array([3, 0]))
    known = Within(turned, 0.0, 5.0, claimed=True)
    total = Sum((known,), (-1,), np.array([1.0, 1.0]), (2,))
    nodes: list[Node] = [x, scaled, square, turned, known, total]
    found = intervals_of(nodes, lambda _: uniform(2, -1.0, 0.5), 20)
    assert found[square].low.min() == 0
    assert found[turned].high.tolist() == [16.0, 1.0]
    assert found[known].high.tolist() == [5.0, 1.0]
    assert found[total].ends == (-4.0, 1.0)
    assert found[total].claimed
    assert not found[turned].claimed


@settings(max_examples=30, deadline=None)
@given(st.floats(0, 0.1), st.floats(0, 0.1), st.integers(0, 99))
def test_errors_are_bounded(one: float, other: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-1, 1, (2, 5))
    dx, dy = rng.uniform(-one, one, 5), rng.uniform(-other, other, 5)
    sources = [Source("x", (5,)), Source("y", (5,))]
    node = Contract(tuple(sources), ("i", "i"), "", ())
    known = dict(zip(sources, (uniform(1, -1, 1, one), uniform(1, -1, 1, other)), strict=True))
    found = intervals_of([*sources, node], known.__getitem__, 20)[node]
    assert abs((x + dx) @ (y + dy) - x @ y) <= found.largest_error + 1e-12

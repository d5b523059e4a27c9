from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.frontends.tensors.tracing import traced
from cloakwork.plan.functions.clear import values_of
from cloakwork.plan.tensors.reassociated import reassociated


def repeated(x: Any) -> Any:
    product = x
    for _ in range(19):
        product = product * x
    return product


def in_a_row(a: Any, b: Any, c: Any, d: Any) -> Any:
    return a * b * c * d


def with_functions(a: Any, b: Any, c: Any, d: Any) -> Any:
    return (np.square(a) + 1) * b * c * d


def used_twice(a: Any, b: Any, c: Any, d: Any) -> Any:
    first = a * b * c
    return first * d + first


# Levels as they are spelled would be 19, 3, 4 and 3.
@pytest.mark.parametrize(
    ("function", "arguments", "levels"),
    [(repeated, 1, 5), (in_a_row, 4, 2), (with_functions, 4, 3), (used_twice, 4, 3)],
)
def test_chains_of_products_take_the_fewest_levels(
    function: Callable[..., Any], arguments: int, levels: int
) -> None:
    program = cw.compile(function, *[(8,)] * arguments, precision=10)
    assert program.scheme.parameters.levels == levels
    values = np.random.default_rng(0).uniform(-1, 1, (arguments, 8))
    np.testing.assert_allclose(program.run_clear(*values), function(*values), atol=2**-10)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=9), st.randoms(use_true_random=False))
def test_any_order_of_products_is_the_same_number(numbers: list[int], random: Any) -> None:
    def function(a: Any, b: Any, c: Any, d: Any) -> Any:
        parts = [[a, b, c, d][each] for each in numbers]
        while len(parts) > 1:
            one, other = (parts.pop(random.randrange(len(parts))) for _ in range(2))
            parts.append(one * other)
        return parts[0]

    graph = traced(function, [cw.Spec((2,))] * 4)
    arrays = dict(zip(graph.sources, np.random.default_rng(0).normal(size=(4, 2)), strict=True))
    made = reassociated(graph)
    found = values_of(made.results, arrays)[made.results[0]]
    expected = np.prod([arrays[graph.sources[each]] for each in numbers], axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)

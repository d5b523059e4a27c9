"""Circuits that are too deep for every ring, before they are searched for a program."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import CircuitTooDeepError, InsecureParametersError
from cloakwork.frontends.circuit.inputs import scalar, vector
from cloakwork.frontends.circuit.staging import staged
from cloakwork.plan.circuits.depth import require_depth
from cloakwork.plan.circuits.search import lane_programs
from cloakwork.plan.parameters.bgv import IntegerOptions, cheapest_integer_plan
from cloakwork.plan.parameters.rings import RINGS
from cloakwork.programs.ir.circuits import ScalarCircuit


def circuit(function: Any) -> ScalarCircuit:
    return staged(function, {"x": scalar(), "y": scalar()}).circuit


def horner(times: int) -> ScalarCircuit:
    def function(x: Any, y: Any) -> Any:
        value = x
        for _ in range(times):
            value = value * y + x
        return value

    return circuit(function)


def test_what_no_secure_ring_holds_is_refused_at_once() -> None:
    for times in (101, 500, 4000):
        with pytest.raises(CircuitTooDeepError, match=f"{times} times, than the noise"):
            require_depth(horner(times), 16, RINGS)
    require_depth(horner(20), 16, RINGS)


def test_a_ring_that_is_asked_for_is_named() -> None:
    with pytest.raises(InsecureParametersError, match=r"log_n = 12 .* at most 2 times"):
        require_depth(horner(6), 24, range(12, 13))
    with pytest.raises(InsecureParametersError, match="log_n = 11"):
        require_depth(horner(1), 16, range(11, 12))


def test_chains_count_as_the_trees_that_they_become() -> None:
    def chain(x: Any, y: Any) -> Any:
        for _ in range(500):
            x = x * y
        return x

    require_depth(circuit(chain), 16, RINGS)
    require_depth(circuit(lambda x, y: x**4096 * y), 16, RINGS)


def test_clear_factors_and_unused_products_do_not_count() -> None:
    def function(x: Any, y: Any) -> Any:
        unused, clear = y, y**0
        for _ in range(500):
            unused, clear = unused * (unused + 1), clear * 3 + 1
        return x * clear + (unused - unused)

    require_depth(circuit(function), 16, RINGS)


@settings(max_examples=5, deadline=None)
@given(st.integers(1, 5), st.integers(2, 30))
def test_nothing_that_compiles_is_refused(depth: int, bits: int) -> None:
    def function(x: Any) -> Any:
        for _ in range(depth):
            x = [x[0] * (x[1] - 1), x[1] * (x[0] + 1)]
        return x

    made = staged(function, {"x": vector(2)}).circuit
    for log_n in (12, 13):
        rings = range(log_n, log_n + 1)
        try:
            require_depth(made, bits, rings)
        except InsecureParametersError:
            with pytest.raises(InsecureParametersError):
                cheapest_integer_plan(
                    lane_programs(made, effort=0.01), IntegerOptions(bits, rings=rings)
                )

"""Functions of integers as gates: how many bootstraps they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.frontends.circuit.on_bits import gates_of_function
from cloakwork.frontends.circuit.staging import staged
from cloakwork.plan.boolean.xag import and_count, network_of
from cloakwork.programs.bootstraps import BootstrapProgram


def unsigned(bits: int) -> Any:
    return cw.scalar(bounds=(0, 2**bits - 1))


# By bits of the operands. Verilog's operators take 32, 16, 10 and 64 of the first, 147 of the
# product, 164 of the quotient and 160 of the shift.
COUNTS: list[tuple[Callable[..., Any], int, int, int]] = [
    (lambda a, b: a + b, 32, 32, 32),
    (lambda a, b: a < b, 32, 32, 16),
    (lambda a, b: a == b, 32, 32, 10),
    (lambda a, b: max(a, b, 0), 32, 32, 64),
    (lambda a, b: a * b, 8, 8, 130),
    (lambda a, b: a // b, 8, 8, 92),
    (lambda a, b: (a << b) % 2**32, 32, 5, 160),
]


@pytest.mark.parametrize(("function", "left", "right", "most"), COUNTS)
def test_bootstraps(function: Callable[..., Any], left: int, right: int, most: int) -> None:
    declared = {"a": unsigned(left), "b": unsigned(right)}
    program = cw.circuit(**declared)(function).compile(on="bits", threads=1)
    assert isinstance(program.body, BootstrapProgram)
    assert program.body.bootstrap_count <= most


@pytest.mark.parametrize(
    ("function", "ands"),
    [
        # One for each three bits of a column that become two, and the last two of each.
        (lambda v: sum(v) + 0, 63),
        (lambda v: v[0] * 1024 + v[1], 0),
        (lambda v: (v[0] + v[1] * 2) >> 1, 0),
        (lambda v: cw.select(v[0] == 1, v[1], v[2]), 1),
        (lambda v: sum(v) // 16, 63),
        (lambda v: sum(v) % 2, 0),
        (lambda v: ~v[0], 0),
        (lambda v: v[0] < 5, 0),
    ],
)
def test_ands(function: Callable[..., Any], ands: int) -> None:
    declared = {"v": cw.vector(64, bounds=(0, 1))}
    made = staged(lambda v: [v[0], function(v)], declared)
    assert and_count(network_of(gates_of_function(made, declared))) == ands


def test_a_choice_takes_no_gates_for_what_it_is_not_made_of() -> None:
    declared = {"v": cw.vector(3, bounds=(0, 255))}
    made = staged(lambda v: cw.select(v[0] == 0, v[1] * v[2], 7 * v[1]), declared)
    gates = gates_of_function(made, declared)
    assert int(np.count_nonzero(gates.kinds)) < 500

"""The circuits of the Coyote paper: right, and with no more rotations and products than its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest

from benchmarks.circuit.jobs import (
    CircuitJob,
    large_job,
    layout_jobs,
    polynomial_jobs,
    small_jobs,
)
from benchmarks.circuit.paper import PAPER, LaneCounts
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.plan.circuits.cost import LaneCosts, lane_cost
from cloakwork.plan.circuits.scalar import scalar_program
from cloakwork.plan.circuits.search import lane_programs, vectorise
from cloakwork.plan.parameters.bgv import IntegerOptions, cheapest_integer_plan
from cloakwork.programs.ir.vectors import LaneProgram
from tests.plan.circuits.vector_evaluation import assert_right, random_inputs, results
from tests.thoroughness import slow

SUITE = [*small_jobs(), large_job()]
OTHERS = [*layout_jobs(), *polynomial_jobs()]


def name(job: CircuitJob) -> str:
    return f"{job.name} {job.replication}"


@cache
def program_of(job: str, replication: str) -> LaneProgram:
    circuits = {(each.name, each.replication): each.circuit for each in (*SUITE, *OTHERS)}
    return vectorise(circuits[job, replication], effort=0.1)


@cache
def moves(job: str, replication: str) -> int:
    """Rotations and products of the program that levels choose, as a user gets it."""
    circuits = {(each.name, each.replication): each.circuit for each in SUITE}
    found = lane_programs(circuits[job, replication], effort=0.3)
    work = counted_operations(cheapest_integer_plan(found, IntegerOptions(16)).program)
    return work["rotation"] + work["ciphertext product"]


# Rows whose programs and parameters are chosen in a second or two.
QUICK = {"dot.3 un", "dist.3 fully", "conv.4.2 partially", "mm.2 fully"}
# Circuits for which a program is searched longest.
LONG = {"mm.16 un", "polynomial.10 dense homogeneous"} | {
    f"{job} {replication}"
    for job in ("max[5]", "sort[3]", "conv.4.2", "mm.3")
    for replication in ("un", "partially", "ungrouped")
}


def rows(jobs: Sequence[CircuitJob], long: Callable[[str], bool]) -> list[Any]:
    return [
        pytest.param(job, id=name(job), marks=pytest.mark.slow if long(name(job)) else ())
        for job in jobs
    ]


@pytest.mark.parametrize("job", rows(SUITE, lambda row: row not in QUICK))
def test_rotations_and_products_are_at_most_the_papers(job: CircuitJob) -> None:
    assert moves(job.name, job.replication) <= PAPER[job.name, job.replication].moves


@pytest.mark.slow
def test_most_rows_take_fewer_rotations_and_products_than_the_papers() -> None:
    rows = [(job.name, job.replication) for job in SUITE]
    assert len(rows) == len(PAPER) == 33
    assert sum(moves(*row) < PAPER[row].moves for row in rows) >= 20


@pytest.mark.parametrize(
    ("job", "replication", "counts"),
    [
        ("dot.3", "un", "2/1/2/0"),
        ("conv.5.3", "un", "6/1/6/0"),
        ("dist.5", "fully", "1/1/0/0"),
        ("dist.5", "un", "7/1/6/0"),
        ("mm.3", "un", "6/1/6/0"),
        *slow(("mm.16", "un", "12/1/12/0")),
    ],
)
def test_regular_circuits_take_one_product_and_rotations_by_doubling(
    job: str, replication: str, counts: str
) -> None:
    assert str(LaneCounts.of(program_of(job, replication))) == counts


@pytest.mark.parametrize("job", rows([*SUITE, *OTHERS], LONG.__contains__))
def test_a_program_is_right_and_no_dearer_than_the_circuit_as_written(job: CircuitJob) -> None:
    generator = random.Random(name(job))
    program = program_of(job.name, job.replication)
    if program.width < 1000:
        assert_right(job.circuit, program, generator)
    else:
        inputs = random_inputs(job.circuit, generator)
        got = results(program, {0: inputs}, program.width)[0]["c"]
        a, b = inputs["a"], inputs["b"]
        assert got == [
            sum(a[16 * row + k] * b[16 * k + column] for k in range(16))
            for row in range(16)
            for column in range(16)
        ]
    costs = LaneCosts()
    as_written = scalar_program(job.circuit)
    assert lane_cost(program.operations, costs) <= lane_cost(as_written.operations, costs)

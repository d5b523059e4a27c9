"""Lane programs of random circuits, and what can be asked of the search."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.circuit.jobs import convolution, dot, matrix_product, max_5, sort_3
from cloakwork.errors import InvalidArgumentError, SlotMismatchError
from cloakwork.plan.circuits.cost import LaneCosts, lane_cost
from cloakwork.plan.circuits.scalar import scalar_program
from cloakwork.plan.circuits.search import vectorise
from cloakwork.programs.ir.circuits import (
    CircuitBuilder,
    CircuitInput,
    Difference,
    Integer,
    Negative,
    ScalarCircuit,
    ScalarProduct,
    Sum,
)
from cloakwork.programs.ir.vectors import PackedLanes
from cloakwork.programs.operations import Add
from tests.plan.circuits.vector_evaluation import assert_right
from tests.thoroughness import part

MOST_DEGREE = 16


def random_circuit(generator: random.Random, operations: int) -> ScalarCircuit:
    """A circuit of up to so many operations, most of them needed, of small degree."""
    builder = CircuitBuilder("random")
    values: list[int] = []
    for number in range(generator.randint(1, 3)):
        values += builder.input(random_input(generator, f"x{number}"))
    degrees = dict.fromkeys(values, 1)
    for _ in range(generator.randint(0, 3)):
        constant = builder.append(Integer(generator.randint(-4, 4)))
        values.append(constant)
        degrees[constant] = 0
    unused = list(values)
    while len(builder.operations) < operations:
        left = generator.choice(unused if unused and generator.random() < 0.8 else values)
        right = generator.choice(values)
        kind = generator.choice("++-**~")
        if kind == "*" and degrees[left] + degrees[right] > MOST_DEGREE:
            kind = "+"
        degree = max(degrees[left], degrees[right])
        if kind == "*":
            number = builder.append(ScalarProduct(left, right))
            degree = degrees[left] + degrees[right]
        elif kind == "~":
            number = builder.append(Negative(left))
            degree = degrees[left]
        else:
            number = builder.append(Sum(left, right) if kind == "+" else Difference(left, right))
        degrees[number] = degree
        values.append(number)
        unused = [each for each in unused if each not in (left, right)] + [number]
    results = (unused or values)[-generator.randint(1, 6) :]
    if generator.random() < 0.3:
        results.append(generator.choice(values))
    builder.output("y", (len(results),), results)
    return builder.finish()


def random_input(generator: random.Random, name: str) -> CircuitInput:
    count = generator.randint(1, 8)
    kind = generator.choice(("plain", "replicated", "copies anywhere", "anywhere", "fixed"))
    slots = tuple(generator.sample(range(2 * count), count)) if kind == "fixed" else None
    return CircuitInput(
        name,
        (count,),
        replicated=kind in ("replicated", "copies anywhere"),
        grouped=kind not in ("anywhere", "copies anywhere"),
        slots=slots,
    )


@settings(max_examples=part(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([0.002, 0.02]))
def test_random_circuits_come_out_right(seed: int, operations: int, effort: float) -> None:
    generator = random.Random(seed)
    circuit = random_circuit(generator, operations)
    program = vectorise(circuit, effort=effort, seed=seed)
    assert_right(circuit, program, generator)
    costs = LaneCosts()
    as_written = scalar_program(circuit)
    assert lane_cost(program.operations, costs) <= lane_cost(as_written.operations, costs)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 200))
def test_large_random_circuits_come_out_right(seed: int, operations: int) -> None:
    generator = random.Random(seed)
    circuit = random_circuit(generator, operations)
    assert_right(circuit, vectorise(circuit, effort=0.02, seed=seed), generator)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_the_circuit_as_written_comes_out_right(seed: int, operations: int) -> None:
    generator = random.Random(seed)
    circuit = random_circuit(generator, operations)
    assert_right(circuit, scalar_program(circuit), generator)


def test_the_same_seed_gives_the_same_program_whatever_the_workers() -> None:
    circuit = sort_3(bits=True, labels=False)
    programs = {
        str(vectorise(circuit, effort=0.05, seed=5, workers=workers)) for workers in (1, 1, 2)
    }
    assert len(programs) == 1


def test_annealing_finds_cheaper_programs() -> None:
    circuit = max_5(bits=False, labels=False)
    costs = LaneCosts()
    hasty, thorough = (
        lane_cost(vectorise(circuit, effort=effort).operations, costs) for effort in (0.01, 0.5)
    )
    assert thorough < hasty - 2


def test_costs_decide() -> None:
    circuit = dot(6)
    assert vectorise(circuit, effort=0.1).counts["mul"] == 1
    free = LaneCosts(rotation=100.0, hoisted=100.0, summed=100.0)
    ungrouped = CircuitBuilder("dot")
    x, y = (ungrouped.input(CircuitInput(each, (6,), grouped=False)) for each in "xy")
    total = ungrouped.append(ScalarProduct(x[0], y[0]))
    for one, other in zip(x[1:], y[1:], strict=True):
        total = ungrouped.append(Sum(total, ungrouped.append(ScalarProduct(one, other))))
    ungrouped.output("z", (), (total,))
    assert vectorise(ungrouped.finish(), costs=free, effort=0.1).counts["rotate"] == 0


def test_common_factors_are_taken_out() -> None:
    assert vectorise(sort_3(False, False, grouped=False), effort=0.05).counts["mul"] <= 5
    assert vectorise(max_5(False, False, grouped=False), effort=0.05).counts["mul"] <= 13


def test_powers_are_made_by_squaring() -> None:
    builder = CircuitBuilder("x^8")
    (x,) = builder.input(CircuitInput("x"))
    power = x
    for _ in range(7):
        power = builder.append(ScalarProduct(power, x))
    builder.output("y", (), (power,))
    assert vectorise(builder.finish()).counts["mul"] == 3


def test_sums_in_a_row_are_one_sum() -> None:
    builder = CircuitBuilder("sum")
    values = builder.input(CircuitInput("x", (8,)))
    total = values[0]
    for value in values[1:]:
        total = builder.append(Sum(total, value))
    builder.output("y", (), (total,))
    assert vectorise(builder.finish()).counts["rotate"] == 3


def test_slots_that_the_caller_fixes_are_kept() -> None:
    slots = (4, 0, 2)
    builder = CircuitBuilder("fixed")
    x = builder.input(CircuitInput("x", (3,), slots=slots))
    y = builder.input(CircuitInput("y", (3,)))
    products = [builder.append(ScalarProduct(a, b)) for a, b in zip(x, y, strict=True)]
    builder.output("z", (3,), products)
    program = vectorise(builder.finish())
    placed = {
        scalar.index: scalar.slot
        for operation in program.operations
        if isinstance(operation, PackedLanes)
        for scalar in operation.scalars
        if scalar.input == "x"
    }
    assert placed == dict(enumerate(slots))


def test_results_that_are_inputs_or_clear_come_out() -> None:
    builder = CircuitBuilder("plain")
    x, y = builder.input(CircuitInput("x", (2,)))
    builder.output("same", (2,), (x, builder.append(Integer(7))))
    builder.output("more", (), (builder.append(Sum(y, builder.append(Integer(1)))),))
    circuit = builder.finish()
    assert_right(circuit, vectorise(circuit), random.Random(0))


def test_wide_circuits_are_cut_to_the_slots_there_are() -> None:
    circuit = matrix_product(6, left=True, right=True)
    program = vectorise(circuit, most_width=80, effort=0.05)
    assert program.width <= 80
    assert_right(circuit, program, random.Random(0))


@pytest.mark.parametrize(("terms", "width", "additions"), [(64, 16, 7), (40, 16, 7), (33, 8, 7)])
def test_sums_of_more_terms_than_slots_are_added_side_by_side(
    terms: int, width: int, additions: int
) -> None:
    builder = CircuitBuilder("sum")
    total, *others = builder.input(CircuitInput("v", (terms,), replicated=True, grouped=False))
    for each in others:
        total = builder.append(Sum(total, each))
    builder.output("s", (), (total,))
    circuit = builder.finish()
    program = vectorise(circuit, most_width=width)
    assert program.width <= width
    assert sum(isinstance(each, Add) for each in program.operations) == additions
    assert_right(circuit, program, random.Random(0))


def test_long_sums_of_products_and_of_multiples_are_right() -> None:
    builder = CircuitBuilder("sums")
    a = builder.input(CircuitInput("a", (20,), replicated=True, grouped=False))
    b = builder.input(CircuitInput("b", (20,), replicated=True, grouped=False))
    products = [builder.append(ScalarProduct(x, y)) for x, y in zip(a, b, strict=True)]
    for name, terms in (("products", products), ("differences", [*a, *b])):
        total = terms[0]
        for number, each in enumerate(terms[1:]):
            kind = Difference if number % 3 else Sum
            total = builder.append(kind(total, each))
        builder.output(name, (), (builder.append(ScalarProduct(total, a[0])),))
    circuit = builder.finish()
    program = vectorise(circuit, most_width=8, effort=0.1)
    assert program.width <= 8
    assert_right(circuit, program, random.Random(0))


def test_a_circuit_that_fits_no_row_is_refused() -> None:
    with pytest.raises(SlotMismatchError, match="narrowest program takes 10"):
        vectorise(dot(10), most_width=4, effort=0.05)


def test_senseless_prices_are_refused() -> None:
    for prices in ({"rotation": 0.0}, {"mask": -1.0}):
        with pytest.raises(InvalidArgumentError, match="cannot price"):
            LaneCosts(**prices)


@pytest.mark.parametrize(("effort", "workers"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_senseless_searches_are_refused(effort: float, workers: int) -> None:
    with pytest.raises(InvalidArgumentError):
        vectorise(convolution(4, 2, False, False), effort=effort, workers=workers)

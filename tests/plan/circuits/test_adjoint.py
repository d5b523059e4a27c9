"""Circuits cut where they are linear in an input: the same results, and less depth."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.circuit.jobs import convolution, max_5, sort_3
from cloakwork.plan.circuits.adjoint import cut_forms
from cloakwork.plan.circuits.forms import Forms, InputNode, IntegerForm, ProductNode, SumNode
from cloakwork.plan.circuits.forms import forms_of_circuit as written
from cloakwork.programs.ir.circuits import (
    CircuitBuilder,
    CircuitInput,
    Difference,
    Integer,
    ScalarCircuit,
    ScalarProduct,
    Sum,
    evaluate,
)

BITS, LABELS = 4, 5


def results(forms: Forms, inputs: dict[str, list[int]]) -> list[int]:
    """What the outputs of forms come to."""
    values: list[int] = []

    def value(form: IntegerForm) -> int:
        return form.constant + sum(factor * values[node] for node, factor in form.terms)

    for node in forms.nodes:
        match node:
            case InputNode(input=name, index=index):
                values.append(inputs[name][index])
            case SumNode(form=form):
                values.append(value(form))
            case ProductNode(left=left, right=right):
                values.append(value(left) * value(right))
    return [value(form) for form in forms.outputs]


def depth(forms: Forms) -> int:
    return max((forms.levels[number] for number in forms.live), default=0)


@st.composite
def linear_circuits(draw: st.DrawFn) -> ScalarCircuit:
    """Values that depend on the labels are chosen by bits, multiplied by them, and added."""
    builder = CircuitBuilder("linear")
    bits = builder.input(CircuitInput("c", (BITS,)))
    values = list(builder.input(CircuitInput("o", (LABELS,))))
    one = builder.append(Integer(1))

    def times(bit: int, value: int) -> int:
        return builder.append(ScalarProduct(bit, value))

    for _ in range(draw(st.integers(1, 12))):
        bit, first, second = (draw(st.sampled_from(each)) for each in (bits, values, values))
        match draw(st.sampled_from(("select", "times", "sum", "difference", "offset"))):
            case "select":
                other = times(builder.append(Difference(one, bit)), second)
                values.append(builder.append(Sum(times(bit, first), other)))
            case "times":
                values.append(times(bit, first))
            case "sum":
                values.append(builder.append(Sum(first, second)))
            case "difference":
                values.append(builder.append(Difference(first, second)))
            case _:
                values.append(builder.append(Sum(first, bit)))
    count = draw(st.integers(1, 3))
    builder.output("y", (count,), values[-count:])
    return builder.finish()


@given(linear_circuits(), st.booleans(), st.integers(0, 2**32))
def test_a_cut_computes_the_same_in_less_depth(
    circuit: ScalarCircuit, factors: bool, seed: int
) -> None:
    generator = random.Random(seed)
    inputs = {
        each.name: [generator.randint(-9, 9) for _ in range(each.count)] for each in circuit.inputs
    }
    forms = written(circuit, factors=factors, shares_inputs=True)
    expected = evaluate(circuit, inputs)["y"]
    assert results(forms, inputs) == expected
    for cut in cut_forms(forms):
        assert results(cut, inputs) == expected
        assert depth(cut) < depth(forms)
        assert cut.products() <= 2 * forms.products()


@pytest.mark.parametrize(
    ("circuit", "deep", "shallow", "products"),
    [
        (sort_3(False, False), 3, 2, 8),
        (max_5(False, False), 4, 3, 13),
    ],
)
def test_chains_of_choices_lose_a_level(
    circuit: ScalarCircuit, deep: int, shallow: int, products: int
) -> None:
    forms = written(circuit, factors=True, shares_inputs=True)
    cuts = list(cut_forms(forms))
    assert depth(forms) == deep
    assert cuts
    assert all(depth(cut) == shallow and cut.products() <= products for cut in cuts)


def test_a_circuit_of_one_level_is_left_alone() -> None:
    forms = written(convolution(5, 3, False, False), factors=True, shares_inputs=True)
    assert list(cut_forms(forms)) == []


def test_a_long_chain_is_cut_without_recursion() -> None:
    builder = CircuitBuilder("chain")
    (x,) = builder.input(CircuitInput("x"))
    bits = builder.input(CircuitInput("b", (600,)))
    value = x
    for bit in bits:
        value = builder.append(Sum(bit, builder.append(ScalarProduct(bit, value))))
    builder.output("y", (), (value,))
    forms = written(builder.finish(), factors=False, shares_inputs=False)
    inputs = {"x": [3], "b": [1] * 600}
    assert [results(cut, inputs) for cut in cut_forms(forms)][:1] == [[603]]

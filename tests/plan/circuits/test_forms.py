"""Circuits as products of linear forms: long sums, whose terms are gathered once."""

from __future__ import annotations

import random

import pytest

from cloakwork.plan.circuits.forms import InputNode, SumNode, forms_of_circuit
from cloakwork.programs.ir.circuits import (
    CircuitBuilder,
    CircuitInput,
    Difference,
    Integer,
    Negative,
    Sum,
    evaluate,
)


@pytest.mark.parametrize("length", [5, 40, 20_000])
def test_a_long_sum_is_one_form(length: int) -> None:
    generator = random.Random(length)
    builder = CircuitBuilder("signs")
    scalars = builder.input(CircuitInput("x", (length,)))
    total = builder.append(Integer(7))
    for each in scalars:
        is_sum = generator.random() < 0.5
        total = builder.append(Sum(total, each) if is_sum else Difference(total, each))
        if generator.random() < 0.1:
            total = builder.append(Negative(total))
    builder.output("y", (), (total,))
    circuit = builder.finish()
    forms = forms_of_circuit(circuit, factors=True, shares_inputs=True)
    node = forms.outputs[0].node
    assert node is not None
    made = forms.nodes[node]
    assert isinstance(made, SumNode)
    values = [generator.randint(-9, 9) for _ in scalars]
    found = made.form.constant
    for number, coefficient in made.form.terms:
        scalar = forms.nodes[number]
        assert isinstance(scalar, InputNode)
        found += coefficient * values[scalar.index]
    assert [found] == evaluate(circuit, {"x": values})["y"]

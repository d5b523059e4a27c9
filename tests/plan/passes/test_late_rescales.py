"""Sums of products are rescaled once, and products with constants stay encoded."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.plan.passes.encoded_products import with_encoded_products
from cloakwork.plan.passes.late_rescales import with_late_rescales
from cloakwork.plan.passes.simplify import drop_dead, simplified
from cloakwork.programs.slots import (
    Add,
    Builder,
    Input,
    Mul,
    Output,
    Rescale,
    SlotProgram,
    Sub,
)
from tests.programs.random_programs import results


def kinds(program: SlotProgram) -> Counter[str]:
    return Counter(each.kind for each in program.operations)


def sum_of_products(terms: int, rng: np.random.Generator) -> SlotProgram:
    """Products with constants, each rescaled, added and subtracted one after the other."""
    builder = Builder("sum", slots=8)
    inputs = [builder.append(Input(f"x{number}", 2)) for number in range(terms)]
    total: int | None = None
    for number, value in enumerate(inputs):
        constant = builder.constant(rng.normal(size=8))
        pair = (constant, value) if number % 2 else (value, constant)
        product = builder.append(Rescale(builder.append(Mul(*pair))))
        if total is None:
            total = product
        else:
            total = builder.append((Sub if number % 3 == 0 else Add)(total, product))
    assert total is not None
    builder.append(Output(total))
    return builder.finish()


@pytest.mark.parametrize("terms", [2, 5, 16, 33])
def test_of_a_sum_of_products_one_rescale_is_left(terms: int) -> None:
    rng = np.random.default_rng(terms)
    program = sum_of_products(terms, rng)
    late = simplified(program)
    assert (kinds(program)["rescale"], kinds(late)["rescale"]) == (terms, 1)
    encoded = drop_dead(with_encoded_products(late))
    transforms = terms if terms >= 16 else 0
    assert kinds(encoded)["linear"] == transforms
    assert kinds(encoded)["mul"] == terms - transforms
    for made in (late, encoded):
        np.testing.assert_allclose(results(made), results(program), atol=1e-12)


def test_what_is_used_elsewhere_is_rescaled_as_it_was() -> None:
    builder = Builder("shared", slots=4)
    x, y = (builder.append(Input(name, 1)) for name in "xy")
    square, product = (builder.append(Rescale(builder.append(Mul(x, other)))) for other in (x, y))
    builder.append(Output(builder.append(Add(square, product))))
    builder.append(Output(square))
    program = builder.finish()
    assert with_late_rescales(program) is program


def test_moduli_of_integers_are_switched_as_it_was() -> None:
    made = Input("x", 1), Rescale(0), Input("y", 1), Rescale(2), Add(1, 3), Output(4)
    program = SlotProgram("", 4, made, (None,) * 6, numbers="integer")
    assert with_late_rescales(program) is program


def test_a_clear_table_is_searched_with_a_rescale_for_each_block() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(1100, 20)) / 8
    program = cw.compile(lambda query: table @ query, (20,), log_n=10, insecure=True)
    assert isinstance(program.body, SlotProgram)
    assert kinds(program.body) == {"input": 20, "linear": 60, "add": 57, "rescale": 3, "output": 3}
    query = rng.uniform(-1, 1, 20)
    client, evaluator = program.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(query)))
    assert np.abs(found - table @ query).max() < 2.0**-20

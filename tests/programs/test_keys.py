"""Keys read off programs."""

import numpy as np

from cloakwork.programs.keys import KeyRequirements, required_keys
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    Input,
    Linear,
    Mul,
    Output,
    Polynomial,
    Rescale,
    Rotate,
)


def test_every_key_is_asked_at_the_highest_level_that_uses_it() -> None:
    builder = Builder("", slots=16)
    x = builder.append(Input("x", 4))
    diagonals = {d: np.ones(16) for d in (0, 1, 5)}
    moved = builder.append(Rescale(builder.append(Linear(x, diagonals, baby_steps=4))))
    turned = builder.append(Rotate(moved, 4))
    turned = builder.append(Rotate(turned, 7))
    square = builder.append(Rescale(builder.append(Mul(turned, turned))))
    builder.append(Output(builder.append(Add(square, square))))
    assert required_keys(builder.finish()) == KeyRequirements(3, {1: 4, 4: 4, 7: 3})


def test_a_product_with_a_constant_needs_no_key() -> None:
    builder = Builder("", slots=4)
    x = builder.append(Input("x", 1))
    product = builder.append(Mul(x, builder.append(Constant(np.ones(4)))))
    builder.append(Output(builder.append(Rescale(product))))
    assert not required_keys(builder.finish())


def test_a_polynomial_relinearises_at_its_operand() -> None:
    builder = Builder("", slots=4)
    x = builder.append(Input("x", 3))
    builder.append(Output(builder.append(Polynomial(x, (0.0, 1.0, 1.0, 1.0), "monomial"))))
    assert required_keys(builder.finish()).relinearisation_level == 3


def test_joining_and_lacking() -> None:
    held = KeyRequirements(2, {1: 3})
    wanted = KeyRequirements(3, {1: 2, 8: 1})
    assert wanted.beyond(held) == KeyRequirements(3, {8: 1})
    assert not wanted.beyond(held.joined(wanted))
    assert held.joined(wanted) == KeyRequirements(3, {1: 3, 8: 1})


def test_parts_make_up_the_whole() -> None:
    whole = KeyRequirements(3, {step: step % 4 for step in range(1, 20)})
    parts = list(whole.parts(8))
    assert [len(part) for part in parts] == [1, 8, 8, 3]
    joined = KeyRequirements()
    for part in parts:
        joined = joined.joined(part)
    assert joined == whole
    assert len(whole) == 20
    assert not list(KeyRequirements().parts(8))


def test_bytes_count_every_key_at_its_level() -> None:
    assert KeyRequirements(None, {1: 3, 8: 1}).nbytes(lambda level: level + 1) == 6
    assert KeyRequirements(0, {1: 3}).nbytes(lambda level: level + 1) == 5

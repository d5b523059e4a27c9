"""Statements that decide by encrypted values: as Python decides, or refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import EncryptedConditionError, ResultOverflowError
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.frontends.circuit.on_bits import gates_of_function
from cloakwork.frontends.circuit.staging import staged
from tests.frontends.circuit.random_statements import LENGTH, random_statements
from tests.thoroughness import part

VECTOR = cw.vector(LENGTH, bounds=(-4, 4))


@pytest.mark.random
@pytest.mark.parametrize("seed", range(part(600)))
def test_random_statements_equal_python(seed: int) -> None:
    random = Random(seed)
    text, function = random_statements(random)
    made = cw.circuit(v=VECTOR)(function)
    inputs = [[random.randint(-4, 4) for _ in range(LENGTH)] for _ in range(24)]
    expected = [[int(each) for each in function(v)] for v in inputs]
    assert [made(v) for v in inputs] == expected, text
    declared = {"v": VECTOR}
    # So that each result is encrypted.
    held = cw.circuit(v=VECTOR)(lambda v: [each + v[0] * 0 for each in made(v)])
    try:
        gates = gates_of_function(staged(held.function, declared), declared)
    except ResultOverflowError:
        return
    found = Circuit(gates).run_clear(v=np.array(inputs))
    assert found["result"].tolist() == expected, text


def bracket(income: Any) -> Any:
    if income <= 10:
        return 0
    if income <= 40:
        return (income - 10) // 5
    rate = 3
    if income > 80:
        rate = 2
    return 6 + (income - 40) // rate


def first_negative(v: Any) -> Any:
    for place, each in enumerate(v):
        if each < 0:
            return place
    return -1


def until_nought(v: Any) -> Any:
    total = 0
    for each in v:
        if each == 0:
            break
        total += each
    else:
        total = -total
    return total


def split(v: Any) -> Any:
    parts: dict[str, Any] = {"up": [0, 0], "down": 0}
    for each in v:
        if each > 0:
            parts["up"][0] += each
            parts["up"][1] += 1
        else:
            parts["down"] -= each
    return parts


def filled_up(v: Any) -> Any:
    out = []
    for each in v:
        if each > 0:
            out.append(each)
        else:
            out.append(0)
    return out


def with_a_helper(v: Any) -> Any:
    def sign(x: Any) -> Any:
        if x < 0:
            return -1
        if x > 0:
            return 1
        return 0

    return [sign(each) for each in v]


def of_public_length(v: Any, most: int = 3) -> Any:
    place = 0
    total = 0
    while place < most:
        if v[place] > 1:
            total += v[place]
        place += 1
    if most > 2:
        return total
    return -total


VECTORS: tuple[Callable[[Any], Any], ...] = (
    first_negative,
    until_nought,
    split,
    filled_up,
    with_a_helper,
    of_public_length,
)


@pytest.mark.parametrize("function", VECTORS)
def test_functions_that_people_write(function: Callable[[Any], Any]) -> None:
    program = cw.circuit(v=VECTOR)(function).compile(on="bits", threads=1)
    random = Random(0)
    for _ in range(20):
        v = [random.randint(-4, 4) for _ in range(LENGTH)]
        assert program.run_clear(v=v) == function(v)


def test_statements_on_ciphertexts() -> None:
    program = cw.circuit(income=cw.scalar(bounds=(0, 127)))(bracket).compile(threads=1)
    assert program.run(income=97) == bracket(97)
    assert [program.run_clear(income=each) for each in range(128)] == [*map(bracket, range(128))]


def one_side_alone(x: Any) -> Any:
    if x > 0:
        y = x
    return y


def of_two_kinds(x: Any) -> Any:
    y = x
    if x > 0:
        y = [x, x]
    return y


def no_return(x: Any) -> Any:  # noqa: RET503
    if x > 0:
        return x


def raising(x: Any) -> Any:
    if x < 0:
        raise ValueError("less than nought")
    return x


def printing(x: Any) -> Any:
    if x < 0:
        print("less than nought")  # noqa: T201
    return x


def longer(x: Any) -> Any:
    out = []
    if x < 0:
        out.append(x)
    return [x, *out]


def of_another_kind(x: Any) -> Any:
    out = deque([0])
    if x < 0:
        out.append(x)
    return [x, *out]


def taking_turns(x: Any) -> Any:
    turns = iter([1, 2])
    y = 0
    if x < 0:
        y = next(turns)
    return x + y + next(turns)


def without_end(x: Any) -> Any:
    while x > 0:
        x -= 1
    return x


def left_by_chance(x: Any) -> Any:
    n = 0
    while True:
        n += 1
        if x < n:
            break
    return n


REFUSED: dict[Callable[[Any], Any], str] = {
    one_side_alone: "before",
    of_two_kinds: "same kind",
    no_return: "return at the end",
    raising: "raise in line",
    printing: "not used in line",
    longer: "both sides",
    of_another_kind: "deque",
    taking_turns: "next in line",
    without_end: "condition",
    left_by_chance: "for loop",
}


@pytest.mark.parametrize("function", REFUSED)
def test_others_are_refused_with_a_line(function: Callable[[Any], Any]) -> None:
    made = cw.circuit(x=cw.scalar(bounds=(-9, 9)))(function)
    with pytest.raises(EncryptedConditionError, match=REFUSED[function]) as refusal:
        made.compile()
    assert "test_statements.py:" in str(refusal.value)

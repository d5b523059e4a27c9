"""Programs that run one after the other as one program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    InsecureParametersError,
    InvalidArgumentError,
    InvalidProgramError,
    NoiseBudgetError,
)


def test_bits_and_integers_run_in_a_row_as_one_program() -> None:
    @cw.circuit(a=cw.vector(3, bounds=(-7, 7)), b=cw.vector(3, bounds=(-7, 7)))
    def products(a: Any, b: Any) -> Any:
        return [x * y for x, y in zip(a, b, strict=True)]

    first = products.compile(bits=16)
    port = cw.Port("v", "signed", 8, shape=(3,))
    second = cw.boolean.sort(port).compile(threads=2, after={"v": cw.result(first)})
    (made,) = second.outputs
    last = cw.boolean.argmax(made).compile(threads=2, after={"sorted": cw.result(second)})
    program = cw.in_a_row(first, second, last)
    assert [port.name for port in program.inputs] == ["a", "b"]
    assert [each.name for each in program.parts] == [each.name for each in (first, second, last)]
    client, evaluator = program.keygen()
    a, b = [3, -2, 7], [1, 7, -1]
    expected = {"index": 2, "greatest": 3}
    assert program.run_clear(a, b) == expected
    assert client.decrypt(evaluator.run(client.encrypt(a=a, b=b))) == expected
    assert program.log2_failure < -64


def test_inputs_of_one_name_are_encrypted_for_each_program_that_takes_them() -> None:
    def scaled(x: Any) -> Any:
        return x * 2

    def both(y: Any, x: Any) -> Any:
        return x * y, x

    first = cw.compile(scaled, (3,), log_n=13)
    second = cw.compile(both, cw.result(first), (3,), log_n=13)
    program = cw.in_a_row(first, second)
    assert program.row == ("x",)
    client, evaluator = program.keygen()
    x = np.array([0.5, -0.25, 1.0])
    sent = client.encrypt(x)
    assert len(sent.beside) == 1
    for found in (client.decrypt(evaluator.run(sent)), program.run_clear(x)):
        assert np.abs(np.array(found) - [2 * x * x, x]).max() < 2**-18
    # A row is brought together with others, and followed by them.
    third = cw.compile(lambda z: z + 1, cw.result(program), log_n=13)
    whole = cw.in_a_row(program, third)
    assert [each.name for each in whole.parts] == ["scaled", "both", "<lambda>"]
    assert np.abs(whole.run(x) - (2 * x * x + 1)).max() < 2**-18
    row, other = cw.together(program, cw.compile(scaled, (3,), log_n=13, precision=24))
    assert row.row == ("x",)
    assert row.scheme.key_set == other.scheme.key_set


def test_what_does_not_follow_one_another_is_refused() -> None:
    first = cw.compile(lambda x: x * 2, (3,), log_n=13)
    apart = cw.compile(lambda x: x + 1, (3,), log_n=13)
    for programs in ((), (first,), (first, apart)):
        with pytest.raises(InvalidArgumentError, match="the last of which follows all others"):
            cw.in_a_row(*programs)
    second = cw.compile(lambda y, x: y + x.sum(), cw.result(first), (2,), log_n=13)
    with pytest.raises(InvalidProgramError, match="'x' in several kinds or shapes"):
        cw.in_a_row(first, second)


def test_others_encrypt_for_a_row_that_crosses(tmp_path: Path) -> None:
    @cw.circuit(a=cw.vector(3, bounds=(-7, 7)), b=cw.vector(3, bounds=(-7, 7)))
    def products(a: Any, b: Any) -> Any:
        return [x * y for x, y in zip(a, b, strict=True)]

    first = products.compile(bits=16, public_inputs=True)
    port = cw.Port("v", "signed", 8, shape=(3,))
    second = cw.boolean.argmax(port).compile(after={"v": cw.result(first)})
    client, evaluator = cw.in_a_row(first, second).keygen()
    client.public_key().save(tmp_path / "public")
    owner = cw.load(tmp_path / "public", cw.Encryptor)
    sent = [owner.encrypt(a=[3, -2, 7]), client.encrypt(b=[1, 7, -1])]
    assert client.decrypt(evaluator.run(sent)) == {"index": 0, "greatest": 3}


def test_others_encrypt_bits_and_numbers_of_one_row() -> None:
    first = cw.boolean.above(cw.Port("v", "signed", 4, shape=(3,)), 1).compile()
    ring: dict[str, Any] = {"log_n": 12, "insecure": True, "public_inputs": True}
    second = cw.compile(lambda y, x: y * x, cw.result(first), (3,), precision=8, **ring)
    client, evaluator = cw.in_a_row(first, second).keygen()
    sent = client.public_key().encrypt(v=[1, 2, 3], x=[0.5, 0.25, -0.75])
    assert np.abs(client.decrypt(evaluator.run(sent)) - [0, 0.25, -0.75]).max() < 2.0**-8


def test_public_keys_of_rows_need_programs_that_bear_their_noise() -> None:
    for name in ("first", "second"):
        first = cw.compile(lambda x: x * 2, (3,), log_n=13, public_inputs=name == "second")
        second = cw.compile(
            lambda y, z: y + z, cw.result(first), (3,), log_n=13, public_inputs=name == "first"
        )
        program = cw.in_a_row(first, second)
        client, _ = program.keygen()
        with pytest.raises(NoiseBudgetError, match="compile with public_inputs=True"):
            client.public_key()
        assert client.makers == (client.maker,)


def test_parameters_of_all_that_only_tests_may_have_are_asked_for() -> None:
    ring: dict[str, Any] = {"log_n": 12, "insecure": True}
    first = cw.compile(lambda x: x * 1.0, cw.Spec((2,), bound=3), **ring)
    port = cw.Port("v", "signed", 5, shape=(2,), fraction=2)
    second = cw.boolean.argmax(port).compile(after={"v": cw.result(first)})
    assert not first.warning
    for several in (cw.together, cw.in_a_row):
        with pytest.raises(InsecureParametersError, match="for tests, say insecure=True"):
            several(first, second)
    row = cw.in_a_row(first, second, insecure=True)
    assert row.warning == "INSECURE"
    assert row.run([0.25, -1.5]) == {"index": 0, "greatest": 0.25}
    squares = cw.exactly([0, 1, 4, 9], fraction=0)
    program = cw.compile(
        lambda x: squares(x) * 1.0, cw.Spec((4,), low=0, high=3), precision=8, **ring
    )
    assert np.abs(program.run([0, 1, 2, 3]) - [0, 1, 4, 9]).max() < 2.0**-7


def test_integers_follow_others_under_parameters_of_tests() -> None:
    @cw.circuit(a=cw.matrix(2, 2, bounds=(-1, 1)))
    def turned(a: Any) -> Any:
        return [[a[0, 0] + a[1, 1], a[0, 1]], [a[1, 0], a[0, 0]]]

    @cw.circuit(m=cw.matrix(2, 2))
    def determinant(m: Any) -> Any:
        return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]

    ring: dict[str, Any] = {"log_n": 12, "insecure": True, "bits": 6}
    first = turned.compile(**ring)
    assert not first.warning
    second = determinant.compile(**ring, after={"m": cw.result(first)})
    program = cw.in_a_row(first, second, insecure=True)
    assert program.run([[1, 0], [-1, 1]]) == 2


def test_decisions_in_a_function_stand_beside_programs_over_reals() -> None:
    small: dict[str, Any] = {"precision": 10, "log_n": 12, "insecure": True}
    above = cw.exactly(lambda v: cw.boolean.above(v, 0.125), bits=8, fraction=6)
    decided = cw.compile(lambda x, y: above(x) * y, (4,), (4,), **small)
    following = cw.compile(lambda z: z + 1, cw.result(decided), **small)
    row = cw.in_a_row(decided, following, insecure=True)
    x, y = np.array([0.5, -0.5, 0.25, 0]), np.array([0.25, 0.5, -0.75, 1])
    expected = np.where(x > 0.125, y, 0)
    assert np.abs(row.run_clear(x, y) - expected - 1).max() < 2.0**-9
    squared = cw.compile(lambda z: z * z, (4,), log_n=12, insecure=True)
    one, other = cw.together(decided, squared, insecure=True)
    assert len({part.scheme.key_set for each in (one, other) for part in each.parts}) == 1
    assert np.abs(one.run_clear(x, y) - expected).max() < 2.0**-9
    assert np.abs(other.run_clear(x) - x * x).max() < 2.0**-9


def test_a_constant_in_the_middle_of_a_row_says_how_far_it_is_off() -> None:
    small: dict[str, Any] = {"log_n": 11, "insecure": True}
    first = cw.compile(lambda x: x * x, (3,), **small)
    second = cw.compile(lambda y: y * 0 + 0.5, cw.result(first), **small)
    assert 0 < (second.error or 0) < 2.0**-16
    third = cw.compile(lambda y, z: y + z, cw.result(second), (3,), **small)
    row = cw.in_a_row(first, second, third, insecure=True)
    found = row.run_clear(np.ones(3), np.array([0.25, 0, -0.25]))
    assert np.abs(found - [0.75, 0.5, 0.25]).max() < (row.error or 0)


def test_integers_too_large_for_bits_say_which_numbers_they_may_be() -> None:
    @cw.circuit(a=cw.scalar(), b=cw.scalar())
    def product(a: Any, b: Any) -> Any:
        return a * b

    first = product.compile(bits=6, log_n=11, insecure=True)
    decided = cw.boolean.above(cw.Port("v", "signed", 6), 3)
    with pytest.raises(InvalidArgumentError, match=r"narrower ranges of the inputs of product"):
        decided.compile(after={"v": cw.result(first)}, insecure=True)

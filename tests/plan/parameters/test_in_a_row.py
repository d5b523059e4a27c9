"""Programs that run one after the other as one program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, InvalidProgramError


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

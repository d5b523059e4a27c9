"""Dates, texts and bytes in circuits, against Python's own."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CharacterError,
    EncryptedConditionError,
    IndexOutOfRangeError,
    InvalidArgumentError,
    NotDateError,
    NotTextError,
    TextTooLongError,
    ValueOutOfRangeError,
)
from cloakwork.programs.bootstraps import BootstrapProgram

FIRST, LAST = date(1895, 3, 1), date(2105, 2, 28)
DAY = cw.date(FIRST, LAST)


def some_dates(count: int) -> list[date]:
    """Ends of months, leap days and centuries among them."""
    generator = random.Random(1)
    known = [
        FIRST,
        LAST,
        date(1900, 2, 28),
        date(1900, 3, 1),
        date(2000, 2, 29),
        date(2099, 12, 31),
    ]
    span = LAST.toordinal() - FIRST.toordinal()
    drawn = [FIRST + timedelta(days=generator.randint(0, span)) for _ in range(count)]
    return [*known, *drawn]


@cw.circuit(born=DAY, today=DAY)
def age(born: Any, today: Any) -> Any:
    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))


@cw.circuit(a=DAY, b=DAY)
def compared(a: Any, b: Any) -> Any:
    return [a < b, a <= b, a == b, a != b, a > b, a >= b, a < date(2000, 2, 29), a.day, a.month]


@cw.circuit(a=DAY, b=DAY)
def differences(a: Any, b: Any) -> Any:
    return [
        (b - a).days,
        (a - date(1970, 1, 1)).days,
        b - a > timedelta(days=365),
        b > a + timedelta(days=30),
        abs(a - b) <= timedelta(weeks=2),
        a - timedelta(days=1) == b,
        a.weekday(),
    ]


def expected_of(function: Any, *given: Any) -> Any:
    """What the function itself returns, on Python's own values."""
    return function.__wrapped__(*given)


@pytest.mark.parametrize("function", [age, compared, differences])
def test_dates_are_pythons(function: Any) -> None:
    program = function.compile(threads=1)
    firsts, lasts = some_dates(40), some_dates(41)[::-1][: len(some_dates(40))]
    pairs = [*zip(firsts, lasts, strict=True), *((each, each) for each in firsts[:5])]
    names = [port.name for port in program.inputs]
    a, b = ([pair[number] for pair in pairs] for number in range(2))
    found = program.run_clear(**dict(zip(names, (a, b), strict=True)))
    assert found == [expected_of(function, *pair) for pair in pairs]


def test_an_age_takes_few_bootstraps() -> None:
    program = age.compile(threads=1)
    assert isinstance(program.body, BootstrapProgram)
    assert program.body.bootstrap_count <= 16


def test_dates_on_ciphertexts() -> None:
    client, evaluator = age.compile(threads=1).keygen()
    encrypted = client.encrypt(born=date(1990, 3, 15), today="2026-03-14")
    assert client.decrypt(evaluator.run(encrypted)) == 35


def test_several_dates_are_a_list() -> None:
    @cw.circuit(days=cw.date(FIRST, LAST, n=4), limit=DAY)
    def late(days: Any, limit: Any) -> Any:
        return sum(day > limit for day in days)

    given = some_dates(0)[:4]
    assert late(given, date(1950, 1, 1)) == sum(each > date(1950, 1, 1) for each in given)
    assert late.compile().run_clear(days=given, limit=date(1950, 1, 1)) == late(
        given, date(1950, 1, 1)
    )


def test_circuits_call_circuits_with_dates() -> None:
    @cw.circuit(born=DAY)
    def is_of_age(born: Any) -> Any:
        return age(born, date(2026, 11, 30)) >= 18

    assert is_of_age(date(2008, 11, 30)) is True
    assert is_of_age(date(2008, 12, 1)) is False


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (date(1895, 2, 28), ValueOutOfRangeError),
        (date(2105, 3, 1), ValueOutOfRangeError),
        ("30.11.2026", NotDateError),
        (20_261_130, NotDateError),
        (datetime(2026, 11, 30, 12), NotDateError),
    ],
)
def test_other_dates_are_refused(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="'a'"):
        compared.compile(threads=1).run_clear(a=given, b=FIRST)
    with pytest.raises(error, match="'a'"):
        compared(given, FIRST)


def test_dates_come_in_several_types() -> None:
    born = date(2000, 2, 29)
    for given in (np.datetime64(born), datetime(2000, 2, 29), "2000-02-29"):
        assert age(given, date(2024, 2, 28)) == 23


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda a: (a + timedelta(days=1)).year, "was computed"),
        (lambda a: a + timedelta(hours=1), "whole days"),
        (lambda a: a < 5, "another date"),
        (lambda a: a, "encrypted or clear integers"),
    ],
)
def test_what_dates_do_not_do(function: Any, reason: str) -> None:
    with pytest.raises(InvalidArgumentError, match=reason):
        cw.circuit(a=DAY)(function).compile()


@pytest.mark.parametrize("arguments", [(1900, LAST), (LAST, FIRST), (FIRST, None)])
def test_ranges_of_dates_that_cannot_be(arguments: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="declare a date"):
        cw.date(*arguments)


LENGTH = 5


@cw.circuit(a=cw.text(LENGTH), b=cw.text(LENGTH))
def texts(a: Any, b: Any) -> Any:
    return [a == b, a != b, a < b, a <= b, a > b, a >= b, a == "ab", a < "b", a < "zz zz zz"]


@cw.circuit(a=cw.text(LENGTH), b=cw.text(2))
def parts(a: Any, b: Any) -> Any:
    return [
        b in a,
        "ab" in a,
        "b" not in a,
        a.startswith("ab"),
        a.startswith("abcabcabc"),
        a.startswith(b),
        a[1:3] == "ba",
        a[:2] == b,
        a[1:] < b,
    ]


def some_texts(most: int, count: int) -> list[str]:
    generator = random.Random(most)
    drawn = ["".join(generator.choices("ab ", k=generator.randint(0, most))) for _ in range(count)]
    return ["", "ab", "a" * most, *drawn]


@pytest.mark.parametrize(("function", "other"), [(texts, LENGTH), (parts, 2)])
def test_texts_are_pythons(function: Any, other: int) -> None:
    program = function.compile(threads=1)
    a, b = some_texts(LENGTH, 60), some_texts(other, 61)[1:]
    found = program.run_clear(a=a[: len(b)], b=b[: len(a)])
    pairs = zip(a, b, strict=False)
    assert found == [expected_of(function, *pair) for pair in pairs]


def test_texts_on_ciphertexts() -> None:
    @cw.circuit(name=cw.text(8), sought=cw.text(3))
    def found(name: Any, sought: Any) -> Any:
        return {"found": sought in name, "before": name < "Hilbert"}

    client, evaluator = found.compile(threads=1).keygen()
    encrypted = client.encrypt(name="Noether", sought="the")
    assert client.decrypt(evaluator.run(encrypted)) == {"found": True, "before": False}


def test_an_index_takes_a_character() -> None:
    @cw.circuit(a=cw.text(4, encoding="latin-1"))
    def firsts(a: Any) -> Any:
        return [a[0] == "é", a[3] == ""]

    assert firsts("été") == [True, True]
    assert firsts("cafe") == [False, False]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("abcdef", TextTooLongError),
        ("né", CharacterError),
        ("a\0b", CharacterError),
        (b"ab", NotTextError),
        (7, NotTextError),
    ],
)
def test_other_texts_are_refused(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="'a'"):
        texts(given, "b")


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda a: 1 + len(a), EncryptedConditionError),
        (lambda a: [each == "a" for each in a], EncryptedConditionError),
        (lambda a: a[-1] == "a", IndexOutOfRangeError),
        (lambda a: a[5] == "a", IndexOutOfRangeError),
        (lambda a: a[-2:] == "a", InvalidArgumentError),
        (lambda a: a == b"a", InvalidArgumentError),
        (lambda a: a, InvalidArgumentError),
    ],
)
def test_what_texts_do_not_do(function: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        cw.circuit(a=cw.text(LENGTH))(function).compile()


@cw.circuit(a=cw.bytestring(3), b=cw.bytestring(3), c=cw.bytestring(1))
def octets(a: Any, b: Any, c: Any) -> Any:
    return [
        a == b,
        a != b,
        a < b,
        a >= b,
        a < b"\x01\x00",
        a[1:] > b"\x01\x02\x03",
        c in a,
        b"\x00\x01" in a,
        2 in a,
        a.startswith(c),
        a.endswith(b[1:]),
        len(a),
        a[2] ^ b[0],
        sum(a),
        a == b"\x01",
    ]


def test_bytes_are_pythons() -> None:
    program = octets.compile(threads=1)
    generator = random.Random(3)

    def drawn(length: int) -> list[bytes]:
        return [bytes(generator.choices((0, 1, 2, 255), k=length)) for _ in range(60)]

    a, b, c = drawn(3), drawn(3), drawn(1)
    a[:9] = b[:9]
    expected = [expected_of(octets, *each) for each in zip(a, b, c, strict=True)]
    assert program.run_clear(a=a, b=b, c=c) == expected


@pytest.mark.parametrize(
    ("given", "error"),
    [(b"ab", TextTooLongError), ("abc", NotTextError), ([1, 2, 3], NotTextError)],
)
def test_other_bytes_are_refused(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="'a'"):
        octets(given, b"abc", b"a")


def test_tuples_are_compared_as_pythons() -> None:
    @cw.circuit(v=cw.vector(4, bounds=(0, 2)))
    def compare(v: Any) -> Any:
        a, b, c, d = v
        return [
            (a, b) < (c, d),
            [a, b] >= [c, d],
            (a, b) == (c, d),
            (a,) < (c, d),
            (a, 1) != (c, d),
        ]

    values = [[*map(int, np.base_repr(number, 3).zfill(4))] for number in range(81)]
    program = compare.compile(threads=1)
    assert program.run_clear(v=values) == [expected_of(compare, each) for each in values]


def test_a_program_of_dates_is_saved(tmp_path: Path) -> None:
    age.compile(threads=1).save(tmp_path / "age")
    read = cw.load(tmp_path / "age", cw.Program)
    assert read.run_clear(born=date(1990, 3, 15), today=date(2026, 3, 15)) == 36

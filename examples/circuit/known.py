"""Ten programs that people know, on encrypted integers, dates and bytes, with what they take.

Run: python -m examples.circuit.known
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

import cloakwork as cw
from examples.circuit.compared import PROGRAMS as COMPARED
from examples.circuit.compared import report

DAY = cw.date(datetime.date(1900, 1, 1), datetime.date(2100, 12, 31))
# Digits that are doubled, and their digits summed.
DOUBLED = cw.table([0, 2, 4, 6, 8, 1, 3, 5, 7, 9])


@cw.circuit(born=DAY, today=DAY)
def age(born: Any, today: Any) -> Any:
    """How many birthdays someone has had."""
    before = (today.month, today.day) < (born.month, born.day)
    return today.year - born.year - before


@cw.circuit(income=cw.scalar(bounds=(0, 200_000)))
def income_tax(income: Any) -> Any:
    """A fifth of what is above 10,000, and two fifths of what is above 50,000, in whole units."""
    if income <= 10_000:
        return 0
    if income <= 50_000:
        return (income - 10_000) // 5
    return 8_000 + 2 * (income - 50_000) // 5


@cw.circuit(digits=cw.vector(16, bounds=(0, 9)))
def card_number(digits: Any) -> Any:
    """Whether the last digit of a card's number is that of Luhn's checksum."""
    total = sum(DOUBLED[digit] for digit in digits[::2]) + sum(digits[1::2])
    return total % 10 == 0


@cw.circuit(given=cw.bytestring(16), known=cw.bytestring(16))
def token(given: Any, known: Any) -> Any:
    """Whether two tokens of 16 bytes are the same."""
    return given == known


@cw.circuit(marks=cw.vector(15, bounds=(0, 100)))
def median(marks: Any) -> Any:
    """The mark in the middle of 15."""
    return np.median(marks)


@cw.circuit(numbers=cw.vector(8, bounds=(0, 255)))
def in_order(numbers: Any) -> Any:
    """Eight numbers of 8 bits in order."""
    return sorted(numbers)


PROGRAMS: Mapping[str, Any] = {
    **COMPARED,
    "age": age,
    "income tax": income_tax,
    "card number": card_number,
    "token": token,
    "median": median,
    "sort": in_order,
}
INPUTS: Mapping[str, Mapping[str, Any]] = {
    "age": {"born": "1990-03-15", "today": "2026-03-14"},
    "token": {"given": b"sixteen octets.!", "known": b"sixteen octets.?"},
}


if __name__ == "__main__":
    report(PROGRAMS, INPUTS)

"""Programs that people know: against Python on the values themselves."""

import datetime
import random
from typing import Any

import pytest

from examples.circuit.known import INPUTS, PROGRAMS

RANDOM = random.Random(5)


def drawn(name: str) -> dict[str, Any]:
    match name:
        case "income tax":
            return {
                "income": RANDOM.choice([0, 10_000, 10_001, 50_000, RANDOM.randint(0, 200_000)])
            }
        case "card number":
            return {"digits": RANDOM.choices(range(10), k=16)}
        case "median":
            return {"marks": RANDOM.choices(range(101), k=15)}
        case "sort":
            return {"numbers": RANDOM.choices(range(256), k=8)}
        case _:
            return dict(INPUTS[name])


def expected(name: str, given: dict[str, Any]) -> Any:
    match name:
        case "age":
            return 35
        case "income tax":
            income = given["income"]
            low = max(0, min(income, 50_000) - 10_000)
            return low // 5 + 2 * max(0, income - 50_000) // 5
        case "card number":
            doubled = [sum(divmod(2 * each, 10)) for each in given["digits"][::2]]
            return (sum(doubled) + sum(given["digits"][1::2])) % 10 == 0
        case "token":
            return given["given"] == given["known"]
        case "median":
            return sorted(given["marks"])[7]
        case _:
            return sorted(given["numbers"])


@pytest.mark.parametrize("name", ["age", "income tax", "card number", "token", "median", "sort"])
def test_programs_that_people_know(name: str) -> None:
    program = PROGRAMS[name].compile(threads=1)
    for _ in range(10):
        given = drawn(name)
        assert program.run_clear(**given) == expected(name, given)


def test_a_valid_card_number() -> None:
    digits = [int(each) for each in "4539148803436467"]
    assert PROGRAMS["card number"](digits) is True
    assert PROGRAMS["age"](datetime.date(1990, 3, 15), datetime.date(2026, 3, 15)) == 36

"""Functions as they are written: conditions on encrypted integers mean what they mean to Python."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import cloakwork as cw
from cloakwork.errors import CloakworkError, EncryptedConditionError, InvalidArgumentError


@cw.circuit(x=cw.scalar(bounds=(0, 9)))
def early(x: int) -> int:
    """What uses a name that its module has later."""
    return x + LIMIT


LIMIT = 4
LOG: list[int] = []
TABLE = [3, 1, 4, 1, 5, 9, 2, 6]


def tax(x: int, y: int) -> Any:
    """A choice within a choice."""
    return x * 2 if x < 3 else (y if 3 <= x <= LIMIT else x - y)


def allowed(x: int, y: int) -> Any:
    """Booleans of Booleans."""
    return not (x < y and y != 3) or (x == 2 and not y > 5)


def swapped(x: int, y: int) -> Any:
    """Both sides are made of several."""
    low, high = (x, y) if x < y else (y, x)
    return [high - low, {"low": low} if low > 0 else {"low": 0}]


def in_a_loop(x: int, y: int) -> Any:
    """What a nested function and a comprehension decide."""

    def nearer(a: int) -> int:
        return a if abs(a - x) < abs(a - y) else y

    return sum(nearer(each) if each > 2 else 1 for each in (1, 2, 3, 4))


FUNCTIONS: list[Callable[[int, int], Any]] = [
    tax,
    allowed,
    swapped,
    in_a_loop,
    lambda x, y: x and y,
    lambda x, y: x or y,
    lambda x, y: not x,
    lambda x, y: [x in TABLE, y not in (x, 3), 5 in [x, y]],
    lambda x, y: 0 < x < y <= 7,
    lambda x, y: x == y != 3,
    lambda x, y: True if x > y else False,  # noqa: SIM210
    lambda x, y: (x > y) and (x > 3) and True,
    lambda x, y: ((x > y) or 5) + 0,
    lambda x, y: TABLE[3] if LIMIT > 3 else x,
    lambda x, y: (1 if x else 2) + (3 if not y else 4),
    lambda x, y: max(x, y) if x != 0 and y != 0 else min(x, y, LIMIT),
    lambda x, y: sorted([x, y, 3], key=lambda each: each % 4, reverse=True),
    lambda x, y: any(each > x for each in TABLE) and all(each != y for each in TABLE[:2]),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_conditions_mean_what_they_mean_to_python(function: Callable[[int, int], Any]) -> None:
    inputs = {"x": cw.scalar(bounds=(0, 9)), "y": cw.scalar(bounds=(0, 9))}
    alone = cw.circuit(**inputs)(function)
    random = Random(1)
    for _ in range(25):
        x, y = random.randint(0, 9), random.randint(0, 9)
        expected = function(x, y)
        found = alone(x, y)
        assert type(found) is type(expected)
        assert found == expected


def test_names_are_looked_up_when_a_function_runs() -> None:
    assert early(3) == 7


def test_a_function_of_conditions_on_ciphertexts() -> None:
    inputs = {"x": cw.scalar(bounds=(0, 9)), "y": cw.scalar(bounds=(0, 9))}
    program = cw.circuit(**inputs)(tax).compile(threads=2)
    client, evaluator = program.keygen()
    for x, y in ((2, 5), (4, 7), (9, 1)):
        assert client.decrypt(evaluator.run(client.encrypt(x=x, y=y))) == tax(x, y)


def a_statement(x: Any) -> Any:
    """A condition that is a statement."""
    if x < 3:
        return x
    return 0


@pytest.mark.parametrize(
    ("function", "error", "reason"),
    [
        (a_statement, EncryptedConditionError, r"as a condition at .*test_followed.py:\d+"),
        (lambda x: "a" if x < 3 else "b", InvalidArgumentError, "test_followed.*got str and str"),
        (
            lambda x: LOG.append(1) if x < 3 else None,
            InvalidArgumentError,
            "both sides are computed",
        ),
        (lambda x: None if x < 3 else x, InvalidArgumentError, "got NoneType and Symbol"),
        (lambda x: [x] if x < 3 else {"x": x}, InvalidArgumentError, "got list and dict"),
        (lambda x: [y for y in (1, 2) if x < y], EncryptedConditionError, "as a condition"),
    ],
)
def test_what_cannot_be_followed_names_its_line(
    function: Any, error: type[CloakworkError], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        cw.circuit(x=cw.scalar(bounds=(0, 9)))(function)(5)


def test_functions_without_source_are_run_as_they_are() -> None:
    made = eval("lambda x: max(x, 3)")
    assert cw.circuit(x=cw.scalar(bounds=(0, 9)))(made)(1) == 3
    asking = eval("lambda x: 1 if x > 3 else 0")
    with pytest.raises(EncryptedConditionError, match="as a condition"):
        cw.circuit(x=cw.scalar(bounds=(0, 9)))(asking)(1)

"""Functions as they are written: conditions on encrypted integers mean what they mean to Python."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    EncryptedConditionError,
    InvalidArgumentError,
    NotIntegerError,
)


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


def around(x: int, y: int) -> Any:
    """A name that numpy has, too, and a default that is a condition."""
    return 1 if x > y else 2


@cw.circuit(x=cw.scalar(bounds=(0, 9)), y=cw.scalar(bounds=(0, 9)))
def powers(x: int, y: int, n: int = 3) -> Any:
    """What calls itself."""
    return (x if x < y else n) * powers(x, y, n - 1) if n else 1


class Point(NamedTuple):
    """What is made of two integers."""

    x: int
    y: int


# Both on one line.
# fmt: off
ANY_ABOVE, ANY_BELOW = (lambda x, y: any(x > n for n in (y, 3))), (lambda x, y: any(x < n for n in (y, 3)))  # noqa: E501
# fmt: on


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
    around,
    lambda x, y: [np.maximum(x, 3) if x < y else 1, cw.select(x > 2, 1, 0) if y else y],
    ANY_ABOVE,
    ANY_BELOW,
    lambda x, y, n=(1 if LIMIT else 2): (x if x < y else n) + 3,  # type: ignore[misc]
    lambda x, y: (Point(x, y) if x < y else Point(y, 0)).x,
    lambda x, y: [x in range(2, 9, 3), y in range(8, 1, -2), x in range(1 << 60), x in range(0)],
    lambda x, y: [(x, y) in [(1, 2), (3, 4)], [x, 5] in [[y, 5], [1]], x in np.array([[1], [y]])],
    lambda x, y: [max(range(8), key=lambda n: TABLE[n] * x % 7), min([x, y, 4], key=abs)],
    lambda x, y: min([(x, 1), (y, 2), (4, 3)], key=lambda pair: pair[0]),
    lambda x, y: sorted([(x, 1), (y, 2), (4, 3)], key=lambda pair: -pair[0]),
    lambda x, y: [max(np.int64(3), x), min(y, np.int8(4))],
    lambda x, y: max([x, y], default=3),
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


def test_functions_that_call_themselves_are_followed() -> None:
    assert powers(2, 5) == 8
    assert powers(5, 2) == 3 * 2


def test_a_function_of_conditions_on_ciphertexts() -> None:
    inputs = {"x": cw.scalar(bounds=(0, 9)), "y": cw.scalar(bounds=(0, 9))}
    program = cw.circuit(**inputs)(tax).compile(threads=2)
    client, evaluator = program.keygen()
    for x, y in ((2, 5), (4, 7), (9, 1)):
        assert client.decrypt(evaluator.run(client.encrypt(x=x, y=y))) == tax(x, y)


def a_loop(x: Any) -> Any:
    """A loop whose end is encrypted."""
    while x < 3:
        x = x + 1
    return x


@pytest.mark.parametrize(
    ("function", "error", "reason"),
    [
        (a_loop, EncryptedConditionError, r"as a condition at .*test_followed.py:\d+"),
        (lambda x: "a" if x < 3 else "b", InvalidArgumentError, "test_followed.*got str and str"),
        (
            lambda x: LOG.append(1) if x < 3 else None,
            InvalidArgumentError,
            "both sides are computed",
        ),
        (lambda x: None if x < 3 else x, InvalidArgumentError, "got NoneType and Symbol"),
        (lambda x: [x] if x < 3 else {"x": x}, InvalidArgumentError, "got list and dict"),
        (lambda x: [y for y in (1, 2) if x < y], EncryptedConditionError, "as a condition"),
        (lambda x: 0 if x < 3 else [1, 2], InvalidArgumentError, "got int and list"),
        (lambda x: (1, 2) if x < 3 else [3, 4], InvalidArgumentError, "got tuple and list"),
        (lambda x: x or [1], InvalidArgumentError, "got Symbol and list"),
        (lambda x: max((x, 1), (3, 2)), InvalidArgumentError, "test_followed.*give.*by key="),
        (lambda x: sorted([[x, 1], [3, 2]]), InvalidArgumentError, "integer by key="),
        (lambda x: any([[x, 1], [3, 2]]), InvalidArgumentError, "expected integers"),
        (lambda x: sorted([x, 2], key=lambda y: (y, 1)), InvalidArgumentError, "integer by key="),
        (lambda x: max(x, 2.5), NotIntegerError, "got 2.5"),
        (lambda x: x in [[1], 2], InvalidArgumentError, "made in the same way"),
    ],
)
def test_what_cannot_be_followed_names_its_line(
    function: Any, error: type[CloakworkError], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        cw.circuit(x=cw.scalar(bounds=(0, 9)))(function)(5)


@pytest.mark.parametrize(
    ("function", "error", "reason"),
    [
        (lambda m: 1 if m == [[1, 2], [3, 4]] else 0, EncryptedConditionError, "numpy.all"),
        (lambda m: m[0] if m else 0, None, ""),
        (lambda m: [*max(m)], InvalidArgumentError, "numpy.max"),
        (lambda m: min(m[0], m[1]), InvalidArgumentError, "integer by key="),
        (lambda m: 5 in m, InvalidArgumentError, "numpy.any"),
        (lambda m: m[0][m[0] > 2], InvalidArgumentError, "numpy.where"),
        (lambda m: m[m[0] % 2, m[1] % 2], InvalidArgumentError, "one vector of indices"),
        (lambda m: m[0, 0] // np.array([1, 0]), InvalidArgumentError, "not 0"),
    ],
)
def test_rows_are_no_integers(
    function: Any, error: type[CloakworkError] | None, reason: str
) -> None:
    made = cw.circuit(m=cw.matrix(2, 2, bounds=(0, 9)))(function)
    rows = [[1, 2], [3, 4]]
    if error is None:
        assert made(rows) == function(rows)
        return
    with pytest.raises(error, match=reason):
        made(rows)


def test_rows_are_compared_as_a_whole() -> None:
    made = cw.circuit(m=cw.matrix(2, 2, bounds=(0, 9)))(lambda m: [[1, 2] in m, [2, 2] in m])
    assert made([[3, 4], [1, 2]]) == [True, False]
    assert made([[2, 4], [1, 2]]) == [True, False]


def test_functions_without_source_are_run_as_they_are() -> None:
    made = eval("lambda x: max(x, 3)")
    assert cw.circuit(x=cw.scalar(bounds=(0, 9)))(made)(1) == 3
    asking = eval("lambda x: 1 if x > 3 else 0")
    with pytest.raises(EncryptedConditionError, match=r"source of <lambda>, .* was not found"):
        cw.circuit(x=cw.scalar(bounds=(0, 9)))(asking)(1)


def test_a_missing_source_is_no_cause_of_what_others_ask() -> None:
    def asks(x: Any) -> int:
        return 1 if x > 3 else 0

    made = eval("lambda x: asks(x)", {"asks": asks})
    with pytest.raises(EncryptedConditionError, match="as a condition") as refused:
        cw.circuit(x=cw.scalar(bounds=(0, 9)))(made)(1)
    assert "was not found" not in str(refused.value)

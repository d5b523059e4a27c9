"""The line that says which way was planned, and why not the other."""

from collections.abc import Callable
from typing import Any

import pytest

import cloakwork as cw

PAIR = ((8, 8), (8, 8))
WAYS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]] = [
    (lambda a, b: a @ b, ((64, 64), (64, 64)), {}, "in blocks; slots were not looked at"),
    (lambda a, b: a @ b, ((4, 4), (4, 4)), {}, "in blocks; slots cost "),
    (lambda a, b: cw.relu(a @ b), PAIR, {}, "a function is made"),
    (lambda a, b: (a @ b)[::2], PAIR, {}, "a part, a reshape or a flip is made"),
    (lambda a, b: (a @ b).sum(), PAIR, {}, "a sum or a product of elements is made"),
    (lambda a, b: a @ b, PAIR, {"bootstrap": True}, "have no bootstraps"),
]


@pytest.mark.parametrize(("function", "specs", "options", "words"), WAYS)
def test_explain_says_which_way_products_of_matrices_took(
    function: Callable[..., Any], specs: tuple[Any, ...], options: dict[str, Any], words: str
) -> None:
    program = cw.compile(function, *specs, precision=7, **options)
    assert words in program.way
    text = " ".join(f"{cw.explain(program)}".split())
    assert f"way {program.way}" in text


def test_explain_says_where_the_search_ended() -> None:
    def many(x: Any) -> Any:
        for number in range(14):
            x = x + (x * [0.1 * number] * 3).sum() * 0.01
        return x

    program = cw.compile(many, (3,), precision=7)
    assert "the first 12 were varied" in program.way


def test_nothing_is_said_of_what_is_plain() -> None:
    program = cw.compile(lambda x: x * 2 + 1, (4,))
    assert program.way == ""
    assert "  way " not in f"{cw.explain(program)}"

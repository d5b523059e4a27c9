"""What asks for the truth of an encrypted integer: both sides are computed, and one is chosen."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit import source_of_functions as source
from cloakwork.frontends.circuit.ordering import any_holds
from cloakwork.frontends.circuit.refusals import at_line
from cloakwork.frontends.circuit.selection import select
from cloakwork.frontends.circuit.symbols import Symbol, is_encrypted

_Later = Callable[[], Any]


def one_or_other(bit: Symbol, one: Any, zero: Any) -> Any:
    """One of two values by whether an integer is not 0: integers, and what is made of them.

    Raises:
        InvalidArgumentError: The two are not made alike.
    """
    if one is zero and one is not None:
        return one
    if isinstance(one, tuple | list) and type(one) is type(zero) and len(one) == len(zero):
        return type(one)(one_or_other(bit, *pair) for pair in zip(one, zero, strict=True))
    if isinstance(one, dict) and isinstance(zero, dict) and one.keys() == zero.keys():
        return {name: one_or_other(bit, each, zero[name]) for name, each in one.items()}
    if any(each is None or isinstance(each, str | dict) for each in (one, zero)):
        raise InvalidArgumentError(
            f"cannot choose by an encrypted value{at_line()}, for which both sides are computed: "
            "expected two integers, or two values made of integers in the same way, "
            f"got {type(one).__name__} and {type(zero).__name__}"
        )
    return select(bit if bit.is_boolean else bit != 0, one, zero)


def _if(test: Any, one: _Later, zero: _Later) -> Any:
    if isinstance(test, Symbol):
        return one_or_other(test, one(), zero())
    return one() if test else zero()


def _and(first: Any, *rest: _Later) -> Any:
    made = first
    for number, each in enumerate(rest):
        if isinstance(made, Symbol):
            return one_or_other(made, _and(each(), *rest[number + 1 :]), _false(made))
        if not made:
            return made
        made = each()
    return made


def _or(first: Any, *rest: _Later) -> Any:
    made = first
    for number, each in enumerate(rest):
        if isinstance(made, Symbol):
            return one_or_other(made, _true(made), _or(each(), *rest[number + 1 :]))
        if made:
            return made
        made = each()
    return made


def _false(value: Symbol) -> Any:
    """What a value is where it is false."""
    return False if value.is_boolean else 0


def _true(value: Symbol) -> Any:
    """What a value is where it is true."""
    return True if value.is_boolean else value


def _not(value: Any) -> Any:
    return value == 0 if isinstance(value, Symbol) else not value


def _contains(items: Any, value: Any) -> Any:
    if not is_encrypted(value) and not is_encrypted(items):
        return value in items
    return any_holds([value == each for each in items])


_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, items: _contains(items, value),
    "not in": lambda value, items: _not(_contains(items, value)),
    "is": operator.is_,
    "is not": operator.is_not,
}


def _compared(left: Any, *others: tuple[str, _Later]) -> Any:
    """Comparisons in a row, each value of which is computed once."""
    (name, later), *rest = others
    right = later()
    found = _COMPARISONS[name](left, right)
    return _and(found, lambda: _compared(right, *rest)) if rest else found


CONDITIONS: Mapping[str, Callable[..., Any]] = {
    source.IF: _if,
    source.AND: _and,
    source.OR: _or,
    source.NOT: _not,
    source.COMPARED: _compared,
}

"""What asks for the truth of an encrypted integer: both sides are computed, and one is chosen."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit import source_of_functions as source
from cloakwork.frontends.circuit.ordering import all_hold, any_holds
from cloakwork.frontends.circuit.refusals import at_line
from cloakwork.frontends.circuit.selection import one_or_other, python_type
from cloakwork.frontends.circuit.symbols import Symbol, is_encrypted
from cloakwork.frontends.circuit.texts import EncryptedBytes, EncryptedText

_Later = Callable[[], Any]


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
    if isinstance(items, EncryptedText | EncryptedBytes):
        return items.contains(value)
    if not is_encrypted(value) and not is_encrypted(items):
        return value in items
    if isinstance(items, range) and isinstance(value, Symbol):
        return _in_range(value, items)
    if isinstance(items, np.ndarray) and python_type(value) is int:
        items = items.ravel()
    return any_holds([_same(value, each) for each in items])


def _in_range(value: Symbol, items: range) -> Any:
    """Whether an integer is one of those of a range, however many these are."""
    if not items:
        return False
    low, high = sorted((items[0], items[-1]))
    within = (value >= low) & (value <= high)
    step = abs(items.step)
    return within if step == 1 else within & ((value - low) % step == 0)


def _same(one: Any, other: Any) -> Any:
    """Whether two values are equal as a whole, as Python's lists and tuples are.

    Raises:
        InvalidArgumentError: One is an integer and the other is not, or one is a tuple.
    """
    kind = python_type(one)
    if kind is not python_type(other):
        raise InvalidArgumentError(
            f"cannot look for {shown(one)} with in{at_line()}: expected items made in the same "
            f"way, got {shown(other)}; for a number among those of a matrix write numpy.any(m == x)"
        )
    if kind not in (list, tuple):
        return one == other
    return len(one) == len(other) and all_hold(
        [_same(*pair) for pair in zip(one, other, strict=True)]
    )


def _by_parts(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison, of tuples and lists with encrypted integers as Python compares these."""

    def compared(one: Any, other: Any) -> Any:
        kind = type(one)
        is_made = kind is type(other) and kind in (tuple, list)
        if not is_made or not (is_encrypted([*one]) or is_encrypted([*other])):
            return compare(one, other)
        if compare in (operator.eq, operator.ne):
            found = _same([*one], [*other])
            return found if compare is operator.eq else _not(found)
        return _ordered([*one], [*other], compare)

    return compared


def _ordered(one: Sequence[Any], other: Sequence[Any], compare: Callable[[Any, Any], Any]) -> Any:
    """The order of the first parts that differ, or of the lengths."""
    if not one or not other:
        return compare(len(one), len(other))
    differs = _strict(compare)(one[0], other[0])
    rest = _ordered(one[1:], other[1:], compare)
    return _or(differs, lambda: _and(one[0] == other[0], lambda: rest))


def _strict(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return operator.lt if compare in (operator.lt, operator.le) else operator.gt


_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": _by_parts(operator.eq),
    "!=": _by_parts(operator.ne),
    "<": _by_parts(operator.lt),
    "<=": _by_parts(operator.le),
    ">": _by_parts(operator.gt),
    ">=": _by_parts(operator.ge),
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

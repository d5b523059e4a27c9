"""Functions as their author wrote them, in a form that does not ask what is encrypted for truth."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from types import FunctionType
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit import ordering
from cloakwork.frontends.circuit.branches import BRANCHES, explaining_names
from cloakwork.frontends.circuit.conditions import CONDITIONS
from cloakwork.frontends.circuit.refusals import at_line, refuse_number, telling_of_no_source
from cloakwork.frontends.circuit.selection import python_type
from cloakwork.frontends.circuit.source_of_functions import rewritten_code
from cloakwork.frontends.circuit.symbols import Symbol, clear_integer, is_encrypted

_Key = Callable[[Any], Any] | None


def with_conditions(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that decides on encrypted integers as it does on those in the clear.

    Its min, max, sorted, any and all take encrypted integers; and so do `a if c else b`, `and`,
    `or`, `not`, `in`, comparisons in a row and `if` statements, where its source is found. Names
    that its module gives to something else are left alone, and so is what is not a function of
    Python's.

    Example:
        >>> with_conditions(lambda x: max(x, 3))(5)
        5
    """
    if not isinstance(function, FunctionType):
        return function
    names = function.__code__.co_freevars
    cells = dict(zip(names, function.__closure__ or (), strict=True))
    rewritten = cache(lambda: rewritten_code(function))

    @wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        found = rewritten()
        code = found or function.__code__
        own = {**vars(builtins), **_FUNCTIONS, **CONDITIONS, **BRANCHES}
        # What the module has by now, and not when the function was made.
        made = FunctionType(
            code,
            {**function.__globals__, "__builtins__": own},
            function.__name__,
            function.__defaults__,
            tuple(cells[name] for name in code.co_freevars),
        )
        made.__kwdefaults__ = function.__kwdefaults__
        with explaining_names(), telling_of_no_source(None if found else code):
            return made(*arguments, **named)

    return run


def _least(*items: Any, key: _Key = None, **default: Any) -> Any:
    return _extreme(builtins.min, ordering.least, ordering.least_by, items, key, default)


def _greatest(*items: Any, key: _Key = None, **default: Any) -> Any:
    return _extreme(builtins.max, ordering.greatest, ordering.greatest_by, items, key, default)


def _extreme(
    of_python: Callable[..., Any],
    of_encrypted: Callable[[Sequence[Any]], Any],
    by_keys: Callable[[Sequence[Any], Sequence[Any]], Any],
    items: tuple[Any, ...],
    key: _Key,
    default: Mapping[str, Any],
) -> Any:
    is_one = len(items) == 1
    several = [*items[0]] if is_one else [*items]
    keys = several if key is None else [key(each) for each in several]
    if not is_encrypted(keys) or default.keys() - ({"default"} if is_one else set()):
        return of_python(*(several,) if is_one else items, key=key, **default)
    return of_encrypted(_integers(keys)) if key is None else by_keys(_integers(keys), several)


def _integers(values: Sequence[Any]) -> list[Any]:
    """Values that are integers, encrypted or not.

    Raises:
        InvalidArgumentError: One is a row or a pair, which Python compares as a whole.
        NotIntegerError: One is something else.
    """
    for each in values:
        kind = python_type(each)
        if kind is list or issubclass(kind, tuple):
            raise InvalidArgumentError(
                f"cannot compare what is made of encrypted integers{at_line()}: expected integers, "
                f"got {shown(each)}; give each an integer by key=, such as key=lambda pair: "
                "pair[0], or take numpy's functions, such as numpy.max(m, axis=0)"
            )
        if kind is not int:
            refuse_number(each)
    return [each if isinstance(each, Symbol) else clear_integer(each) for each in values]


def _sorted(items: Any, *, key: _Key = None, reverse: bool = False) -> Any:
    several = [*items]
    keys = several if key is None else [key(each) for each in several]
    if not is_encrypted(keys):
        return builtins.sorted(several, key=key, reverse=reverse)
    keys = _integers(keys)
    if key is None:
        found = ordering.rising(keys)
        return found[::-1] if reverse else found
    if not reverse:
        return ordering.rising_by(keys, several)
    # Those of one key stay in their order in this direction, too.
    return ordering.rising_by(keys[::-1], several[::-1])[::-1]


def _any(items: Any) -> Any:
    several = [*items]
    if is_encrypted(several):
        return ordering.any_holds(_integers(several))
    return builtins.any(several)


def _all(items: Any) -> Any:
    several = [*items]
    if is_encrypted(several):
        return ordering.all_hold(_integers(several))
    return builtins.all(several)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "min": _least,
    "max": _greatest,
    "sorted": _sorted,
    "any": _any,
    "all": _all,
}

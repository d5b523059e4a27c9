"""Functions as their author wrote them, in a form that does not ask what is encrypted for truth."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import FunctionType
from typing import Any

from cloakwork.frontends.circuit import ordering
from cloakwork.frontends.circuit.conditions import CONDITIONS
from cloakwork.frontends.circuit.source_of_functions import rewritten_code
from cloakwork.frontends.circuit.symbols import is_encrypted


def with_conditions(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that decides on encrypted integers as it does on those in the clear.

    Its min, max, sorted, any and all take encrypted integers; and so do `a if c else b`, `and`,
    `or`, `not`, `in` and comparisons in a row, where its source is found. Names that its module
    gives to something else are left alone, and so is what is not a function of Python's.

    Example:
        >>> with_conditions(lambda x: max(x, 3))(5)
        5
    """
    if not isinstance(function, FunctionType):
        return function
    names = function.__code__.co_freevars
    cells = dict(zip(names, function.__closure__ or (), strict=True))
    rewritten = cache(lambda: rewritten_code(function) or function.__code__)

    @wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        code = rewritten()
        own = {**vars(builtins), **_FUNCTIONS, **CONDITIONS}
        # What the module has by now, and not when the function was made.
        made = FunctionType(
            code,
            {**function.__globals__, "__builtins__": own},
            function.__name__,
            function.__defaults__,
            tuple(cells[name] for name in code.co_freevars),
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return made(*arguments, **named)

    return run


def _least(*items: Any, **named: Any) -> Any:
    return _extreme(builtins.min, ordering.least, items, named)


def _greatest(*items: Any, **named: Any) -> Any:
    return _extreme(builtins.max, ordering.greatest, items, named)


def _extreme(
    of_python: Callable[..., Any],
    of_encrypted: Callable[..., Any],
    items: tuple[Any, ...],
    named: Mapping[str, Any],
) -> Any:
    several = [*items[0]] if len(items) == 1 and not named else [*items]
    if named or not is_encrypted(several):
        return of_python(*(several,) if len(items) == 1 else items, **named)
    return of_encrypted(several)


def _sorted(items: Any, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> Any:
    several = [*items]
    keys = several if key is None else [key(each) for each in several]
    if not is_encrypted(keys):
        return builtins.sorted(several, key=key, reverse=reverse)
    if key is None:
        found = ordering.rising(several)
        return found[::-1] if reverse else found
    if not reverse:
        return ordering.rising_by(keys, several)
    # Those of one key stay in their order in this direction, too.
    return ordering.rising_by(keys[::-1], several[::-1])[::-1]


def _any(items: Any) -> Any:
    several = [*items]
    return ordering.any_holds(several) if is_encrypted(several) else builtins.any(several)


def _all(items: Any) -> Any:
    several = [*items]
    return ordering.all_hold(several) if is_encrypted(several) else builtins.all(several)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "min": _least,
    "max": _greatest,
    "sorted": _sorted,
    "any": _any,
    "all": _all,
}

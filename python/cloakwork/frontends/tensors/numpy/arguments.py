"""Arguments of numpy's functions and methods: what tensors take of them, and refusals by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import CloakworkError, UnsupportedOperationError

P = ParamSpec("P")
R = TypeVar("R")

# Beside those of numpy's signatures, what arguments are by default: tensors hold float64.
_DEFAULTS: Mapping[str, tuple[Any, ...]] = {
    "dtype": (float, np.float64, np.dtype(np.float64)),
    "where": (True,),
}


def with_arguments_of(
    function: Callable[..., Any],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a method take the arguments of numpy's function of its name as that does.

    Those that it has no use for may be numpy's defaults, and others are refused by name.
    """

    def taking(method: Callable[P, R]) -> Callable[P, R]:
        @wraps(method)
        def called(*args: P.args, **options: P.kwargs) -> R:
            made: R = made_by(method.__name__, function, method, args, options)
            return made

        return called

    return taking


def made_by(
    name: str,
    function: Callable[..., Any],
    ours: Callable[..., Any],
    args: tuple[Any, ...],
    options: Mapping[str, Any],
) -> Any:
    """What ours makes of arguments as numpy's function takes them.

    Raises:
        UnsupportedOperationError: It does not take them.
    """

    def made() -> Any:
        given, named = _arguments(name, function, ours, args, options)
        inspect.signature(ours).bind(*given, **named)
        return ours(*given, **named)

    return refused_by_name(name, made)


def refused_by_name(name: str, call: Callable[[], Any]) -> Any:
    """What is made of arguments, which are refused by the name of the function.

    Raises:
        UnsupportedOperationError: It does not take them.
    """
    try:
        return call()
    except CloakworkError:
        raise
    except TypeError as error:
        raise UnsupportedOperationError(
            f"cannot compute numpy.{name} of an encrypted tensor with these arguments: {error}"
        ) from error


def _arguments(
    called: str, function: Callable[..., Any], ours: Callable[..., Any], args: Any, options: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments where numpy has them: those without defaults in places, others by name."""
    signature, supported = inspect.signature(function), inspect.signature(ours).parameters
    given: list[Any] = []
    named: dict[str, Any] = {}
    if any(each.kind is each.VAR_POSITIONAL for each in supported.values()):
        # Methods take axes and sizes one by one, which functions take in a tuple.
        given, args = list(args), ()
    for name, value in signature.bind_partial(*args, **options).arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            given += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= value
        elif parameter.default is parameter.empty or parameter.kind is parameter.POSITIONAL_ONLY:
            given.append(value)
        elif not _is_default(parameter, value, name in supported):
            named[name] = value
    others = [name for name in named if name not in supported]
    if others:
        raise UnsupportedOperationError(
            f"cannot compute numpy.{called} of an encrypted tensor with "
            f"{', '.join(f'{name}={shown(named[name])}' for name in others)}: expected no "
            f"arguments but {', '.join(each for each in supported if each != 'self')}; leave out "
            "the others"
        )
    return given, named


def _is_default(parameter: inspect.Parameter, value: Any, is_supported: bool) -> bool:
    """Whether an argument is what numpy, or a tensor, takes where it is left out."""
    same = (parameter.default, *(() if is_supported else _DEFAULTS.get(parameter.name, ())))
    return any(value is each or (isinstance(value, str) and value == each) for each in same)

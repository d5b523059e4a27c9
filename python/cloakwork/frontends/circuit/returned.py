"""What a staged function returns: the form of its results, and the encrypted ones in order."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, NoReturn

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit.symbols import Symbol, Vector, clear_integer
from cloakwork.programs.packing.results import (
    MAX_NESTING,
    MAX_PARTS,
    Form,
    Keyed,
    Known,
    Leaf,
    Sequenced,
)


def form_of(returned: Any) -> tuple[Form, list[Symbol]]:
    """The form of what a function has returned, and its encrypted scalars in order.

    Raises:
        InvalidArgumentError: It has something else than integers in lists, tuples and dicts.

    Example:
        >>> form_of([1, (2,)])
        (Sequenced(parts=(Known(value=1), Sequenced(parts=(Known(value=2),), is_tuple=True)),
        is_tuple=False), [])
    """
    symbols: list[Symbol] = []
    form = _form(returned, symbols, 0)
    if len(symbols) > MAX_PARTS:
        _refuse(f"up to {MAX_PARTS} encrypted integers in all, got {len(symbols)}")
    return form, symbols


def _form(part: Any, symbols: list[Symbol], nesting: int) -> Form:
    if nesting > MAX_NESTING:
        _refuse(f"at most {MAX_NESTING} lists in one another")
    if isinstance(part, Symbol):
        symbols.append(part)
        return Leaf(len(symbols) - 1)
    if isinstance(part, np.ndarray) and part.ndim:
        part = list(part)
    if isinstance(part, Vector | list | tuple):
        _require_parts(part)
        parts = tuple(_form(each, symbols, nesting + 1) for each in part)
        return Sequenced(parts, is_tuple=isinstance(part, tuple))
    if isinstance(part, dict):
        if not all(isinstance(key, str) for key in part):
            _refuse("dicts whose keys are text")
        _require_parts(part)
        return Keyed({key: _form(each, symbols, nesting + 1) for key, each in part.items()})
    number = clear_integer(part)
    if number is not None:
        return Known(number)
    return _refuse(f"encrypted or clear integers, got {shown(part)}")


def _require_parts(part: Sized) -> None:
    if len(part) > MAX_PARTS:
        _refuse(f"up to {MAX_PARTS} parts each, got {len(part)}")


def _refuse(expected: str) -> NoReturn:
    raise InvalidArgumentError(
        f"cannot make a program: expected the function to return lists, tuples or dicts of "
        f"{expected}"
    )

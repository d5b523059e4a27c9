"""What a staged function returns: the form of its results, and the encrypted ones in order."""

from __future__ import annotations

from typing import Any, NoReturn

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit.symbols import Symbol, Vector
from cloakwork.programs.result_form import MAX_NESTING, Form, Keyed, Known, Leaf, Sequenced
from cloakwork.runtime.arguments import shown


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
    return _form(returned, symbols, 0), symbols


def _form(part: Any, symbols: list[Symbol], nesting: int) -> Form:
    if nesting > MAX_NESTING:
        _refuse(f"at most {MAX_NESTING} lists in one another")
    if isinstance(part, Symbol):
        symbols.append(part)
        return Leaf(len(symbols) - 1)
    if isinstance(part, Vector | list | tuple):
        parts = tuple(_form(each, symbols, nesting + 1) for each in part)
        return Sequenced(parts, is_tuple=isinstance(part, tuple))
    if isinstance(part, dict):
        if not all(isinstance(key, str) for key in part):
            _refuse("dicts whose keys are text")
        return Keyed({key: _form(each, symbols, nesting + 1) for key, each in part.items()})
    if isinstance(part, int):
        return Known(int(part))
    return _refuse(f"encrypted or clear integers, got {shown(part)}")


def _refuse(expected: str) -> NoReturn:
    raise InvalidArgumentError(
        f"cannot make a program: expected the function to return lists, tuples or dicts of "
        f"{expected}"
    )

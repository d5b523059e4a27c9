"""What users give to a program over integers and get from it: numbers, lists of them, runs."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.errors import (
    InputNameError,
    NotIntegerError,
    ResultOverflowError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.programs.integers import MAX_BITS, IntegerPort


def evaluations_of(
    ports: Sequence[IntegerPort], arguments: Mapping[str, Any], batch: int, action: str
) -> list[dict[str, list[int]]]:
    """The scalars of every input, for each evaluation.

    Args:
        ports: The inputs.
        arguments: For every input an integer, a list, or a list of lists, of its shape. In a
            batch, a list of these, as many for every input.
        batch: The most evaluations; 1 for no batch.
        action: What the caller is about to do, for the message of an error.

    Raises:
        InputNameError: An input is missing, or there is none of a name.
        ShapeMismatchError: A shape does not fit, or the numbers of evaluations differ.
        NotIntegerError: A number is no integer.
        ValueOutOfRangeError: A number is outside the range of its input.

    Example:
        >>> port = IntegerPort("a", (2,), -8, 7)
        >>> evaluations_of([port], {"a": [3, -4]}, 1, "run")
        [{'a': [3, -4]}]
        >>> evaluations_of([port], {"a": [[3, -4], [1, 2]]}, 4, "run")
        [{'a': [3, -4]}, {'a': [1, 2]}]
    """
    names = [port.name for port in ports]
    missing = [name for name in names if name not in arguments]
    unknown = [name for name in arguments if name not in names]
    if missing or unknown:
        raise InputNameError(
            f"cannot {action}: expected the inputs {', '.join(names) or 'none'}, got "
            f"{', '.join(arguments) or 'none'}"
        )
    if batch == 1:
        return [{port.name: _scalars(port, arguments[port.name], action) for port in ports}]
    given = {port.name: _runs(port, arguments[port.name], batch, action) for port in ports}
    counts = {len(runs) for runs in given.values()}
    if len(counts) > 1:
        told = ", ".join(f"{len(runs)} of {name}" for name, runs in given.items())
        raise ShapeMismatchError(
            f"cannot {action}: expected as many evaluations of every input, got {told}"
        )
    return [
        {port.name: _scalars(port, given[port.name][run], action) for port in ports}
        for run in range(max(counts, default=0))
    ]


def _runs(port: IntegerPort, value: Any, batch: int, action: str) -> Sequence[Any]:
    value = _listed(value)
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= batch:
        is_list = isinstance(value, list | tuple)
        got = f"{len(value)} of them" if is_list else f"{shown(value)}, which is no list"
        raise ShapeMismatchError(
            f"cannot {action}: expected a list of 1 to {batch} evaluations of {port.name!r}, "
            f"got {got}"
        )
    return value


def _scalars(port: IntegerPort, value: Any, action: str) -> list[int]:
    flat: list[int] = []
    _flatten(port, _listed(value), port.shape, flat, action)
    for number in flat:
        if not port.low <= number <= port.high:
            raise ValueOutOfRangeError(
                f"cannot {action}: expected {port.name!r} to hold integers from {port.low} to "
                f"{port.high}, got {shown(number)}; declare more bits, or compile with more"
            )
    return flat


def _flatten(
    port: IntegerPort, value: Any, shape: tuple[int, ...], flat: list[int], action: str
) -> None:
    value = _listed(value)
    if not shape:
        if isinstance(value, list | tuple):
            _refuse_shape(port, value, action)
        flat.append(_integer(port, value, action))
        return
    if not isinstance(value, list | tuple) or len(value) != shape[0]:
        _refuse_shape(port, value, action)
    for part in value:
        _flatten(port, part, shape[1:], flat, action)


def _refuse_shape(port: IntegerPort, value: Any, action: str) -> None:
    got = f"a list of {len(value)}" if isinstance(value, list | tuple) else shown(value)
    raise ShapeMismatchError(
        f"cannot {action}: expected {port.name!r} of shape {port.shape}, got {got}"
    )


def _listed(value: Any) -> Any:
    """Arrays, of whatever library, as lists."""
    return value.tolist() if hasattr(value, "tolist") else value


def _integer(port: IntegerPort, value: Any, action: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise NotIntegerError(
            f"cannot {action}: expected {port.name!r} to hold integers, got {shown(value)}"
        ) from None


def require_bits(results: Sequence[Sequence[int]], bits: int, title: str) -> None:
    """Refuse results that are no signed numbers of so many bits.

    Raises:
        ResultOverflowError: One has more.

    Example:
        >>> require_bits([[127, -128]], 8, "sum")
    """
    limit = 1 << bits - 1
    for evaluation in results:
        for number, value in enumerate(evaluation):
            if not -limit <= value < limit:
                needed = max(value, ~value).bit_length() + 1
                raise ResultOverflowError(
                    f"cannot give the results of {title}: expected signed numbers of {bits} bits, "
                    f"result {number} is {shown(value)}; "
                    + (
                        f"compile with bits={needed} or more"
                        if needed <= MAX_BITS
                        else f"it takes {needed} bits, and a result has up to {MAX_BITS}: return "
                        "it in parts, or bound the inputs"
                    )
                )

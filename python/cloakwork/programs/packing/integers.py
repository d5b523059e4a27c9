"""Reads what users give as integers: of numpy's types, Python's of any size, and lists of them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.arrays import from_torch, is_masked
from cloakwork.errors import NotIntegerError, ShapeMismatchError, ValueOutOfRangeError
from cloakwork.programs.packing import evaluation_rows, object_array
from cloakwork.programs.port import Port

_WHOLE = "give whole numbers as integers: 1 for 1.0, and an array by its astype(int)"
_ROUND = "round them, an array by numpy.rint(values).astype(int)"
_OTHERS = "give Python's integers or an array of an integer type"


def integer_rows(
    port: Port, value: Any, action: str, *, wider: str, instead: str = ""
) -> tuple[NDArray[Any], bool]:
    """An argument as integers in the range of its port, and whether it has an axis of evaluations.

    What numpy has as integers is not copied; others are Python's.

    Example:
        >>> port = Port("a", "integer", 0, (2,), -9, 9)
        >>> rows, many = integer_rows(port, [[1, 2], [3, 4]], "pack", wider="take more bits")
        >>> rows.tolist(), many
        ([[1, 2], [3, 4]], True)
    """
    expected = f"cannot {action}: expected {port.name!r} to hold integers"
    if is_masked(value):
        raise NotIntegerError(
            f"{expected}, got an array with a mask; give what stands for the values it hides"
        )
    array = _array(port, value, action)
    rows, many = evaluation_rows(array, port.shape, port.name, action)
    if not rows.size:
        return rows, many
    if rows.dtype.kind == "b":
        rows = rows.view(np.int8)
    elif rows.dtype.kind == "O":
        rows = np.array([_index(each, expected, instead) for each in rows.flat], dtype=object)
        rows = rows.reshape(array.shape if many else (1, *array.shape))
    elif rows.dtype.kind not in "iu":
        came = _first_not_whole(rows) if rows.dtype.kind == "f" else rows.flat[0]
        raise _not_integer(expected, came.item(), instead)
    assert port.low is not None
    assert port.high is not None
    low, high = int(rows.min()), int(rows.max())
    if low < port.low or high > port.high:
        outside = low if low < port.low else high
        raise ValueOutOfRangeError(
            f"{expected} from {port.low} to {port.high}, got {shown(outside)}; {wider}"
        )
    return rows, many


def _array(port: Port, value: Any, action: str) -> NDArray[Any]:
    """What was given as an array of a type of numpy's, or of objects."""
    try:
        if hasattr(value, "detach"):
            return np.asarray(from_torch(value))
        if hasattr(value, "__array__"):
            return np.asarray(value)
        return object_array(value, port.name, action)
    except (ShapeMismatchError, MemoryError):
        raise
    # Whatever the value's own conversion raises.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise NotIntegerError(
            f"cannot {action}: expected {port.name!r} to hold integers, got {shown(value)}, which "
            f"is not an array: {reason}; {_OTHERS}"
        ) from error


def _index(value: Any, expected: str, instead: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise _not_integer(expected, value, instead) from None


def _not_integer(expected: str, came: Any, instead: str) -> NotIntegerError:
    """What to say of an element: a float may be whole already."""
    if not isinstance(came, float | np.floating) or not np.isfinite(came):
        advice = _OTHERS
    elif came % 1 == 0:
        advice = _WHOLE
    else:
        advice = _ROUND + instead
    return NotIntegerError(f"{expected}, got {shown(came)}; {advice}")


def _first_not_whole(rows: NDArray[Any]) -> Any:
    """The first number that is not whole, or else the first; a row at a time is looked at."""
    with np.errstate(invalid="ignore"):
        for row in np.atleast_2d(rows):
            found = row[row % 1 != 0]
            if found.size:
                return found[0]
    return rows.flat[0]

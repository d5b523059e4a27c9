"""Clear indices into vectors of vectors, as numpy takes them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import (
    EncryptedConditionError,
    IndexOutOfRangeError,
    InvalidArgumentError,
    ShapeMismatchError,
)
from cloakwork.frontends.circuit.refusals import at_line

_Gather = Callable[[list[Any]], Any]


@runtime_checkable
class EncryptedIndex(Protocol):
    """An index that is not known while a program is made."""

    @property
    def is_boolean(self) -> bool:
        """Whether it says that something is true, as in a mask."""
        ...

    def item_of(self, items: Sequence[Any]) -> Any:
        """The one of several integers whose number it is."""
        ...


def taken(items: Sequence[Any], shape: tuple[int, ...], index: Any, gather: _Gather) -> Any:
    """What an index takes out of nested items: an element, a row, a column, a part.

    Args:
        items: The elements, or the rows.
        shape: How many there are along each axis.
        index: An integer, a slice or an ellipsis, or one of these for each axis; or an encrypted
            integer, or a vector of them.
        gather: Makes a vector of what a slice takes.

    Raises:
        EncryptedConditionError: The end of a slice is encrypted.
        IndexOutOfRangeError: An index is beyond the elements.
        ShapeMismatchError: There are more indices than axes.
        InvalidArgumentError: An index is of another kind, a mask, or one of several vectors.

    Example:
        >>> taken([[1, 2], [3, 4]], (2, 2), (slice(None), 1), list)
        [2, 4]
    """
    keys = list(index) if isinstance(index, tuple) else [index]
    ellipses = sum(key is Ellipsis for key in keys)
    if len(keys) - ellipses > len(shape) or ellipses > 1:
        raise ShapeMismatchError(
            f"cannot index{at_line()}: expected up to {len(shape)} indices, one for each axis, "
            f"got {len(keys)}"
        )
    if ellipses:
        place = next(number for number, key in enumerate(keys) if key is Ellipsis)
        keys[place : place + 1] = [slice(None)] * (len(shape) - len(keys) + 1)
    _require_one_of_numbers([key for key in keys if _is_of_several(key)])
    return _along(items, keys, gather)


def _is_of_several(key: Any) -> bool:
    return isinstance(key, Sequence) and all(isinstance(each, EncryptedIndex) for each in key)


def _require_one_of_numbers(several: Sequence[Sequence[EncryptedIndex]]) -> None:
    """Refuse a mask, and several vectors of indices, which numpy takes pair by pair."""
    if any(each.is_boolean for key in several for each in key):
        raise InvalidArgumentError(
            f"cannot index{at_line()}: expected numbers of elements, got a mask, and how many "
            "elements it takes is encrypted; write numpy.where(mask, v, 0)"
        )
    if len(several) > 1:
        raise InvalidArgumentError(
            f"cannot index{at_line()}: expected one vector of indices, got {len(several)}; write "
            "[m[i, j] for i, j in zip(rows, columns)]"
        )


def _along(items: Any, keys: Sequence[Any], gather: _Gather) -> Any:
    if not keys:
        return items
    first, *rest = keys
    if isinstance(first, slice):
        return gather([_along(each, rest, gather) for each in _slice(list(items), first)])
    if isinstance(first, EncryptedIndex):
        return _chosen(first, [_along(each, rest, gather) for each in items], gather)
    if _is_of_several(first):
        return gather([_along(items, [each, *rest], gather) for each in first])
    return _along(items[_place(first, len(items))], rest, gather)


def _chosen(index: EncryptedIndex, found: Sequence[Any], gather: _Gather) -> Any:
    """The one of several numbers, or of rows, whose number an index is."""
    if isinstance(found[0], Sequence):
        columns = zip(*found, strict=True)
        return gather([_chosen(index, column, gather) for column in columns])
    return index.item_of(found)


def _slice(items: list[Any], which: slice) -> list[Any]:
    try:
        return items[which]
    except EncryptedConditionError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"cannot index{at_line()}: expected a slice of integers and a step that is not 0, "
            f"got {shown(which)}"
        ) from error


def _place(index: Any, length: int) -> int:
    try:
        place = None if isinstance(index, bool | np.bool_) else operator.index(index)
    except EncryptedConditionError:
        raise
    except TypeError:
        place = None
    if place is None:
        raise InvalidArgumentError(
            f"cannot index{at_line()}: expected an integer, a slice, or one of these for each "
            f"axis, got {shown(index)}"
        )
    if not -length <= place < length:
        raise IndexOutOfRangeError(
            f"cannot index{at_line()}: expected an index from {-length} up to {length - 1}, "
            f"got {shown(place)}"
        )
    return place

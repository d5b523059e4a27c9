"""numpy's ways to join tensors and clear arrays, by concatenation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import ShapeMismatchError
from cloakwork.frontends.tensors.methods import (
    TensorMethods,
    as_operand,
    axis_number,
    numbered,
    rearranged,
)
from cloakwork.frontends.tensors.numpy.assembling import concatenated, stacked
from cloakwork.frontends.tensors.numpy.rearranging import asked, require_clear


def joined_rows(arrays: Sequence[Any]) -> TensorMethods:
    """One above another, as `numpy.vstack`."""
    return concatenated([_with_axes(each, np.atleast_2d) for each in arrays])


def joined_columns(arrays: Sequence[Any]) -> TensorMethods:
    """One beside another, as `numpy.hstack`."""
    made = [_with_axes(each, np.atleast_1d) for each in arrays]
    return concatenated(made, 0 if made and made[0].ndim == 1 else 1)


def joined_depths(arrays: Sequence[Any]) -> TensorMethods:
    """One behind another, as `numpy.dstack`."""
    return concatenated([_with_axes(each, np.atleast_3d) for each in arrays], 2)


def stacked_columns(arrays: Sequence[Any]) -> TensorMethods:
    """Vectors as columns beside matrices, as `numpy.column_stack`."""
    return concatenated(
        [_with_axes(each, lambda a: a if a.ndim > 1 else a.reshape(-1, 1)) for each in arrays], 1
    )


def inserted(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Values before the elements of given places, as `numpy.insert`."""
    require_clear("insert", obj, axis)
    return _joined_as_numpy("insert", lambda a, b: np.insert(a, obj, b, axis), [arr, values])


def joined_blocks(arrays: Any) -> Any:
    """Nested lists of blocks as one, as `numpy.block`."""
    leaves: list[Any] = []
    nested = _numbered_leaves(arrays, leaves)

    def placed(numbers: Sequence[NDArray[np.int64]]) -> Any:
        def read(part: Any) -> Any:
            return [read(each) for each in part] if isinstance(part, list) else numbers[part]

        return np.block(read(nested))

    return _joined_as_numpy("block", lambda *numbers: placed(numbers), leaves)


def chosen_first(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The choice of the first condition that holds, as `numpy.select`.

    Raises:
        ShapeMismatchError: There are not as many choices as conditions, or none.
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeMismatchError(
            f"cannot select: expected a choice for each of one or more conditions, got "
            f"{len(choicelist)} choices for {len(condlist)}"
        )
    made = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        made = np.where(condition, choice, made)
    return made


def chosen_by_number(a: Any, choices: Sequence[Any], mode: str = "raise") -> Any:
    """Elements of the choices that known numbers name, as `numpy.choose`."""
    require_clear("choose", a)
    choose: Callable[..., Any] = np.choose
    return _joined_as_numpy("choose", lambda *each: choose(a, each, mode=mode), list(choices))


def in_pieces(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Functions of elements where conditions hold, the last that does, as `numpy.piecewise`.

    Raises:
        ShapeMismatchError: There is not a function for each condition, or one more.
    """
    holds = list(condlist) if isinstance(condlist, list | tuple) else [condlist]
    made: Any = 0.0
    functions = list(funclist)
    if len(functions) == len(holds) + 1:
        made = _of_elements(functions.pop(), x, args, kw)
    if len(functions) != len(holds):
        raise ShapeMismatchError(
            f"cannot piecewise: expected a function for each of {len(holds)} conditions, or one "
            f"more, got {len(funclist)}"
        )
    for condition, function in zip(holds, functions, strict=True):
        made = np.where(condition, _of_elements(function, x, args, kw), made)
    return made


def _of_elements(function: Any, x: Any, args: Sequence[Any], kw: Mapping[str, Any]) -> Any:
    return function(x, *args, **kw) if callable(function) else function


def of_each_vector(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of every vector along an axis, as `numpy.apply_along_axis`."""
    place = axis_number(axis, arr.ndim, "apply_along_axis")
    moved = np.moveaxis(arr, place, -1)
    others = moved.shape[:-1]
    made: Any = stacked([func1d(moved[index], *args, **kwargs) for index in np.ndindex(*others)])
    of_one = made.shape[1:]
    spread: Any = made.reshape((*others, *of_one))
    new = range(len(others), spread.ndim)
    return np.moveaxis(spread, tuple(new), tuple(place + number for number in range(len(new))))


def _joined_as_numpy(
    name: str, function: Callable[..., Any], arrays: Sequence[Any]
) -> TensorMethods:
    """What numpy makes of the elements of all arrays, numbered one array after another."""
    read = [as_operand(each, name) for each in arrays]
    numbers, start = [], 0
    for each in read:
        count = math.prod(each.shape)
        numbers.append(numbered(each.shape) + start)
        start += count
    found = asked(name, lambda: function(*numbers))
    made: TensorMethods = rearranged(concatenated(arrays, None), found, name)
    return made


def _numbered_leaves(part: Any, leaves: list[Any]) -> Any:
    if isinstance(part, list):
        return [_numbered_leaves(each, leaves) for each in part]
    leaves.append(part)
    return len(leaves) - 1


def _with_axes(array: Any, function: Callable[..., Any]) -> Any:
    """An array with the axes that a function of numpy gives it; truths stay what they are."""
    if not isinstance(array, TensorMethods):
        return function(np.asarray(array))
    shape = function(np.broadcast_to(0.0, array.shape)).shape
    return array if shape == array.shape else array.reshape(shape)

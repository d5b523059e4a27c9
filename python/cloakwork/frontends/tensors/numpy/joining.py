"""numpy's ways to join tensors and clear arrays, by concatenation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import ShapeMismatchError
from cloakwork.frontends.tensors.methods import TensorMethods, as_operand, numbered, rearranged
from cloakwork.frontends.tensors.numpy.assembling import concatenated
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

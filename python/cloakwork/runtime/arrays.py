"""Reads what users call an array: numpy, torch, lists, numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.errors import NotFiniteError, NotRealError, ShapeMismatchError, ValueOutOfRangeError


def real_array(data: ArrayLike, action: str) -> NDArray[np.float64]:
    """The data as float64, in C order; a torch tensor is detached and brought to the CPU.

    Args:
        data: Anything that numpy reads as an array of real numbers.
        action: What the caller is about to do, for the message of an error.

    Raises:
        NotRealError: Complex numbers, text or objects.
        NotFiniteError: A NaN or an infinity.
        ShapeMismatchError: Rows of different lengths.

    Example:
        >>> real_array([[1, 2], [3, 4]], "encrypt").dtype
        dtype('float64')
    """
    if hasattr(data, "detach"):
        data = data.detach().cpu()
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise ShapeMismatchError(f"cannot {action}: {error}") from error
    except TypeError as error:
        raise NotRealError(f"cannot {action}: {error}") from error
    if array.dtype.kind not in "biuf":
        raise NotRealError(f"cannot {action}: expected real numbers, got {array.dtype}")
    numbers = np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    if not np.isfinite(numbers).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(numbers))[0])
        raise NotFiniteError(f"cannot {action}: element {index} is {numbers[index]}")
    return numbers


def require_bound(array: NDArray[np.float64], bound: float, action: str) -> None:
    """Refuse an array with an element of absolute value above the bound.

    Raises:
        ValueOutOfRangeError: There is such an element.

    Example:
        >>> require_bound(np.array([1.0, -2.0]), 2.0, "encrypt")
    """
    if array.size and (largest := float(np.abs(array).max())) > bound:
        raise ValueOutOfRangeError(
            f"cannot {action}: a value of {largest:g} exceeds the bound {bound:g}; "
            f"allow bound={largest:g} or more, or scale the data"
        )

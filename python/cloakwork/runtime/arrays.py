"""Reads what users call an array: numpy, torch, lists, numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.errors import (
    NotFiniteError,
    NotRealError,
    PrecisionLostError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.runtime.arguments import above


def real_array(data: ArrayLike, action: str) -> NDArray[np.float64]:
    """The data as float64, in C order; a torch tensor is detached and brought to the CPU.

    Args:
        data: Anything that numpy reads as an array of real numbers.
        action: What the caller is about to do, for the message of an error.

    Raises:
        NotRealError: Complex numbers, text or objects, or data that refuse to become an array.
        NotFiniteError: A NaN or an infinity.
        ShapeMismatchError: Rows of different lengths.

    Example:
        >>> real_array([[1, 2], [3, 4]], "encrypt").dtype
        dtype('float64')
    """
    try:
        array = np.asarray(data.detach().cpu() if hasattr(data, "detach") else data)
    except ValueError as error:
        raise ShapeMismatchError(f"cannot {action}: {error}") from error
    except (TypeError, RuntimeError) as error:
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
            f"cannot {action}: a value of {above(largest, bound)} exceeds the bound {bound:g}; "
            f"allow bound={above(largest, bound)} or more, or scale the data"
        )


def require_precision(array: NDArray[np.float64], precision: float, action: str) -> None:
    """Refuse an array none of whose bits need be right: the error may exceed 1 and all of it.

    Args:
        array: The numbers.
        precision: Bits after the binary point that are right.
        action: What the caller is about to do, for the message of an error.

    Raises:
        PrecisionLostError: It is such an array.

    Example:
        >>> require_precision(np.array([100.0]), -3.0, "decrypt")
    """
    largest = max(1.0, float(np.abs(array).max(initial=0.0)))
    if precision < -math.log2(largest):
        raise PrecisionLostError(
            f"cannot {action}: the error may be 2^{-precision:.0f}, and the largest result is "
            f"{largest:.3g}; ask the session for more precision, give the inputs tighter bounds, "
            f"scale small data up, or flood by fewer bits"
        )

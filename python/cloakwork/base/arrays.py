"""Reads what users call an array: numpy, torch, lists, numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.base.arguments import apart, digits_above, shown
from cloakwork.base.frames import is_frame, numbers_and_gaps, numbers_of_frame
from cloakwork.errors import (
    InvalidProgramError,
    NotFiniteError,
    NotRealError,
    PrecisionLostError,
    ProgramTooLargeError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)

# Two digits and a half. Whoever gets fewer has more likely scaled the data or given the bounds
# wrong than wanted so rough a result.
MIN_RIGHT_BITS = 8
# Elements of a sparse matrix, which is held with its zeros.
MOST_OF_SPARSE = 1 << 26
# Types that jax adds to numpy's.
_SHORT_FLOATS = ("bfloat16", "float8", "float6", "float4")


def real_array(data: ArrayLike, action: str) -> NDArray[np.float64]:
    """The data as float64, in C order.

    Example:
        >>> real_array([[1, 2], [3, 4]], "encrypt").dtype
        dtype('float64')
    """
    array = real_numbers(data, action)
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def real_numbers(data: ArrayLike, action: str) -> NDArray[Any]:
    """The data as an array of real numbers of their own type, without a copy of an array.

    What lies in a file and is larger than memory (`numpy.memmap`) stays there.

    Example:
        >>> real_numbers(np.ones(3, dtype=np.float32), "encrypt").dtype
        dtype('float32')
    """
    if is_masked(data):
        raise NotRealError(
            f"cannot {action}: the data are a masked array, whose mask would be lost; "
            "pass data.filled(...), or say missing= of cloakwork.compile"
        )
    if is_frame(data):
        data = numbers_of_frame(data, action)
    array = _numbers(data, action)
    _require_finite(array, action)
    return array


def numbers_with_gaps(data: Any, action: str) -> NDArray[Any]:
    """The data as `real_numbers`, NaN where a number is missing: None, masked, null or NaN.

    Example:
        >>> numbers_with_gaps([1.0, None], "encrypt").tolist()
        [1.0, nan]
    """
    if is_frame(data):
        return numbers_and_gaps(data, action)
    if is_masked(data) and data.dtype.kind in "biuf":
        return np.asarray(data.astype(np.float64).filled(np.nan))
    if not hasattr(data, "__array__") or (isinstance(data, np.ndarray) and data.dtype.kind == "O"):
        given = np.array(data, dtype=object)
        if all(each is None or isinstance(each, float | int) for each in given.flat):
            return given.astype(np.float64)
    return _numbers(data, action)


def filled_numbers(data: Any, missing: Sequence[float], action: str) -> NDArray[Any]:
    """The data as `real_numbers`, with what stands for missing numbers.

    Args:
        data: The data.
        missing: One number for all, or one for each place along the last axis.
        action: What is done with them, in words.

    Example:
        >>> filled_numbers([[1.0, None], [np.nan, 2.0]], [0.5, -1.0], "encrypt").tolist()
        [[1.0, -1.0], [0.5, 2.0]]
    """
    array = numbers_with_gaps(data, action)
    if math.isnan(largest_magnitude(array)):
        filling = np.where(np.isnan(array), np.asarray(missing, np.float64), array)
        array = filling.reshape(array.shape)
    _require_finite(array, action)
    return array


def _numbers(data: Any, action: str) -> NDArray[Any]:
    """The data as an array of real numbers, infinite ones and NaN among them."""
    if is_sparse(data):
        data = _from_sparse(data, action)
    try:
        array = np.asarray(from_torch(data) if hasattr(data, "detach") else data)
    except ValueError as error:
        raise ShapeMismatchError(f"cannot {action}: {error}") from error
    except MemoryError:
        raise
    # Whatever the data's own conversion raises.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise NotRealError(f"cannot {action}: {reason}") from error
    if array.dtype.kind == "O":
        raise NotRealError(f"cannot {action}: expected real numbers, got {_shown_object(array)}")
    if array.dtype.kind == "V" and array.dtype.name.startswith(_SHORT_FLOATS):
        array = array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        raise NotRealError(f"cannot {action}: expected real numbers, got {array.dtype}")
    return array


def largest_magnitude(array: NDArray[Any]) -> float:
    """The largest absolute value, 0 of no numbers and NaN where there is one.

    Nothing is made that is as large as the array.

    Example:
        >>> largest_magnitude(np.array([1.0, -2.0]))
        2.0
    """
    if not array.size:
        return 0.0
    # Python's own maximum may leave a NaN out, and unsigned integers have no negatives.
    return float(np.maximum(float(array.max()), -float(array.min())))


def _shown_object(array: NDArray[Any]) -> str:
    """What an array of objects holds, by the first that is not a number."""
    for each in array.flat:
        if each is not None and not isinstance(each, float | int):
            return shown(each)
    if any(each is None for each in array.flat):
        return "None; say what stands for missing numbers by missing= of cloakwork.compile"
    return "objects; give them as doubles, by numpy.asarray(values, dtype=float)"


def is_masked(data: object) -> bool:
    """Whether data are an array with a mask; whoever has one has loaded that part of numpy."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(data, masked.MaskedArray)


def is_sparse(data: object) -> bool:
    """Whether data are a sparse matrix of scipy; whoever has one has loaded that part of scipy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(data))


def is_of_matrix_products(data: object) -> bool:
    """Whether `*` with these data is the matrix product to numpy and scipy, and not elementwise.

    Example:
        >>> is_of_matrix_products(np.eye(2))
        False
    """
    sparse = sys.modules.get("scipy.sparse")
    return isinstance(data, np.matrix) or (sparse is not None and sparse.isspmatrix(data))


def _from_sparse(data: Any, action: str) -> NDArray[Any]:
    """A sparse matrix with its zeros."""
    count = math.prod(data.shape)
    if count > MOST_OF_SPARSE:
        raise ProgramTooLargeError(
            f"cannot {action}: expected a sparse matrix of up to {MOST_OF_SPARSE} elements, its "
            f"zeros among them, got {count}; write matrix @ x, which takes few "
            "diagonals without their zeros, or multiply by blocks of it"
        )
    return np.asarray(data.toarray())


def from_torch(tensor: Any) -> Any:
    """A tensor of torch, of any device, as one that numpy reads."""
    # numpy has no bfloat16 and no float8, and cannot read a tensor that waits for its negation.
    plain = tensor.detach().cpu().resolve_neg()
    return plain.double() if plain.is_floating_point() else plain


def _require_finite(array: NDArray[Any], action: str) -> None:
    if not math.isfinite(largest_magnitude(array)):
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise NotFiniteError(
            f"cannot {action}: element {index} is {array[index]}, expected finite numbers; replace "
            "such elements, NaN also by missing= of cloakwork.compile, or scale the data down"
        )


def require_bound(
    array: NDArray[Any], bound: float, action: str, advice: str, *, error: float = 0.0
) -> None:
    """Refuse an array with an element of absolute value above the bound.

    Example:
        >>> require_bound(np.array([1.0, -2.0]), 2.0, "encrypt", "make it {} or more")
        >>> require_bound(np.array([2.1]), 2.0, "decrypt", "make it {} or more", error=0.5)
    """
    largest = largest_magnitude(array)
    # A NaN is not within any bound.
    if not largest <= bound + error:
        _require_finite(array, action)
        came, limit = digits_above(largest, bound), f"{bound:g}"
        if came == limit:
            limit, came = apart(bound, largest)
        raise ValueOutOfRangeError(
            f"cannot {action}: a value of {came} exceeds the bound {limit}; "
            f"{advice.format(came)}, or scale the data"
        )


def require_precision(
    array: NDArray[np.float64], precision: float, bound: float, action: str, advice: str
) -> None:
    """Refuse an array too few bits of which are right.

    Bits count from the larger of 1, or the bound where that is less, and the largest number; of
    smaller numbers beside it fewer are right.

    Example:
        >>> require_precision(np.array([100.0]), 2.0, 128.0, "decrypt", "scale the data up")
    """
    _require_finite(array, action)
    largest = largest_magnitude(array)
    # What is always 0 is as right as it can be.
    right = precision + math.log2(max(min(1.0, bound), largest) or 1.0)
    if right < MIN_RIGHT_BITS:
        raise PrecisionLostError(
            f"cannot {action}: expected {MIN_RIGHT_BITS} right bits or more, got "
            f"{max(0, math.floor(right))}: by its estimate the error may be "
            f"2^{math.ceil(-precision)}, and the largest result is {largest:.3g}; {advice}"
        )


def owned_integers(given: Any, dtype: type[np.integer[Any]], what: str) -> NDArray[Any]:
    """A copy of a list of integers that nobody else can change.

    Example:
        >>> owned_integers([1, 2], np.uint8, "kinds")
        array([1, 2], dtype=uint8)
    """
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidProgramError(
            f"cannot make the program: expected {what} to be a list of integers, got "
            f"{array.dtype} {array.shape}"
        )
    if array.dtype != dtype and array.size:
        low, high = int(array.min()), int(array.max())
        limits = np.iinfo(dtype)
        if low < limits.min or high > limits.max:
            worst = low if low < limits.min else high
            raise InvalidProgramError(
                f"cannot make the program: expected {what} to fit {np.dtype(dtype)}, got {worst}"
            )
    copy = array.astype(dtype)
    copy.setflags(write=False)
    return copy

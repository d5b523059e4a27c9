"""Functions of numpy that only rearrange: numpy itself does it to the numbers of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    ProgramTooLargeError,
    UnsupportedOperationError,
)
from cloakwork.frontends.tensors.methods import TensorMethods, is_truths, numbered, rearranged


def as_numpy(function: Callable[..., Any], x: Any, *args: Any, **named: Any) -> Any:
    """What a function of numpy makes of a tensor's elements, one tensor or several.

    Raises:
        UnsupportedOperationError: Another argument is encrypted.
        InvalidArgumentError: numpy refuses the arguments.
        ProgramTooLargeError: Memory does not hold as many elements.
        ShapeMismatchError: Nothing is left.
    """
    name = function.__name__
    require_clear(name, *args, *named.values())
    if not isinstance(x, TensorMethods):
        raise _refusal_of_place(name)
    found = asked(name, lambda: function(numbered(x.shape), *args, **named))
    if isinstance(found, list | tuple):
        return type(found)(rearranged(x, each, name) for each in found)
    return rearranged(x, found, name)


def each_as_numpy(function: Callable[..., Any], *arrays: Any, **named: Any) -> Any:
    """The same of several tensors and clear arrays, of which each becomes one of its own."""
    name = function.__name__
    found = asked(name, lambda: function(*(numbered(np.shape(each)) for each in arrays), **named))
    if not isinstance(found, list | tuple):
        return rearranged(arrays[0], found, name)
    return type(found)(
        rearranged(array, numbers, name)
        if isinstance(array, TensorMethods)
        else np.asarray(array).ravel()[numbers]
        for array, numbers in zip(arrays, found, strict=True)
    )


def kept_triangle(m: Any, triangle: Callable[..., NDArray[Any]], k: Any) -> Any:
    """A tensor with zeros outside a triangle, as `numpy.tril` and `numpy.triu`."""
    name = triangle.__name__
    return m * asked(name, lambda: triangle(np.ones(m.shape, dtype=bool), k))


def on_diagonal(v: Any, k: Any) -> Any:
    """The diagonal of a matrix, or the matrix with a diagonal, as `numpy.diag`."""
    require_clear("diag", k)
    if v.ndim != 1:
        return as_numpy(np.diag, v, k)
    places = asked("diag", lambda: np.diag(np.ones(v.size, dtype=bool), k))
    # Every number lies along its row, or column, so that of the main diagonal nothing moves.
    last = np.minimum(np.arange(len(places)), v.size - 1)
    spread = v if len(places) == v.size else v[last]
    return (spread[:, None] if k >= 0 else spread[None]) * places


def as_floats(x: Any, dtype: Any, copy: bool = True) -> Any:  # noqa: ARG001  (numpy's name)
    """The numbers themselves, as `astype` of float64, and truths as 1 and 0.

    Raises:
        UnsupportedOperationError: The type is another.
    """
    if np.dtype(dtype) != np.float64:
        raise UnsupportedOperationError(
            f"cannot compute numpy.astype of an encrypted tensor: expected float64, got "
            f"{shown(dtype)}; decrypt first for other types"
        )
    return 1.0 * x if is_truths(x) else x


def method_as_floats(
    x: Any,
    dtype: Any,
    order: str = "K",  # noqa: ARG001  (numpy's name)
    casting: Any = "unsafe",
    subok: bool = True,  # noqa: ARG001  (numpy's name)
    copy: bool = True,
) -> Any:
    """The same, as the method of arrays, which has more to say about them.

    Raises:
        UnsupportedOperationError: The type is another, or the cast is not of that kind.
    """
    if not np.can_cast(x.dtype, np.float64, casting):
        raise UnsupportedOperationError(
            f"cannot compute numpy.astype of an encrypted tensor: expected a cast from {x.dtype} "
            f"to float64, got casting={shown(casting)}; leave it out"
        )
    return as_floats(x, dtype, copy)


def require_clear(name: str, *arguments: Any) -> None:
    """Refuse encrypted numbers for what must be known in the clear.

    Raises:
        UnsupportedOperationError: One of the arguments is encrypted.
    """
    for each in arguments:
        if isinstance(each, TensorMethods):
            raise _refusal_of_place(name)
        if isinstance(each, list | tuple):
            require_clear(name, *each)


def asked(name: str, call: Callable[[], Any]) -> Any:
    """What numpy answers on clear numbers that stand for encrypted ones.

    Raises:
        InvalidArgumentError: It refuses the arguments.
        ProgramTooLargeError: Memory does not hold its answer.
    """
    try:
        return call()
    except CloakworkError:
        raise
    except MemoryError as error:
        raise ProgramTooLargeError(
            f"cannot compute numpy.{name}: the result has more numbers than memory holds; ask for "
            "fewer"
        ) from error
    except (ValueError, IndexError) as error:
        raise InvalidArgumentError(
            f"cannot compute numpy.{name} of an encrypted tensor: expected arguments that numpy "
            f"takes for its shape, got some of which numpy says: {error}; give others"
        ) from error


def _refusal_of_place(name: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"cannot compute numpy.{name}: expected one encrypted tensor, whose elements are taken, "
        "and anything else in the clear, got encrypted numbers elsewhere; decrypt them first"
    )

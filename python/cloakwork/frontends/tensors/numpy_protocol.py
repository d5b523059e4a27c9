"""What numpy's functions do with encrypted tensors: what tensors have, and refusals by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from cloakwork.errors import InvalidArgumentError, UnsupportedOperationError

# Universal functions by the methods of operators that tensors have for them, and of reflected ones.
_UFUNCS: Mapping[str, tuple[str, str]] = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "true_divide": ("__truediv__", "__rtruediv__"),
    "negative": ("__neg__", ""),
    "positive": ("__pos__", ""),
    "power": ("__pow__", "__rpow__"),
    "float_power": ("__pow__", "__rpow__"),
    "square": ("__mul__", ""),
    "matmul": ("__matmul__", "__rmatmul__"),
}
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")

# Functions by the method or operator that tensors have for them.
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "sum": lambda x, axis=None, keepdims=False: x.sum(axis, keepdims=keepdims),
    "mean": lambda x, axis=None, keepdims=False: x.mean(axis, keepdims=keepdims),
    "transpose": lambda x, axes=None: x.transpose(axes),
    "reshape": lambda x, shape: x.reshape(shape),
    "ravel": lambda x: x.reshape(-1),
    "dot": lambda x, y: x @ y,
    "inner": lambda x, y: x @ y.T,
    "shape": lambda x: x.shape,
    "ndim": lambda x: x.ndim,
    "size": lambda x: x.size,
}

# What to do instead of some that are asked for often.
_INSTEAD = {
    "max": "no polynomial gives a maximum exactly; decrypt first",
    "min": "no polynomial gives a minimum exactly; decrypt first",
    "argmax": "an index is not computed on encrypted numbers; decrypt first",
    "argmin": "an index is not computed on encrypted numbers; decrypt first",
    "std": "no polynomial gives a square root exactly; compute the variance, and decrypt it",
    "var": "compute ((x - x.mean()) ** 2).mean()",
    "flatten": "write x.reshape(-1)",
    "dot": "write x @ y",
    "copy": "a tensor never changes; use it as it is",
    "tolist": "decrypt first",
    "astype": "the numbers are encrypted as they are; decrypt first",
    "trace": 'write cloakwork.einsum("ii->", x)',
    "squeeze": "write x.reshape(shape)",
    "swapaxes": "write x.transpose(axes)",
    "prod": "multiply the parts, x[0] * x[1]",
}
_OF_ARRAYS = frozenset(name for name in dir(np.ndarray) if not name.startswith("_"))


def ufunc_of_tensors(ufunc: np.ufunc, method: str, inputs: Any, options: Mapping[str, Any]) -> Any:
    """What a universal function makes of encrypted tensors.

    Raises:
        InvalidArgumentError: It compares, or its result is to go into an array in the clear.
        UnsupportedOperationError: Tensors have nothing for it.
    """
    name = ufunc.__name__
    if name in _COMPARISONS:
        refuse_comparison()
    if "out" in options:
        raise InvalidArgumentError(
            f"cannot compute numpy.{name} into an array: an array in the clear cannot hold "
            "encrypted numbers; write a = a + x for a += x"
        )
    if method != "__call__" or options:
        raise UnsupportedOperationError(
            f"cannot compute numpy.{name} of an encrypted tensor with "
            f"{', '.join(options) or method}; use operators, methods or cloakwork.einsum"
        )
    if name not in _UFUNCS:
        raise UnsupportedOperationError(
            f"cannot compute numpy.{name} of an encrypted tensor: no polynomial of the numbers "
            "does this exactly; decrypt first, or use sums, differences and products"
        )
    forward, reflected = _UFUNCS[name]
    first, *others = inputs
    if name == "square":
        return first * first
    # An array's own operator would ask this function again.
    if isinstance(first, np.ndarray | np.generic | int | float):
        return getattr(others[0], reflected)(first)
    return getattr(first, forward)(*others)


def function_of_tensors(
    function: Callable[..., Any], args: Any, options: Mapping[str, Any], einsum: Callable[..., Any]
) -> Any:
    """What one of numpy's functions makes of encrypted tensors.

    Raises:
        UnsupportedOperationError: Tensors have nothing for it, or not with these arguments.
    """
    name = function.__name__
    if name == "einsum":
        return einsum(*args, **options)
    if name not in _FUNCTIONS:
        raise UnsupportedOperationError(_refusal(f"numpy.{name}", name))
    try:
        return _FUNCTIONS[name](*args, **options)
    except TypeError as error:
        raise UnsupportedOperationError(
            f"cannot compute numpy.{name} of an encrypted tensor with these arguments: {error}"
        ) from error


def refuse_attribute(kind: str, name: str) -> NoReturn:
    """Refuse what arrays have and tensors do not.

    Raises:
        UnsupportedOperationError: Numpy's arrays have it.
        AttributeError: They have it neither.
    """
    if name in _OF_ARRAYS or name in _INSTEAD:
        raise UnsupportedOperationError(_refusal(f"x.{name}", name))
    raise AttributeError(f"{kind!r} object has no attribute {name!r}")


def refuse_comparison() -> NoReturn:
    """Refuse a comparison.

    Raises:
        InvalidArgumentError: Always.
    """
    raise InvalidArgumentError(
        "cannot compare an encrypted tensor: its numbers are not known here; "
        "use arithmetic that serves every case"
    )


def _refusal(what: str, name: str) -> str:
    instead = _INSTEAD.get(name, "use operators, methods or cloakwork.einsum")
    return f"cannot compute {what} of an encrypted tensor: {instead}"

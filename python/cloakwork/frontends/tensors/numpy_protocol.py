"""What numpy's functions do with encrypted tensors: what tensors have, and refusals by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cloakwork.errors import CloakworkError, InvalidArgumentError, UnsupportedOperationError
from cloakwork.frontends.tensors.assembling import (
    clipped,
    concatenated,
    hypotenuse,
    larger,
    padded,
    smaller,
    stacked,
    where,
)
from cloakwork.frontends.tensors.einsum import einsum
from cloakwork.frontends.tensors.methods import TensorMethods
from cloakwork.frontends.tensors.numpy_refusals import refusal, refuse_comparison

# Universal functions of one number, by the functions that the planner knows.
_OF_ONE: Mapping[str, str] = {
    "arcsinh": "arcsinh",
    "arctan": "arctan",
    "cos": "cos",
    "cosh": "cosh",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "fabs": "absolute",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "reciprocal": "reciprocal",
    "sign": "sign",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "tanh": "tanh",
}
# Others by the methods of operators that tensors have for them, and of reflected ones.
_OPERATORS: Mapping[str, tuple[str, str]] = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "true_divide": ("__truediv__", "__rtruediv__"),
    "absolute": ("__abs__", ""),
    "negative": ("__neg__", ""),
    "positive": ("__pos__", ""),
    "power": ("__pow__", "__rpow__"),
    "float_power": ("__pow__", "__rpow__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
    "bitwise_and": ("__and__", "__rand__"),
    "bitwise_or": ("__or__", "__ror__"),
    "bitwise_xor": ("__xor__", "__rxor__"),
    "invert": ("__invert__", ""),
    "logical_and": ("__and__", "__rand__"),
    "logical_or": ("__or__", "__ror__"),
    "logical_xor": ("__xor__", "__rxor__"),
    "logical_not": ("__invert__", ""),
}
_OF_TWO: Mapping[str, Callable[[Any, Any], Any]] = {
    "maximum": larger,
    "fmax": larger,
    "minimum": smaller,
    "fmin": smaller,
    "hypot": hypotenuse,
}


def _variance(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    return x.var(axis, ddof=ddof, keepdims=keepdims)


def _deviation(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    return x.std(axis, ddof=ddof, keepdims=keepdims)


def _dot(x: Any, y: Any) -> Any:
    """numpy's dot: a product with a number, of vectors, or over the last axis but one of y."""
    if not np.ndim(x) or not np.ndim(y):
        return x * y
    if max(np.ndim(x), np.ndim(y)) <= 2:
        return x @ y
    last = np.ndim(x) - 1
    axes = [*range(last + 1)]
    others = [last + 1 + number for number in range(np.ndim(y))]
    others[-2 if np.ndim(y) > 1 else 0] = last
    kept = [each for each in axes + others if each != last]
    return einsum(x, axes, y, others, kept)


# Functions by the method or operator that tensors have for them.
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "sum": lambda x, axis=None, keepdims=False: x.sum(axis, keepdims=keepdims),
    "mean": lambda x, axis=None, keepdims=False: x.mean(axis, keepdims=keepdims),
    "var": _variance,
    "std": _deviation,
    "trace": lambda x: x.trace(),
    "transpose": lambda x, axes=None: x.transpose(axes),
    "reshape": lambda x, shape: x.reshape(shape),
    "ravel": lambda x: x.reshape(-1),
    "dot": _dot,
    "inner": lambda x, y: x @ y.T,
    "where": where,
    "clip": clipped,
    "concatenate": concatenated,
    "stack": stacked,
    "pad": padded,
    "shape": lambda x: x.shape,
    "ndim": lambda x: x.ndim,
    "size": lambda x: x.size,
    "einsum": einsum,
}


def ufunc_of_tensors(ufunc: np.ufunc, method: str, inputs: Any, options: Mapping[str, Any]) -> Any:
    """What a universal function makes of encrypted tensors.

    Raises:
        InvalidArgumentError: Its result is to go into an array in the clear, or it asks whether
            numbers are equal.
        UnsupportedOperationError: Tensors have nothing for it.
    """
    name = ufunc.__name__
    if name in ("equal", "not_equal"):
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
    if name == "clip":
        return clipped(*inputs)
    if name == "square":
        return inputs[0] * inputs[0]
    if name in _OF_ONE:
        return inputs[0].applied(_OF_ONE[name], f"numpy.{name}")
    if name in _OF_TWO:
        return _OF_TWO[name](*inputs)
    if name not in _OPERATORS:
        raise refusal(f"numpy.{name}", name)
    forward, reflected = _OPERATORS[name]
    first, *others = inputs
    # An array's own operator would ask this function again.
    if not isinstance(first, TensorMethods):
        return getattr(others[0], reflected)(first)
    return getattr(first, forward)(*others)


def function_of_tensors(function: Callable[..., Any], args: Any, options: Any) -> Any:
    """What one of numpy's functions makes of encrypted tensors.

    Raises:
        UnsupportedOperationError: Tensors have nothing for it, or not with these arguments.
    """
    name = function.__name__
    # Others of numpy have names of these, and do other things.
    if name not in _FUNCTIONS or getattr(np, name, None) is not function:
        raise refusal(f"{function.__module__}.{name}", name)
    ours = _FUNCTIONS[name]
    try:
        inspect.signature(ours).bind(*args, **options)
        return ours(*args, **options)
    except CloakworkError:
        raise
    except TypeError as error:
        raise UnsupportedOperationError(
            f"cannot compute numpy.{name} of an encrypted tensor with these arguments: {error}"
        ) from error

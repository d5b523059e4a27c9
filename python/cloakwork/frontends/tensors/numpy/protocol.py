"""What numpy's functions do with encrypted tensors: what tensors have, and refusals by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from types import ModuleType
from typing import Any, Self

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import (
    InvalidArgumentError,
    UnsupportedOperationError,
)
from cloakwork.frontends.tensors.methods import TensorMethods, is_truths
from cloakwork.frontends.tensors.numpy.arguments import made_by, refused_by_name
from cloakwork.frontends.tensors.numpy.array_api import namespace_of
from cloakwork.frontends.tensors.numpy.assembling import clipped, hypotenuse, larger, smaller
from cloakwork.frontends.tensors.numpy.functions import FUNCTIONS, METHODS
from cloakwork.frontends.tensors.numpy.products import matvec, vecdot, vecmat
from cloakwork.frontends.tensors.numpy.refusals import refusal, refuse_attribute, refuse_comparison

# Universal functions of one number, by the functions that the planner knows.
_OF_ONE: Mapping[str, str] = {
    "arccos": "arccos",
    "arccosh": "arccosh",
    "arcsin": "arcsin",
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
# The others that are more than one operator.
_COMPUTED: Mapping[str, Callable[..., Any]] = {
    "arctanh": lambda x: 0.5 * (np.log1p(x) - np.log1p(-x)),
    "clip": clipped,
    "conjugate": lambda x: x,
    "copysign": lambda x, y: np.abs(x) * np.sign(y),
    "deg2rad": lambda x: x * (np.pi / 180),
    "degrees": lambda x: x * (180 / np.pi),
    "fmax": larger,
    "fmin": smaller,
    # Numbers as close to 0 as the second argument is for are refused.
    "heaviside": lambda x, _at_zero: 1.0 * (x > 0),
    "hypot": hypotenuse,
    "isfinite": lambda x: np.ones(x.shape, dtype=bool),
    "isinf": lambda x: np.zeros(x.shape, dtype=bool),
    "isnan": lambda x: np.zeros(x.shape, dtype=bool),
    "logaddexp": lambda x, y: y + (x - y).applied("softplus", "numpy.logaddexp"),
    "logaddexp2": lambda x, y: (
        y + ((x - y) * math.log(2)).applied("softplus", "numpy.logaddexp2") / math.log(2)
    ),
    "matvec": matvec,
    "maximum": larger,
    "minimum": smaller,
    "rad2deg": lambda x: x * (180 / np.pi),
    "radians": lambda x: x * (np.pi / 180),
    "signbit": lambda x: x < 0,
    "square": lambda x: x * x,
    "tan": lambda x: np.sin(x) / np.cos(x),
    "vecdot": vecdot,
    "vecmat": vecmat,
}
# All of them, in groups.
UFUNC_GROUPS: Mapping[str, Mapping[str, Any]] = {
    "Of one number": _OF_ONE,
    "Operators": _OPERATORS,
    "Of one number or more": _COMPUTED,
}
UFUNCS = frozenset(name for group in UFUNC_GROUPS.values() for name in group)


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
    if name in _COMPUTED:
        return _COMPUTED[name](*inputs)
    if name in _OF_ONE:
        return inputs[0].applied(_OF_ONE[name], f"numpy.{name}")
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
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    # Others of numpy have names of these, and do other things.
    if name not in FUNCTIONS or attrgetter(name)(np) is not function:
        raise refusal(f"numpy.{name}", name)
    return made_by(name, function, FUNCTIONS[name], args, options)


def _by_method(name: str, x: TensorMethods, *args: Any, **options: Any) -> Any:
    """What a method of arrays makes of a tensor by the function of its name."""
    return refused_by_name(name, lambda: METHODS[name](x, *args, **options))


class NumpyMethods(TensorMethods):
    """The operations of a tensor, which numpy's functions find as well."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return ufunc_of_tensors(ufunc, method, inputs, options)

    def __array_function__(
        self, function: Callable[..., Any], _types: Any, args: Any, options: Any
    ) -> Any:
        return function_of_tensors(function, args, options)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        return namespace_of(api_version)

    @property
    def dtype(self) -> np.dtype[Any]:
        """numpy's type of the numbers: float64, and bool of comparisons."""
        return np.dtype(np.bool_ if is_truths(self) else np.float64)

    @property
    def device(self) -> str:
        """Where it is computed, as the array API has it."""
        return "cpu"

    @property
    def mT(self) -> Self:  # noqa: N802  (the array API's name)
        """The tensor with its last two axes exchanged."""
        made: Self = self.swapaxes(-1, -2)
        return made

    def to_device(self, device: str, /, *, stream: object = None) -> Self:
        """The tensor itself, which is there already.

        Raises:
            UnsupportedOperationError: It is asked for elsewhere.
        """
        if device != self.device or stream is not None:
            raise UnsupportedOperationError(
                f"cannot move a tensor to {shown(device)}: expected {self.device}, where it is "
                "computed; a session says it by backend=, and compile by device="
            )
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            refuse_attribute(type(self).__name__, name)
        return partial(_by_method, name, self)

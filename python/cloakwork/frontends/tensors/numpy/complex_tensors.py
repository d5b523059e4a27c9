"""Complex encrypted numbers: a tensor of their real parts and one of their imaginary parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from cloakwork.errors import InvalidArgumentError, UnsupportedOperationError

# Functions of numpy that do the same to both parts.
_OF_PARTS = frozenset(
    """
    sum mean average cumsum diff trace reshape ravel transpose squeeze expand_dims moveaxis
    swapaxes broadcast_to flip roll fftshift ifftshift repeat tile take delete diagonal diag tril
    triu split array_split concatenate stack vstack hstack pad
    """.split()  # noqa: SIM905  (a word a name)
)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ComplexTensor:
    """Complex numbers, encrypted, as `numpy.fft.fft` and others give them.

    Args:
        real: The real parts.
        imag: The imaginary parts.
    """

    # As tensors have it.
    __pandas_priority__ = 5000

    real: Any
    imag: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        shape: tuple[int, ...] = self.real.shape
        return shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def T(self) -> ComplexTensor:  # noqa: N802  (numpy's name)
        """The tensor with its axes in reverse."""
        return ComplexTensor(self.real.T, self.imag.T)

    def conj(self) -> ComplexTensor:
        """The conjugate numbers."""
        return ComplexTensor(self.real, -self.imag)

    def __getitem__(self, index: Any) -> ComplexTensor:
        return ComplexTensor(self.real[index], self.imag[index])

    def __abs__(self) -> Any:
        return np.hypot(self.real, self.imag)

    def __neg__(self) -> ComplexTensor:
        return ComplexTensor(-self.real, -self.imag)

    def __add__(self, other: Any) -> ComplexTensor:
        return _sum(np.add, self, other)

    def __radd__(self, other: Any) -> ComplexTensor:
        return _sum(np.add, other, self)

    def __sub__(self, other: Any) -> ComplexTensor:
        return _sum(np.subtract, self, other)

    def __rsub__(self, other: Any) -> ComplexTensor:
        return _sum(np.subtract, other, self)

    def __mul__(self, other: Any) -> ComplexTensor:
        return _product(np.multiply, self, other)

    def __rmul__(self, other: Any) -> ComplexTensor:
        return _product(np.multiply, other, self)

    def __matmul__(self, other: Any) -> ComplexTensor:
        return _product(np.matmul, self, other)

    def __rmatmul__(self, other: Any) -> ComplexTensor:
        return _product(np.matmul, other, self)

    def __truediv__(self, other: Any) -> ComplexTensor:
        return _quotient(self, other)

    def __rtruediv__(self, other: Any) -> ComplexTensor:
        return _quotient(other, self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise InvalidArgumentError(
            "cannot make an array of a complex tensor: its numbers are encrypted; take its .real "
            "and .imag, or where an encrypted tensor meets it write the complex one first, z * x"
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        if name not in _UFUNCS or method != "__call__" or options:
            _refuse(name)
        return _UFUNCS[name](*inputs)

    def __array_function__(
        self, function: Callable[..., Any], _types: Any, args: Any, options: Any
    ) -> Any:
        name = function.__name__
        if name in ("real", "imag"):
            return getattr(self, name)
        if function.__module__ == "numpy.fft" and name in _TRANSFORMS:
            return _TRANSFORMS[name](*args, **options)
        if name not in _OF_PARTS:
            _refuse(name)
        real, imag = (function(*_each(args, part), **options) for part in ("real", "imag"))
        if isinstance(real, list | tuple):
            return [ComplexTensor(*both) for both in zip(real, imag, strict=True)]
        return ComplexTensor(real, imag)

    def __repr__(self) -> str:
        return f"ComplexTensor(shape={self.shape}), a pair of tensors, .real and .imag"


# What `fourier` makes of them, by the names of numpy.fft.
_TRANSFORMS: dict[str, Callable[..., Any]] = {}


def transforms_complex(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Take numpy.fft's functions of complex tensors."""
    _TRANSFORMS.update(functions)


def real_and_imaginary(value: Any) -> tuple[Any, Any]:
    """The real and the imaginary part; None for that of real numbers."""
    if isinstance(value, ComplexTensor):
        return value.real, value.imag
    if isinstance(value, complex | np.complexfloating) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "c"
    ):
        return np.real(value), np.imag(value)
    return value, None


def _sum(function: Callable[..., Any], one: Any, other: Any) -> ComplexTensor:
    (real1, imag1), (real2, imag2) = real_and_imaginary(one), real_and_imaginary(other)
    parts = [
        0.0 * each[0] if each[1] is None else each[1] for each in ((real1, imag1), (real2, imag2))
    ]
    return ComplexTensor(function(real1, real2), function(*parts))


def _product(function: Callable[..., Any], one: Any, other: Any) -> ComplexTensor:
    (real1, imag1), (real2, imag2) = real_and_imaginary(one), real_and_imaginary(other)
    if imag1 is None:
        return ComplexTensor(function(real1, real2), function(real1, imag2))
    if imag2 is None:
        return ComplexTensor(function(real1, real2), function(imag1, real2))
    return ComplexTensor(
        function(real1, real2) - function(imag1, imag2),
        function(real1, imag2) + function(imag1, real2),
    )


def _quotient(one: Any, other: Any) -> ComplexTensor:
    real, imag = real_and_imaginary(other)
    if imag is None:
        return ComplexTensor(one.real / real, one.imag / real)
    squares = real * real + imag * imag
    return _product(np.multiply, one, ComplexTensor(real / squares, -imag / squares))


_UFUNCS: Mapping[str, Callable[..., Any]] = {
    "absolute": abs,
    "add": lambda x, y: _sum(np.add, x, y),
    "conjugate": ComplexTensor.conj,
    "divide": _quotient,
    "matmul": lambda x, y: _product(np.matmul, x, y),
    "multiply": lambda x, y: _product(np.multiply, x, y),
    "negative": ComplexTensor.__neg__,
    "square": lambda x: x * x,
    "subtract": lambda x, y: _sum(np.subtract, x, y),
}


def _each(args: Sequence[Any], part: str) -> list[Any]:
    """Arguments with one part of the complex tensors among them."""
    return [
        getattr(each, part)
        if isinstance(each, ComplexTensor)
        else _each(each, part)
        if isinstance(each, list)
        else each
        for each in args
    ]


def _refuse(name: str) -> NoReturn:
    raise UnsupportedOperationError(
        f"cannot compute numpy.{name} of a complex encrypted tensor: what can be computed is "
        f"+ - * / @, conj, abs, {', '.join(sorted(_OF_PARTS))}, and numpy.fft; compute with its "
        ".real and .imag"
    )

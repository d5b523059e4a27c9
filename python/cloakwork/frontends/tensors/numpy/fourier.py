"""numpy's Fourier transforms of tensors: products with the matrices that numpy itself makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.tensors.numpy.complex_tensors import (
    ComplexTensor,
    real_and_imaginary,
    transforms_complex,
)
from cloakwork.frontends.tensors.numpy.linear_maps import along

# Those of real numbers alone.
_OF_REALS = ("rfft", "ihfft")


def _transformed(name: str, a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """A transform along one axis, complex or real as numpy's is."""
    real, imag = real_and_imaginary(a)
    function: Callable[..., Any] = getattr(np.fft, name)
    if imag is not None and name in _OF_REALS:
        raise InvalidArgumentError(
            f"cannot compute numpy.fft.{name}: expected real numbers, got complex ones; take .real"
        )

    def made(part: str) -> Any:
        """The real or imaginary part of the result."""

        def of(factor: complex) -> Callable[[NDArray[np.float64]], Any]:
            return lambda identity: getattr(function(factor * identity, n, 0, norm), part)

        found = along(1.0 * real, axis, f"fft.{name}", of(1.0))
        return found if imag is None else found + along(imag, axis, f"fft.{name}", of(1j))

    is_complex = np.iscomplexobj(function(np.ones(2), 2))
    return ComplexTensor(made("real"), made("imag")) if is_complex else made("real")


def _over_axes(
    name: str, last: str, a: Any, s: Any = None, axes: Any = None, norm: Any = None
) -> Any:
    """A transform along several axes, of which the last has a transform of its own."""
    places = [*range(a.ndim)] if axes is None else list(axes)
    if axes is None and s is not None:
        places = places[-len(s) :]
    sizes: Sequence[Any] = [None] * len(places) if s is None else list(s)
    if len(sizes) != len(places):
        raise InvalidArgumentError(
            f"cannot compute numpy.fft.{last}n: expected a size for each of {len(places)} axes, "
            f"got {len(sizes)}"
        )
    steps = [(name, *each) for each in zip(sizes, places, strict=True)]
    *others, (_, size, place) = steps
    ordered = (
        [*others, (last, size, place)]
        if last.startswith("i")
        else [
            (last, size, place),
            *others[::-1],
        ]
    )
    made = a
    for function, n, axis in ordered:
        made = _transformed(function, made, n, axis, norm)
    return made


def _of_two(
    name: str, last: str, a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None
) -> Any:
    return _over_axes(name, last, a, s, axes, norm)


# By their names in numpy.fft.
TRANSFORMS: Mapping[str, Callable[..., Any]] = {
    **{
        name: partial(_transformed, name)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    "fftn": partial(_over_axes, "fft", "fft"),
    "ifftn": partial(_over_axes, "ifft", "ifft"),
    "rfftn": partial(_over_axes, "fft", "rfft"),
    "irfftn": partial(_over_axes, "ifft", "irfft"),
    "fft2": partial(_of_two, "fft", "fft"),
    "ifft2": partial(_of_two, "ifft", "ifft"),
    "rfft2": partial(_of_two, "fft", "rfft"),
    "irfft2": partial(_of_two, "ifft", "irfft"),
}
transforms_complex(TRANSFORMS)

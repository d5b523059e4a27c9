"""The namespace of the array API standard for tensors: numpy's functions under its names."""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from types import ModuleType
from typing import Any

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, UnsupportedOperationError
from cloakwork.frontends.tensors.methods import TensorMethods
from cloakwork.frontends.tensors.numpy.rearranging import as_floats
from cloakwork.programs.ir.elementwise import LABELS

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
# The standard's names that numpy has with the standard's arguments. Others are below.
NAMES = {
    "": """
        abs acos acosh add all any arange argmax argmin asin asinh astype atan atan2 atanh
        bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
        bool broadcast_to can_cast ceil complex128 complex64 concat conj
        copysign cos cosh count_nonzero cumulative_prod cumulative_sum diff divide e empty
        empty_like equal exp expm1 eye flip float32 float64 floor floor_divide from_dlpack full
        full_like greater greater_equal hypot imag inf int16 int32 int64 int8 isdtype isfinite isinf
        isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not
        logical_or logical_xor matmul matrix_transpose max maximum mean min minimum
        moveaxis multiply nan negative newaxis nextafter nonzero not_equal ones ones_like
        permute_dims pi positive pow prod real reciprocal remainder repeat reshape result_type roll
        round searchsorted sign signbit sin sinh sqrt square squeeze stack std subtract sum
        take take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8
        unique_all unique_counts unique_inverse unique_values unstack var where zeros
        zeros_like
    """,
    "linalg": """
        cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
        matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
    """,
    "fft": """
        fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftshift ifftshift
    """,
}
# In which numpy got the last of these names.
_NEEDED = "2.1.0"


def namespace_of(api_version: str | None = None) -> ModuleType:
    """The standard's functions, of tensors and of arrays in the clear.

    Raises:
        InvalidArgumentError: There is no such version of the standard.
        UnsupportedOperationError: The installed numpy lacks names of the standard.
    """
    if api_version is not None and api_version not in VERSIONS:
        raise InvalidArgumentError(
            f"cannot give the array API: expected a version of {', '.join(VERSIONS)}, got "
            f"{shown(api_version)}"
        )
    if np.lib.NumpyVersion(np.__version__) < _NEEDED:
        raise UnsupportedOperationError(
            f"cannot give the array API: expected numpy {_NEEDED} or newer, whose functions have "
            f"the standard's names, got {np.__version__}; install a newer one, or call numpy's"
        )
    return _namespace()


@cache
def _namespace() -> ModuleType:
    made = _module("cloakwork.array_api", "")
    made.linalg = _module("cloakwork.array_api.linalg", "linalg")  # type: ignore[attr-defined]
    made.fft = _module("cloakwork.array_api.fft", "fft")  # type: ignore[attr-defined]
    for own in _OWN:
        setattr(made, own.__name__, own)
    made.vecdot = np.linalg.vecdot  # type: ignore[attr-defined]
    for own in (fftfreq, rfftfreq):
        setattr(made.fft, own.__name__, own)
    made.__array_api_version__ = VERSIONS[-1]  # type: ignore[attr-defined]
    made.__array_namespace_info__ = Info  # type: ignore[attr-defined]
    return made


def _module(name: str, room: str) -> ModuleType:
    made = ModuleType(name, f"Functions of the array API standard: {name}.")
    for each in NAMES[room].split():
        setattr(made, each, attrgetter(f"{room}.{each}" if room else each)(np))
    return made


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    """A tensor as it is, which never changes, and anything else as numpy's array.

    Raises:
        UnsupportedOperationError: A tensor is to have another type than float64.
    """
    if isinstance(obj, TensorMethods):
        return obj if dtype is None else as_floats(obj, dtype)
    return np.asarray(obj, dtype=dtype, device=device, copy=copy)


def expand_dims(x: Any, /, axis: Any = 0) -> Any:
    """The tensor with axes of size 1."""
    return np.expand_dims(x, axis)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Elements brought between two ends."""
    return np.clip(x, min, max)


def broadcast_arrays(*arrays: Any) -> list[Any]:
    """Tensors stretched to one shape."""
    return list(np.broadcast_arrays(*arrays))


def meshgrid(*arrays: Any, indexing: Any = "xy") -> list[Any]:
    """Coordinates of all points of a grid."""
    return list(np.meshgrid(*arrays, indexing=indexing))


def finfo(type: Any, /) -> Any:
    """What numbers a floating type has, or that of a tensor."""
    return np.finfo(_type_of(type))


def iinfo(type: Any, /) -> Any:
    """What numbers a type of integers has."""
    return np.iinfo(_type_of(type))


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Elements in order, of arrays in the clear; of tensors it is refused."""
    made = np.sort(x, axis=axis, stable=stable)
    return np.flip(made, axis) if descending else made


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The places of elements in order, of arrays in the clear; of tensors it is refused."""
    if not descending:
        return np.argsort(x, axis=axis, stable=stable)
    turned = np.argsort(np.flip(x, axis), axis=axis, stable=stable)
    return np.flip(x.shape[axis] - 1 - turned, axis)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of a Fourier transform."""
    return np.fft.fftfreq(n, d, device=device).astype(dtype or np.float64)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """Those of a transform of real numbers."""
    return np.fft.rfftfreq(n, d, device=device).astype(dtype or np.float64)


# Functions whose arguments numpy has otherwise.
_OWN = (argsort, asarray, broadcast_arrays, clip, expand_dims, finfo, iinfo, meshgrid, sort)


def _type_of(given: Any) -> Any:
    return given.dtype if isinstance(given, TensorMethods | np.ndarray) else given


class Info:
    """What the namespace can do, as the standard asks for it."""

    def capabilities(self) -> dict[str, Any]:
        """Masks are known, and no shape depends on encrypted numbers."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": False,
            "max dimensions": len(LABELS),
        }

    def default_device(self) -> str:
        """Where tensors are by default."""
        return "cpu"

    def devices(self) -> list[str]:
        """Where tensors may be by what this process says of it."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> Any:
        """The types of new arrays in the clear."""
        return np.__array_namespace_info__().default_dtypes(device=device)

    def dtypes(self, *, device: Any = None, kind: Any = None) -> Any:
        """The types of arrays in the clear; tensors are float64, and comparisons bool."""
        return np.__array_namespace_info__().dtypes(device=device, kind=kind)

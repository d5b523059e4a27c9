"""What counts as an array of real numbers."""

from typing import Any

import numpy as np
import pytest

from cloakwork.errors import NotFiniteError, NotRealError, ShapeMismatchError, ValueOutOfRangeError
from cloakwork.runtime.arrays import real_array, require_bound


class Detachable:
    """Behaves as a tensor that asks for gradients on another device does."""

    def detach(self) -> "Detachable":
        return self

    def cpu(self) -> np.ndarray:
        return np.array([1.5, 2.5], dtype=np.float32)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([1, 2], [1.0, 2.0]),
        (3, 3.0),
        (True, 1.0),
        (np.array([1, 2], dtype=np.uint8), [1.0, 2.0]),
        (np.array([0.5], dtype=np.float16), [0.5]),
        (np.arange(6).reshape(2, 3).T, [[0, 3], [1, 4], [2, 5]]),
        (Detachable(), [1.5, 2.5]),
    ],
)
def test_read(data: Any, expected: Any) -> None:
    array = real_array(data, "encrypt")
    assert array.dtype == np.float64
    assert array.tolist() == expected


@pytest.mark.parametrize("data", [1j, "text", [None], np.array([object()]), [b"x"]])
def test_not_real(data: Any) -> None:
    with pytest.raises(NotRealError, match="cannot encrypt"):
        real_array(data, "encrypt")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(value: float) -> None:
    with pytest.raises(NotFiniteError, match=r"element \(1, 0\)"):
        real_array([[1.0, 2.0], [value, 0.0]], "encrypt")


def test_ragged() -> None:
    with pytest.raises(ShapeMismatchError):
        real_array([[1.0], [1.0, 2.0]], "encrypt")


def test_bound() -> None:
    require_bound(np.array([-2.0, 2.0]), 2.0, "encrypt")
    require_bound(np.zeros(0), 2.0, "encrypt")
    with pytest.raises(ValueOutOfRangeError, match="bound=3"):
        require_bound(np.array([1.0, -3.0]), 2.0, "encrypt")


@pytest.mark.parametrize(
    ("value", "shown"), [(64.00001, "64.00001"), (64 + 2**-40, "64.00000000000091"), (70.0, "70")]
)
def test_a_value_is_shown_to_exceed_the_bound(value: float, shown: str) -> None:
    with pytest.raises(ValueOutOfRangeError, match=f"value of {shown} exceeds the bound 64; "):
        require_bound(np.array([value]), 64.0, "encrypt")


class Refusing:
    """Behaves as a torch tensor that cannot become a numpy array does."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise RuntimeError("this tensor has no storage")


class RefusingToDetach:
    """Behaves as a torch tensor without data does."""

    def detach(self) -> "RefusingToDetach":
        return self

    def cpu(self) -> np.ndarray:
        raise NotImplementedError("this tensor has no storage")


@pytest.mark.parametrize("data", [Refusing(), RefusingToDetach()])
def test_data_that_refuse_to_become_an_array(data: Any) -> None:
    with pytest.raises(NotRealError, match="cannot encrypt: this tensor has no storage"):
        real_array(data, "encrypt")

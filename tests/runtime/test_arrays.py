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

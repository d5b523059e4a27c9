"""What counts as an array of real numbers."""

from typing import Any

import numpy as np
import pytest

from cloakwork.base.arrays import (
    largest_magnitude,
    real_array,
    real_numbers,
    require_bound,
    require_precision,
)
from cloakwork.errors import (
    NotFiniteError,
    NotRealError,
    PrecisionLostError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)


class Tensor:
    """Behaves as a torch tensor that no step may be left out for does: one that asks for
    gradients, is on another device, waits for its negation and has bfloat16 numbers.
    """

    STEPS = ("detach", "cpu", "resolve_neg", "double")

    def __init__(self, taken: tuple[str, ...] = ()) -> None:
        self.taken = taken

    def step(self, name: str) -> "Tensor":
        return Tensor((*self.taken, name))

    def detach(self) -> "Tensor":
        return self.step("detach")

    def cpu(self) -> "Tensor":
        return self.step("cpu")

    def resolve_neg(self) -> "Tensor":
        return self.step("resolve_neg")

    def double(self) -> "Tensor":
        return self.step("double")

    def is_floating_point(self) -> bool:
        return True

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if not set(self.STEPS) <= set(self.taken):
            raise TypeError("Got unsupported ScalarType BFloat16")
        return np.array([1.5, 2.5])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([1, 2], [1.0, 2.0]),
        (3, 3.0),
        (True, 1.0),
        (np.array([1, 2], dtype=np.uint8), [1.0, 2.0]),
        (np.array([0.5], dtype=np.float16), [0.5]),
        (np.arange(6).reshape(2, 3).T, [[0, 3], [1, 4], [2, 5]]),
        (Tensor(), [1.5, 2.5]),
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


ADVICE = "make it Spec(bound={})"


def test_bound() -> None:
    require_bound(np.array([-2.0, 2.0]), 2.0, "encrypt", ADVICE)
    require_bound(np.zeros(0), 2.0, "encrypt", ADVICE)
    with pytest.raises(ValueOutOfRangeError, match=r"make it Spec\(bound=3\), or scale"):
        require_bound(np.array([1.0, -3.0]), 2.0, "encrypt", ADVICE)


def test_bound_with_an_error() -> None:
    require_bound(np.array([2.25]), 2.0, "decrypt", ADVICE, error=0.25)
    with pytest.raises(ValueOutOfRangeError, match=r"value of 2\.5 exceeds the bound 2;"):
        require_bound(np.array([-2.5]), 2.0, "decrypt", ADVICE, error=0.25)


def test_too_few_right_bits_are_refused_with_what_to_do() -> None:
    with pytest.raises(PrecisionLostError, match=r"expected 8 right bits .* is 1; ask for more"):
        require_precision(np.array([1.0]), 2.0, 64.0, "decrypt", "ask for more")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nothing_that_is_not_finite_is_within_a_bound_or_precise(value: float) -> None:
    array = np.array([[0.0, value]])
    with pytest.raises(NotFiniteError, match=r"cannot decrypt: element \(0, 1\)"):
        require_bound(array, 1e307, "decrypt", ADVICE, error=1e307)
    with pytest.raises(NotFiniteError, match=r"cannot decrypt: element \(0, 1\)"):
        require_precision(array, 52.0, 64.0, "decrypt", "ask for more")


@pytest.mark.parametrize(
    ("largest", "enough"), [(0.0, 8.0), (1e-9, 8.0), (1.0, 8.0), (4.0, 6.0), (2.0**30, -22.0)]
)
def test_right_bits_count_from_the_largest_number_or_1(largest: float, enough: float) -> None:
    array = np.array([0.0, -largest])
    require_precision(array, enough, 64.0, "decrypt", "ask for more")
    for precision, right in ((enough - 0.1, 7), (enough - 7.9, 0), (enough - 99.0, 0)):
        with pytest.raises(PrecisionLostError, match=f"8 right bits or more, got {right}:"):
            require_precision(array, precision, 64.0, "decrypt", "ask for more")


@pytest.mark.parametrize(
    ("value", "shown"), [(64.00001, "64.00001"), (64 + 2**-40, "64.00000000000091"), (70.0, "70")]
)
def test_a_value_is_shown_to_exceed_the_bound(value: float, shown: str) -> None:
    with pytest.raises(ValueOutOfRangeError, match=f"value of {shown} exceeds the bound 64; "):
        require_bound(np.array([value]), 64.0, "encrypt", ADVICE)


class Refusing:
    """Behaves as a torch tensor that cannot become a numpy array does."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise RuntimeError("this tensor has no storage")


class Failing:
    """Fails in a way of its own when it becomes an array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise ZeroDivisionError


class RefusingToDetach:
    """Behaves as a torch tensor without data does."""

    def detach(self) -> "RefusingToDetach":
        return self

    def cpu(self) -> np.ndarray:
        raise NotImplementedError("this tensor has no storage")


def test_masks_are_not_lost() -> None:
    for data in (np.ma.masked_array([1.0, 99.0], [False, True]), np.ma.masked):
        with pytest.raises(NotRealError, match="cannot encrypt: the data are a masked array"):
            real_array(data, "encrypt")


def test_what_data_raise_themselves_is_named() -> None:
    with pytest.raises(NotRealError, match="cannot encrypt: ZeroDivisionError"):
        real_array(Failing(), "encrypt")


@pytest.mark.parametrize("data", [Refusing(), RefusingToDetach()])
def test_data_that_refuse_to_become_an_array(data: Any) -> None:
    with pytest.raises(NotRealError, match="cannot encrypt: this tensor has no storage"):
        real_array(data, "encrypt")


@pytest.mark.parametrize("kind", ["?", "u8", "i1", "f2", "f4", "f8", "g"])
def test_real_numbers_stay_where_they_are(kind: str) -> None:
    array = np.ones((3, 4), dtype=kind)[::2, ::-1]
    assert real_numbers(array, "encrypt") is array


def test_the_largest_magnitude_is_that_of_any_sign() -> None:
    assert largest_magnitude(np.array([-3, 2], dtype=np.int8)) == 3
    assert largest_magnitude(np.array([1, 2**64 - 1], dtype=np.uint64)) == 2.0**64
    assert largest_magnitude(np.array([-128], dtype=np.int8)) == 128
    assert largest_magnitude(np.array([], dtype=np.float64)) == 0
    for order in ([np.nan, 1.0], [1.0, np.nan], [np.nan, -np.inf]):
        assert np.isnan(largest_magnitude(np.array(order)))

"""What a function may do with encrypted integers and vectors of them, and what it may not."""

from __future__ import annotations

import inspect
import math
import operator
import re
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    EncryptedConditionError,
    IndexOutOfRangeError,
    InvalidArgumentError,
    NotIntegerError,
    ShapeMismatchError,
)
from cloakwork.frontends.circuit.inputs import Declared

M = np.arange(1, 13).reshape(3, 4)
V = np.array([5, -6, 7, 8])


def found(function: Any, **inputs: Any) -> Any:
    """What a function of a scalar, a vector or a matrix comes to on symbols."""
    declared: dict[str, Declared] = {
        "x": cw.scalar(),
        "v": cw.vector(4),
        "w": cw.vector(4),
        "m": cw.matrix(3, 4),
        "n": cw.matrix(4, 3),
    }
    values = {"x": 3, "v": V.tolist(), "w": [1, 2, 3, 4], "m": M.tolist(), "n": M.T.tolist()}
    names = list(inspect.signature(function).parameters)
    made = cw.circuit(**{name: declared[name] for name in names})(function)
    return made(**{name: values[name] for name in names}, **inputs)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: operator.add(x, [1, 2]), [4, 5]),
        (lambda x: operator.add([1, 2], x), [4, 5]),
        (lambda x: x - (1, 2), [2, 1]),
        (lambda x: (1, 2) - x, [-2, -1]),
        (lambda x: x * [[1], [2]], [[3], [6]]),
        (lambda x: [x, 5] * x, [9, 15]),
    ],
)
def test_lists_are_vectors_beside_a_scalar_too(function: Any, expected: Any) -> None:
    assert found(function) == expected


parts = st.one_of(
    st.integers(-3, 2), st.slices(3), st.builds(slice, st.none() | st.integers(-4, 4))
)


@given(st.lists(parts, max_size=2), st.booleans())
def test_indices_mean_what_they_mean_to_numpy(keys: list[Any], ellipsis: bool) -> None:
    index = (*keys, ...) if ellipsis else tuple(keys)
    assert found(lambda m: [0 * m[0, 0], m[index]])[1] == M[index].tolist()


@pytest.mark.parametrize(
    "function",
    [
        lambda m: m[:, 1],
        lambda m: m[1:, 1],
        lambda m: m[0:2, 0:2],
        lambda m: m[..., 0],
        lambda m: m[::-1, np.int64(-1)],
        lambda m: [sum(m[:, j]) for j in range(4)],
        lambda m, n: m @ n,
        lambda m, v: m @ v,
        lambda v, n: v @ n,
        lambda v, w: v @ w,
        lambda m: m @ np.arange(12).reshape(4, 3),
        lambda m: np.arange(9).reshape(3, 3) @ m,
        lambda v: np.array([1, 2, 3, 4]) * v,
        lambda v: v - np.array([1, 2, 3, 4]),
        lambda x: np.array([[1, 2], [3, 4]]) - x,
        lambda x: np.int64(3) * x + np.int8(2),
        lambda m, v: m * v + v,
        lambda v: +v,
        lambda v: np.array(list(v), dtype=object) * v,
    ],
)
def test_arrays_and_products_mean_what_they_mean_to_numpy(function: Any) -> None:
    arrays = {"x": 3, "v": V, "w": np.array([1, 2, 3, 4]), "m": M, "n": M.T}
    names = inspect.signature(function).parameters
    assert found(function) == np.array(function(**{name: arrays[name] for name in names})).tolist()


@pytest.mark.parametrize(
    ("function", "error", "reason"),
    [
        (lambda m: m[0, 1, 2], ShapeMismatchError, "up to 2 indices"),
        (lambda m: m[..., ...], ShapeMismatchError, "up to 2 indices"),
        (lambda v: v[4], IndexOutOfRangeError, "from -4 up to 3, got 4"),
        (lambda m: m[:, -5], IndexOutOfRangeError, "from -4 up to 3, got -5"),
        (lambda v: v[1.0], InvalidArgumentError, "got 1.0"),
        (lambda v: v["a"], InvalidArgumentError, "got 'a'"),
        (lambda v: v[[0, 1]], InvalidArgumentError, r"got \[0, 1\]"),
        (lambda v: v[True], InvalidArgumentError, "got True"),
        (lambda v: v[None], InvalidArgumentError, "got None"),
        (lambda v: v[:1.5], InvalidArgumentError, "a slice of integers"),
        (lambda v: v[::0], InvalidArgumentError, "a step that is not 0"),
        (lambda x, v: v[:x], EncryptedConditionError, "as an index"),
        (lambda x: x + 1.5, NotIntegerError, "got 1.5"),
        (lambda x: 2j * x, NotIntegerError, "got 2j"),
        (lambda x: x + None, NotIntegerError, "got None"),
        (lambda x: x + "a", NotIntegerError, "got 'a'"),
        (lambda x: x * np.float64(2), NotIntegerError, "float64"),
        (lambda x: np.float64(2) * x, NotIntegerError, "float64"),
        (lambda x: x * np.bool_(True), NotIntegerError, "True"),
        (lambda x: np.bool_(True) * x, NotIntegerError, "True"),
        (lambda v: v * 2.0, NotIntegerError, "got 2.0"),
        (lambda v: np.array([0.5, 1, 2, 3]) * v, NotIntegerError, "an array"),
        (lambda v: v - [1, 2, 3, "a"], NotIntegerError, "got 'a'"),
        (lambda v: v - [1, 2], ShapeMismatchError, "4 and 2 elements"),
        (lambda v: v - [1, 2, 3, [4]], ShapeMismatchError, "make a vector of a list"),
        (lambda m, n: m + n, ShapeMismatchError, r"\(3, 4\) and \(4, 3\)"),
        (lambda m, w: w @ m, ShapeMismatchError, "columns on the left as rows"),
        (lambda x: x @ x, ShapeMismatchError, "expected vectors or matrices"),
        (lambda v: np.add.reduce(v) + 1, EncryptedConditionError, r"add\.reduce.*a loop"),
        (lambda x: f"{x:d}", EncryptedConditionError, "in text with a format"),
        (lambda v: f"{v:>9}", EncryptedConditionError, "in text with a format"),
        (lambda x: "%d" % x, EncryptedConditionError, "stands for an encrypted"),  # noqa: UP031
        (lambda x: "a" + x, NotIntegerError, "got 'a'"),
        (lambda x: x[0], EncryptedConditionError, "not subscriptable"),
        (lambda x: [*x], EncryptedConditionError, "an iterable"),
        (lambda x: len(x) + 1, EncryptedConditionError, "no len"),
        (lambda v: v.mean(), EncryptedConditionError, "no attribute 'mean'"),
        (lambda v: statistics.mean(v) + 1, EncryptedConditionError, "Symbol"),
        (lambda v: v.index(3), EncryptedConditionError, "as a condition"),
        (lambda v: list(v).count(3), EncryptedConditionError, "as a condition"),
        (lambda v: np.sort(np.array(list(v))), EncryptedConditionError, "as a condition"),
        (lambda v: 1 if v == 3 else 0, EncryptedConditionError, "as a condition"),
        (lambda v: operator.contains(v, 3), EncryptedConditionError, "write numpy.isin"),
        (lambda x: [1, 2][x], EncryptedConditionError, "write cw.table"),
        (lambda v: np.std(v) + 1, EncryptedConditionError, "numpy's std.*expected one of"),
        (lambda v: np.sum(v, keepdims=True), EncryptedConditionError, "with these arguments"),
        (lambda v: np.bincount(v + 0), InvalidArgumentError, "a clear minlength"),
        (lambda v: np.max(v, axis=1), InvalidArgumentError, "expected an axis of 1, got 1"),
        (lambda x: cw.table([])[x], InvalidArgumentError, "from 1 to 65536 integers"),
        (lambda x: cw.table([0.5])[x], NotIntegerError, "got 0.5"),
        (lambda v: v.__setitem__(0, 1), InvalidArgumentError, "a new list"),
        (lambda x, v: cw.select(x, v, v[:2]), ShapeMismatchError, "4 and 2 elements"),
        (lambda m, v: cw.select(1, m, v), ShapeMismatchError, r"\(3, 4\) and \(4,\)"),
        (lambda x: cw.select(x, 1.5, 2), NotIntegerError, "got 1.5"),
        (lambda x: cw.select(x, {"a": x}, 2), NotIntegerError, "got"),
    ],
)
def test_what_a_function_cannot_do_names_its_line(
    function: Any, error: type[CloakworkError], reason: str
) -> None:
    with pytest.raises(error, match=reason) as raised:
        found(function)
    line = f" {__file__}:{inspect.getsourcelines(function)[1]}"
    assert re.search(rf"{re.escape(line)}\b", str(raised.value))


def test_errors_of_the_function_itself_are_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        found(lambda x: x + 1 // 0)
    with pytest.raises(TypeError, match="unsupported operand") as raised:
        found(lambda x: x + (1 + "a"))  # type: ignore[operator]
    assert not isinstance(raised.value, CloakworkError)
    with pytest.raises(IndexError):
        found(lambda v: [v[n] for n in range(5)])


def test_text_of_a_symbol_says_what_it_stands_for() -> None:
    told: list[str] = []

    def tell(x: Any) -> Any:
        told.append(f"{x}")
        return x

    found(tell)
    assert told == ["Symbol(Scalar(input='x', index=0))"]


def test_select_takes_lists_and_vectors() -> None:
    bit = cw.circuit(b=cw.scalar(bounds=(0, 1)), v=cw.vector(2))
    both = bit(lambda b, v: [cw.select(b, v, [7, 8]), cw.select(b, [v[1], 1], 9)])
    assert [both(1, [1, 2]), both(0, [1, 2])] == [[[1, 2], [2, 1]], [[7, 8], [9, 9]]]
    clear = cw.circuit(v=cw.vector(2))(lambda v: cw.select(1, [v[0], 2], v) - (10, 20))
    assert clear([1, 2]) == [-9, -18]


def test_sums_and_products_of_python() -> None:
    assert found(lambda v: [sum(v), math.prod(v), sum(v * 2, start=1)]) == [14, -1680, 29]
    assert found(lambda x: [x, np.int64(4), True]) == [3, 4, 1]

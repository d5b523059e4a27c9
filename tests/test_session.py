"""Sessions: what they ask of parameters, and what they refuse."""

from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
    NotFiniteError,
    NotRealError,
    ParametersMismatchError,
    TooManySlotsError,
    ValueOutOfRangeError,
)


def session(**options: Any) -> cw.Session:
    return cw.Session(**{"depth": 2, "backend": "clear", **options})


def test_parameters_follow_from_depth_precision_and_bound() -> None:
    parameters = session(depth=3, precision=20, bound=64.0).parameters
    assert parameters.levels == 3
    assert parameters.scale_bits == 44
    assert parameters.headroom_bits == 6 + 2 + 16
    assert not parameters.insecure


def test_slots_are_a_minimum() -> None:
    small = session().parameters.slots
    assert session(slots=small).parameters.slots == small
    assert session(slots=small + 1).parameters.slots == 2 * small


@pytest.mark.parametrize("data", [3.0, [1.0, 2.0], np.ones((2, 3, 4)), np.ones((1, 1))])
def test_any_shape_comes_back(data: Any) -> None:
    s = session()
    assert np.array_equal(s.decrypt(s.encrypt(data)), np.asarray(data))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([np.nan], NotFiniteError),
        ([1j], NotRealError),
        (["a"], NotRealError),
        ([65.0], ValueOutOfRangeError),
        (np.zeros(1 << 16), TooManySlotsError),
    ],
)
def test_data_that_are_refused(data: Any, error: type[CloakworkError]) -> None:
    with pytest.raises(error, match="cannot"):
        session().encrypt(data)


def test_a_result_above_the_bound_is_refused() -> None:
    s = session(bound=4.0)
    with pytest.raises(ValueOutOfRangeError, match="bound=9"):
        s.decrypt(cw.einsum("i,i->i", s.encrypt([3.0]), [3.0]))


@pytest.mark.parametrize("size", [2, 64, 1024])
def test_a_result_that_breaks_the_bound_by_far_is_seen(size: int) -> None:
    s = cw.Session(depth=0, bound=4.0, insecure=True, log_n=12)
    x = s.encrypt(np.full(size, 4.0))
    with pytest.raises(ValueOutOfRangeError, match=f"bound={4 * size}"):
        s.decrypt(cw.einsum("i->", x))


def test_a_tensor_may_have_a_tighter_bound() -> None:
    s = cw.Session(depth=1, insecure=True, log_n=11)
    loose, tight = s.encrypt([0.5]), s.encrypt([0.5], bound=1.0)
    products = [cw.einsum("i,i->i", x, x) for x in (loose, tight)]
    assert products[1].value.precision > products[0].value.precision + 5
    for bound, data in ((1.0, [1.5]), (65.0, [1.0]), (0.0, [0.0]), (float("nan"), [0.0])):
        with pytest.raises(ValueOutOfRangeError, match="cannot encrypt"):
            s.encrypt(data, bound=bound)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"precision": 60}, InvalidParametersError),
        ({"depth": -1}, InvalidArgumentError),
        ({"depth": 1.5}, InvalidArgumentError),
        ({"precision": -1}, InvalidArgumentError),
        ({"bound": 0.0}, InvalidArgumentError),
        ({"bound": float("nan")}, InvalidArgumentError),
        ({"backend": "none"}, InvalidArgumentError),
        ({"log_n": 11}, InsecureParametersError),
        ({"log_n": 11, "insecure": True, "slots": 1 << 12}, InvalidParametersError),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], error: type[CloakworkError]) -> None:
    with pytest.raises(error):
        session(**options)


def test_a_tensor_of_another_session_is_refused() -> None:
    with pytest.raises(ParametersMismatchError):
        session().decrypt(session().encrypt([1.0]))


def test_nothing_printed_shows_numbers() -> None:
    s = session()
    x = s.encrypt([1.2345])
    for text in (repr(s), repr(s.client), repr(s.evaluator), repr(x)):
        assert "1.2345" not in text


def test_the_clear_backend_has_nothing_to_save(tmp_path: Any) -> None:
    s = session()
    with pytest.raises(InvalidArgumentError):
        cw.save_client(s.client, tmp_path / "client")
    with pytest.raises(InvalidArgumentError):
        cw.save_evaluator(s.evaluator, tmp_path / "evaluator")
    with pytest.raises(InvalidArgumentError):
        cw.save_tensor(s.encrypt([1.0]), tmp_path / "x", s.parameters)

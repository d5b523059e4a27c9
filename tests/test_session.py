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
    assert parameters.headroom_bits == 8
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

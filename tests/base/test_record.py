"""Records read from outside."""

from __future__ import annotations

import types
from typing import Any, TypeVar

import numpy as np
import pytest

from cloakwork.base.record import Fields
from cloakwork.errors import MalformedBytesError

_Scalar = TypeVar("_Scalar", bound=np.generic)


class _Alias:
    """What `NDArray` is from numpy 2.5 on, where Python has aliases with parameters."""

    __value__ = np.ndarray[Any, np.dtype[_Scalar]]


def test_aliases_stand_for_what_they_name() -> None:
    alias: Any = _Alias()
    kind = types.GenericAlias(alias, (np.int64,))
    places = np.arange(3)
    assert Fields({"places": places}, "the record").value("places", kind) is places
    with pytest.raises(MalformedBytesError, match="an array of int64"):
        Fields({"places": np.ones(3)}, "the record").value("places", kind)

"""The page on numpy is what the tables in the code say, and they say something of all of numpy."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cloakwork.frontends.tensors.numpy.functions import FUNCTIONS
from cloakwork.frontends.tensors.numpy.protocol import UFUNCS
from cloakwork.frontends.tensors.numpy.refusals import REFUSED, WITHOUT_TENSORS
from tools.numpy_page import PAGE, written

_REFUSED = {name for names in REFUSED.values() for name in names.split()}
_SAID = {*FUNCTIONS, *UFUNCS, *_REFUSED, *WITHOUT_TENSORS.split()}
# It is numpy's vstack under a name that goes.
_GOING = {"row_stack"}
# Since numpy 2 the public names are those that are meant.
_IS_TWO = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


def test_the_page_has_the_tables_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "run python -m tools.numpy_page"


def _public(module: ModuleType, prefix: str) -> list[str]:
    """Functions of a module, by the names that they have themselves."""
    found: list[Any] = [getattr(module, name) for name in module.__all__]
    functions = [each for each in found if callable(each) and not isinstance(each, type)]
    return sorted({prefix + each.__name__ for each in functions if hasattr(each, "__name__")})


@pytest.mark.skipif(not _IS_TWO, reason="numpy 1 has names that are gone since")
def test_every_public_function_of_numpy_runs_or_is_refused() -> None:
    names = _public(np, "") + _public(np.linalg, "linalg.") + _public(np.fft, "fft.")
    assert len(names) > 400
    assert [name for name in names if name not in _SAID | _GOING] == []


def test_no_function_is_said_twice() -> None:
    tables = [{*FUNCTIONS, *UFUNCS}, _REFUSED, {*WITHOUT_TENSORS.split()}]
    assert sum(map(len, tables)) == len(_SAID)

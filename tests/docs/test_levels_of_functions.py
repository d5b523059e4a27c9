"""The page on functions says how many levels they take; they take as many."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from tests.docs.blocks import ROOT

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "sigmoid": cw.sigmoid,
    "tanh": np.tanh,
    "1 / x": np.reciprocal,
    "sqrt": np.sqrt,
    "log": np.log,
    "abs": np.abs,
}
_ROW = re.compile(r"\| `(.+)` \| (\S+) to (\S+) \| ([\d, ]+) bits \| ([\d, ]+) \|")
_PAGE = (ROOT / "docs" / "functions.md").read_text(encoding="utf-8")
CASES = [
    (name, float(low), float(high), int(bits), int(levels))
    for name, low, high, precisions, depths in _ROW.findall(_PAGE)
    for bits, levels in zip(precisions.split(","), depths.split(","), strict=True)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "low", "high", "bits", "levels"), CASES)
def test_functions_take_the_levels_that_are_said(
    name: str, low: float, high: float, bits: int, levels: int
) -> None:
    program = cw.compile(
        _FUNCTIONS[name],
        cw.Spec((8,), low=low, high=high),
        precision=bits,
        log_n=8,
        insecure=True,
    )
    assert program.scheme.parameters.levels == levels


def test_the_page_has_a_row_for_each_of_them() -> None:
    assert {name for name, *_ in CASES} == set(_FUNCTIONS)

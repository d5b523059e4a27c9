"""How many cases the tests try: a part of them, or all in `make test-slow`."""

from __future__ import annotations

import os
from typing import Any

import pytest

ALL = os.environ.get("CLOAKWORK_TEST_EXAMPLES") == "all"


def part(cases: int) -> int:
    """A tenth of so many random cases, and no fewer than three; all in `make test-slow`."""
    return cases if ALL else max(min(cases, 3), cases // 10)


def slow(*cases: Any) -> list[Any]:
    """Cases of a parametrised test that `make test-slow` runs."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else [case]), marks=pytest.mark.slow)
        for case in cases
    ]

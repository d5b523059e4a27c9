"""Programs run as children."""

from pathlib import Path

import pytest

from cloakwork.frontends.boolean.subprocess_group import run_child


@pytest.mark.parametrize("seconds", [60, 1e9, 1e300])
def test_any_time_may_be_given(seconds: float) -> None:
    assert run_child(["echo", "hello"], Path(), timeout=seconds).stdout == "hello\n"

"""How much memory a container may take, as control groups say."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from cloakwork.base.control_groups import most_bytes


@pytest.mark.parametrize(
    ("own", "limits", "expected"),
    [
        ("0::/", {".": "max"}, math.inf),
        ("0::/", {".": "2147483648"}, 2**31),
        ("0::/", {}, math.inf),
        ("0::/system.slice/a.service", {"system.slice/a.service": "1000"}, 1000),
        ("0::/s/a", {"s/a": "max", "s": "500"}, 500),
        ("0::/s/a", {"s/a": "400", "s": "500", ".": "max"}, 400),
        ("0::/s/a", {"s/b": "400"}, math.inf),
        ("4:memory:/s/a", {"s/a": "400"}, math.inf),
        ("", {".": "400"}, math.inf),
    ],
)
def test_the_tightest_group_counts(
    tmp_path: Path, own: str, limits: dict[str, str], expected: float
) -> None:
    (tmp_path / "own").write_text(f"12:pids:/\n{own}\n")
    for place, limit in limits.items():
        (tmp_path / "groups" / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / place / "memory.max").write_text(f"{limit}\n")
    assert most_bytes(tmp_path / "own", tmp_path / "groups") == expected

"""Measured targets from a damaged cache."""

import json
from pathlib import Path
from typing import Any

import pytest
from cloakwork.plan.cost.measured_tfhe import measured_target as target_of

from cloakwork.plan.cost import cache as cost_cache
from cloakwork.plan.cost import measured_tfhe as measured_target
from cloakwork.plan.cost.tfhe import Target

MEASURED = {"bootstrap": [0.01, 0.02, 0.03], "linear": 1e-6, "gate": 0.01}


@pytest.mark.parametrize(
    "kept",
    [
        None,
        [],
        {**MEASURED, "bootstrap": [0.01]},
        {**MEASURED, "bootstrap": [0.01, 0.02, float("inf")]},
        {**MEASURED, "linear": float("nan")},
        {**MEASURED, "linear": float("inf")},
        {**MEASURED, "gate": -1.0},
        {**MEASURED, "gate": "fast"},
    ],
    ids=str,
)
def test_costs_that_are_none_are_measured_again(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    measured: list[str] = []

    def seconds(name: str, _: int) -> Any:
        measured.append(name)
        return MEASURED

    monkeypatch.setattr(measured_target, "boolean_seconds", seconds)
    first = target_of("boxes4")
    (path,) = (tmp_path / "cloakwork").iterdir()
    identity = json.loads(path.read_text())["of"]
    assert target_of("boxes4") == first
    assert measured == ["boxes4"]
    cost_cache.write(identity, kept)
    again: Target = target_of("boxes4")
    assert again == first
    assert measured == ["boxes4"] * 2

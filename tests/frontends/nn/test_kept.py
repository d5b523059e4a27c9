"""Programs of networks are kept: planned once for the same network, samples and options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import cloakwork as cw
from cloakwork._native import Parameters
from cloakwork.errors import FileAccessError, InvalidArgumentError
from cloakwork.plan.networks import compile_graph as planning
from cloakwork.runtime.costs import Costs, comparable

SAMPLES = torch.linspace(-1, 1, 24).reshape(8, 3)
SMALL: dict[str, Any] = {"precision": 8, "log_n": 9, "insecure": True}


def module(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.SiLU(), nn.Linear(4, 2)).eval()


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The samples of every network that is planned."""
    seen: list[Any] = []
    plan = planning.compile_graph

    def noted(graph: Any, given: Any, *rest: Any) -> cw.Program:
        seen.append(given)
        return plan(graph, given, *rest)

    monkeypatch.setattr(planning, "compile_graph", noted)
    return seen


def test_the_same_is_planned_once(planned: list[Any], tmp_path: Path) -> None:
    folder = tmp_path / "kept" / "here"
    first = cw.nn.compile(module(), SAMPLES, cache=folder, **SMALL)
    shuffled = SAMPLES[torch.randperm(8)]
    again = cw.nn.compile(module(), SAMPLES, shuffled, cache=str(folder), **SMALL)
    assert len(planned) == len(list(folder.iterdir())) == 1
    assert again.fingerprint == first.fingerprint
    assert (again.error, again.error_bound) == (first.error, first.error_bound)
    x = SAMPLES[0].double().numpy()
    np.testing.assert_array_equal(again.run_clear(x), first.run_clear(x))


@pytest.mark.parametrize(
    ("seed", "samples", "options"),
    [
        (1, SAMPLES, {}),
        (0, 2 * SAMPLES, {}),
        (0, SAMPLES, {"precision": 9}),
        (0, SAMPLES, {"degrees": {"silu": 3}}),
    ],
    ids=["weights", "samples", "precision", "degrees"],
)
def test_others_are_planned(
    planned: list[Any], tmp_path: Path, seed: int, samples: torch.Tensor, options: dict[str, Any]
) -> None:
    cw.nn.compile(module(), SAMPLES, cache=tmp_path, **SMALL)
    cw.nn.compile(module(seed), samples, cache=tmp_path, **{**SMALL, **options})
    assert len(planned) == 2


def test_samples_that_are_read_once(planned: list[Any], tmp_path: Path) -> None:
    for _ in range(2):
        batches = iter(torch.split(SAMPLES, 4))
        cw.nn.compile(module(), SAMPLES, batches, cache=tmp_path, **SMALL)
    assert len(planned) == 1


def test_a_damaged_file_is_made_anew(planned: list[Any], tmp_path: Path) -> None:
    first = cw.nn.compile(module(), SAMPLES, cache=tmp_path, **SMALL)
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:1000])
    again = cw.nn.compile(module(), SAMPLES, cache=tmp_path, **SMALL)
    assert len(planned) == 2
    assert again.fingerprint == first.fingerprint
    assert cw.load(path, cw.Program, insecure=True).fingerprint == first.fingerprint


def test_a_folder_that_others_may_write_decides_nothing(planned: list[Any], tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    cw.nn.compile(module(), SAMPLES, cache=folder, **SMALL)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(FileAccessError, match="expected what no other user may write, got one of"):
        cw.nn.compile(module(), SAMPLES, cache=folder, **SMALL)
    assert len(planned) == 1


def my_costs(parameters: Parameters) -> Costs:
    return comparable(parameters)


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="expected the costs of the model"):
        cw.nn.compile(module(), SAMPLES, cache=tmp_path, costs=my_costs, **SMALL)
    with pytest.raises(InvalidArgumentError, match="expected a path"):
        cw.nn.compile(module(), SAMPLES, cache="a\0b", **SMALL)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileAccessError):
        cw.nn.compile(module(), SAMPLES, cache=tmp_path / "file", **SMALL)

"""Files of results: who may read them, and what their forms hold."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloakwork.cli.input_files import read_inputs
from cloakwork.cli.result_files import require_results_place, write_results
from cloakwork.errors import InvalidArgumentError, NotReplaceableError
from cloakwork.programs.port import Port

PORTS = (Port("x", "real", shape=(3,)),)
PAIR = (Port("a", "integer"), Port("b", "integer"))


@pytest.mark.parametrize("ending", [".npz", ".npy", ".json", ".csv"])
def test_results_are_read_back_and_by_their_owner_alone(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r{ending}"
    write_results(path, np.full(300, 0.125), PORTS)
    path.chmod(0o644)
    write_results(path, np.array([0.5, 1.5, 2.5]), PORTS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(read_inputs(path, PORTS)["x"]) == [0.5, 1.5, 2.5]
    path.unlink()
    write_results(path, np.array([0.5, 1.5, 2.5]), PORTS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("ending", "result", "words"),
    [
        (".npy", {"a": 1, "b": 2}, "expected one result, got a, b"),
        (".npz", {"a": 1 << 70, "b": 2}, "a number of more than 64 bits"),
        (".npz", {"a": [[1], [2, 3]], "b": 2}, "lists of several lengths"),
        (".csv", {"a": [1, 2], "b": [1]}, "several shapes"),
        (".txt", {"a": 1, "b": 2}, "expected a name that ends in"),
    ],
)
def test_results_that_a_form_does_not_hold_are_refused(
    tmp_path: Path, ending: str, result: Any, words: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=words) as refusal:
        write_results(tmp_path / f"r{ending}", result, PAIR)
    assert f"r{ending}" in str(refusal.value)
    assert not (tmp_path / f"r{ending}").exists()


def test_places_are_refused_before_results_are_computed(tmp_path: Path) -> None:
    require_results_place(tmp_path / "r.npy", [tmp_path / "c"], PAIR, PORTS)
    with pytest.raises(InvalidArgumentError, match="expected a name that ends in"):
        require_results_place(tmp_path / "r", [], PAIR, PORTS)
    with pytest.raises(InvalidArgumentError, match="a file that the command reads"):
        require_results_place(tmp_path / "r.npy", [tmp_path / "r.npy"], PAIR, PORTS)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        require_results_place(tmp_path / "nowhere" / "r.npy", [], PAIR, PORTS)


@pytest.mark.parametrize("ending", [".npz", ".npy", ".json", ".csv"])
def test_earlier_results_alone_are_replaced(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r{ending}"
    write_results(path, np.array([0.5, 1.5, 2.5]), PORTS)
    require_results_place(path, [], PAIR, PORTS)
    for other in (b"mine: \0", b"PK\3\4 mine: \xff"):
        path.write_bytes(other)
        with pytest.raises(NotReplaceableError, match=r"earlier results to replace, got a file"):
            require_results_place(path, [], PAIR, PORTS)
        assert path.read_bytes() == other


@pytest.mark.parametrize("ending", [".npz", ".json", ".csv"])
def test_files_of_inputs_are_not_replaced_by_results(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r{ending}"
    write_results(path, {"a": [1, 2], "b": [3, 4]}, PAIR)
    inputs = path.read_bytes()
    with pytest.raises(NotReplaceableError, match="got a file of inputs, with a; name another"):
        require_results_place(path, [], PAIR[:1], PORTS)
    assert path.read_bytes() == inputs
    # What has an output's name may be an earlier result.
    require_results_place(path, [], PAIR[:1], PAIR)

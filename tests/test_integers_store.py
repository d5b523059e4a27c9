"""Files of programs over integers: round trips, and files that others have made or damaged."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    ProgramMismatchError,
)
from cloakwork.frontends.circuit.compile_function import (
    CompiledCircuit,
    IntegerClient,
    IntegerEvaluator,
)

INPUTS: dict[str, Any] = {"x": [[1, -2], [3, 4]], "s": 5}
EXPECTED = {"product": [1 * 3 + 5, -8], "rest": (7,)}


@cw.circuit(x=cw.matrix(2, 2, bounds=(-9, 9)), s=cw.scalar(bits=5))
def some(x: Any, s: Any) -> Any:
    return {"product": [x[0, 0] * x[1, 0] + s, x[0, 1] * x[1, 1]], "rest": (7,)}


@pytest.fixture(scope="module")
def program() -> CompiledCircuit:
    return some.compile(bits=36, effort=0.1)


@pytest.fixture(scope="module")
def parties(program: CompiledCircuit) -> tuple[IntegerClient, IntegerEvaluator]:
    return program.keygen()


def test_everything_comes_back_from_files(
    tmp_path: Path, program: CompiledCircuit, parties: tuple[IntegerClient, IntegerEvaluator]
) -> None:
    assert len(program.parameter_sets) == 2
    client, evaluator = parties
    cw.integers.save_program(program, tmp_path / "program")
    cw.integers.save_client(client, tmp_path / "client")
    cw.integers.save_evaluator(evaluator, tmp_path / "evaluator")
    cw.integers.save_integers(client.encrypt(**INPUTS), tmp_path / "x")
    again = cw.integers.load_program(tmp_path / "program", insecure=True)
    assert again.integers.fingerprint == program.integers.fingerprint
    assert again.run_clear(**INPUTS) == EXPECTED
    runner = cw.integers.load_evaluator(tmp_path / "evaluator", insecure=True)
    result = runner.run(cw.integers.load_integers(tmp_path / "x", runner))
    cw.integers.save_integers(result, tmp_path / "y")
    reader = cw.integers.load_client(tmp_path / "client", insecure=True)
    assert reader.decrypt(cw.integers.load_integers(tmp_path / "y", reader)) == EXPECTED


def test_an_evaluators_file_is_no_clients(
    tmp_path: Path, parties: tuple[IntegerClient, IntegerEvaluator]
) -> None:
    cw.integers.save_evaluator(parties[1], tmp_path / "evaluator")
    with pytest.raises(MalformedBytesError, match="expected kind client for integers"):
        cw.integers.load_client(tmp_path / "evaluator", insecure=True)
    with zipfile.ZipFile(tmp_path / "evaluator") as archive:
        assert not any("secret" in name for name in archive.namelist())


def test_integers_of_others_are_refused(
    tmp_path: Path, program: CompiledCircuit, parties: tuple[IntegerClient, IntegerEvaluator]
) -> None:
    client, evaluator = parties
    other = some.compile(bits=16, effort=0.1).keygen()[1]
    cw.integers.save_integers(client.encrypt(**INPUTS), tmp_path / "x")
    with pytest.raises(ProgramMismatchError):
        cw.integers.load_integers(tmp_path / "x", other)
    stranger = program.keygen()[1]
    with pytest.raises(KeyMismatchError):
        stranger.run(cw.integers.load_integers(tmp_path / "x", stranger))
    del evaluator


def test_what_hides_nothing_is_not_saved(tmp_path: Path, program: CompiledCircuit) -> None:
    client, evaluator = program.keygen("clear")
    path = tmp_path / "a"
    with pytest.raises(InvalidArgumentError, match="cannot save the client"):
        cw.integers.save_client(client, path)
    with pytest.raises(InvalidArgumentError, match="cannot save the evaluator"):
        cw.integers.save_evaluator(evaluator, path)
    with pytest.raises(InvalidArgumentError, match="cannot save the integers"):
        cw.integers.save_integers(client.encrypt(**INPUTS), path)
    with pytest.raises(InvalidArgumentError, match="cannot save the program"):
        cw.integers.save_program(3, path)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="cannot read"):
        cw.integers.load_integers(tmp_path / "a", client)


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        ("bits", 65),
        ("bits", True),
        ("bits", 60),
        ("batch", 0),
        ("batch", 10**6),
        ("width", 0),
        ("width", 10**9),
        ("ports", [["x", [2, 2], -9, 9]]),
        ("ports", [["x", [2, 2], -9, 9], ["s", [], 9, -9]]),
        ("ports", [["x", [2, 2], -9, 9], ["s", [0], -16, 15]]),
        ("inputs", []),
        ("inputs", [[[0, "nobody", 0]]]),
        ("results", [[0, 0], [9, 0]]),
        ("results", ["x", [0, 0]]),
        ("ranges", []),
        ("form", 9),
        ("form", {"tuple": [[[[True]]]]}),
        ("form", None),
    ],
)
def test_facts_that_lie_are_refused(
    tmp_path: Path, program: CompiledCircuit, changed: str, value: Any
) -> None:
    path = tmp_path / "program"
    cw.integers.save_program(program, path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(parts["header.json"])
    head["facts"][changed] = value
    parts["header.json"] = json.dumps(head).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(MalformedBytesError):
        cw.integers.load_program(path, insecure=True)


def test_damaged_files_are_refused_or_right(
    tmp_path: Path, program: CompiledCircuit, parties: tuple[IntegerClient, IntegerEvaluator]
) -> None:
    client, _ = parties
    cw.integers.save_program(program, tmp_path / "program")
    cw.integers.save_integers(client.encrypt(**INPUTS), tmp_path / "x")
    rng = random.Random(5)
    for name in ("program", "x"):
        data = (tmp_path / name).read_bytes()
        for _ in range(30):
            at = rng.randrange(len(data))
            flipped = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
            (tmp_path / "damaged").write_bytes(rng.choice([flipped, data[:at]]))
            try:
                if name == "program":
                    cw.integers.load_program(tmp_path / "damaged", insecure=True)
                else:
                    cw.integers.load_integers(tmp_path / "damaged", client)
            except CloakworkError:
                continue


def test_what_compiles_is_loaded_again(tmp_path: Path) -> None:
    functions: list[Any] = [
        lambda x: [x, -(2**63), x - x + 2**63 - 1],
        lambda x: {"a\nb": x, "\ud800": (x, []), "": [x] * 1000},
        lambda x: x * 10**400 - 10**400 * x + x,
    ]
    for function in functions:
        made = cw.circuit(x=cw.scalar(bounds=(5, 5)))(function).compile(bits=64, effort=0.01)
        cw.integers.save_program(made, tmp_path / "program")
        loaded = cw.integers.load_program(tmp_path / "program", insecure=True)
        assert loaded.run_clear(x=5) == made.run_clear(x=5) == function(5)

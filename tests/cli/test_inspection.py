"""What a file of others says of itself is shown and does nothing to a terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cloakwork as cw
from cloakwork.cli.inspection import inspected
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime import container
from cloakwork.runtime.encrypted import KIND
from cloakwork.runtime.load import load
from tests.cli.command import Cloakwork
from tests.families import FAMILIES, Family

HOSTILE = "ok\x1b[2J\r128-bit secure\nsecurity  größer\x9b\u2028\u202e\ud800"
SHOWN = r"ok\x1b[2J\r128-bit secure\nsecurity  größer\x9b\u2028\u202e\ud800"


def hostile(program: cw.Program) -> cw.Program:
    """A program all of whose texts for people are hostile."""
    body: Any = program.body
    if not isinstance(body, SlotProgram):
        return replace(program, body=replace(body, title=HOSTILE))
    texts = (HOSTILE,) * len(body.operations)
    return replace(program, body=replace(body, title=HOSTILE, origins=texts, stages=texts))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.name)
def test_hostile_texts_are_shown_on_their_line(family: Family, tmp_path: Path) -> None:
    path = tmp_path / "p.cw"
    program = family.program
    program.save(path)
    plain = inspected(path).splitlines()
    hostile(program).save(path)
    shown = inspected(path).splitlines()
    assert all(line.isprintable() for line in shown)
    assert len(shown) == len(plain)
    assert any(line.startswith(f"program   {SHOWN}, ") for line in shown)
    read = load(path, cw.Program, insecure=True)
    assert read.fingerprint == program.fingerprint
    for text in (str(cw.explain(read)), repr(read), str(read.body)):
        assert all(line.isprintable() for line in text.split("\n"))


def test_hostile_names_of_results_are_shown_on_their_line(tmp_path: Path) -> None:
    @cw.circuit(a=cw.scalar())
    def doubled(a: Any) -> Any:
        return {HOSTILE: a + a}

    program = doubled.compile(bits=8)
    program.save(tmp_path / "p.cw")
    lines = inspected(tmp_path / "p.cw").splitlines()
    assert any(line.startswith(f"output    {SHOWN}: ") for line in lines)
    assert all(line.isprintable() for line in [*lines, repr(program)])
    assert all(line.isprintable() for line in str(cw.explain(program)).split("\n"))


def test_hostile_names_in_encrypted_values_are_shown_on_their_line(tmp_path: Path) -> None:
    record: dict[str, Any] = {"role": "inputs", "program": "0123", "key_id": b"key", "count": None}
    record["ports"] = [HOSTILE]
    container.write(tmp_path / "i", KIND, record)
    lines = inspected(tmp_path / "i").splitlines()
    assert f"holds     encrypted inputs: {SHOWN}" in lines
    assert all(line.isprintable() for line in lines)


def test_a_refusal_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    refused = Cloakwork(tmp_path).refusal("inspect", "p\x1b[2J")
    assert refused.removesuffix("\n").isprintable()
    assert r"p\x1b[2J" in refused

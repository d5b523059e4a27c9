"""Yosys' JSON against the same designs as Verilog, and files that are refused."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork import boolean
from cloakwork.errors import InvalidArgumentError, NetlistError, SequentialCircuitError
from cloakwork.frontends.boolean.yosys_json import from_yosys_json
from tests.frontends.boolean.netlists import random_inputs, written
from tests.programs.random_gates import evaluated
from tests.programs.random_programs import damage

INNER = "module n(input a, output q); assign q = ~a; endmodule"
GATES = "synth -flatten; abc -g {gates}; opt_clean; write_json {{out}}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("netlists")


@pytest.mark.parametrize("gates", ["gates", "cmos4", "ANDNOT,ORNOT,NMUX", "aig"])
def test_gates_of_every_kind(tmp_path: Path, gates: str) -> None:
    path = written(tmp_path, "mixed.json", GATES.format(gates=gates))
    read = boolean.from_yosys_json(path, top="mixed")
    same = boolean.from_verilog(tmp_path / "design.v", top="mixed")
    assert [str(port) for port in read.gates.inputs] == [str(port) for port in same.gates.inputs]
    assert [str(port) for port in read.gates.outputs] == [str(port) for port in same.gates.outputs]
    np.testing.assert_equal(read.run_clear(**random_inputs()), same.run_clear(**random_inputs()))


@pytest.mark.parametrize("selectors", [2, 3, 4])
def test_selections_of_many(tmp_path: Path, selectors: int) -> None:
    data, select = "ABCDEFGHIJKLMNOP"[: 1 << selectors], "STUV"[:selectors]
    wires = {pin: [number] for number, pin in enumerate(data + select + "Y")}
    ports = {pin: {"direction": "input", "bits": wires[pin]} for pin in data + select}
    ports["Y"] = {"direction": "output", "bits": wires["Y"]}
    cell = {"type": f"$_MUX{len(data)}_", "connections": wires}
    path = written_json(tmp_path, {"modules": {"m": {"ports": ports, "cells": {"c": cell}}}})
    bits = np.random.default_rng(0).integers(0, 2, (len(data) + selectors, 400))
    given = dict(zip(data + select, bits, strict=True))
    chosen = sum(given[pin] << place for place, pin in enumerate(select))
    found = boolean.from_yosys_json(path, top="m").run_clear(**given)["Y"]
    assert found.tolist() == bits[chosen, np.arange(400)].tolist()


@pytest.mark.parametrize("inputs", [2, 4, 6])
def test_look_up_tables(tmp_path: Path, inputs: int) -> None:
    commands = f"synth -flatten -lut {inputs}; write_json {{out}}"
    path = written(tmp_path, "mixed.json", commands)
    read = boolean.from_yosys_json(path, top="mixed")
    same = boolean.from_verilog(tmp_path / "design.v", top="mixed")
    np.testing.assert_equal(read.run_clear(**random_inputs()), same.run_clear(**random_inputs()))


def test_a_netlist_runs_on_ciphertexts(tmp_path: Path) -> None:
    path = written(tmp_path, "mixed.json", GATES.format(gates="gates"))
    program = boolean.from_yosys_json(path, top="mixed").compile(threads=1)
    given = {"a": 13, "b": -7, "c": 1}
    clear = boolean.from_verilog(tmp_path / "design.v", top="mixed").run_clear(**given)
    client, evaluator = program.keygen()
    assert client.decrypt(evaluator.run(client.encrypt(**given))) == clear


@pytest.mark.parametrize(
    ("text", "commands", "error", "reason"),
    [
        (
            "reg r; assign q = r; always @(posedge c) r <= a;",
            "synth",
            SequentialCircuitError,
            "DFF",
        ),
        ("reg r; assign q = r; always @* if (c) r = a;", "synth", SequentialCircuitError, "DLATCH"),
        ("reg r; assign q = r; always @(posedge c) r <= a;", "proc", SequentialCircuitError, "dff"),
        (
            "assign q = a < c;",
            "proc",
            NetlistError,
            r"\$lt, from design.v:1.*not a gate; .*flatten",
        ),
        (
            "n inner(a, q);",
            "proc",
            NetlistError,
            "n, from design.v:1.*not a gate; expected.*flatten",
        ),
    ],
)
def test_designs_that_are_not_gates(
    tmp_path: Path, text: str, commands: str, error: type[Exception], reason: str
) -> None:
    design = f"module m(input a, input c, output q); {text} endmodule {INNER}"
    path = written(tmp_path, "m.json", f"{commands}; write_json {{out}}", design, "m")
    with pytest.raises(error, match=f"cannot read m.json: .*{reason}") as caught:
        boolean.from_yosys_json(path, top="m")
    assert type(caught.value) is error


def netlist() -> dict[str, Any]:
    ports = {
        "a": {"direction": "input", "bits": [2, 3]},
        "q": {"direction": "output", "bits": [5, "1"]},
    }
    both = {"type": "$_AND_", "connections": {"A": [2], "B": [3], "Y": [4]}}
    table = {"LUT": "01"}
    inverter = {"type": "$lut", "parameters": table, "connections": {"A": [4], "Y": [5]}}
    return {"modules": {"m": {"ports": ports, "cells": {"both": both, "inverter": inverter}}}}


def written_json(folder: Path, value: Any) -> Path:
    path = folder / "m.json"
    path.write_text(json.dumps(value))
    return path


def test_the_least_that_a_netlist_has(tmp_path: Path) -> None:
    read = boolean.from_yosys_json(written_json(tmp_path, netlist()), top="m")
    assert read.run_clear(a=[0, 1, 2, 3])["q"].tolist() == [3, 3, 3, 2]


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("", [], "the file: expected an object, got"),
        ("modules", None, "its modules: expected an object, got None"),
        ("modules/m", 3, "the module: expected an object, got 3"),
        ("modules/m/ports", [], "its ports: expected an object"),
        ("modules/m/ports/a", 1, "the port a: expected an object, got 1"),
        ("modules/m/ports/a/direction", "inout", "the port a is 'inout'; expected one direction"),
        ("modules/m/ports/a/direction", ["input"], "the port a is .'input'.; expected one"),
        ("modules/m/ports/q/direction", "input", "it has no outputs"),
        ("modules/m/ports/a/bits", {}, "the port a: expected a list of bits"),
        ("modules/m/ports/a/bits", [2, True], "expected numbers of wires, or 0, 1, x, got True"),
        ("modules/m/ports/a/bits", [2, 2.0], "expected numbers of wires, .* got 2.0"),
        ("modules/m/ports/a/bits", [2, "y"], "expected numbers of wires, .* got 'y'"),
        ("modules/m/ports/a/bits", [2, [3]], r"expected numbers of wires, .* got \[3\]"),
        ("modules/m/ports/a/bits", [2, 2], "the wire 2 is an input twice"),
        ("modules/m/ports/a/bits", [2, "0"], "the wire 0 is an input twice, or a constant"),
        ("modules/m/ports/a/bits", [], "cannot make the port 'a': expected a width of 1"),
        ("modules/m/ports/q/bits", [7], "nothing drives the wire 7, which the output q uses"),
        ("modules/m/ports/q/bits", ["z"], "nothing drives the wire z"),
        ("modules/m/cells", 1, "its cells: expected an object"),
        ("modules/m/cells/both", [1], "the cell both: expected an object"),
        ("modules/m/cells/both/type", 3, "the cell both: expected the name of a type, got 3"),
        ("modules/m/cells/both/type", "$_TBUF_", r"\$_TBUF_, from the cell both, is not a gate"),
        ("modules/m/cells/both/attributes", 3, "the attributes of both: expected an object"),
        ("modules/m/cells/both/connections", 3, "the connections of .*both: expected an object"),
        ("modules/m/cells/both/connections/B", None, r"pin B of \$_AND_.*expected a list of bits"),
        ("modules/m/cells/both/connections/B", [2, 3], r"pin B of \$_AND_.*one bit, got 2"),
        ("modules/m/cells/both/connections/Y", [2], "the wire 2 is driven twice"),
        ("modules/m/cells/both/connections/Y", [5], "the wire 5 is driven twice"),
        ("modules/m/cells/both/connections/Y", ["1"], "the wire 1 is driven twice"),
        ("modules/m/cells/both/connections/B", [5], r"loop: \$_?\w+, from the cell"),
        ("modules/m/cells/both/connections/B", [9], "drives the wire 9, which .* cell both uses"),
        ("modules/m/cells/inverter/parameters", None, "the parameters of .*inverter: expected an"),
        ("modules/m/cells/inverter/parameters/LUT", "011", "expected a table of 2 bits, got '011'"),
        ("modules/m/cells/inverter/parameters/LUT", 1, "expected a table of 2 bits, got 1"),
        ("modules/m/cells/inverter/parameters/LUT", "0x", "expected a table of 2 bits, got '0x'"),
        ("modules/m/cells/inverter/connections/A", [4] * 7, "expected 1 to 6 inputs, got 7"),
        ("modules/m/cells/inverter/connections/A", [], "expected 1 to 6 inputs, got 0"),
    ],
)
def test_hostile_files_are_refused_by_cell(
    tmp_path: Path, place: str, value: Any, reason: str
) -> None:
    whole: Any = {"": netlist()}
    *names, last = ["", *place.split("/")] if place else [""]
    holder = whole
    for name in names:
        holder = holder[name]
    holder[last] = value
    with pytest.raises(NetlistError, match=f"cannot read m.json: .*{reason}"):
        boolean.from_yosys_json(written_json(tmp_path, whole[""]), top="m")


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"modules": ' + "1" * 5000 + "}", "\xff"]
)
def test_files_that_are_not_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(NetlistError, match=r"cannot read m.json: expected JSON"):
        boolean.from_yosys_json(path, top="m")


def test_the_top_is_a_module_of_the_file(tmp_path: Path) -> None:
    path = written_json(tmp_path, netlist())
    with pytest.raises(NetlistError, match="expected a module n, got m"):
        boolean.from_yosys_json(path, top="n")
    other: Any = None
    with pytest.raises(InvalidArgumentError, match="expected the name of a module, got None"):
        boolean.from_yosys_json(path, top=other)
    with pytest.raises(FileNotFoundError, match="expected a file, but nothing is there"):
        boolean.from_yosys_json(tmp_path / "none.json", top="m")


@given(st.integers(0, 2**32))
@settings(deadline=None)
def test_damaged_files_are_refused_or_legal(folder: Path, seed: int) -> None:
    path = folder / "m.json"
    path.write_text(damage(json.dumps(netlist(), indent=0), random.Random(seed)))
    try:
        program = from_yosys_json(path, top="m")
    except (NetlistError, SequentialCircuitError):
        return
    assert evaluated(program, [0] * program.input_bits) is not None

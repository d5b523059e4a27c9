"""Verilog designs without state as gate programs, by way of Yosys.

Claire Wolf, Yosys Open SYnthesis Suite, https://yosyshq.net/yosys/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cloakwork.base.arguments import file_path, positive
from cloakwork.errors import VerilogError
from cloakwork.frontends.boolean.netlist import told_of
from cloakwork.frontends.boolean.system_verilog import declared_ports
from cloakwork.frontends.boolean.verilog_options import verilog_options
from cloakwork.frontends.boolean.yosys import BEFORE_ABC, is_read_by_slang, netlist_of
from cloakwork.frontends.boolean.yosys_json import module_program
from cloakwork.programs.gates import GateProgram

_LINEAR = ("$_BUF_", "$_NOT_", "$_XOR_", "$_XNOR_")


def from_verilog(
    path: str | Path | Sequence[str | Path],
    top: str,
    yosys: str | Path | None = None,
    timeout: float = 600,
    *,
    parameters: Mapping[str, int] | None = None,
    include: Sequence[str | Path] = (),
    defines: Mapping[str, int | str] | None = None,
) -> GateProgram:
    """Read a Verilog design without state; files named .sv are read as SystemVerilog.

    Arguments and errors are those of `circuit.from_verilog`.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".v") as file:
        ...     _ = file.write("module m(input [3:0] a, output y); assign y = &a; endmodule")
        ...     file.flush()
        ...     program = from_verilog(file.name, top="m")
        >>> print(program)
        m
          input a: unsigned, 4 bits
          output y: unsigned, 1 bit
          3 gates
    """
    several = path if isinstance(path, Sequence) and not isinstance(path, str | bytes) else [path]
    paths = [file_path(each, "read") for each in several]
    timeout = positive(timeout, "timeout", "read Verilog")
    options = verilog_options(parameters, include, defines)
    modules = netlist_of(paths, top, options, yosys, timeout).get("modules", {})
    if top not in modules:
        raise VerilogError(f"cannot read {paths[0].name}: Yosys wrote no module {top}")
    named = (modules.get(name) for name in (top, BEFORE_ABC.format(top=top)))
    module = min(filter(None, named), key=_cost)
    declared = declared_ports(paths, top, options) if is_read_by_slang(paths, yosys) else []
    with told_of(top, VerilogError):
        return module_program(top, module, declared)


def _cost(module: dict[str, Any]) -> tuple[int, int]:
    """Gates that are no XORs, which are what an encrypted run spends its time on; and all gates."""
    kinds = [cell["type"] for cell in module["cells"].values()]
    return sum(kind not in _LINEAR for kind in kinds), len(kinds)

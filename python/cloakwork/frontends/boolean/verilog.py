"""Verilog designs without state as gate programs, by way of Yosys.

Claire Wolf, Yosys Open SYnthesis Suite, https://yosyshq.net/yosys/
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from cloakwork.base.arguments import file_path, positive
from cloakwork.errors import SequentialCircuitError, VerilogError
from cloakwork.frontends.boolean.yosys import BEFORE_ABC, netlist_of
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port

# Kind and the names of the operands, in our order, of Yosys' gates.
_CELLS = {
    "$_BUF_": (GateKind.BUF, "A"),
    "$_NOT_": (GateKind.NOT, "A"),
    "$_AND_": (GateKind.AND, "AB"),
    "$_OR_": (GateKind.OR, "AB"),
    "$_XOR_": (GateKind.XOR, "AB"),
    "$_NAND_": (GateKind.NAND, "AB"),
    "$_NOR_": (GateKind.NOR, "AB"),
    "$_XNOR_": (GateKind.XNOR, "AB"),
    "$_MUX_": (GateKind.MUX, "SBA"),
}
_CONSTANTS = {"0": GateKind.ZERO, "1": GateKind.ONE}

_LINEAR = ("$_BUF_", "$_NOT_", "$_XOR_", "$_XNOR_")

# What remembers modules that were flattened, and what prints in simulations.
_WITHOUT_EFFECT = ("$scopeinfo", "$print")

# Yosys' registers, latches and memories.
_STATE = re.compile(
    r"\$_?(S?DFF|ALDFF|DLATCH|SR|FF_|ff|[as]?dff|aldff|a?dlatch|sr|mem|fsm|anyinit)"
)

_Bit = int | str


def from_verilog(
    path: str | Path | Sequence[str | Path],
    top: str,
    yosys: str | Path | None = None,
    timeout: float = 600,
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
    modules = netlist_of(paths, top, yosys, timeout).get("modules", {})
    if top not in modules:
        raise VerilogError(f"cannot read {paths[0].name}: Yosys wrote no module {top}")
    named = (modules.get(name) for name in (top, BEFORE_ABC.format(top=top)))
    return _Module(top, min(filter(None, named), key=_cost)).program()


def _cost(module: dict[str, Any]) -> tuple[int, int]:
    """Gates that are no XORs, which are what an encrypted run spends its time on; and all gates."""
    kinds = [cell["type"] for cell in module["cells"].values()]
    return sum(kind not in _LINEAR for kind in kinds), len(kinds)


class _Module:
    """One module of a netlist as Yosys writes it in JSON."""

    def __init__(self, name: str, module: dict[str, Any]) -> None:
        self._name = name
        self._ports: dict[str, dict[str, Any]] = module["ports"]
        self._cells: dict[str, dict[str, Any]] = {
            cell_name: cell
            for cell_name, cell in module["cells"].items()
            if cell["type"] not in _WITHOUT_EFFECT
        }
        self._values: dict[_Bit, int] = {}

    def program(self) -> GateProgram:
        for cell in self._cells.values():
            self._require_gate(cell)
        for port_name, port in self._ports.items():
            if port["direction"] not in ("input", "output"):
                self._refuse(f"the port {port_name} is {port['direction']}; expected one direction")
        if not self._directed("output"):
            self._refuse("it has no outputs; expected a module that computes something")
        inputs = self._directed("input")
        builder = GateBuilder(self._name, [port for port, _ in inputs])
        for number, bit in enumerate(bit for _, bits in inputs for bit in bits):
            self._values[bit] = number
        for cell in self._in_order():
            kind, pins = _CELLS[cell["type"]]
            wires = cell["connections"]
            operands = [self._value(wires[pin][0], builder) for pin in pins]
            self._values[wires["Y"][0]] = builder.append(kind, *operands)
        for output, bits in self._directed("output"):
            builder.output(output, [self._value(bit, builder) for bit in bits])
        return builder.finish()

    def _directed(self, direction: str) -> list[tuple[Port, list[_Bit]]]:
        return [
            (Port(name, "signed" if port.get("signed") else "unsigned", len(bits)), bits)
            for name, port in self._ports.items()
            if port["direction"] == direction
            for bits in [port["bits"]]
        ]

    def _in_order(self) -> list[dict[str, Any]]:
        """The cells, each after those whose values it uses."""
        driver = {cell["connections"]["Y"][0]: name for name, cell in self._cells.items()}
        sorter: TopologicalSorter[str] = TopologicalSorter()
        for name, cell in self._cells.items():
            pins = _CELLS[cell["type"]][1]
            wires = (cell["connections"][pin][0] for pin in pins)
            sorter.add(name, *(driver[wire] for wire in wires if wire in driver))
        try:
            return [self._cells[name] for name in sorter.static_order()]
        except CycleError as error:
            raise VerilogError(
                f"cannot read {self._name}: its gates form a loop: {', '.join(error.args[1][:4])}"
            ) from error

    def _value(self, bit: _Bit, builder: GateBuilder) -> int:
        if bit not in self._values:
            if bit not in _CONSTANTS:
                self._refuse(f"nothing drives the wire {bit}")
            self._values[bit] = builder.append(_CONSTANTS[str(bit)])
        return self._values[bit]

    def _require_gate(self, cell: dict[str, Any]) -> None:
        kind = cell["type"]
        if kind in _CELLS:
            return
        source = cell["attributes"].get("src", "an unknown line")
        if _STATE.match(kind):
            raise SequentialCircuitError(
                f"cannot read {self._name}: it keeps state ({kind}, from {source}); expected a "
                "design whose outputs follow from its inputs alone, without clocks and latches"
            )
        self._refuse(f"{kind}, from {source}, is not a gate")

    def _refuse(self, reason: str) -> None:
        raise VerilogError(f"cannot read {self._name}: {reason}")

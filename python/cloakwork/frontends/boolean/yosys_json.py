"""Netlists of gates in the JSON that Yosys' `write_json` writes.

Yosys, write_json, https://yosyshq.readthedocs.io/projects/yosys/en/latest/cmd/index_backends.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cloakwork.base.arguments import file_path, shown
from cloakwork.errors import InvalidArgumentError, NetlistError, SequentialCircuitError
from cloakwork.frontends.boolean.netlist import Cell, Wire, WiredPort, gate_program, told_of
from cloakwork.frontends.boolean.system_verilog import DeclaredPort
from cloakwork.frontends.boolean.yosys_cells import (
    GATES,
    OUTPUT,
    STATE,
    WITHOUT_EFFECT,
    append_gate,
    pins_of,
)
from cloakwork.programs.gates import MAX_LUT_INPUTS, GateBuilder, GateKind, GateProgram, lut
from cloakwork.programs.port import Port, PortKind
from cloakwork.runtime.storage import named_reading

# x is a bit that whoever made the netlist left open.
_CONSTANTS: Mapping[Wire, GateKind] = {
    "0": GateKind.ZERO,
    "1": GateKind.ONE,
    "x": GateKind.ZERO,
}
_LUT = "$lut"


def from_yosys_json(path: str | Path, top: str) -> GateProgram:
    """Read a module of gates in the JSON of Yosys.

    Arguments and errors are those of `circuit.from_yosys_json`.
    """
    path = file_path(path, "read")
    if not isinstance(top, str):
        raise InvalidArgumentError(
            f"cannot read {path.name}: expected the name of a module, got {shown(top)}"
        )
    with named_reading(path):
        data = path.read_bytes()
    with told_of(path.name, NetlistError):
        try:
            read = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise NetlistError(f"expected JSON: {error}") from error
        modules = _members(_members(read, "the file").get("modules"), "its modules")
        if top not in modules:
            raise NetlistError(f"expected a module {top}, got {', '.join(modules)[:200] or 'none'}")
        return module_program(top, modules[top])


def module_program(title: str, module: Any, declared: Sequence[DeclaredPort] = ()) -> GateProgram:
    """The gates of one module.

    Args:
        title: Its name.
        module: As `write_json` describes it; nothing of it is trusted.
        declared: Its ports, where Yosys does not know them as they are.

    Raises:
        SequentialCircuitError: It has registers, latches or memory that is written.
        NetlistError: It is anything else but gates between ports.
        InvalidProgramError: Its ports are illegal.
    """
    described = _members(module, "the module")
    cells = []
    for name, cell in _members(described.get("cells", {}), "its cells").items():
        if _members(cell, f"the cell {name}").get("type") not in WITHOUT_EFFECT:
            cells.append(_cell(name, cell))
    ports = _members(described.get("ports"), "its ports")
    known = {each.name: each for each in declared if each.name in ports}
    if known:
        ports = {name: ports[name] for name in known}
    directed: dict[str, list[WiredPort]] = {"input": [], "output": []}
    for name, port in ports.items():
        direction = _members(port, f"the port {name}").get("direction")
        if direction not in ("input", "output"):
            raise NetlistError(f"the port {name} is {shown(direction)}; expected one direction")
        wires = _wires(port.get("bits"), f"the port {name}")
        if each := known.get(name):
            directed[direction].append(WiredPort(each.port, each.in_order(wires)))
            continue
        kind: PortKind = "signed" if port.get("signed") in (1, "1") else "unsigned"
        directed[direction].append(WiredPort(Port(name, kind, len(wires)), wires))
    return gate_program(title, directed["input"], directed["output"], cells, _CONSTANTS)


def _cell(name: str, cell: Mapping[str, Any]) -> Cell:
    kind = cell.get("type")
    if not isinstance(kind, str):
        raise NetlistError(f"the cell {name}: expected the name of a type, got {shown(kind)}")
    source = _members(cell.get("attributes", {}), f"the attributes of {name}").get("src")
    place = f"{kind}, from {source if isinstance(source, str) else f'the cell {name}'}"
    if kind not in GATES and kind != _LUT:
        if STATE.match(kind):
            raise SequentialCircuitError(
                f"it keeps state ({place}); expected a design whose outputs follow from its inputs "
                "alone, without clocks and latches"
            )
        raise NetlistError(
            f"{place}, is not a gate; expected gates, which the commands flatten, techmap and abc "
            "of Yosys make of most cells"
        )
    connections = _members(cell.get("connections"), f"the connections of {place}")
    made = _pin(connections, OUTPUT, place)
    if kind == _LUT:
        return _look_up(cell, connections, made, place)
    expression = GATES[kind]
    pins = pins_of(expression)

    def append(builder: GateBuilder, used: Sequence[int]) -> int:
        return append_gate(builder, expression, dict(zip(pins, used, strict=True)))

    return Cell(place, [_pin(connections, pin, place) for pin in pins], made, append)


def _look_up(
    cell: Mapping[str, Any], connections: Mapping[str, Any], made: Wire, place: str
) -> Cell:
    used = _wires(connections.get("A"), place)
    text = _members(cell.get("parameters"), f"the parameters of {place}").get("LUT")
    if not 1 <= len(used) <= MAX_LUT_INPUTS:
        raise NetlistError(f"{place}: expected 1 to {MAX_LUT_INPUTS} inputs, got {len(used)}")
    rows = 1 << len(used)
    if not isinstance(text, str) or len(text) != rows or set(text) - {"0", "1"}:
        raise NetlistError(f"{place}: expected a table of {rows} bits, got {shown(text)}")
    table = int(text, 2)

    def append(builder: GateBuilder, operands: Sequence[int]) -> int:
        return builder.append(lut(len(operands)), *operands, table=table)

    return Cell(place, used, made, append)


def _pin(connections: Mapping[str, Any], pin: str, place: str) -> Wire:
    wires = _wires(connections.get(pin), f"the pin {pin} of {place}")
    if len(wires) != 1:
        raise NetlistError(f"the pin {pin} of {place}: expected one bit, got {len(wires)}")
    return wires[0]


def _members(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NetlistError(f"{what}: expected an object, got {shown(value)}")
    return value


def _wires(value: Any, what: str) -> list[Wire]:
    if not isinstance(value, list):
        raise NetlistError(f"{what}: expected a list of bits, got {shown(value)}")
    for bit in value:
        if type(bit) is not int and bit not in ("0", "1", "x", "z"):
            raise NetlistError(f"{what}: expected numbers of wires, or 0, 1, x, got {shown(bit)}")
    return value

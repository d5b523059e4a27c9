"""The gates of Yosys as gates of programs.

Yosys, Gate-level cells, https://yosyshq.readthedocs.io/projects/yosys/en/latest/cell/index_gate.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from cloakwork.programs.gates import GateBuilder, GateKind

# The name of a pin, or a gate of others.
Expression: TypeAlias = "str | tuple[GateKind, *tuple[Expression, ...]]"

OUTPUT = "Y"


def _selected(data: str, select: str) -> Expression:
    """The pin of `data` that the pins of `select` count to, the first worth 1."""
    if not select:
        return data
    half = len(data) // 2
    high, low = (_selected(part, select[:-1]) for part in (data[half:], data[:half]))
    return (GateKind.MUX, select[-1], high, low)


_A_AND_B: Expression = (GateKind.AND, "A", "B")
_A_OR_B: Expression = (GateKind.OR, "A", "B")

GATES: Mapping[str, Expression] = {
    "$_BUF_": (GateKind.BUF, "A"),
    "$_NOT_": (GateKind.NOT, "A"),
    "$_AND_": _A_AND_B,
    "$_OR_": _A_OR_B,
    "$_XOR_": (GateKind.XOR, "A", "B"),
    "$_NAND_": (GateKind.NAND, "A", "B"),
    "$_NOR_": (GateKind.NOR, "A", "B"),
    "$_XNOR_": (GateKind.XNOR, "A", "B"),
    "$_ANDNOT_": (GateKind.AND, "A", (GateKind.NOT, "B")),
    "$_ORNOT_": (GateKind.OR, "A", (GateKind.NOT, "B")),
    "$_MUX_": _selected("AB", "S"),
    "$_NMUX_": (GateKind.NOT, _selected("AB", "S")),
    "$_MUX4_": _selected("ABCD", "ST"),
    "$_MUX8_": _selected("ABCDEFGH", "STU"),
    "$_MUX16_": _selected("ABCDEFGHIJKLMNOP", "STUV"),
    "$_AOI3_": (GateKind.NOR, _A_AND_B, "C"),
    "$_OAI3_": (GateKind.NAND, _A_OR_B, "C"),
    "$_AOI4_": (GateKind.NOR, _A_AND_B, (GateKind.AND, "C", "D")),
    "$_OAI4_": (GateKind.NAND, _A_OR_B, (GateKind.OR, "C", "D")),
}

# What remembers modules that were flattened, and what prints in simulations.
WITHOUT_EFFECT = ("$scopeinfo", "$print")

# Yosys' registers, latches and memories.
STATE = re.compile(r"\$_?(S?DFF|ALDFF|DLATCH|SR|FF_|ff|[as]?dff|aldff|a?dlatch|sr|mem|fsm|anyinit)")


def pins_of(expression: Expression) -> tuple[str, ...]:
    """The pins that a gate uses, each once.

    Example:
        >>> pins_of(GATES["$_AOI3_"])
        ('A', 'B', 'C')
    """
    if isinstance(expression, str):
        return (expression,)
    _, *operands = expression
    return tuple(dict.fromkeys(pin for operand in operands for pin in pins_of(operand)))


def append_gate(builder: GateBuilder, expression: Expression, values: Mapping[str, int]) -> int:
    """Add the gates of a cell, given the values at its pins, and return the value that it makes."""
    if isinstance(expression, str):
        return values[expression]
    kind, *operands = expression
    return builder.append(kind, *[append_gate(builder, operand, values) for operand in operands])

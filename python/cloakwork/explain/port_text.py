"""The inputs and outputs of a program over bits, a line each."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.explain.quantities import counted
from cloakwork.programs.port import Port

_SHOWN_PORTS = 12


def port_lines(inputs: Sequence[Port], outputs: Sequence[Port]) -> list[str]:
    """What goes in and what comes out.

    Example:
        >>> port_lines([Port("a", "bits", 2)], [Port("y", "bits", 1)])
        ['  input   a: bits, 2 bits', '  output  y: bits, 1 bit']
    """
    return _lines("input", inputs) + _lines("output", outputs)


def _lines(role: str, ports: Sequence[Port]) -> list[str]:
    lines = [f"  {role:<7} {port}" for port in ports[:_SHOWN_PORTS]]
    more = len(ports) - _SHOWN_PORTS
    return lines + [f"          and {counted(more, f'more {role}')}"] * (more > 0)

"""A gate program as text: ports, gates by kind, depth, and how many gates each level has."""

from __future__ import annotations

from cloakwork.explain.bars import bars
from cloakwork.explain.port_text import port_lines
from cloakwork.programs.gate_statistics import statistics_of
from cloakwork.programs.gates import GateProgram


def explain_gates(program: GateProgram) -> str:
    """What a gate program takes in and makes, and of how many gates.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder, GateKind
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("nor", (Port("a", "bits", 2),))
        >>> nor = builder.append(GateKind.NOT, builder.append(GateKind.OR, 0, 1))
        >>> builder.output(Port("y", "bits", 1), (nor,))
        >>> print(explain_gates(builder.finish()))
        nor
          input   a: bits, 2 bits
          output  y: bits, 1 bit
        <BLANKLINE>
        gates on bits in the clear: hides nothing
          gates   2: 1 not, 1 or
          depth   2
        <BLANKLINE>
          gates per level
            1  ########################################  1
            2  ########################################  1
    """
    found = statistics_of(program)
    by_kind = sorted(found.gates.items(), key=lambda each: -each[1])
    told = ", ".join(f"{count} {kind}" for kind, count in by_kind)
    lines = [program.title, *port_lines(program.inputs, program.outputs), ""]
    lines.append("gates on bits in the clear: hides nothing")
    lines += [f"  gates   {program.gate_count}{': ' if told else ''}{told}"]
    lines.append(f"  depth   {found.depth}")
    if found.depth:
        lines += ["", "  gates per level", *bars(found.widths)]
    return "\n".join(lines)

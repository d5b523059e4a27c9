"""A gate program as text: ports, gates by kind, depth, and how many gates each level has."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.explain.quantities import counted
from cloakwork.programs.gate_statistics import statistics_of
from cloakwork.programs.gates import GateProgram

_SHOWN_PORTS = 12
_BARS = 12
_BAR_WIDTH = 40


def explain_gates(program: GateProgram) -> str:
    """What a gate program takes in and makes, and of how many gates.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder, GateKind
        >>> from cloakwork.programs.ports import Port
        >>> builder = GateBuilder("nor", (Port("a", "bits", 2),))
        >>> nor = builder.append(GateKind.NOT, builder.append(GateKind.OR, 0, 1))
        >>> builder.output(Port("y", "bits", 1), (nor,))
        >>> print(explain_gates(builder.finish()))
        nor
          gates on bits in the clear: hides nothing
          input   a: bits, 2 bits
          output  y: bits, 1 bit
        <BLANKLINE>
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
    lines = [program.title, "  gates on bits in the clear: hides nothing"]
    lines += _ports("input", [str(port) for port in program.inputs])
    lines += _ports("output", [str(port) for port in program.outputs])
    lines += ["", f"  gates   {program.gate_count}{': ' if told else ''}{told}"]
    lines.append(f"  depth   {found.depth}")
    if found.depth:
        lines += ["", "  gates per level", *_bars(found.widths)]
    return "\n".join(lines)


def _ports(role: str, ports: Sequence[str]) -> list[str]:
    lines = [f"  {role:<7} {port}" for port in ports[:_SHOWN_PORTS]]
    more = len(ports) - _SHOWN_PORTS
    return lines + [f"          and {counted(more, f'more {role}')}"] * (more > 0)


def _bars(widths: Sequence[int]) -> list[str]:
    """A bar per level, or per run of levels where there are many, as long as its mean width."""
    step = -(-len(widths) // _BARS)
    runs = [widths[start : start + step] for start in range(0, len(widths), step)]
    firsts = range(1, len(widths) + 1, step)
    names = [
        f"{first}" if len(run) == 1 else f"{first}-{first + len(run) - 1}"
        for first, run in zip(firsts, runs, strict=True)
    ]
    means = [sum(run) / len(run) for run in runs]
    room = max(len(name) for name in names)
    lines = []
    for name, mean in zip(names, means, strict=True):
        bar = "#" * max(1, round(_BAR_WIDTH * mean / max(means)))
        told = f"{mean:.0f}" if step == 1 else f"{mean:.3g} each"
        lines.append(f"    {name:>{room}}  {bar:<{_BAR_WIDTH}}  {told}")
    return lines

"""A program over bits as text: ports, gates or bootstraps, depth, time, failure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cloakwork.explain.quantities import counted, duration, size
from cloakwork.plan.boolean.makespan import data_flow_seconds
from cloakwork.plan.cost.tfhe import known_set
from cloakwork.programs.bootstraps import BootstrapProgram, bootstrap_statistics_of
from cloakwork.programs.gates import GateProgram, statistics_of
from cloakwork.programs.port import Port
from cloakwork.runtime.profile import Profile
from cloakwork.schemes.clear_bits import ClearBits
from cloakwork.schemes.tfhe import Tfhe

_SHOWN_PORTS = 12
_BARS = 12
_BAR_WIDTH = 40
# Besides one and those that a program was made for.
_MANY_THREADS = 16


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
    shown = ", ".join(f"{count} {kind}" for kind, count in by_kind)
    lines = [program.title, *port_lines(program.inputs, program.outputs), ""]
    lines.append("gates on bits in the clear: hides nothing")
    lines += [f"  gates   {program.gate_count}{': ' if shown else ''}{shown}"]
    lines.append(f"  depth   {found.depth}")
    if found.depth:
        lines += ["", "  gates per level", *bars(found.widths)]
    return "\n".join(lines)


def explain_bootstraps(
    program: BootstrapProgram,
    scheme: Tfhe | ClearBits,
    threads: int | None = None,
    *,
    warning: str = "",
    profile: Profile | None = None,
) -> str:
    """What a program over bits takes in and makes, and what it does on ciphertexts.

    Args:
        program: The program.
        scheme: What it runs under.
        threads: How many threads it was made for.
        warning: Why bits are not safe.
        profile: What a run of it took.

    Example:
        >>> import cloakwork as cw
        >>> program = cw.boolean.from_bristol("examples/boolean/adder.txt").compile(threads=1)
        >>> print(cw.explain(program))
        adder.txt
          input   x0: unsigned, 32 bits
          input   x1: unsigned, 32 bits
          output  y0: unsigned, 33 bits
        <BLANKLINE>
        TFHE with the parameters ..., 128-bit secure
          bootstraps  32: ...
          ...
    """
    found = bootstrap_statistics_of(program)
    by_outputs = ", ".join(
        f"{count} of {counted(outputs, 'output')}" for outputs, count in found.by_outputs.items()
    )
    facts = {
        "bootstraps": f"{found.bootstraps}{': ' if by_outputs else ''}{by_outputs}",
        "depth": f"{found.depth}",
        "additions": f"{found.terms}",
    }
    if isinstance(scheme, Tfhe):
        facts |= _encrypted_facts(program, scheme, threads)
    if profile is not None:
        facts["measured"] = _measured(profile)
    lines = [program.title, *port_lines(program.inputs, program.outputs), "", str(scheme)]
    lines += [f"  {warning}"] if warning and warning not in str(scheme) else []
    lines += [f"  {name:<10}  {text}" for name, text in facts.items()]
    if found.depth:
        lines += ["", "  bootstraps per level", *bars(found.widths)]
    return "\n".join(lines)


def _encrypted_facts(
    program: BootstrapProgram, scheme: Tfhe, made_for: int | None
) -> dict[str, str]:
    """What a program takes on ciphertexts: time where it is known, bytes, failure."""
    name, size_of_one = scheme.parameters.name, scheme.parameters.lwe_bytes
    costs = known_set(name, scheme.failure_bits)
    facts: dict[str, str] = {}
    if costs is not None:
        threads = sorted({1, made_for or 1, _MANY_THREADS})
        times = ", ".join(
            f"{duration(data_flow_seconds(program, costs, count))} on {counted(count, 'thread')}"
            for count in threads
        )
        facts["time"] = f"{times}, modelled; made for {counted(made_for or 1, 'thread')}"
    failure = scheme.failure(program)
    outputs = len(program.output_signals)
    return facts | {
        "key": f"{size(scheme.parameters.evaluation_key_bytes)} for the evaluator",
        "bits": (
            f"{size(program.input_count * size_of_one)} in "
            f"{counted(program.input_count, 'ciphertext')} go in, "
            f"{size(outputs * size_of_one)} in {outputs} come out"
        ),
        "failure": (
            f"{_probability(failure.worst)} for one bootstrap or output, "
            f"{_probability(failure.total)} for the program, at most"
        ),
    }


def _measured(profile: Profile) -> str:
    """What a run took, and what of it its bootstraps."""
    shown = f"{duration(profile.seconds)} from start to end"
    if not profile.operations:
        return shown
    total = sum(each.seconds for each in profile.operations)
    threads = 1 + max(each.thread for each in profile.operations)
    made = counted(len(profile.operations), "bootstrap")
    return f"{shown}; {made} of {duration(total)} in all on {counted(threads, 'thread')}"


def _probability(log2: float) -> str:
    return "0" if log2 == -math.inf else f"2^{math.ceil(log2)}"


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


def bars(widths: Sequence[int]) -> list[str]:
    """A bar per level, or per run of levels where there are many, as long as its mean width.

    Example:
        >>> for line in bars([4, 1]):
        ...     print(line)
            1  ########################################  4
            2  ##########                                1
    """
    step = -(-len(widths) // _BARS)
    runs = [widths[start : start + step] for start in range(0, len(widths), step)]
    firsts = range(1, len(widths) + 1, step)
    names = [
        f"{first}" if len(run) == 1 else f"{first}-{first + len(run) - 1}"
        for first, run in zip(firsts, runs, strict=True)
    ]
    means = [sum(run) / len(run) for run in runs]
    width = max(len(name) for name in names)
    lines = []
    for name, mean in zip(names, means, strict=True):
        bar = "#" * max(1, round(_BAR_WIDTH * mean / max(means)))
        shown = f"{mean:.0f}" if step == 1 else f"{mean:.3g} each"
        lines.append(f"    {name:>{width}}  {bar:<{_BAR_WIDTH}}  {shown}")
    return lines

"""A mapped program as text: what runs on ciphertexts, what it costs, how likely it goes wrong."""

from __future__ import annotations

import math

from cloakwork._native import BooleanParameters
from cloakwork.explain.bars import bars
from cloakwork.explain.port_text import port_lines
from cloakwork.explain.quantities import counted, duration, size
from cloakwork.plan.boolean.makespan import data_flow_seconds
from cloakwork.plan.boolean.map import MappedProgram
from cloakwork.programs.bootstrap_statistics import bootstrap_statistics_of

# Besides one and those that a program was made for.
_MANY_THREADS = 16


def explain_mapped(mapped: MappedProgram) -> str:
    """What a mapped program takes in and makes, and what it does on ciphertexts.

    Raises:
        InvalidArgumentError: Its target is none of the engine's parameter sets.

    Example:
        >>> import cloakwork as cw
        >>> mapped = cw.boolean.from_bristol("examples/boolean/adder.txt").mapped(threads=1)
        >>> print(explain_mapped(mapped))
        adder.txt
          input   x0: unsigned, 32 bits
          input   x1: unsigned, 32 bits
          output  y0: unsigned, 33 bits
        <BLANKLINE>
        on ciphertexts: TFHE with the parameters ..., 128-bit secure
          bootstraps  32: ...
          ...
    """
    program = mapped.program
    ports = port_lines(program.inputs, program.outputs)
    return "\n".join([program.title, *ports, "", *ciphertext_lines(mapped)])


def ciphertext_lines(mapped: MappedProgram) -> list[str]:
    """What a mapped program does on ciphertexts, line by line."""
    program, failure = mapped.program, mapped.failure
    parameters = BooleanParameters(mapped.target.name)
    found = bootstrap_statistics_of(program)
    by_outputs = ", ".join(
        f"{count} of {counted(outputs, 'output')}" for outputs, count in found.by_outputs.items()
    )
    threads = sorted({1, mapped.threads, _MANY_THREADS})
    seconds = [data_flow_seconds(program, mapped.target, count) for count in threads]
    times = ", ".join(
        f"{duration(each)} on {counted(count, 'thread')}"
        for count, each in zip(threads, seconds, strict=True)
    )
    signal = parameters.signal_bytes
    facts = {
        "bootstraps": f"{found.bootstraps}{': ' if by_outputs else ''}{by_outputs}",
        "depth": f"{found.depth}",
        "additions": f"{found.terms}",
        "time": f"{times}, modelled; mapped for {counted(mapped.threads, 'thread')}",
        "key": f"{size(parameters.evaluation_key_bytes)} for the evaluator",
        "bits": (
            f"{size(program.input_count * signal)} in "
            f"{counted(program.input_count, 'ciphertext')} go in, "
            f"{size(len(program.output_signals) * signal)} in {len(program.output_signals)} "
            "come out"
        ),
        "failure": (
            f"{_probability(failure.worst)} for one bootstrap or output, "
            f"{_probability(failure.total)} for the program, at most"
        ),
    }
    head = f"on ciphertexts: TFHE with the parameters {parameters.name}, 128-bit secure"
    lines = [head, *(f"  {name:<10}  {told}" for name, told in facts.items())]
    if found.depth:
        lines += ["", "  bootstraps per level", *bars(found.widths)]
    return lines


def _probability(log2: float) -> str:
    return "0" if log2 == -math.inf else f"2^{math.ceil(log2)}"

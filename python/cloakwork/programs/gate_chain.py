"""Two gate programs made one: outputs of the first are inputs of the second."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.port import Port


def chained(first: GateProgram, second: GateProgram, wires: Mapping[str, str]) -> GateProgram:
    """The program that runs one program and then another one on what the first has made.

    Its inputs are those of the first, then those of the second that no output of the first goes
    to; its outputs are those of the second.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder, GateKind
        >>> def gate(kind, out):
        ...     builder = GateBuilder(out, (Port(f"{out}_of", "bits", 2),))
        ...     builder.output(Port(out, "bits", 1), (builder.append(kind, 0, 1),))
        ...     return builder.finish()
        >>> inverse = GateBuilder("not", (Port("x", "unsigned", 1),))
        >>> inverse.output(Port("y", "bits", 1), (inverse.append(GateKind.NOT, 0),))
        >>> print(chained(gate(GateKind.AND, "both"), inverse.finish(), {"both": "x"}))
        both, not
          input both_of: bits, 2 bits
          output y: bits, 1 bit
          2 gates
    """
    source_of = _sources(first, second, wires)
    rest = tuple(port for port in second.inputs if port.name not in source_of)
    _require_other_names(first.inputs, rest, second)
    added = sum(port.bits for port in rest)
    first_values = np.arange(first.input_bits + first.gate_count, dtype=np.int64)
    first_values[first.input_bits :] += added
    second_values = np.concatenate(
        [
            _input_values(first, second, source_of, first_values),
            np.arange(second.gate_count, dtype=np.int64) + len(first_values) + added,
        ]
    )
    return GateProgram(
        f"{first.title}, {second.title}",
        first.inputs + rest,
        second.outputs,
        np.concatenate([first.kinds, second.kinds]),
        np.concatenate([first_values[first.operands], second_values[second.operands]]),
        np.concatenate([first.tables, second.tables]),
        second_values[second.output_values],
    )


def _sources(
    first: GateProgram, second: GateProgram, wires: Mapping[str, str]
) -> dict[str, NDArray[np.uint32]]:
    """For the inputs of the second that wires go to, by name, the values of the first."""
    start, values = 0, {}
    for port in first.outputs:
        values[port.name] = first.output_values[start : start + port.bits]
        start += port.bits
    inputs = {port.name: port for port in second.inputs}
    if not wires:
        _refuse(first, second, "expected an output that becomes an input, got none")
    sources: dict[str, NDArray[np.uint32]] = {}
    for out, into in wires.items():
        if out not in values:
            _refuse(first, second, f"the first has no output {out!r}; it has {_names(values)}")
        if not isinstance(into, str) or into not in inputs:
            _refuse(first, second, f"the second has no input {into!r}; it has {_names(inputs)}")
        if into in sources:
            _refuse(first, second, f"two outputs become the input {into!r}; give it one")
        if len(values[out]) != inputs[into].bits:
            _refuse(
                first,
                second,
                f"the output {out!r} has {len(values[out])} bits, the input {into!r} "
                f"{inputs[into].bits}; expected as many",
            )
        sources[into] = values[out]
    return sources


def _input_values(
    first: GateProgram,
    second: GateProgram,
    source_of: Mapping[str, NDArray[np.uint32]],
    first_values: NDArray[np.int64],
) -> NDArray[np.int64]:
    """What the bits of the second's inputs are in the program of both."""
    parts = []
    start = first.input_bits
    for port in second.inputs:
        if port.name in source_of:
            parts.append(first_values[source_of[port.name]])
        else:
            parts.append(np.arange(start, start + port.bits, dtype=np.int64))
            start += port.bits
    return np.concatenate(parts)


def _require_other_names(
    inputs: tuple[Port, ...], rest: tuple[Port, ...], second: GateProgram
) -> None:
    names = {port.name for port in inputs}
    for port in rest:
        if port.name in names:
            raise InvalidArgumentError(
                f"cannot chain {second.title!r}: both programs have an input {port.name!r}; "
                "expected other names, or a wire to it; rename one of them"
            )


def _refuse(first: GateProgram, second: GateProgram, reason: str) -> None:
    raise InvalidArgumentError(f"cannot chain {first.title!r} and {second.title!r}: {reason}")


def _names(ports: Mapping[str, object]) -> str:
    return ", ".join(ports) or "none"

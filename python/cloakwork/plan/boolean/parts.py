"""Parts of gate programs that share nothing, such as what is computed for each row of a table.

Those that are the same, on other inputs, are mapped once and copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.boolean.map import MappedProgram, map_gates
from cloakwork.plan.cost.tfhe import BitCosts
from cloakwork.programs.bootstrap_copies import Copies, with_copies
from cloakwork.programs.gates import ARITIES, GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port

# Kinds of parts that have fewer of the gates have no say in which parameters are taken.
_LEAST_SHARE = 0.1


def map_parts(program: GateProgram, sets: Sequence[BitCosts], threads: int) -> MappedProgram:
    """What `map_gates` makes, of parts that are the same by one of them.

    Raises:
        NoiseBudgetError: No parameter set keeps to the probability of failure.
    """
    many, few = by_share(separate_parts(program))
    often = min(map(len, many), default=1)
    if often < 2:
        return map_gates(program, sets, threads)
    kept = [own for parts in many for own in _shared_out(parts, often)]
    gates = sum(len(part.gates) for parts in many for part in parts)
    # The other copies share the threads.
    share = sum(len(parts[0].gates) for parts in kept) / max(1, gates)
    mapped = map_gates(program_of_parts(program, kept), sets, max(1, round(share * threads)))
    bodies = [(mapped.program, [_copies(parts) for parts in kept])]
    if few:
        rest = map_gates(program_of_parts(program, few), mapped.costs, threads)
        bodies.append((rest.program, [_copies(parts) for parts in few]))
    made = with_copies(bodies, program.title, program.inputs, program.outputs)
    return MappedProgram.of(made, mapped.costs, threads)


@dataclass(frozen=True, slots=True, eq=False)
class SeparatePart:
    """Gates that have their inputs to themselves, and outputs that are theirs.

    Args:
        inputs: The bits of inputs that they take, in order.
        gates: The numbers of their values, in order; a constant is of whoever takes it.
        outputs: The bits of outputs, in order.
        shape: What parts that are the same have in common.
    """

    inputs: NDArray[np.int64]
    gates: NDArray[np.int64]
    outputs: NDArray[np.int64]
    shape: object


def separate_parts(program: GateProgram) -> list[list[SeparatePart]]:
    """The parts of a program, those that are the same together.

    Example:
        >>> builder = GateBuilder("pairs", (Port("a", "bits", 6),))
        >>> ands = [builder.append(GateKind.AND, bit, bit + 1) for bit in (0, 2)]
        >>> builder.output(Port("y", "bits", 3), [*ands, builder.append(GateKind.OR, 4, 5)])
        >>> for parts in separate_parts(builder.finish()):
        ...     print([part.inputs.tolist() for part in parts])
        [[0, 1], [2, 3]]
        [[4, 5]]
    """
    owners = _owners(program)
    values = np.argsort(owners, kind="stable")[np.count_nonzero(owners < 0) :]
    _, starts, counts = np.unique(owners[values], return_index=True, return_counts=True)
    numbers = np.zeros(len(owners), np.int64)
    numbers[values] = np.arange(len(values)) - np.repeat(starts, counts)
    rows = _rows(program, numbers)
    leaving = program.output_values.astype(np.int64)
    outputs = np.argsort(owners[leaving], kind="stable")
    ends = np.searchsorted(owners[leaving[outputs]], owners[values[starts]], side="right")
    found: dict[object, list[SeparatePart]] = {}
    for own, bits in zip(np.split(values, starts[1:]), np.split(outputs, ends[:-1]), strict=True):
        inputs = own[own < program.input_bits]
        gates = own[len(inputs) :]
        shape = (
            len(inputs),
            rows[gates - program.input_bits].tobytes(),
            numbers[leaving[bits]].tobytes(),
        )
        found.setdefault(shape, []).append(SeparatePart(inputs, gates, bits, shape))
    return list(found.values())


def _owners(program: GateProgram) -> NDArray[np.int64]:
    """For each value a number of the part that it is of; -1 where no output needs it."""
    first = program.input_bits
    root = list(range(first + program.gate_count))

    def find(value: int) -> int:
        while root[value] != value:
            root[value] = root[root[value]]
            value = root[value]
        return value

    needed = bytearray(len(root))
    for value in program.output_values.tolist():
        needed[value] = 1
    is_constant = _constants(program).tolist()
    operands, starts = program.operands.tolist(), program.starts.tolist()
    for gate in range(program.gate_count - 1, -1, -1):
        if needed[gate + first]:
            for operand in operands[starts[gate] : starts[gate + 1]]:
                if not is_constant[operand]:
                    needed[operand] = 1
                    root[find(operand)] = find(gate + first)
    owners = [find(value) if needed[value] else -1 for value in range(len(root))]
    return np.array(owners, dtype=np.int64)


def _constants(program: GateProgram) -> NDArray[np.bool_]:
    """Whether each value is a constant."""
    inputs = np.zeros(program.input_bits, np.bool_)
    return np.concatenate([inputs, ARITIES[program.kinds] == 0])


def _rows(program: GateProgram, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each gate as a row: its kind, its table, and the numbers of its operands."""
    arities = ARITIES[program.kinds].astype(np.int64)
    rows = np.zeros((program.gate_count, 2 + int(arities.max(initial=0))), np.int64)
    rows[:, 0], rows[:, 1] = program.kinds, program.tables.view(np.int64)
    operands = program.operands.astype(np.int64)
    # A constant is below all numbers, by its kind.
    kinds = program.kinds[np.maximum(operands - program.input_bits, 0)] if len(operands) else 0
    known = _constants(program)[operands]
    gate = np.repeat(np.arange(program.gate_count), arities)
    place = 2 + np.arange(len(operands)) - program.starts[gate]
    rows[gate, place] = np.where(known, -1 - np.asarray(kinds, np.int64), numbers[operands])
    return rows


def by_share(
    kinds: Sequence[list[SeparatePart]],
) -> tuple[list[list[SeparatePart]], list[list[SeparatePart]]]:
    """Kinds of parts that have many of the gates, and the others."""
    gates = [sum(len(part.gates) for part in parts) for parts in kinds]
    least = _LEAST_SHARE * sum(gates)
    paired = [*zip(kinds, gates, strict=True)]
    return (
        [parts for parts, own in paired if own >= least],
        [parts for parts, own in paired if own < least],
    )


def program_of_parts(program: GateProgram, kinds: Sequence[Sequence[SeparatePart]]) -> GateProgram:
    """A part of each kind, with an input, if it takes any, and an output of its own."""
    parts = [parts[0] for parts in kinds]
    widths = [len(part.inputs) for part in parts]
    ports = [Port(_name(at), "bits", width) for at, width in enumerate(widths) if width]
    builder = GateBuilder(program.title, ports)
    is_constant, kind_of = _constants(program), list(GateKind)
    first = 0
    for at, (part, width) in enumerate(zip(parts, widths, strict=True)):
        numbers = dict(zip(part.inputs.tolist(), range(first, first + width), strict=True))
        first += width
        for value in part.gates.tolist():
            gate = value - program.input_bits
            operands = program.operands[program.starts[gate] : program.starts[gate + 1]].tolist()
            for operand in operands:
                if operand not in numbers and is_constant[operand]:
                    numbers[operand] = builder.append(
                        kind_of[program.kinds[operand - program.input_bits]]
                    )
            numbers[value] = builder.append(
                kind_of[program.kinds[gate]],
                *(numbers[operand] for operand in operands),
                table=int(program.tables[gate]),
            )
        made = [numbers[value] for value in program.output_values[part.outputs].tolist()]
        builder.output(Port(_name(at), "bits", len(made)), made)
    return builder.finish()


def _shared_out(parts: list[SeparatePart], often: int) -> list[list[SeparatePart]]:
    """Parts that are the same in lists of no more than so many."""
    count = -(-len(parts) // often)
    return [parts[first::count] for first in range(count)]


def _copies(parts: Sequence[SeparatePart]) -> Copies:
    return Copies(
        np.stack([part.inputs for part in parts]), np.stack([part.outputs for part in parts])
    )


def _name(number: int) -> str:
    return f"part {number}"

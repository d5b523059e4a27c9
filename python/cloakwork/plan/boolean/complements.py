"""Complements of inputs and outputs: they take no bootstrap, and are left to the very end.

So circuits that differ in them alone, such as blocks to which several constants are added, are
mapped once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.bootstraps import LINEAR, BootstrapProgram
from cloakwork.programs.gates import ARITIES, GateKind, GateProgram

# Of values that are the complement of no other.
_NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Complements:
    """What is complemented of a circuit, and what is left of it.

    Args:
        program: The circuit without its complements of inputs and outputs.
        inputs: Whether it takes the complement of each bit of its inputs.
        outputs: Whether each bit of its outputs is the complement of what it gives.
    """

    program: GateProgram
    inputs: NDArray[np.bool_]
    outputs: NDArray[np.bool_]

    def put_back(self, body: BootstrapProgram) -> BootstrapProgram:
        """What the circuit is mapped to, by what it is mapped to without its complements."""
        if not self.inputs.any() and not self.outputs.any():
            return body
        turned = self.inputs[body.input_bits]
        leaving = body.output_signals.astype(np.int64)
        is_input = leaving < body.input_count
        given = self.outputs.copy()
        given[is_input] ^= turned[leaving[is_input]]
        return _with_complemented_outputs(_with_complemented_inputs(body, turned), given)


def complements_of(program: GateProgram) -> Complements:
    """A circuit and its complements: of inputs that nothing takes as they are, and of outputs.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("neither", (Port("a", "bits", 2),))
        >>> turned = [builder.append(GateKind.NOT, bit) for bit in (0, 1)]
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.AND, *turned),))
        >>> found = complements_of(builder.finish())
        >>> found.program.gate_count, found.inputs.tolist(), found.outputs.tolist()
        (1, [True, True], [False])
    """
    of = _complemented(program)
    operands, leaving = (
        each.astype(np.int64) for each in (program.operands, program.output_values)
    )
    uses = np.bincount(np.append(operands, leaving), minlength=len(of))
    turned = (uses > 0) & (uses == np.bincount(of[of != _NONE], minlength=len(of)))
    turned[program.input_bits :] = False
    # The complement of such an input is what the input now stands for.
    gone = (of != _NONE) & turned[of]
    now = np.where(gone, of, np.arange(len(of)))
    leaving = now[leaving]
    outputs = of[leaving] != _NONE
    leaving = np.where(outputs, now[of[leaving]], leaving)
    if turned.any() or outputs.any():
        used = np.bincount(np.append(now[operands], leaving), minlength=len(of)) > 0
        gone |= (of != _NONE) & ~used
        program = _without(program, gone, now[operands], leaving)
    return Complements(program, turned[: program.input_bits], outputs)


def _complemented(program: GateProgram) -> NDArray[np.int64]:
    """For each value the one that it is the complement of."""
    first, operands = program.input_bits, program.operands.astype(np.int64)
    of = np.full(first + program.gate_count, _NONE)
    is_one = np.append(np.zeros(first, np.bool_), program.kinds == GateKind.ONE)
    gates = np.flatnonzero(program.kinds == GateKind.NOT)
    of[first + gates] = operands[program.starts[gates]]
    gates = np.flatnonzero(program.kinds == GateKind.XOR)
    a, b = (operands[program.starts[gates] + place] for place in (0, 1))
    for plain, other in ((a, b), (b, a)):
        found = is_one[other] & ~is_one[plain]
        of[first + gates[found]] = plain[found]
    return of


def _without(
    program: GateProgram,
    gone: NDArray[np.bool_],
    operands: NDArray[np.int64],
    leaving: NDArray[np.int64],
) -> GateProgram:
    """The program without some values, with these operands of its gates and these outputs."""
    number = np.cumsum(~gone) - 1
    kept = ~gone[program.input_bits :]
    return replace(
        program,
        kinds=program.kinds[kept],
        operands=number[operands[np.repeat(kept, ARITIES[program.kinds])]].astype(np.uint32),
        tables=program.tables[kept],
        output_values=number[leaving].astype(np.uint32),
    )


def _with_complemented_inputs(
    body: BootstrapProgram, turned: NDArray[np.bool_]
) -> BootstrapProgram:
    """The program that takes the complements of some of its encrypted inputs."""
    signals = body.term_signals.astype(np.int64)
    terms = np.flatnonzero(signals < body.input_count)
    terms = terms[turned[signals[terms]]]
    weights, constants = body.term_weights.copy(), body.constants.astype(np.int64)
    # 1 - x in its encoding.
    nodes = np.searchsorted(body.term_starts, terms, side="right") - 1
    ones = body.input_encodings[signals[terms]].astype(np.int64) * weights[terms]
    np.add.at(constants, nodes, ones)
    weights[terms] *= -1
    return replace(body, term_weights=weights, constants=(constants % (1 << 32)).astype(np.uint32))


def _with_complemented_outputs(
    body: BootstrapProgram, turned: NDArray[np.bool_]
) -> BootstrapProgram:
    """The program that gives the complements of some bits of its outputs."""
    (bits,) = np.nonzero(turned)
    count, signals = len(bits), body.output_signals.astype(np.int64)
    added = np.arange(1, 1 + count)
    zeros = np.zeros(count, np.int64)
    return replace(
        body,
        kinds=np.append(body.kinds, np.full(count, LINEAR)),
        term_starts=np.append(body.term_starts, body.term_starts[-1] + added),
        term_signals=np.append(body.term_signals, signals[bits]),
        term_weights=np.append(body.term_weights, zeros - 1),
        constants=np.append(body.constants, body.output_encodings[bits]),
        message_bits=np.append(body.message_bits, zeros),
        output_starts=np.append(body.output_starts, body.output_starts[-1] + added),
        output_constants=np.append(body.output_constants, zeros),
        output_signals=np.where(turned, body.signal_count - 1 + np.cumsum(turned), signals),
    )

"""The clear backend of bootstrap programs: phases without noise, exact modulo 2^32.

It is the meaning of a bootstrap program and the check of whoever made one: a phase that falls
between two boxes, or an output that is neither 0 nor its encoding, is an error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import BoxMissedError, ShapeMismatchError
from cloakwork.programs.bootstraps import LINEAR, BootstrapProgram

Bits = NDArray[np.uint8]

# Phases that live at one time: more runs come in turns.
_STATE_PHASES = 1 << 24


def run_clear_bootstraps(program: BootstrapProgram, inputs: Bits) -> Bits:
    """Run a bootstrap program on many inputs in the clear.

    Args:
        program: The program.
        inputs: Zeros and ones: a row per run, a column per bit of the inputs.

    Returns:
        A row per run, a column per bit of the outputs.

    Raises:
        ShapeMismatchError: The columns are not the bits of the inputs.
        BoxMissedError: A bootstrap's phase is not one of its boxes, or an output's phase is
            neither 0 nor its encoding.

    Example:
        >>> from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = BootstrapBuilder("and", (Port("a", "bits", 2),))
        >>> terms = [(builder.input(0, QUARTER), 1), (builder.input(1, QUARTER), 1)]
        >>> made = builder.bootstrap(terms, 0, 2, [(-EIGHTH, -EIGHTH)], [EIGHTH])
        >>> builder.output(Port("y", "bits", 1), made, [QUARTER])
        >>> runs = np.array([[0, 1], [1, 1]], dtype=np.uint8)
        >>> run_clear_bootstraps(builder.finish(), runs).tolist()
        [[0], [1]]
    """
    bits = sum(port.bits for port in program.inputs)
    if inputs.ndim != 2 or inputs.shape[1] != bits:
        raise ShapeMismatchError(
            f"cannot run the bootstraps: expected runs of {bits} bits each, got {inputs.shape}"
        )
    turn = max(1, _STATE_PHASES // max(1, program.signal_count))
    made = [_outputs(program, inputs[at : at + turn]) for at in range(0, len(inputs), turn)]
    empty = np.empty((0, len(program.output_signals)), dtype=np.uint8)
    return np.concatenate([empty, *made])


def _outputs(program: BootstrapProgram, inputs: Bits) -> Bits:
    phases = np.empty((program.signal_count, len(inputs)), dtype=np.uint32)
    encoded = inputs.T[program.input_bits].astype(np.uint32)
    phases[: program.input_count] = encoded * program.input_encodings[:, np.newaxis]
    term_starts = program.term_starts.tolist()
    output_starts = program.output_starts.tolist()
    table_starts = program.table_starts.tolist()
    weights = program.term_weights.view(np.uint32)
    for node, (kind, boxes_log) in enumerate(
        zip(program.kinds.tolist(), program.boxes_log.tolist(), strict=True)
    ):
        terms = slice(term_starts[node], term_starts[node + 1])
        phase = program.constants[node] + weights[terms] @ phases[program.term_signals[terms]]
        first, end = (program.input_count + start for start in output_starts[node : node + 2])
        if kind == LINEAR:
            phases[first] = phase
            continue
        if np.any(phase & np.uint32((1 << 32 - boxes_log) - 1)):
            raise BoxMissedError(
                f"cannot run the bootstraps: the phase of node {node} falls between two of its "
                f"{1 << boxes_log} boxes; the program was made wrongly"
            )
        boxes = phase >> np.uint32(32 - boxes_log)
        tables = program.tables[table_starts[node] : table_starts[node + 1]]
        halves = tables.reshape(end - first, -1)
        whole = np.concatenate([halves, -halves], axis=1)
        constants = program.output_constants[
            first - program.input_count : end - program.input_count
        ]
        phases[first:end] = whole[:, boxes] + constants[:, np.newaxis]
    leaving = phases[program.output_signals]
    encodings = program.output_encodings[:, np.newaxis]
    wrong = np.flatnonzero(np.any((leaving != 0) & (leaving != encodings), axis=1))
    if wrong.size:
        raise BoxMissedError(
            f"cannot run the bootstraps: bit {int(wrong[0])} of the outputs is neither 0 nor 1 "
            "in its encoding; the program was made wrongly"
        )
    return np.asarray((leaving != 0).T, dtype=np.uint8)

"""Bits without encryption: bootstrap programs on phases without noise, exact modulo 2^32.

It is the meaning of a bootstrap program and the check of whoever made one: a phase that falls
between two messages, or an output that is neither 0 nor its encoding, is an error.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Fields, Record
from cloakwork.errors import (
    InvalidProgramError,
    MessageMissedError,
    RunCancelledError,
    ShapeMismatchError,
)
from cloakwork.programs.bootstraps import EIGHTH, HALF, LINEAR, SIGN, BootstrapProgram
from cloakwork.schemes.base import BitRun, Decrypted, ReadLimits
from cloakwork.schemes.clear import ClearScheme, NoKey

Bits = NDArray[np.uint8]

# Phases that live at one time: more runs come in turns.
_STATE_PHASES = 1 << 24


class ClearBits(ClearScheme):
    """The bits of TFHE without encryption; see `schemes.base.Scheme`.

    Example:
        >>> print(ClearBits())
        clear backend: hides nothing
    """

    name: ClassVar[str] = "clear tfhe"
    value_bytes: ClassVar[int] = 1

    def require_fitting(self, body: BootstrapProgram) -> None:
        """Refuse a program of another form."""
        require_bootstraps(body)

    def key_bytes(self, body: BootstrapProgram) -> int:
        """No bytes."""
        return 0

    def encrypt(
        self, key: NoKey, vectors: Mapping[int, Bits], body: BootstrapProgram, bounds: Any
    ) -> dict[int, Bits]:
        return dict(vectors)

    def decrypt(
        self,
        secret: NoKey,
        values: Sequence[Bits],
        body: Any,
        expected: Any = None,
        flooding: Any = None,
    ) -> Decrypted:
        """The bits of every output."""
        return Decrypted(list(values))

    def run(
        self,
        key: NoKey,
        body: BootstrapProgram,
        values: Mapping[int, Bits],
        clear: Mapping[int, Bits],
        *,
        threads: int | None,
        cancel: threading.Event | None,
    ) -> BitRun:
        """Run a program at once."""
        if cancel is not None and cancel.is_set():
            raise RunCancelledError(f"cannot finish {body.title}: cancelled before it began")
        given = {**values, **clear}
        ordered = [given[number] for number in range(len(body.inputs))]
        row = np.concatenate([np.empty(0, np.uint8), *ordered]).astype(np.uint8)
        (made,) = run_clear_bootstraps(body, row[np.newaxis])
        outputs = [made[own] for own in body.output_slices]
        none, never = np.empty(0, np.uint32), np.empty(0)
        return BitRun(outputs, none, never, never, none)

    def dump(self, item: NoKey | Bits) -> Record:
        return {} if isinstance(item, NoKey) else {"bits": item}

    def read_value(self, fields: Fields, body: BootstrapProgram, number: int, role: str) -> Bits:
        port = (body.inputs if role == "inputs" else body.outputs)[number]
        bits = fields.array("bits", "uint8", most=port.bits)
        if len(bits) != port.bits or bits.max(initial=0) > 1:
            raise fields.wrong("bits", f"{port.bits} bits")
        return bits

    def to_record(self) -> Record:
        return {"scheme": self.name}

    @classmethod
    def from_fields(cls, fields: Fields, limits: ReadLimits) -> Self:
        return cls()

    def __str__(self) -> str:
        return "clear backend: hides nothing"


def require_bootstraps(body: object) -> None:
    """Refuse what is no bootstrap program."""
    if not isinstance(body, BootstrapProgram):
        raise InvalidProgramError("cannot use the program: it has no bootstraps")


def run_clear_bootstraps(program: BootstrapProgram, inputs: Bits) -> Bits:
    """Run a bootstrap program on many inputs in the clear.


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


def _nearest_half(phases: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """0 or half a turn for phases up to an eighth of a turn from them; others as they are."""
    moved = phases + np.uint32(EIGHTH)
    near = (moved & np.uint32(HALF - 1)) <= np.uint32(2 * EIGHTH)
    return np.where(near, moved & np.uint32(HALF), phases)


def _outputs(program: BootstrapProgram, inputs: Bits) -> Bits:
    phases = np.empty((program.signal_count, len(inputs)), dtype=np.uint32)
    encoded = inputs.T[program.input_bits].astype(np.uint32)
    phases[: program.input_count] = encoded * program.input_encodings[:, np.newaxis]
    term_starts = program.term_starts.tolist()
    output_starts = program.output_starts.tolist()
    table_starts = program.table_starts.tolist()
    weights = program.term_weights.view(np.uint32)
    for node, (kind, message_bits) in enumerate(
        zip(program.kinds.tolist(), program.message_bits.tolist(), strict=True)
    ):
        terms = slice(term_starts[node], term_starts[node + 1])
        phase = program.constants[node] + weights[terms] @ phases[program.term_signals[terms]]
        first, end = (program.input_count + start for start in output_starts[node : node + 2])
        if kind == LINEAR:
            phases[first] = phase
            continue
        if kind == SIGN:
            phase = _nearest_half(phase)
        if np.any(phase & np.uint32((1 << 32 - message_bits) - 1)):
            raise MessageMissedError(
                f"cannot run the bootstraps: the phase of node {node} falls between two of its "
                f"{1 << message_bits} messages; the program was made wrongly"
            )
        messages = phase >> np.uint32(32 - message_bits)
        tables = program.tables[table_starts[node] : table_starts[node + 1]]
        halves = tables.reshape(end - first, -1)
        whole = np.concatenate([halves, -halves], axis=1)
        constants = program.output_constants[
            first - program.input_count : end - program.input_count
        ]
        phases[first:end] = whole[:, messages] + constants[:, np.newaxis]
    leaving = phases[program.output_signals]
    encodings = program.output_encodings[:, np.newaxis]
    wrong = np.flatnonzero(np.any((leaving != 0) & (leaving != encodings), axis=1))
    if wrong.size:
        raise MessageMissedError(
            f"cannot run the bootstraps: bit {int(wrong[0])} of the outputs is neither 0 nor 1 "
            "in its encoding; the program was made wrongly"
        )
    return np.asarray((leaving != 0).T, dtype=np.uint8)

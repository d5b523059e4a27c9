"""Bits without encryption: bootstrap programs on phases without noise, exact modulo 2^32.

It is the meaning of a bootstrap program and the check of whoever made one: a phase that falls
between two messages, or an output that is neither 0 nor its encoding, is an error.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Fields, Record
from cloakwork.errors import (
    InvalidProgramError,
    MessageMissedError,
    RunCancelledError,
    ShapeMismatchError,
)
from cloakwork.programs.bootstraps import LINEAR, BootstrapProgram
from cloakwork.schemes.base import BitRun, Decrypted

Bits = NDArray[np.uint8]

# Phases that live at one time: more runs come in turns.
_STATE_PHASES = 1 << 24


@dataclass(frozen=True, slots=True)
class ClearBitKey:
    """Stands where a key stands, and hides nothing."""

    nbytes: ClassVar[int] = 0


@dataclass(frozen=True, slots=True, eq=False)
class ClearBitValue:
    """The bits of an input or output."""

    bits: Bits

    @property
    def nbytes(self) -> int:
        """Bytes of the bits."""
        return self.bits.nbytes


class ClearBits:
    """The bits of TFHE without encryption; see `schemes.base.Scheme`.

    Example:
        >>> print(ClearBits())
        clear backend: hides nothing
    """

    name: ClassVar[str] = "clear tfhe"
    encrypts: ClassVar[bool] = False
    insecure = True
    public_inputs = True

    @property
    def value_bytes(self) -> int:
        """Bytes of a bit."""
        return 1

    def log2_failure(self, body: Any) -> float:
        """Nothing goes wrong."""
        return -math.inf

    def require_fitting(self, body: BootstrapProgram) -> None:
        """Refuse a program of another form."""
        if not isinstance(body, BootstrapProgram):
            raise InvalidProgramError("cannot use the program: it has no bootstraps")

    def in_clear(self, noise_seed: int | None = None) -> ClearBits:
        """The same bits."""
        return self

    def key_bytes(self, body: BootstrapProgram) -> int:
        """No bytes."""
        return 0

    def secret_key(self) -> ClearBitKey:
        """What stands where a secret key stands."""
        return ClearBitKey()

    def public_key(self, secret: ClearBitKey) -> ClearBitKey:
        """What stands where a public key stands."""
        return secret

    def evaluation_keys(self, secret: ClearBitKey, body: BootstrapProgram) -> ClearBitKey:
        """What stands where an evaluation key stands."""
        return secret

    def encrypt(
        self, key: ClearBitKey, vectors: Mapping[int, Bits], body: BootstrapProgram, bounds: Any
    ) -> dict[int, ClearBitValue]:
        """The bits of inputs, by the numbers of their ports."""
        return {number: ClearBitValue(bits) for number, bits in vectors.items()}

    def decrypt(
        self,
        secret: ClearBitKey,
        values: Sequence[ClearBitValue],
        body: BootstrapProgram,
        expected: Any = None,
        flooding: Any = None,
    ) -> Decrypted:
        """The bits of every output."""
        return Decrypted([value.bits for value in values])

    def run(
        self,
        key: ClearBitKey,
        body: BootstrapProgram,
        values: Mapping[int, ClearBitValue],
        clear: Mapping[int, Bits],
        *,
        threads: int | None,
        cancel: threading.Event | None,
    ) -> BitRun:
        """Run a program at once.

        Raises:
            RunCancelledError: `cancel` was set before it began.
        """
        if cancel is not None and cancel.is_set():
            raise RunCancelledError(f"cannot finish {body.title}: cancelled before it began")
        given = {**{number: value.bits for number, value in values.items()}, **clear}
        ordered = [given[number] for number in range(len(body.inputs))]
        row = np.concatenate([np.empty(0, np.uint8), *ordered]).astype(np.uint8)
        (made,) = run_clear_bootstraps(body, row[np.newaxis])
        outputs = [ClearBitValue(made[own]) for own in body.output_slices]
        none, never = np.empty(0, np.uint32), np.empty(0)
        return BitRun(outputs, none, never, never, none)

    def dump(self, item: ClearBitKey | ClearBitValue) -> Record:
        """Bits as a record; a key is nothing."""
        return {} if isinstance(item, ClearBitKey) else {"bits": item.bits}

    def read_key(self, kind: str, fields: Fields) -> ClearBitKey:
        """What stands where keys stand."""
        return ClearBitKey()

    def read_value(
        self, fields: Fields, body: BootstrapProgram, number: int, role: str
    ) -> ClearBitValue:
        """Bits of a record: those of an input or output of a program."""
        bits = fields.array("bits", "uint8")
        port = (body.inputs if role == "inputs" else body.outputs)[number]
        if len(bits) != port.bits or bits.max(initial=0) > 1:
            raise fields.wrong("bits", f"{port.bits} bits")
        return ClearBitValue(bits)

    def to_record(self) -> Record:
        """The parameters as files hold them: there are none."""
        return {"scheme": self.name}

    def __str__(self) -> str:
        return "clear backend: hides nothing"


def run_clear_bootstraps(program: BootstrapProgram, inputs: Bits) -> Bits:
    """Run a bootstrap program on many inputs in the clear.

    Args:
        program: The program.
        inputs: Zeros and ones: a row per run, a column per bit of the inputs.

    Returns:
        A row per run, a column per bit of the outputs.

    Raises:
        ShapeMismatchError: The columns are not the bits of the inputs.
        MessageMissedError: A bootstrap's phase is not one of its messages, or an output's phase is
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
    for node, (kind, message_bits) in enumerate(
        zip(program.kinds.tolist(), program.message_bits.tolist(), strict=True)
    ):
        terms = slice(term_starts[node], term_starts[node + 1])
        phase = program.constants[node] + weights[terms] @ phases[program.term_signals[terms]]
        first, end = (program.input_count + start for start in output_starts[node : node + 2])
        if kind == LINEAR:
            phases[first] = phase
            continue
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

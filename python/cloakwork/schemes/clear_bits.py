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
from cloakwork.programs.bootstraps import (
    EIGHTH,
    HALF,
    LINEAR,
    SIGN,
    BootstrapProgram,
    counts_between,
    places_of,
)
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

    def require_fitting_row(self, title: str, parts: object) -> None:
        """Nothing goes wrong in the clear."""

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
    nodes = _nodes_in_turns(program)
    made = [_outputs(program, nodes, inputs[at : at + turn]) for at in range(0, len(inputs), turn)]
    empty = np.empty((0, len(program.output_signals)), dtype=np.uint8)
    return np.concatenate([empty, *made])


def _nearest_half(phases: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """0 or half a turn for phases up to an eighth of a turn from them; others as they are."""
    moved = phases + np.uint32(EIGHTH)
    near = (moved & np.uint32(HALF - 1)) <= np.uint32(2 * EIGHTH)
    return np.where(near, moved & np.uint32(HALF), phases)


def _outputs(program: BootstrapProgram, turns: Sequence[NDArray[np.int64]], inputs: Bits) -> Bits:
    phases = np.empty((program.signal_count, len(inputs)), dtype=np.uint32)
    encoded = inputs.T[program.input_bits].astype(np.uint32)
    phases[: program.input_count] = encoded * program.input_encodings[:, np.newaxis]
    for nodes in turns:
        _run_nodes(program, nodes, phases)
    leaving = phases[program.output_signals]
    encodings = program.output_encodings[:, np.newaxis]
    wrong = np.flatnonzero(np.any((leaving != 0) & (leaving != encodings), axis=1))
    if wrong.size:
        raise MessageMissedError(
            f"cannot run the bootstraps: bit {int(wrong[0])} of the outputs is neither 0 nor 1 "
            "in its encoding; the program was made wrongly"
        )
    return np.asarray((leaving != 0).T, dtype=np.uint8)


def _nodes_in_turns(program: BootstrapProgram) -> list[NDArray[np.int64]]:
    """The nodes, together those of one form that need none of each other, in an order of turns."""
    terms, outputs = counts_between(program.term_starts), counts_between(program.output_starts)
    columns = (outputs, program.message_bits, program.kinds, terms > 0, _turns(program))
    order = np.lexsort(columns)
    rows = np.stack(columns)[:, order]
    ends = np.flatnonzero(np.any(rows[:, 1:] != rows[:, :-1], axis=0)) + 1
    return np.split(order, ends) if len(order) else []


def _turns(program: BootstrapProgram) -> NDArray[np.int64]:
    """For every node the most nodes on a way to it."""
    turn_of = [0] * program.signal_count
    turns = []
    signals, terms = program.term_signals.tolist(), program.term_starts.tolist()
    made = (program.output_starts.astype(np.int64) + program.input_count).tolist()
    for start, end, first, last in zip(terms, terms[1:], made, made[1:], strict=False):
        turn = max(map(turn_of.__getitem__, signals[start:end]), default=0)
        turns.append(turn)
        turn_of[first:last] = [turn + 1] * (last - first)
    return np.array(turns, dtype=np.int64)


def _run_nodes(
    program: BootstrapProgram, nodes: NDArray[np.int64], phases: NDArray[np.uint32]
) -> None:
    """Run nodes of one kind, message space and number of outputs, whose operands are known."""
    phase = np.repeat(program.constants[nodes][:, np.newaxis], phases.shape[1], axis=1)
    terms = places_of(program.term_starts, nodes)
    if len(terms):
        weights = program.term_weights.view(np.uint32)[terms, np.newaxis]
        counts = counts_between(program.term_starts)[nodes]
        phase += np.add.reduceat(
            weights * phases[program.term_signals[terms]], np.cumsum(counts) - counts, axis=0
        )
    made = program.input_count + places_of(program.output_starts, nodes)
    kind, message_bits = program.kinds[nodes[0]], int(program.message_bits[nodes[0]])
    if kind == LINEAR:
        phases[made] = phase
        return
    if kind == SIGN:
        phase = _nearest_half(phase)
    missed = np.any(phase & np.uint32((1 << 32 - message_bits) - 1), axis=1)
    if missed.any():
        raise MessageMissedError(
            f"cannot run the bootstraps: the phase of node {int(nodes[missed][0])} falls between "
            f"two of its {1 << message_bits} messages; the program was made wrongly"
        )
    messages = phase >> np.uint32(32 - message_bits)
    halves = program.tables[places_of(program.table_starts, nodes)].reshape(len(made), -1)
    whole = np.concatenate([halves, -halves], axis=1)
    every = np.repeat(messages, len(made) // len(nodes), axis=0)
    constants = program.output_constants[made - program.input_count]
    phases[made] = np.take_along_axis(whole, every, axis=1) + constants[:, np.newaxis]

"""Bootstrap programs: what TFHE runs, weighted sums of signals and bootstraps, in arrays.

A signal is an LWE ciphertext; its phase is a torus number of 32 bits, 2^32 to a turn. A bit in
encoding e is the phase 0 for 0 and e for 1. The inputs are the first signals, then come the
outputs of every node in order; a node uses signals before its own only.

A bootstrap sums signals to a phase of v / 2^m turns, where v is one of 2^m messages, and gives for
each of its outputs j the table's f_j(v) plus a constant. Tables are negacyclic,
f_j(v + 2^(m-1)) = -f_j(v), so that only their first halves are kept. Several outputs of one
bootstrap share its blind rotation: Chillotti, Ligier, Orfila and Tap, "Improved programmable
bootstrapping with larger precision and efficient arithmetic circuits for TFHE", ASIACRYPT 2021.
Tables that are rotations of one another count as one there: see `programs.table_rotations`.

A sign is a bootstrap with m = 1 whose phase may lie up to an eighth of a turn off its message, for
what is left in it of the bits below: it takes the bits of a number one by one, see
`programs.bits_of_numbers`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cloakwork import _native
from cloakwork.base.arguments import printable
from cloakwork.base.arrays import owned_integers
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.port import BIT_KINDS, Port, distinct_ports, signature
from cloakwork.programs.table_rotations import distinct_tables

if TYPE_CHECKING:
    from cloakwork.programs.bootstraps_in_a_row import OwnPart

LINEAR = 0
BOOTSTRAP = 1
SIGN = 2

HALF = 1 << 31
QUARTER = 1 << 30
EIGHTH = 1 << 29

MAX_NODES = 1 << 26
MAX_MESSAGE_BITS = 8
# Outputs of one bootstrap, and tables among theirs that are no rotations of one another.
MAX_OUTPUTS = 8
MAX_TABLES = 4
# A finer encoding could not be told from the noise by any parameter set.
_FINEST = 1 << 16

DTYPES: dict[str, type[np.integer[Any]]] = {
    "input_bits": np.uint32,
    "input_encodings": np.uint32,
    "kinds": np.uint8,
    "term_starts": np.uint32,
    "term_signals": np.uint32,
    "term_weights": np.int32,
    "constants": np.uint32,
    "message_bits": np.uint8,
    "output_starts": np.uint32,
    "tables": np.uint32,
    "output_constants": np.uint32,
    "output_signals": np.uint32,
    "output_encodings": np.uint32,
}


@dataclass(frozen=True, eq=False)
class BootstrapProgram:
    """A legal list of weighted sums and bootstraps between named inputs and outputs.

    Args:
        title: What the program computes.
        inputs: The inputs; each of their bits is encrypted in as many encodings as are used.
        outputs: The outputs.
        input_bits: For every encrypted input which bit of the inputs it is.
        input_encodings: Its encoding.
        kinds: `LINEAR`, `BOOTSTRAP` or `SIGN` for every node.
        term_starts: Where the terms of each node begin, and where those of the last one end.
        term_signals: The signals summed.
        term_weights: What each is multiplied by.
        constants: What is added to the sum of each node.
        message_bits: m of each bootstrap, 0 for a linear node.
        output_starts: Where the outputs of each node begin, counted without the inputs, and
            where those of the last one end.
        tables: For each bootstrap and each of its outputs the torus numbers of the messages
            0 to 2^(m-1) - 1.
        output_constants: What is added to each output, 0 for a linear node.
        output_signals: The signal of every bit of the outputs.
        output_encodings: Its encoding.

    Raises:
        InvalidProgramError: A node is of no kind, uses a signal that is not before it, or has
            messages, outputs or tables that do not fit or are too many; or the ports do not fit the
            signals.

    Example:
        >>> a, y = Port("a", "bits", 1), Port("y", "bits", 1)
        >>> builder = BootstrapBuilder("copy", (a,))
        >>> signal = builder.input(0, HALF)
        >>> builder.output(y, [builder.linear([(signal, 1)], 0)], [HALF])
        >>> print(builder.finish())
        copy
          input a: bits, 1 bit
          output y: bits, 1 bit
          0 bootstraps, 1 linear
    """

    title: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    input_bits: NDArray[np.uint32]
    input_encodings: NDArray[np.uint32]
    kinds: NDArray[np.uint8]
    term_starts: NDArray[np.uint32]
    term_signals: NDArray[np.uint32]
    term_weights: NDArray[np.int32]
    constants: NDArray[np.uint32]
    message_bits: NDArray[np.uint8]
    output_starts: NDArray[np.uint32]
    tables: NDArray[np.uint32]
    output_constants: NDArray[np.uint32]
    output_signals: NDArray[np.uint32]
    output_encodings: NDArray[np.uint32]

    def __post_init__(self) -> None:
        if not isinstance(self.title, str):
            _refuse(f"its title is of type {type(self.title).__name__}, not text")
        object.__setattr__(self, "title", printable(self.title))
        for name in ("inputs", "outputs"):
            object.__setattr__(self, name, distinct_ports(getattr(self, name), BIT_KINDS, name))
        for name, dtype in DTYPES.items():
            object.__setattr__(self, name, owned_integers(getattr(self, name), dtype, name))
        self._require_inputs()
        self._require_nodes()
        self._require_terms()
        self._require_outputs()
        # Sums that are too large to be followed are refused.
        _ = self.native

    @cached_property
    def native(self) -> _native.BootstrapProgram:
        """The program as the engine runs it, without ports and encodings."""
        return _native.BootstrapProgram(
            inputs=self.input_count,
            kinds=self.kinds,
            term_starts=self.term_starts,
            term_signals=self.term_signals,
            term_weights=self.term_weights,
            constants=self.constants,
            message_bits=self.message_bits,
            output_starts=self.output_starts,
            tables=self.tables,
            output_constants=self.output_constants,
            output_signals=self.output_signals,
        )

    @property
    def node_count(self) -> int:
        """Nodes of both kinds."""
        return len(self.kinds)

    @property
    def input_count(self) -> int:
        """Encrypted inputs: the first signals."""
        return len(self.input_bits)

    @property
    def signal_count(self) -> int:
        """Inputs, and outputs of all nodes."""
        return self.input_count + len(self.output_constants)

    @property
    def bootstrap_count(self) -> int:
        """Nodes that are bootstraps."""
        return int(np.count_nonzero(self.kinds))

    @cached_property
    def table_starts(self) -> NDArray[np.int64]:
        """Where the tables of each node begin, and where those of the last one end."""
        starts = np.zeros(self.node_count + 1, dtype=np.int64)
        np.cumsum(
            _table_sizes(self.message_bits, counts_between(self.output_starts)), out=starts[1:]
        )
        starts.setflags(write=False)
        return starts

    @cached_property
    def table_counts(self) -> NDArray[np.int64]:
        """For every bootstrap its tables that are no rotations of one another, 0 for linear."""
        counts: NDArray[np.int64] = (self.kinds != LINEAR).astype(np.int64)
        outputs, starts = counts_between(self.output_starts), self.table_starts
        for node in np.flatnonzero(outputs > 1).tolist():
            rows = self.tables[starts[node] : starts[node + 1]].reshape(outputs[node], -1)
            counts[node] = distinct_tables(tuple(map(tuple, rows.tolist())))
        counts.setflags(write=False)
        return counts

    @cached_property
    def output_slices(self) -> tuple[slice, ...]:
        """For every output port where its bits stand among those of all."""
        ends = list(accumulate((port.bits for port in self.outputs), initial=0))
        return tuple(slice(start, end) for start, end in pairwise(ends))

    @cached_property
    def makers(self) -> NDArray[np.int64]:
        """For every output of a node, in order, the number of the node."""
        return np.repeat(np.arange(self.node_count), counts_between(self.output_starts))

    @cached_property
    def failures(self) -> dict[Hashable, Any]:
        """How likely it goes wrong, as far as that is known, by noise; see `schemes.tfhe_noise`."""
        return {}

    @cached_property
    def own_parts(self) -> dict[Hashable, OwnPart]:
        """What was made of it by rows that it is the last of; see `bootstraps_in_a_row`."""
        return {}

    def signals_of(self, port: int) -> NDArray[np.int64]:
        """The encrypted inputs that are bits of an input port, by its number.

        Example:
            >>> a, b, y = (Port(name, "bits", 1) for name in "aby")
            >>> builder = BootstrapBuilder("or", (a, b))
            >>> terms = [(builder.input(bit, QUARTER), 1) for bit in (1, 0)]
            >>> builder.output(y, [builder.linear(terms, 0)], [HALF])
            >>> builder.finish().signals_of(1)
            array([0])
        """
        first = sum(each.bits for each in self.inputs[:port])
        bits = self.input_bits.astype(np.int64) - first
        return np.flatnonzero((bits >= 0) & (bits < self.inputs[port].bits))

    def places_of(self, port: int) -> NDArray[np.int64]:
        """For each signal of an input port, in the order of `signals_of`, which of its bits it is.

        Example:
            >>> builder = BootstrapBuilder("swap", (Port("a", "bits", 1), Port("b", "bits", 2)))
            >>> made = [builder.input(bit, HALF) for bit in (2, 1)]
            >>> builder.output(Port("y", "bits", 2), made, [HALF] * 2)
            >>> builder.finish().places_of(1)
            array([1, 0])
        """
        first = sum(each.bits for each in self.inputs[:port])
        return self.input_bits[self.signals_of(port)].astype(np.int64) - first

    def encoded_bits(
        self, port: int, bits: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
        """The bits of an input port as they are encrypted: each in every encoding wanted."""
        encodings = self.input_encodings[self.signals_of(port)]
        return bits[self.places_of(port)].astype(np.uint8), encodings

    @cached_property
    def levels(self) -> NDArray[np.uint32]:
        """For every node the most bootstraps on a way to it, itself included."""
        level_of = [0] * self.signal_count
        levels = []
        signals = self.term_signals.tolist()
        starts, made = self.term_starts.tolist(), self.output_starts.tolist()
        for node, kind in enumerate(self.kinds.tolist()):
            used = signals[starts[node] : starts[node + 1]]
            level = max(map(level_of.__getitem__, used), default=0) + (kind != LINEAR)
            levels.append(level)
            for output in range(made[node], made[node + 1]):
                level_of[self.input_count + output] = level
        array = np.array(levels, dtype=np.uint32)
        array.setflags(write=False)
        return array

    def __str__(self) -> str:
        bootstraps = self.bootstrap_count
        counted = "1 bootstrap" if bootstraps == 1 else f"{bootstraps} bootstraps"
        ports = [f"  input {port}" for port in self.inputs]
        ports += [f"  output {port}" for port in self.outputs]
        return "\n".join(
            [self.title, *ports, f"  {counted}, {self.node_count - bootstraps} linear"]
        )

    def __repr__(self) -> str:
        ports = signature(self.inputs, self.outputs)
        return f"BootstrapProgram({self.title}: {ports}; {self.bootstrap_count} bootstraps)"

    def _require_inputs(self) -> None:
        bits = sum(port.bits for port in self.inputs)
        if len(self.input_encodings) != self.input_count:
            _refuse(
                f"expected {self.input_count} encodings of inputs, got {len(self.input_encodings)}"
            )
        if self.input_count and int(self.input_bits.max()) >= bits:
            _refuse(f"an input is bit {int(self.input_bits.max())}, of {bits} bits")
        _require_encodings(self.input_encodings, "input")

    def _require_nodes(self) -> None:
        nodes = self.node_count
        if nodes > MAX_NODES:
            _refuse(f"expected up to {MAX_NODES} nodes, got {nodes}")
        if nodes and int(self.kinds.max()) > SIGN:
            node = int(np.argmax(self.kinds > SIGN))
            _refuse(f"node {node} is of the unknown kind {int(self.kinds[node])}")
        for name in ("constants", "message_bits"):
            if len(getattr(self, name)) != nodes:
                _refuse(f"expected {nodes} {name}, one per node, got {len(getattr(self, name))}")
        _require_starts(self.term_starts, nodes, len(self.term_signals), "terms")
        _require_starts(self.output_starts, nodes, len(self.output_constants), "outputs")
        outputs = counts_between(self.output_starts)
        most = np.where(self.kinds == LINEAR, 1, MAX_OUTPUTS)
        wrong = np.flatnonzero((outputs < 1) | (outputs > most))
        if wrong.size:
            node = int(wrong[0])
            _refuse(f"node {node} has {int(outputs[node])} outputs, expected 1 to {most[node]}")
        most = np.array([0, MAX_MESSAGE_BITS, 1])[self.kinds]
        least = self.kinds != LINEAR
        wrong = np.flatnonzero((self.message_bits < least) | (self.message_bits > most))
        if wrong.size:
            node = int(wrong[0])
            _refuse(f"node {node} has a message space of 2^{int(self.message_bits[node])}")
        if len(self.tables) != int(self.table_starts[-1]):
            _refuse(
                f"expected {int(self.table_starts[-1])} numbers in the tables, "
                f"got {len(self.tables)}"
            )
        wrong = np.flatnonzero(self.table_counts > MAX_TABLES)
        if wrong.size:
            node = int(wrong[0])
            _refuse(
                f"node {node} has {int(self.table_counts[node])} tables that do not rotate into "
                f"one another, expected up to {MAX_TABLES}"
            )
        made_by = np.repeat(self.kinds, outputs)
        if np.any(self.output_constants[made_by == LINEAR]):
            _refuse("a linear node adds a constant to its output")

    def _require_terms(self) -> None:
        if len(self.term_weights) != len(self.term_signals):
            _refuse(
                f"expected {len(self.term_signals)} weights, one per term, "
                f"got {len(self.term_weights)}"
            )
        counts = counts_between(self.term_starts)
        own = np.repeat(self.output_starts[:-1].astype(np.int64) + self.input_count, counts)
        late = np.flatnonzero(self.term_signals >= own)
        if late.size:
            place = int(late[0])
            _refuse(
                f"a node that makes %{int(own[place])} uses %{int(self.term_signals[place])}, "
                "which is not before it"
            )

    def _require_outputs(self) -> None:
        wanted = sum(port.bits for port in self.outputs)
        for name in ("output_signals", "output_encodings"):
            if len(getattr(self, name)) != wanted:
                _refuse(f"expected {wanted} {name} by the ports, got {len(getattr(self, name))}")
        if wanted and int(self.output_signals.max()) >= self.signal_count:
            _refuse(
                f"an output is %{int(self.output_signals.max())}, of {self.signal_count} signals"
            )
        _require_encodings(self.output_encodings, "output")


class BootstrapBuilder:
    """Collects nodes into a program.

    Signals get numbers that hold while the program is built; `finish` gives inputs the first
    ones.

    Args:
        title: What the program computes.
        inputs: The inputs.

    Example:
        >>> builder = BootstrapBuilder("and", (Port("a", "bits", 2),))
        >>> terms = [(builder.input(0, QUARTER), 1), (builder.input(1, QUARTER), 1)]
        >>> (both,) = builder.bootstrap(terms, 0, 2, [(-EIGHTH, -EIGHTH)], [EIGHTH])
        >>> builder.output(Port("y", "bits", 1), [both], [QUARTER])
        >>> builder.finish().bootstrap_count
        1
    """

    def __init__(self, title: str, inputs: Sequence[Port]) -> None:
        self._title = title
        self._inputs = tuple(inputs)
        self._signals = 0
        self._input_of: dict[tuple[int, int], int] = {}
        self._kinds: list[int] = []
        self._term_starts = [0]
        self._term_signals: list[int] = []
        self._term_weights: list[int] = []
        self._constants: list[int] = []
        self._message_bits: list[int] = []
        self._made: list[Sequence[int]] = []
        self._tables: list[int] = []
        self._output_constants: list[int] = []
        self._outputs: list[Port] = []
        self._output_signals: list[int] = []
        self._output_encodings: list[int] = []

    def input(self, bit: int, encoding: int) -> int:
        """The signal of a bit of the inputs in an encoding."""
        if (bit, encoding) not in self._input_of:
            self._input_of[bit, encoding] = self._new_signal()
        return self._input_of[bit, encoding]

    def linear(self, terms: Sequence[tuple[int, int]], constant: int) -> int:
        """Add a sum of signals times weights, and a constant; the number of its signal."""
        self._append(LINEAR, terms, constant, 0)
        self._output_constants.append(0)
        made = self._new_signal()
        self._made.append([made])
        return made

    def bootstrap(
        self,
        terms: Sequence[tuple[int, int]],
        constant: int,
        message_bits: int,
        tables: Sequence[Sequence[int]],
        constants: Sequence[int],
    ) -> list[int]:
        """Add a bootstrap of a sum of signals, with a table for each output; their signals."""
        self._append(BOOTSTRAP, terms, constant, message_bits)
        for table in tables:
            self._tables += [number % (1 << 32) for number in table]
        self._output_constants += [number % (1 << 32) for number in constants]
        made = [self._new_signal() for _ in tables]
        self._made.append(made)
        return made

    def sign(
        self, terms: Sequence[tuple[int, int]], constant: int, encodings: Sequence[int]
    ) -> list[int]:
        """Add a sign: whether a sum is nearer to half a turn than to 0, in several encodings."""
        self._append(SIGN, terms, constant, 1)
        # Minus a half of the encoding, and plus a half half a turn on.
        self._tables += [-(each // 2) % (1 << 32) for each in encodings]
        self._output_constants += [each // 2 for each in encodings]
        made = [self._new_signal() for _ in encodings]
        self._made.append(made)
        return made

    def replay(self, body: BootstrapProgram, inputs: Sequence[int]) -> list[int]:
        """Add the nodes of a program on other signals; the signals of the bits of its outputs.

        Example:
            >>> builder = BootstrapBuilder("copy", (Port("a", "bits", 1),))
            >>> builder.output(Port("y", "bits", 1), [builder.input(0, HALF)], [HALF])
            >>> BootstrapBuilder("other", ()).replay(builder.finish(), [7])
            [7]
        """
        first, count = self._signals, len(body.output_constants)
        signals = np.append(np.array(inputs, np.int64), np.arange(first, first + count))
        starts = len(self._term_signals) + body.term_starts[1:].astype(np.int64)
        self._kinds += body.kinds.tolist()
        self._term_signals += signals[body.term_signals].tolist()
        self._term_weights += body.term_weights.tolist()
        self._term_starts += starts.tolist()
        self._constants += body.constants.tolist()
        self._message_bits += body.message_bits.tolist()
        self._tables += body.tables.tolist()
        self._output_constants += body.output_constants.tolist()
        ends = (first + body.output_starts.astype(np.int64)).tolist()
        self._made += map(range, ends, ends[1:])
        self._signals += count
        leaving: list[int] = signals[body.output_signals].tolist()
        return leaving

    def output(self, port: Port, signals: Sequence[int], encodings: Sequence[int]) -> None:
        """Add an output with the signals of its bits."""
        self._outputs.append(port)
        self._output_signals += signals
        self._output_encodings += encodings

    def finish(self) -> BootstrapProgram:
        """The program so far."""
        keys = list(self._input_of)
        ordered = [*self._input_of.values(), *chain.from_iterable(self._made)]
        number = np.zeros(self._signals, np.int64)
        number[ordered] = np.arange(len(ordered))
        output_starts = np.cumsum([0, *(len(made) for made in self._made)])
        arrays: dict[str, Any] = {
            "input_bits": [bit for bit, _ in keys],
            "input_encodings": [encoding for _, encoding in keys],
            "kinds": self._kinds,
            "term_starts": self._term_starts,
            "term_signals": number[self._term_signals],
            "term_weights": self._term_weights,
            "constants": self._constants,
            "message_bits": self._message_bits,
            "output_starts": output_starts,
            "tables": self._tables,
            "output_constants": self._output_constants,
            "output_signals": number[self._output_signals],
            "output_encodings": self._output_encodings,
        }
        return BootstrapProgram(self._title, self._inputs, tuple(self._outputs), **arrays)

    def _append(
        self, kind: int, terms: Sequence[tuple[int, int]], constant: int, message_bits: int
    ) -> None:
        self._kinds.append(kind)
        for signal, weight in terms:
            self._term_signals.append(signal)
            self._term_weights.append(weight)
        self._term_starts.append(len(self._term_signals))
        self._constants.append(constant % (1 << 32))
        self._message_bits.append(message_bits)

    def _new_signal(self) -> int:
        self._signals += 1
        return self._signals - 1


def counts_between(starts: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """How many each node has of what begins at these starts.

    Example:
        >>> counts_between(np.array([0, 2, 5])).tolist()
        [2, 3]
    """
    numbers = starts.astype(np.int64)
    return numbers[1:] - numbers[:-1]


def places_of(starts: NDArray[np.integer[Any]], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of what belongs to some nodes, by where that of each begins.

    Example:
        >>> places_of(np.array([0, 2, 5, 6]), np.array([2, 0])).tolist()
        [5, 0, 1]
    """
    counts = counts_between(starts)[nodes]
    ends = np.cumsum(counts)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
    places: NDArray[np.int64] = np.repeat(starts[nodes].astype(np.int64), counts) + within
    return places


def _table_sizes(message_bits: NDArray[np.uint8], outputs: NDArray[np.int64]) -> NDArray[np.int64]:
    sizes = np.where(message_bits > 0, 1 << np.maximum(message_bits.astype(np.int64) - 1, 0), 0)
    return np.asarray(sizes * outputs, dtype=np.int64)


def _require_starts(starts: NDArray[np.uint32], nodes: int, end: int, what: str) -> None:
    if len(starts) != nodes + 1:
        _refuse(f"expected {nodes + 1} starts of {what}, got {len(starts)}")
    if int(starts[0]) != 0 or int(starts[-1]) != end or np.any(starts[1:] < starts[:-1]):
        _refuse(f"the starts of {what} do not rise from 0 to {end}")


def _require_encodings(encodings: NDArray[np.uint32], what: str) -> None:
    wrong = np.flatnonzero((encodings < _FINEST) | (encodings & (encodings - np.uint32(1)) > 0))
    if wrong.size:
        _refuse(
            f"an {what} is in the encoding {int(encodings[wrong[0]])}; expected a power of two "
            f"from {_FINEST} to {HALF}"
        )


def _refuse(reason: str) -> NoReturn:
    raise InvalidProgramError(f"cannot make the bootstrap program: {reason}")


@dataclass(frozen=True, slots=True)
class BootstrapStatistics:
    """Counts of a bootstrap program.

    Args:
        bootstraps: Bootstraps.
        by_outputs: How many of them have one output, two and so on, by number of outputs.
        linear: Linear nodes.
        terms: Signals summed by all nodes together.
        depth: The most bootstraps on a way from an input.
        widths: How many bootstraps stand at level 1, 2, ... depth.
    """

    bootstraps: int
    by_outputs: Mapping[int, int]
    linear: int
    terms: int
    depth: int
    widths: tuple[int, ...]

    def __repr__(self) -> str:
        return (
            f"BootstrapStatistics({self.bootstraps} bootstraps, {self.linear} linear, "
            f"{self.terms} terms; depth {self.depth}, at most {max(self.widths, default=0)} beside)"
        )


def bootstrap_statistics_of(program: BootstrapProgram) -> BootstrapStatistics:
    """Count the nodes of a program.

    Example:
        >>> builder = BootstrapBuilder("and", (Port("a", "bits", 2),))
        >>> terms = [(builder.input(0, QUARTER), 1), (builder.input(1, QUARTER), 1)]
        >>> _ = builder.bootstrap(terms, 0, 2, [(-EIGHTH, -EIGHTH)], [EIGHTH])
        >>> bootstrap_statistics_of(builder.finish())
        BootstrapStatistics(1 bootstraps, 0 linear, 2 terms; depth 1, at most 1 beside)
    """
    is_bootstrap = program.kinds != LINEAR
    counts = np.bincount(counts_between(program.output_starts)[is_bootstrap], minlength=1).tolist()
    by_outputs = {outputs: count for outputs, count in enumerate(counts) if count}
    widths = tuple(np.bincount(program.levels[is_bootstrap], minlength=1)[1:].tolist())
    bootstraps = int(is_bootstrap.sum())
    return BootstrapStatistics(
        bootstraps,
        by_outputs,
        program.node_count - bootstraps,
        len(program.term_signals),
        len(widths),
        widths,
    )

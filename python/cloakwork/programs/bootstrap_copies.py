"""Bootstrap programs that are copies of the parts of a smaller one, on other bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.bootstraps import HALF, BootstrapProgram, counts_between, places_of
from cloakwork.programs.port import Port


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """Which bits the copies of a part take and make: a row for each copy.

    Args:
        inputs: Bits of the inputs of the program that has the copies.
        outputs: Bits of its outputs.
    """

    inputs: NDArray[np.int64]
    outputs: NDArray[np.int64]


def with_copies(
    bodies: Sequence[tuple[BootstrapProgram, Sequence[Copies]]],
    title: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
) -> BootstrapProgram:
    """The program that has copies of the parts of others.

    Args:
        bodies: Programs whose every output is computed from the input of the same name, if there is
            one, and nothing else; and for each output where its copies stand. All of them together
            make every bit of the outputs.
        title: What the program computes.
        inputs: Its inputs.
        outputs: Its outputs.

    Raises:
        InvalidProgramError: An output needs an input of another name.

    Example:
        >>> bit = Port("part", "bits", 1)
        >>> from cloakwork.programs.bootstraps import BootstrapBuilder
        >>> builder = BootstrapBuilder("not", (bit,))
        >>> builder.output(bit, [builder.linear([(builder.input(0, HALF), 1)], HALF)], [HALF])
        >>> three, rows = Port("bits", "bits", 3), np.arange(3)[:, None]
        >>> print(with_copies([(builder.finish(), [Copies(rows, rows)])], "all", [three], [three]))
        all
          input bits: bits, 3 bits
          output bits: bits, 3 bits
          0 bootstraps, 3 linear
    """
    parts = [
        _Part(body, number, each) for body, copies in bodies for number, each in enumerate(copies)
    ]
    inputs_before = np.cumsum([0, *(part.count * len(part.inputs) for part in parts)])
    made_before = np.cumsum([0, *(part.count * len(part.made) for part in parts)])
    made_before += inputs_before[-1]
    bits = sum(port.bits for port in outputs)
    signals, encodings = np.zeros(bits, np.uint32), np.full(bits, HALF, np.uint32)
    rows = []
    for part, first_input, first_made in zip(parts, inputs_before, made_before, strict=False):
        rows.append(part.arrays(first_input, first_made))
        signals[part.copies.outputs] = part.placed(part.leaving, first_input, first_made)
        encodings[part.copies.outputs] = part.encodings
    arrays: dict[str, Any] = {
        name: np.concatenate([row[name] for row in rows]) for name in (rows[0] if rows else ())
    }
    for counts, starts in (("terms", "term_starts"), ("makes", "output_starts")):
        arrays[starts] = np.concatenate([[0], np.cumsum(arrays.pop(counts))])
    return BootstrapProgram(
        title,
        tuple(inputs),
        tuple(outputs),
        **arrays,
        output_signals=signals,
        output_encodings=encodings,
    )


class _Part:
    """What an output needs: inputs and nodes, and its copies.

    Attributes:
        inputs: The encrypted inputs that it takes.
        made: The signals that its nodes make.
        leaving: The signals of its bits.
    """

    def __init__(self, body: BootstrapProgram, number: int, copies: Copies) -> None:
        self.copies = copies
        self.count = len(copies.outputs)
        self._body = body
        place = body.output_slices[number]
        self.leaving = body.output_signals[place].astype(np.int64)
        self.encodings = body.output_encodings[place].astype(np.int64)
        name = body.outputs[number].name
        ports = [port.name for port in body.inputs]
        self._port = ports.index(name) if name in ports else None
        self.inputs = body.signals_of(self._port) if self._port is not None else np.zeros(0, int)
        self._nodes = _needed(body, self.leaving)
        self.made = body.input_count + places_of(body.output_starts, self._nodes)
        self._numbers = np.full(body.signal_count, -1)
        own = np.concatenate([self.inputs, self.made])
        self._numbers[own] = np.arange(len(own))
        self._used = body.term_signals[places_of(body.term_starts, self._nodes)]
        if (self._numbers[np.concatenate([self._used, self.leaving])] < 0).any():
            raise InvalidProgramError(
                f"cannot copy the part {name!r} of {body.title}: expected nodes of its own "
                "input alone, got some of others"
            )

    def placed(self, signals: NDArray[Any], first_input: int, first_made: int) -> NDArray[np.int64]:
        """The signals that some of the part are in each copy, a row for each."""
        numbers = self._numbers[signals]
        inputs, made = len(self.inputs), len(self.made)
        copies = np.arange(self.count)[:, None]
        placed: NDArray[np.int64] = np.where(
            numbers < inputs,
            first_input + copies * inputs + numbers,
            first_made + copies * made + numbers - inputs,
        )
        return placed

    def arrays(self, first_input: int, first_made: int) -> dict[str, NDArray[Any]]:
        """The arrays of a bootstrap program for all copies, with counts in place of starts."""
        body, nodes = self._body, self._nodes
        terms, made = places_of(body.term_starts, nodes), self.made - body.input_count
        once = {
            "input_encodings": body.input_encodings[self.inputs],
            "kinds": body.kinds[nodes],
            "terms": counts_between(body.term_starts)[nodes],
            "makes": counts_between(body.output_starts)[nodes],
            "term_weights": body.term_weights[terms],
            "constants": body.constants[nodes],
            "message_bits": body.message_bits[nodes],
            "tables": body.tables[places_of(body.table_starts, nodes)],
            "output_constants": body.output_constants[made],
        }
        places = body.places_of(self._port) if self._port is not None else np.zeros(0, int)
        return {
            **{name: np.tile(each, self.count) for name, each in once.items()},
            "input_bits": self.copies.inputs[:, places].ravel(),
            "term_signals": self.placed(self._used, first_input, first_made).ravel(),
        }


def _needed(body: BootstrapProgram, signals: NDArray[np.int64]) -> NDArray[np.int64]:
    """The nodes that some signals are computed from, in order."""
    maker = np.repeat(np.arange(body.node_count), counts_between(body.output_starts)).tolist()
    starts, used = body.term_starts.tolist(), body.term_signals.tolist()
    found: set[int] = set()
    waiting = signals.tolist()
    while waiting:
        signal = waiting.pop()
        if signal >= body.input_count:
            node = maker[signal - body.input_count]
            if node not in found:
                found.add(node)
                waiting += used[starts[node] : starts[node + 1]]
    return np.array(sorted(found), dtype=np.int64)

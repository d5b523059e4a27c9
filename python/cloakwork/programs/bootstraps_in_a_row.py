"""Bootstrap programs one after the other: outputs of one are inputs of the next."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cloakwork.programs.bootstraps import (
    HALF,
    LINEAR,
    QUARTER,
    BootstrapBuilder,
    BootstrapProgram,
)
from cloakwork.programs.port import Port


def finished(
    builder: BootstrapBuilder, body: BootstrapProgram, signals: Sequence[int]
) -> BootstrapProgram:
    """The program of a builder with the outputs of another, whose bits have these signals."""
    encodings = body.output_encodings.tolist()
    for port, own in zip(body.outputs, body.output_slices, strict=True):
        builder.output(port, signals[own], encodings[own])
    return builder.finish()


def with_encodings(
    body: BootstrapProgram, given: Mapping[int, int], *, refreshed: bool
) -> BootstrapProgram:
    """The same program on some bits of inputs that there are in one encoding each.

    What it needs in another encoding is a multiple of the bit, which is noisier, or comes out of a
    bootstrap.

    Args:
        body: The program.
        given: The encoding of each of these bits, by its place among those of all inputs.
        refreshed: Whether each of them goes through a bootstrap, be there a multiple or not.
    """
    builder = BootstrapBuilder(body.title, body.inputs)
    pairs = list(zip(body.input_bits.tolist(), body.input_encodings.tolist(), strict=True))
    made = {bit: builder.input(bit, encoding) for bit, encoding in given.items()}
    inputs = []
    for bit, encoding in pairs:
        own = given.get(bit)
        if own is None:
            inputs.append(builder.input(bit, encoding))
        elif refreshed or encoding < own:
            inputs.append(_refreshed(builder, made[bit], own, encoding))
        elif encoding > own:
            inputs.append(builder.linear([(made[bit], encoding // own)], 0))
        else:
            inputs.append(made[bit])
    return finished(builder, body, builder.replay(body, inputs))


def _refreshed(builder: BootstrapBuilder, signal: int, given: int, wanted: int) -> int:
    """A bit out of a bootstrap, in another encoding."""
    half = wanted // 2
    # A bit in half encoding is message 0 or 1 of 2, one in quarter encoding message 0 or 1 of 4.
    if given == HALF:
        (made,) = builder.bootstrap([(signal, 1)], 0, 1, [(-half,)], [half])
    else:
        quarter = [(signal, QUARTER // given)]
        (made,) = builder.bootstrap(quarter, 0, 2, [(-half, half)], [half])
    return made


@dataclass(frozen=True, slots=True, eq=False)
class Following:
    """A program of a row, some of whose inputs are outputs of others.

    Args:
        body: The program.
        links: The port of an input, the place of the other program in the row and the port of its
            output, of each.
    """

    body: BootstrapProgram
    links: tuple[tuple[int, int, int], ...] = ()

    def taken(self, row: Sequence[Following]) -> dict[int, tuple[int, int]]:
        """Of encrypted inputs that are outputs of others: their places, and which bits of these."""
        found: dict[int, tuple[int, int]] = {}
        for port, other, output in self.links:
            first = row[other].body.output_slices[output].start
            places = (first + self.body.places_of(port)).tolist()
            signals = self.body.signals_of(port).tolist()
            found |= {signal: (other, bit) for signal, bit in zip(signals, places, strict=True)}
        return found


def whole_program(row: Sequence[Following]) -> BootstrapProgram:
    """All programs in a row as one, whose inputs are all that is encrypted, as bits of one port.

    Each stands after those that it follows; the outputs are those of the last.
    """
    builder, last = _builder_of(row), row[-1].body
    made: list[list[int]] = []
    encrypted = 0
    for each in row:
        signal_of = {signal: made[other][bit] for signal, (other, bit) in each.taken(row).items()}
        for signal, encoding in enumerate(each.body.input_encodings.tolist()):
            if signal not in signal_of:
                signal_of[signal] = builder.input(encrypted, encoding)
                encrypted += 1
        inputs = [signal_of[number] for number in range(len(signal_of))]
        made.append(builder.replay(each.body, inputs))
    return finished(builder, last, made[-1])


def own_program(row: Sequence[Following]) -> BootstrapProgram:
    """The last program of a row alone, whose inputs are as noisy as in the whole.

    What an output of a bootstrap has of noise is the same whatever goes in: bootstraps of nothing
    are in the place of those that its inputs are sums of, and all that is before these is left out.
    """
    builder, last = _builder_of(row), row[-1]
    sources = _Sources(row, builder)
    inputs = [sources.signal(len(row) - 1, signal) for signal in range(last.body.input_count)]
    return finished(builder, last.body, builder.replay(last.body, inputs))


@dataclass(frozen=True, slots=True, eq=False)
class OwnPart:
    """What a program of a row adds to the noise of the whole, and what is known of it.

    Args:
        body: What `own_program` makes.
        worst: Noted of bootstraps by whoever follows them: log2 of the greatest probability that
            one of them goes wrong, by the noise of a parameter set.
    """

    body: BootstrapProgram
    worst: dict[Hashable, float] = field(default_factory=dict)

    @property
    def without_outputs(self) -> BootstrapProgram:
        """Its bootstraps alone."""
        nothing = np.zeros(0, np.uint32)
        return replace(self.body, outputs=(), output_signals=nothing, output_encodings=nothing)


def _builder_of(row: Sequence[Following]) -> BootstrapBuilder:
    count = sum(each.body.input_count for each in row)
    return BootstrapBuilder(row[-1].body.title, (Port("inputs", "bits", count),) * (count > 0))


# A program of a row by its place, and a signal of it.
_Place = tuple[int, int]


class _Sources:
    """Signals of a row as sums of encrypted inputs and of outputs of bootstraps of nothing.

    Args:
        row: The row.
        builder: What they are added to.
    """

    def __init__(self, row: Sequence[Following], builder: BootstrapBuilder) -> None:
        self._row = row
        self._builder = builder
        self._taken: dict[int, dict[int, tuple[int, int]]] = {}
        self._made: dict[_Place, int] = {}
        self._inputs = 0

    def signal(self, place: int, signal: int) -> int:
        """The signal of the builder that a signal of a program is."""
        pending = [(place, signal)]
        while pending:
            missing = [each for each in self._below(pending[-1]) if each not in self._made]
            if missing:
                pending += missing
            else:
                self._make(pending.pop())
        return self._made[place, signal]

    def _below(self, at: _Place) -> list[_Place]:
        """What a signal is a sum of, in its own program or as it is in another."""
        place, signal = at
        body = self._row[place].body
        if signal < body.input_count:
            taken = self._taken_by(place)
            return [self._result(*taken[signal])] if signal in taken else []
        node = body.maker(signal)
        if body.kinds[node] != LINEAR:
            return []
        return [(place, each) for each in body.term_signals[body.terms_of(node)].tolist()]

    def _make(self, at: _Place) -> None:
        if at in self._made:
            return
        place, signal = at
        body, below = self._row[place].body, self._below(at)
        if signal < body.input_count:
            if below:
                self._made[at] = self._made[below[0]]
            else:
                encoding = int(body.input_encodings[signal])
                self._made[at] = self._builder.input(self._inputs, encoding)
                self._inputs += 1
            return
        node = body.maker(signal)
        if body.kinds[node] == LINEAR:
            weights = body.term_weights[body.terms_of(node)].tolist()
            terms = [*zip(map(self._made.__getitem__, below), weights, strict=True)]
            self._made[at] = self._builder.linear(terms, int(body.constants[node]))
            return
        first, end = (body.input_count + body.output_starts[node : node + 2].astype(int)).tolist()
        outputs = end - first
        signals = self._builder.bootstrap([], 0, 1, [(0,)] * outputs, [0] * outputs)
        self._made |= {(place, first + number): each for number, each in enumerate(signals)}

    def _taken_by(self, place: int) -> dict[int, tuple[int, int]]:
        if place not in self._taken:
            self._taken[place] = self._row[place].taken(self._row)
        return self._taken[place]

    def _result(self, place: int, bit: int) -> _Place:
        return place, int(self._row[place].body.output_signals[bit])

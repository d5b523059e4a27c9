"""Bootstrap programs one after the other: outputs of one are inputs of the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

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


@dataclass(frozen=True, slots=True)
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


def own_part(row: Sequence[Following]) -> OwnPart:
    """The last program of a row alone, as far as noise goes; made once."""
    known, key = row[-1].body.own_parts, tuple(row)
    if key not in known:
        known[key] = OwnPart(_own_program(row))
    return known[key]


@dataclass(frozen=True, eq=False)
class OwnPart:
    """What a program of a row adds to the noise of the whole.

    Args:
        body: The program alone, whose inputs are as noisy as in the whole.
    """

    body: BootstrapProgram

    @cached_property
    def bootstraps(self) -> BootstrapProgram:
        """It without outputs, as where they are inputs of others alone."""
        nothing = np.zeros(0, np.uint32)
        return replace(self.body, outputs=(), output_signals=nothing, output_encodings=nothing)


def _own_program(row: Sequence[Following]) -> BootstrapProgram:
    """The last program of a row on bootstraps of nothing and on what is encrypted.

    What an output of a bootstrap has of noise is the same whatever goes in: bootstraps of nothing
    are in the place of those that its inputs are sums of, and all that is before these is left out.
    """
    last = row[-1]
    if not last.links:
        return last.body
    builder = _builder_of(row)
    sources = _Sources(row, builder)
    inputs = [sources.signal(len(row) - 1, signal) for signal in range(last.body.input_count)]
    return finished(builder, last.body, builder.replay(last.body, inputs))


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
        self._sums: dict[int, _Sums] = {}
        self._made: dict[_Place, int] = {}
        self._inputs = 0

    def signal(self, place: int, signal: int) -> int:
        """The signal of the builder that a signal of a program is."""
        pending = [(place, signal)]
        while pending:
            at = pending.pop()
            if at in self._made:
                continue
            terms = self._sums_of(at[0]).terms(at[1])
            missing = [each for each, _ in terms or () if each not in self._made]
            if missing:
                pending += [at, *missing]
            else:
                self._make(at, terms)
        return self._made[place, signal]

    def _make(self, at: _Place, terms: Sequence[tuple[_Place, int]] | None) -> None:
        place, signal = at
        body = self._row[place].body
        if terms is not None:
            made = [(self._made[each], weight) for each, weight in terms]
            is_same = len(made) == 1 and made[0][1] == 1
            self._made[at] = made[0][0] if is_same else self._builder.linear(made, 0)
        elif signal < body.input_count:
            encoding = int(body.input_encodings[signal])
            self._made[at] = self._builder.input(self._inputs, encoding)
            self._inputs += 1
        else:
            outputs = self._sums_of(place).beside(signal)
            nothing = [(0,)] * len(outputs), [0] * len(outputs)
            signals = self._builder.bootstrap([], 0, 1, *nothing)
            self._made |= zip(((place, each) for each in outputs), signals, strict=True)

    def _sums_of(self, place: int) -> _Sums:
        if place not in self._sums:
            self._sums[place] = _Sums(self._row, place)
        return self._sums[place]


class _Sums:
    """What signals of a program of a row are sums of."""

    def __init__(self, row: Sequence[Following], place: int) -> None:
        self._place = place
        self._body = row[place].body
        self._inputs = self._body.input_count
        leaving = [each.body.output_signals for each in row[:place]]
        taken = row[place].taken(row).items()
        self._taken = {signal: (at, int(leaving[at][bit])) for signal, (at, bit) in taken}

    def terms(self, signal: int) -> list[tuple[_Place, int]] | None:
        """Signals and their weights; None of what is encrypted, and of outputs of bootstraps."""
        if signal < self._inputs:
            return [(self._taken[signal], 1)] if signal in self._taken else None
        body, node = self._body, self._body.makers[signal - self._inputs]
        if body.kinds[node] != LINEAR:
            return None
        own = slice(body.term_starts[node], body.term_starts[node + 1])
        pairs = zip(body.term_signals[own].tolist(), body.term_weights[own].tolist(), strict=True)
        return [((self._place, each), weight) for each, weight in pairs]

    def beside(self, signal: int) -> range:
        """All outputs of the bootstrap that a signal is one of."""
        node = self._body.makers[signal - self._inputs]
        first, end = self._body.output_starts[node : node + 2].tolist()
        return range(self._inputs + first, self._inputs + end)

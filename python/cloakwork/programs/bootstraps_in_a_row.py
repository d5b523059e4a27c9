"""Bootstrap programs one after the other: outputs of one are inputs of the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cloakwork.programs.bootstraps import (
    HALF,
    LINEAR,
    QUARTER,
    SIGN,
    BootstrapBuilder,
    BootstrapProgram,
)
from cloakwork.programs.port import Port


def replayed(builder: BootstrapBuilder, body: BootstrapProgram, inputs: Sequence[int]) -> list[int]:
    """Append the nodes of a program on other signals; the signals of the bits of its outputs.

    Example:
        >>> builder = BootstrapBuilder("copy", (Port("a", "bits", 1),))
        >>> builder.output(Port("y", "bits", 1), [builder.input(0, HALF)], [HALF])
        >>> replayed(BootstrapBuilder("other", ()), builder.finish(), [7])
        [7]
    """
    signals = list(inputs)
    terms, outputs = body.term_starts.tolist(), body.output_starts.tolist()
    tables, rows = body.table_starts.tolist(), body.tables.tolist()
    used, weights = body.term_signals.tolist(), body.term_weights.tolist()
    constants, added = body.constants.tolist(), body.output_constants.tolist()
    nodes = zip(body.kinds.tolist(), body.message_bits.tolist(), strict=True)
    for node, (kind, message_bits) in enumerate(nodes):
        summed = [
            (signals[used[term]], weights[term]) for term in range(terms[node], terms[node + 1])
        ]
        if kind == LINEAR:
            signals.append(builder.linear(summed, constants[node]))
            continue
        first, end = outputs[node : node + 2]
        size = (tables[node + 1] - tables[node]) // (end - first)
        starts = range(tables[node], tables[node + 1], size)
        if kind == SIGN:
            signals += builder.sign(
                summed, constants[node], [2 * each for each in added[first:end]]
            )
            continue
        signals += builder.bootstrap(
            summed,
            constants[node],
            message_bits,
            [rows[start : start + size] for start in starts],
            added[first:end],
        )
    return [signals[each] for each in body.output_signals.tolist()]


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
    return finished(builder, body, replayed(builder, body, inputs))


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


def whole_program(row: Sequence[Following]) -> BootstrapProgram:
    """All programs in a row as one, whose inputs are all that is encrypted, as bits of one port.

    Each stands after those that it follows; the outputs are those of the last.
    """
    count, last = sum(each.body.input_count for each in row), row[-1].body
    builder = BootstrapBuilder(last.title, (Port("inputs", "bits", count),) * (count > 0))
    made: list[list[int]] = []
    encrypted = 0
    for each in row:
        body = each.body
        signal_of: dict[int, int] = {}
        for port, other, output in each.links:
            bits = made[other][row[other].body.output_slices[output]]
            pairs = zip(body.signals_of(port), body.places_of(port), strict=True)
            signal_of |= {int(signal): bits[place] for signal, place in pairs}
        for signal, encoding in enumerate(body.input_encodings.tolist()):
            if signal not in signal_of:
                signal_of[signal] = builder.input(encrypted, encoding)
                encrypted += 1
        inputs = [signal_of[number] for number in range(len(signal_of))]
        made.append(replayed(builder, body, inputs))
    return finished(builder, last, made[-1])

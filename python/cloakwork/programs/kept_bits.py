"""Programs over bits whose outputs are inputs of their next run, as often as is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cloakwork.programs.bootstraps import (
    BOOTSTRAP,
    HALF,
    BootstrapBuilder,
    BootstrapProgram,
    counts_between,
)


def with_kept_bits(program: BootstrapProgram, kept: Mapping[str, str]) -> BootstrapProgram:
    """The same program with bootstraps after inputs and before outputs that are one another's.

    Each bit of such an input is encrypted once, in half encoding, and taken to the encodings that
    are used by a bootstrap each. Each bit of such an output leaves a bootstrap, in half encoding.

    Args:
        program: The program.
        kept: The outputs by the inputs that they become.

    Example:
        >>> from cloakwork.programs.bootstraps import QUARTER
        >>> from cloakwork.programs.port import Port
        >>> builder = BootstrapBuilder("turn", (Port("a", "bits", 1), Port("b", "bits", 1)))
        >>> sum = builder.linear([(builder.input(0, HALF), 1), (builder.input(1, HALF), 1)], 0)
        >>> builder.output(Port("next", "bits", 1), [sum], [HALF])
        >>> with_kept_bits(builder.finish(), {"a": "next"}).bootstrap_count
        2
    """
    builder = BootstrapBuilder(program.title, program.inputs)
    signals: list[int] = []
    own = _bits_of(program, kept)
    for bit in sorted(own):
        builder.input(bit, HALF)
    for bit, encoding in zip(
        program.input_bits.tolist(), program.input_encodings.tolist(), strict=True
    ):
        if bit in own:
            signals.append(_renewed(builder, builder.input(bit, HALF), encoding))
        else:
            signals.append(builder.input(bit, encoding))
    outputs = builder.replay(program, signals)
    for port, place in zip(program.outputs, program.output_slices, strict=True):
        made = outputs[place]
        encodings = program.output_encodings[place].tolist()
        if port.name in kept.values():
            made = [
                _renewed(builder, each, HALF, HALF // encoding)
                for each, encoding in zip(made, encodings, strict=True)
            ]
            encodings = [HALF] * port.bits
        builder.output(port, made, encodings)
    return builder.finish()


def bits_are_renewed(program: BootstrapProgram, pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether each bit of some inputs goes into bootstraps alone, and of some outputs leaves one.

    Then what a bootstrap makes may go in: its noise is far below that of the way into a bootstrap.

    Args:
        program: The program.
        pairs: The numbers of the inputs, each with that of an output.

    Example:
        >>> from cloakwork.programs.port import Port
        >>> builder = BootstrapBuilder("same", (Port("a", "bits", 1),))
        >>> builder.output(Port("next", "bits", 1), [builder.input(0, HALF)], [HALF])
        >>> bits_are_renewed(builder.finish(), [(0, 0)])
        False
    """
    counts = counts_between(program.term_starts)
    alone = np.repeat((program.kinds == BOOTSTRAP) & (counts == 1), counts)
    alone &= np.abs(program.term_weights) == 1
    made_by = np.repeat(program.kinds, counts_between(program.output_starts)) == BOOTSTRAP
    for number, result in pairs:
        signals, place = program.signals_of(number), program.output_slices[result]
        bits = program.input_bits[signals].astype(np.int64)
        in_order = np.array_equal(bits - bits.min(initial=0), np.arange(len(signals)))
        is_whole = in_order and len(signals) == program.inputs[number].bits
        leaving = program.output_signals[place].astype(np.int64)
        encodings = [program.input_encodings[signals], program.output_encodings[place]]
        if not (
            is_whole
            and all((each == HALF).all() for each in encodings)
            and alone[np.isin(program.term_signals, signals)].all()
            and (leaving >= program.input_count).all()
            and made_by[leaving - program.input_count].all()
        ):
            return False
    return True


def _bits_of(program: BootstrapProgram, kept: Mapping[str, str]) -> set[int]:
    """Which bits of the inputs are kept."""
    found: set[int] = set()
    first = 0
    for port in program.inputs:
        if port.name in kept:
            found |= set(range(first, first + port.bits))
        first += port.bits
    return found


def _renewed(builder: BootstrapBuilder, signal: int, encoding: int, weight: int = 1) -> int:
    """A bit, times a weight in half encoding, in another encoding with the noise of a bootstrap."""
    half = encoding // 2
    (made,) = builder.bootstrap([(signal, weight)], 0, 2, [(-half, -half)], [half])
    return made

"""Bits of numbers that come as one phase each, which a result of slots has where it leaves them.

A number u of p bits, a fraction included, is the phase u / 2^p. Times 2^(p - 1 - i), modulo 1, bit
i is worth half a turn in it, and those below at most another half. Of these the next lower bit is
taken off, so that less than a quarter of a turn is left, and the sign of what is centred is bit i:

```text
  2^(p - 1 - i) u / 2^p  =  bit i / 2  +  bit i-1 / 4  +  what is below, less than 1 / 4
```

Bit 0 decides how the fraction is rounded, and every bit after it agrees with that, to either side
of a border: what is left lies within an eighth of a turn for both. So a number takes p bootstraps,
and none of their noise grows on the way, as in taking digits off one after the other (Chillotti,
Ligier, Orfila and Tap, eprint 2021/729, section 4; `extract_bits` of the crate `tfhe`): only the
noise of the number itself is multiplied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder, BootstrapProgram
from cloakwork.programs.bootstraps_in_a_row import finished

_TURN_BITS = 32
# Beside a finer encoding the lowest bit of a number could not be told from noise.
MOST_BITS = 16
# By so much the noise of a bootstrap's output may grow: its deviation is 2^-15 turns in all sets to
# which rings are switched, and that of the way into the next bootstrap 2^-9 and more.
_MOST_MULTIPLE = 16


def with_numbers(body: BootstrapProgram, ports: Collection[int]) -> BootstrapProgram:
    """The same program on numbers that come as one phase each.

    The phase is the sum of a number's bits in their encodings, bit p - 1 in that of half a turn: a
    ciphertext of it stands for that of the lowest bit, and those of the others are 0.

    Args:
        body: The program.
        ports: The inputs that come so, by their numbers.

    Example:
        >>> from cloakwork.programs.bootstraps import HALF
        >>> from cloakwork.programs.port import Port
        >>> builder = BootstrapBuilder("odd", (Port("a", "unsigned", 3),))
        >>> builder.output(Port("y", "bits", 1), [builder.input(0, HALF)], [HALF])
        >>> made = with_numbers(builder.finish(), [0])
        >>> made.input_encodings.tolist(), made.bootstrap_count
        ([536870912, 1073741824, 2147483648], 1)
    """
    builder = BootstrapBuilder(body.title, body.inputs)
    pairs = list(zip(body.input_bits.tolist(), body.input_encodings.tolist(), strict=True))
    wanted: dict[int, list[int]] = {}
    for bit, encoding in pairs:
        wanted.setdefault(bit, []).append(encoding)
    made: dict[tuple[int, int], int] = {}
    first = 0
    for number, port in enumerate(body.inputs):
        for start in range(first, first + port.bits, port.width) if number in ports else ():
            bits = range(start, start + port.width)
            made |= _bits_of(builder, bits, {bit: wanted.get(bit, []) for bit in bits})
        first += port.bits
    inputs = [made[pair] if pair in made else builder.input(*pair) for pair in pairs]
    return finished(builder, body, builder.replay(body, inputs))


def _bits_of(
    builder: BootstrapBuilder, bits: range, wanted: dict[int, list[int]]
) -> dict[tuple[int, int], int]:
    """The signals of a number's bits in the encodings that are wanted; no further than wanted."""
    width = len(bits)
    terms = [
        (builder.input(bit, 1 << (_TURN_BITS - width + place)), 1) for place, bit in enumerate(bits)
    ]
    phase = builder.linear(terms, 0)
    last = max((bit for bit in bits if wanted[bit]), default=bits.start - 1)
    made: dict[tuple[int, int], int] = {}
    for place, bit in enumerate(range(bits.start, last + 1)):
        weight = 1 << (width - 1 - place)
        terms, constant = [(phase, weight)], 0
        if place:
            terms.append((made[bit - 1, QUARTER], -1))
            # Half of what may be left of the bits below.
            constant = (QUARTER >> place) - EIGHTH
        encodings = {*wanted[bit], *([QUARTER] if bit < last else ())}
        for finest, multiples in _groups(encodings):
            (signal,) = builder.sign(terms, constant, [finest])
            made[bit, finest] = signal
            for each in multiples:
                made[bit, each] = builder.linear([(signal, each // finest)], 0)
    return made


def _groups(encodings: Iterable[int]) -> list[tuple[int, list[int]]]:
    """Encodings, each with coarser ones that are multiples of it without much noise."""
    groups: list[tuple[int, list[int]]] = []
    for each in sorted(encodings):
        if groups and each <= groups[-1][0] * _MOST_MULTIPLE:
            groups[-1][1].append(each)
        else:
            groups.append((each, []))
    return groups

"""Results over bits as arguments of the next function over tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from cloakwork._native import Parameters
from cloakwork.errors import InvalidArgumentError, InvalidParametersError
from cloakwork.plan.parameters.bootstrapping import USUAL_RINGS
from cloakwork.programs.phases import MOST_BITS, REACH, PhasePlace
from cloakwork.programs.slots import SlotProgram
from cloakwork.programs.spec import PhaseSpec, PlacedSpec, Spec
from cloakwork.runtime.after import Result, programs_before
from cloakwork.runtime.program import Program
from cloakwork.runtime.returning import LEVEL, largest_noise

_ACTION = "take bits"
_KINDS = ("bits", "unsigned", "signed")
# Of 1 less an error, which doubles hold.
_LEAST_ERROR = -52


@dataclass(frozen=True, slots=True)
class BitsSpec(PhaseSpec):
    """What is known of an argument that is a result over bits; see `cloakwork.result`."""

    program: Program | None = None
    result: str = ""

    @property
    def of(self) -> Program:
        """The program."""
        assert self.program is not None
        return self.program


def bits_spec(given: Result, log_n: int) -> BitsSpec:
    """A result over bits as an argument of a function in a ring.

    Raises:
        InvalidArgumentError: It is of bytes or integers, or has too many bits.
    """
    port = given.port
    if port.kind not in _KINDS:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected results of the kinds {', '.join(_KINDS)}, or over reals, "
            f"got {port} of {given.program.name}; circuits over bits take it, by "
            "compile(after={name: cloakwork.result(program)})"
        )
    if port.bits > MOST_BITS:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a result of up to {MOST_BITS} bits, got {port} of "
            f"{given.program.name}, of {port.bits} bits; return it in several results"
        )
    # A power of two, so that ranges that errors widen end at 1.
    off = largest_noise(given.program, given.result) / REACH
    # Bits that are known without a key have no noise.
    error = 2.0 ** math.ceil(math.log2(max(off, 2.0**_LEAST_ERROR)))
    place = PhasePlace(1 << log_n - 1, (*port.shape, port.width))
    return BitsSpec(
        place.shape,
        low=error - 1,
        high=1 - error,
        place=place,
        error=error,
        bits=port,
        program=given.program,
        result=given.result,
    )


def in_first_ring(
    reals: Sequence[Spec], bits: Sequence[Result], made: Callable[[int], Program]
) -> Program:
    """The program in the ring of numbers before, or in the first that is large enough.

    Args:
        reals: Results over reals beside those over bits.
        bits: The results over bits.
        made: Plans it in a ring.

    Raises:
        InvalidParametersError: There is no such ring.
    """
    known = [each.place.slots for each in reals if isinstance(each, PlacedSpec) and each.place]
    rings = [slots.bit_length() for slots in known] or [*_rings_before(bits)]
    *others, last = rings[:1] or USUAL_RINGS
    for ring in others:
        with suppress(InvalidParametersError):
            program = made(ring)
            _require_return_level(program)
            return program
    return made(last)


def _require_return_level(program: Program) -> None:
    """Refuse a program whose ring leaves no level for what brings bits into slots."""
    own = program.scheme.parameters
    Parameters(
        levels=own.levels + LEVEL,
        scale_bits=own.scale_bits,
        headroom_bits=own.headroom_bits,
        log_n=own.log_n,
        word_bits=own.word_bits,
        insecure=own.insecure,
    )


def _rings_before(results: Sequence[Result]) -> Iterator[int]:
    """Base-2 logarithms of the rings of numbers that bits were made of."""
    for each in results:
        for one in programs_before(each.program):
            if isinstance(one.body, SlotProgram):
                yield one.scheme.parameter_sets[0].log_n

"""What every operation of a program would take on ciphertexts, on this machine."""

from __future__ import annotations

from cloakwork._native import BgvParameters, Parameters, ntt_seconds
from cloakwork.plan.cost.measure import kept, modelled_for
from cloakwork.plan.cost.table import seconds_of
from cloakwork.programs.slots import Program

_TRANSFORMS = 20


def modelled_seconds(program: Program, parameters: Parameters) -> list[float]:
    """Seconds of every operation, added up over threads.

    By the costs measured on this machine where they are at hand, since to measure them takes
    seconds; otherwise by counting transforms (NTT) and timing one.

    Raises:
        InvalidArgumentError: The program has a level that the parameters lack.

    Example:
        >>> from cloakwork.programs.slots import Input, Rotate
        >>> program = Program("", 512, (Input("x", 1), Rotate(0, 1)), (None,) * 2)
        >>> waiting, working = modelled_seconds(
        ...     program, Parameters(levels=1, log_n=10, insecure=True)
        ... )
        >>> waiting, working > 0
        (0.0, True)
    """
    known = kept(parameters)
    if known is not None:
        return seconds_of(program, known)
    transform = ntt_seconds(parameters, _TRANSFORMS)
    return [transform * count for count in seconds_of(program, modelled_for(parameters))]


def modelled_integer_seconds(program: Program, parameters: BgvParameters) -> list[float]:
    """Seconds of every operation modulo one prime, by counting transforms and timing one.

    Raises:
        InvalidArgumentError: The program has a level that the parameters lack.
    """
    ring = Parameters(levels=0, log_n=parameters.log_n, insecure=True)
    transform = ntt_seconds(ring, _TRANSFORMS)
    return [transform * count for count in seconds_of(program, modelled_for(parameters))]

"""What every operation of a program would take on ciphertexts, on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cloakwork._native import BgvParameters, Parameters, ntt_seconds
from cloakwork.plan.cost.measure import known, modelled_for
from cloakwork.plan.cost.table import Costs, seconds_of
from cloakwork.programs.slots import SlotProgram

_TRANSFORMS = 20


def costs_here(parameters: Parameters) -> Costs:
    """Costs in seconds on this machine.

    Those measured before where they are at hand, since to measure them takes seconds; otherwise
    counted in transforms (NTT), one of which is timed.

    Example:
        >>> costs_here(Parameters(levels=1, log_n=10, insecure=True)).rotation(1) > 0
        True
    """
    costs = known(parameters)
    return modelled_for(parameters).scaled(_transform(parameters)) if costs is None else costs


def modelled_seconds(program: SlotProgram, scheme: Any) -> list[float]:
    """Seconds of every operation, added up over threads, and over the primes of BGV.

    Args:
        program: The program.
        scheme: What it runs under, which encrypts.

    Raises:
        InvalidArgumentError: The program has a level that the parameters lack.

    Example:
        >>> from cloakwork.programs.slots import Input, Rotate
        >>> from cloakwork.schemes.ckks import Ckks
        >>> program = SlotProgram("", 512, (Input("x", 1), Rotate(0, 1)), (None,) * 2)
        >>> scheme = Ckks(Parameters(levels=1, log_n=10, insecure=True))
        >>> waiting, working = modelled_seconds(program, scheme)
        >>> waiting, working > 0
        (0.0, True)
    """
    if program.numbers == "real":
        return seconds_of(program, costs_here(scheme.parameters))
    totals = [0.0] * len(program.operations)
    for parameters in scheme.parameter_sets:
        ring = Parameters(levels=0, log_n=parameters.log_n, insecure=True)
        costs = modelled_for(parameters).scaled(_transform(ring))
        totals = _added(totals, seconds_of(program, costs))
    return totals


def _added(left: Sequence[float], right: Sequence[float]) -> list[float]:
    return [first + second for first, second in zip(left, right, strict=True)]


def _transform(parameters: Parameters | BgvParameters) -> float:
    assert isinstance(parameters, Parameters)
    return ntt_seconds(parameters, _TRANSFORMS)

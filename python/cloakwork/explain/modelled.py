"""What every operation of a program would take on ciphertexts, on this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cloakwork._native import Parameters, ntt_seconds
from cloakwork.plan.cost.measure import known
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.costs import Costs, modelled_for, seconds_of

_TRANSFORMS = 20


def costs_here(parameters: Parameters) -> Costs:
    """Costs in seconds: those measured before, or counted in transforms, one of which is timed."""
    # To measure them takes seconds.
    costs = known(parameters)
    return costs or modelled_for(parameters).scaled(ntt_seconds(parameters, _TRANSFORMS))


def costs_with_bootstraps(scheme: Any) -> Costs:
    """Costs in seconds under a scheme's parameters, and of bootstraps, whose diagonals are kept."""
    costs = costs_here(scheme.parameters)
    kept = costs.kept().with_bootstrap(scheme.refreshing)
    return replace(costs, bootstrap=kept.bootstrap, bootstrap_pair=kept.bootstrap_pair)


def modelled_seconds(program: SlotProgram, scheme: Any) -> list[float]:
    """Seconds of every operation, added up over threads, and over the primes of BGV."""
    if program.numbers == "real":
        return seconds_of(program, costs_with_bootstraps(scheme))
    by_prime: list[list[float]] = []
    for parameters in scheme.parameter_sets:
        ring = Parameters(levels=0, log_n=parameters.log_n, insecure=True)
        costs = modelled_for(parameters).scaled(ntt_seconds(ring, _TRANSFORMS))
        by_prime.append(seconds_of(program, costs))
    return [sum(seconds) for seconds in zip(*by_prime, strict=True)]

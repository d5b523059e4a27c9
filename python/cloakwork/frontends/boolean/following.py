"""Programs over bits whose inputs are results of other programs over bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, InvalidProgramError, NoiseBudgetError
from cloakwork.plan.cost.tfhe import BitCosts
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.bootstraps_in_a_row import with_encodings
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.port import BIT_KINDS
from cloakwork.runtime.after import After, Result
from cloakwork.runtime.program import Program
from cloakwork.schemes.tfhe import Tfhe
from cloakwork.schemes.tfhe_noise import BitNoise


def links_of(gates: GateProgram, after: object, action: str) -> tuple[After, ...]:
    """The inputs of a circuit that are results of others.

    Raises:
        InvalidArgumentError: There is no such input, or the result is of another kind.
    """
    if not isinstance(after, Mapping) or not all(
        isinstance(each, Result) for each in after.values()
    ):
        raise InvalidArgumentError(
            f"cannot {action}: expected results by the names of inputs, as "
            f"after={{'a': cloakwork.result(first)}}, got {shown(after)}"
        )
    ports = {port.name: port for port in gates.inputs}
    for name, each in after.items():
        if name not in ports:
            raise InvalidArgumentError(
                f"cannot {action}: expected one of the inputs {', '.join(ports)}, got {shown(name)}"
            )
        if replace(each.port, name=name) != ports[name] or each.port.kind not in BIT_KINDS:
            raise InvalidArgumentError(
                f"cannot {action}: expected a result that is {ports[name]}, got {each.port} of "
                f"{each.program.name}; declare both in the same way"
            )
    return tuple(After(name, each.program, each.result) for name, each in after.items())


def sets_of(links: Sequence[After], sets: Sequence[BitCosts]) -> list[BitCosts]:
    """The parameter sets that the programs before may have, too, with the noise of results."""
    if not links:
        return [*sets]
    return [
        replace(each, noise=replace(each.noise, fresh_variance=_of_inputs(each.noise)))
        for each in sets
        if all(_is_fit(each.name, link.program) for link in links)
    ]


def _is_fit(name: str, program: Program) -> bool:
    """Whether a program may have the parameters of a set."""
    try:
        Tfhe(name, program.scheme.failure_bits).require_fitting(program.whole_body)
    except (InvalidProgramError, NoiseBudgetError):
        return False
    return True


def _of_inputs(noise: BitNoise) -> float:
    """The variance of inputs that some encrypt and others are outputs of bootstraps."""
    return max(noise.fresh_variance, noise.bootstrap_variance)


def following_bits(program: Program, links: tuple[After, ...]) -> Program:
    """A program that takes results as they are encoded; through bootstraps where they are noisy.

    Raises:
        NoiseBudgetError: They are too noisy for a bootstrap, too.
    """
    body = program.body
    assert isinstance(body, BootstrapProgram)
    given: dict[int, int] = {}
    for each in links:
        first = each.program.body
        assert isinstance(first, BootstrapProgram)
        ((own, result),) = each.ports(body, first)
        start = sum(port.bits for port in body.inputs[:own])
        encodings = first.output_encodings[first.output_slices[result]].tolist()
        given |= dict(enumerate(encodings, start))
    with suppress(NoiseBudgetError):
        return replace(program, body=with_encodings(body, given, refreshed=False), after=links)
    return replace(program, body=with_encodings(body, given, refreshed=True), after=links)

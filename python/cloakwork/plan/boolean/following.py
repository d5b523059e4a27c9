"""Programs over bits whose inputs are results of other programs, over bits or out of slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, InvalidProgramError, NoiseBudgetError
from cloakwork.plan.cost.tfhe import BitCosts
from cloakwork.programs.bits_of_numbers import MOST_BITS, with_numbers
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.bootstraps_in_a_row import with_encodings
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.port import BIT_KINDS, Port
from cloakwork.runtime.after import (
    After,
    ResultOf,
    own_parts,
    programs_before,
    require_told_apart,
    shape_of,
)
from cloakwork.runtime.leaving import Leaving, fits, range_of, require_modulus, slots_of
from cloakwork.runtime.program import Program
from cloakwork.schemes.bridged import takes_numbers
from cloakwork.schemes.tfhe import Tfhe
from cloakwork.schemes.tfhe_noise import BitNoise


def links_of_inputs(gates: GateProgram, after: object, action: str) -> tuple[After, ...]:
    """The inputs of a circuit that are results of others.

    Raises:
        InvalidArgumentError: There is no such input, or the result is of another kind.
    """
    if not isinstance(after, Mapping) or not all(
        isinstance(each, ResultOf) and isinstance(each.program, Program) for each in after.values()
    ):
        raise InvalidArgumentError(
            f"cannot {action}: expected results by the names of inputs, as "
            f"after={{'a': cloakwork.result(first)}}, got {shown(after)}"
        )
    require_told_apart(after.values(), action)
    ports = {port.name: port for port in gates.inputs}
    links: list[After] = []
    for name, each in after.items():
        if name not in ports:
            raise InvalidArgumentError(
                f"cannot {action}: expected one of the inputs {', '.join(ports)}, got {shown(name)}"
            )
        first, wanted = each.program, ports[name]
        assert isinstance(first, Program)
        given = next(port for port in first.outputs if port.name == each.result)
        if given.kind not in BIT_KINDS:
            links.append(Leaving(name, first, each.result))
            _require_held(wanted, given, first, action)
        elif replace(given, name=name) == wanted:
            links.append(After(name, first, each.result))
        else:
            raise InvalidArgumentError(
                f"cannot {action}: expected a result that is {wanted}, got {given} of "
                f"{first.name}; declare both in the same way"
            )
    return tuple(links)


def _require_held(wanted: Port, given: Port, first: Program, action: str) -> None:
    """Refuse a result over reals or integers that an input over bits does not hold."""
    if not fits(first, given, wanted):
        least, greatest = range_of(first, given)
        rounded = ", with the noise by which they are rounded" if given.kind == "real" else ""
        raise InvalidArgumentError(
            f"cannot {action}: expected an input of the shape {shape_of(first, given)} that holds "
            f"{given.name} of {first.name}, numbers from {least:g} to {greatest:g}{rounded}, in up "
            f"to {MOST_BITS} bits, got {wanted}; declare it with more bits or fewer after the "
            f"point, or narrower ranges of the inputs of {first.name}, from which those of its "
            "results follow"
        )
    slots_of(first, given.name)
    if first.scheme.exact:
        require_modulus(first, wanted, action)


def sets_of(links: Sequence[After], sets: Sequence[BitCosts], action: str) -> list[BitCosts]:
    """The parameter sets that the programs before may have, too, with the noise of results.

    Raises:
        NoiseBudgetError: There are none.
    """
    if not links:
        return [*sets]
    found = [
        replace(each, noise=replace(each.noise, fresh_variance=_of_inputs(each.noise)))
        for each in sets
        if all(_is_fit(each.name, link.program) for link in links)
        and (takes_numbers(each.name) or not any(map(_leaves_slots, links)))
    ]
    if not found:
        raise NoiseBudgetError(
            f"cannot {action}: expected parameters in which bootstraps of it and of "
            f"{', '.join(link.name for link in links)} go wrong as seldom as they may, got none; "
            "compile all with fewer failure_bits"
        )
    return found


def _leaves_slots(link: After) -> bool:
    """Whether a number leaves slots for it, or before it."""
    return isinstance(link, Leaving) or any(map(_leaves_slots, link.program.after))


def _is_fit(name: str, program: Program) -> bool:
    """Whether a program and those before it may have the parameters of a set, if over bits."""
    for each in (*programs_before(program), program):
        if isinstance(each.body, BootstrapProgram):
            try:
                Tfhe(name, each.scheme.failure_bits).require_fitting_row(each.name, own_parts(each))
            except (InvalidProgramError, NoiseBudgetError):
                return False
    return True


def _of_inputs(noise: BitNoise) -> float:
    """The variance of inputs that some encrypt and others are outputs of bootstraps."""
    return max(noise.fresh_variance, noise.bootstrap_variance)


def following_bits(program: Program, links: tuple[After, ...]) -> Program:
    """A program that takes results as they are encoded; through bootstraps where they are noisy.

    Numbers out of slots come as one phase each.

    Raises:
        NoiseBudgetError: They are too noisy for a bootstrap, too.
    """
    body = program.body
    assert isinstance(body, BootstrapProgram)
    numbers = [own for each in links if isinstance(each, Leaving) for own, _ in each.pairs(program)]
    if numbers:
        body = with_numbers(body, numbers)
    given: dict[int, int] = {}
    for each in links:
        first = each.program.body
        if not isinstance(first, BootstrapProgram):
            continue
        ((own, result),) = each.pairs(program)
        start = sum(port.bits for port in body.inputs[:own])
        encodings = first.output_encodings[first.output_slices[result]].tolist()
        given |= dict(enumerate(encodings, start))
    with suppress(NoiseBudgetError):
        return replace(program, body=with_encodings(body, given, refreshed=False), after=links)
    return replace(program, body=with_encodings(body, given, refreshed=True), after=links)

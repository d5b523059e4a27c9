"""Programs over integers that take results of others, brought to where they want their inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import (
    CloakworkError,
    InsecureParametersError,
    InvalidArgumentError,
    KeyBudgetError,
    NoiseExhaustedError,
    ParametersMismatchError,
)
from cloakwork.plan.circuits.function_ranges import Range
from cloakwork.plan.parameters.bgv import roomier_sets
from cloakwork.plan.parameters.together import together
from cloakwork.plan.passes.bringing import with_brought
from cloakwork.programs.ir.vectors import PlacedScalar
from cloakwork.programs.packing.matrix import IntegerMatrixPacking, ScatteredIntegers
from cloakwork.programs.packing.scalar import ScalarPacking, bits_of
from cloakwork.programs.places import ScatteredPlace
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.after import Result, programs_before
from cloakwork.runtime.by_element import (
    OfIntegers,
    elements_left,
    elements_taken,
    range_of_integers,
)
from cloakwork.runtime.leaving import slots_of
from cloakwork.runtime.program import Program
from cloakwork.schemes.bgv import Bgv

# How often results are switched down before they are brought to their places, tried in turn.
_SWITCHES = (0, 1, 2)


def range_of_exact(result: Result, action: str) -> Range:
    """What a result comes to that a program over integers can take.

    Raises:
        InvalidArgumentError: It is not over integers, or is not the integer that it stands for.
    """
    program, port, packing = result.program, result.port, result.program.packing
    reason = ""
    if port.kind != "integer":
        reason = f"got {port}; circuits over bits take it, by compile(after=) of theirs"
    elif isinstance(packing, IntegerMatrixPacking) and packing.modulus is not None:
        reason = f"got results modulo {packing.modulus}; compile it without modulus="
    elif isinstance(packing, ScalarPacking) and packing.wrapping:
        low, high = range_of_integers(program, port)
        if bits_of((low, high)) > packing.bits:
            reason = "got results that may wrap around; compile it without wrapping="
    if reason:
        raise InvalidArgumentError(
            f"cannot {action}: expected results over integers, {port.name} of {program.name}: "
            f"{reason}"
        )
    return range_of_integers(program, port)


def ring_of_integers(results: Sequence[Result], log_n: int | None, action: str) -> int:
    """Base-2 logarithm of the ring degree of results, in which what follows them is.

    Raises:
        InvalidArgumentError: They are in several, or in another than the one asked for.
    """
    rings = {each.program.scheme.parameter_sets[0].log_n for each in results}
    asked = rings | ({log_n} if log_n is not None else set())
    if len(asked) > 1:
        raise InvalidArgumentError(
            f"cannot {action}: expected results in the ring of one log_n, got "
            f"{', '.join(f'log_n={each}' for each in sorted(asked))}; compile all with "
            f"log_n={max(asked)}"
        )
    return asked.pop()


def following_integers(
    program: Program,
    results: Mapping[str, Result],
    key_budget: int | None,
    *,
    insecure: bool,
) -> Program:
    """A program that takes results of others for some inputs, each where it lies.

    Numbers are brought to where the program wants them, which takes a level, and what else lies in
    a result's slots becomes zero.

    Args:
        program: The program, whose vectors hold none of these inputs beside others.
        results: The results, by the names of the inputs.
        key_budget: Bytes for all evaluation keys; None for no limit.
        insecure: Whether parameters below 128-bit security are allowed.

    Raises:
        InvalidArgumentError: Numbers lie in the second rows of vectors.
        InsecureParametersError: What all takes is not 128-bit secure in the ring.
        KeyBudgetError: The keys take more than the budget.
        NoiseExhaustedError: No modulus leaves the noise enough room.
    """
    ways = []
    refusal: CloakworkError | None = None
    for switches in _SWITCHES:
        try:
            made = _with_results(program, results, switches, insecure=insecure)
            *_, last = together(*programs_before(made), made, insecure=insecure)
        except (NoiseExhaustedError, ParametersMismatchError, InsecureParametersError) as error:
            refusal = refusal or error
        else:
            ways.append((last.scheme.parameter_sets[0].log_qp, made))
    if not ways:
        assert refusal is not None
        raise refusal
    program = min(ways, key=lambda each: each[0])[1]
    if key_budget is not None and program.key_bytes > key_budget:
        raise KeyBudgetError(
            f"cannot compile {program.name}: expected keys of up to {key_budget} bytes, got "
            f"{program.key_bytes} with those that bring results to their places; give a larger "
            "key_budget",
            least=program.key_bytes,
        )
    return program


def _with_results(
    program: Program, results: Mapping[str, Result], switches: int, *, insecure: bool
) -> Program:
    """The program with results that are switched down so often before they are brought."""
    body, packing = program.body, program.packing
    assert isinstance(body, SlotProgram)
    links = []
    for port in program.inputs:
        numbers = packing.vectors_of([port.name])
        if port.name not in results or not numbers:
            continue
        result = results[port.name]
        _require_distinct(result)
        link = OfIntegers(port.name, result.program, result.result)
        links.append(link)
        wanted = _first_rows(elements_taken(program, port), port.name, program)
        left = _first_rows(
            elements_left(result.program, result.result), result.result, result.program
        )
        body, _ = with_brought(body, port.name, wanted, left, switches)
        places = np.concatenate(
            [
                number * body.slots + np.flatnonzero(each >= 0)
                for number, each in enumerate(left.values())
            ]
        )
        order = np.concatenate([each[each >= 0] for each in left.values()])
        packing = _taking(packing, port.name, places[np.argsort(order)], port.shape)
        program = _in_room(program, body, packing, insecure=insecure)
    return replace(program, after=tuple(links))


def _require_distinct(result: Result) -> None:
    """Refuse a result of which two numbers are one, in one slot.

    Raises:
        InvalidArgumentError: They are.
    """
    slots = slots_of(result.program, result.result)
    if np.unique(slots).size < slots.size:
        raise InvalidArgumentError(
            f"cannot compile: expected every number of {result.result} of {result.program.name} "
            "once, got one several times; return it once, and let the next function use it again"
        )


def _first_rows(
    found: Mapping[int, NDArray[np.int64]], name: str, program: Program
) -> dict[int, NDArray[np.int64]]:
    """The elements in the first rows of vectors, if there are none in the second."""
    rows = {number: each.reshape(2, -1) for number, each in found.items()}
    if any((each[1] >= 0).any() for each in rows.values()):
        raise InvalidArgumentError(
            f"cannot compile: expected {name} of {program.name} in the first rows of ciphertexts, "
            f"got numbers in both of {program.scheme}; compile both with a larger log_n, or "
            "multiply in parts"
        )
    return {number: each[0] for number, each in rows.items()}


def _in_room(program: Program, body: SlotProgram, packing: Any, *, insecure: bool) -> Program:
    """The program with a body of more levels, under parameters that leave its noise enough room."""
    sets = program.scheme.parameter_sets
    moduli = [each.plaintext_modulus for each in sets]
    refusal: NoiseExhaustedError | None = None
    for each in roomier_sets([sets], moduli, body.top_level, insecure=insecure):
        scheme = Bgv(each, public_inputs=program.scheme.public_inputs)
        made = replace(program, scheme=scheme, body=body, packing=packing)
        try:
            _ = made.noise_of_results
        except NoiseExhaustedError as error:
            refusal = error
        else:
            return made
    assert refusal is not None
    raise refusal


def _taking(packing: Any, name: str, places: NDArray[np.int64], shape: tuple[int, ...]) -> Any:
    """A packing that holds an input in these slots, in place of where it held it."""
    if isinstance(packing, ScalarPacking):
        return _taking_scalars(packing, name, places)
    assert isinstance(packing, IntegerMatrixPacking)
    argument = [port.name for port in packing.inputs].index(name)
    own = ScatteredIntegers(argument, ScatteredPlace(packing.slots, places, shape))
    first = [each.argument for each in packing.placed].index(argument)
    placed = [each for each in packing.placed[first:] if each.argument != argument]
    return replace(packing, placed=(*packing.placed[:first], own, *placed))


def _taking_scalars(packing: ScalarPacking, name: str, places: NDArray[np.int64]) -> ScalarPacking:
    slots = packing.slots
    vectors: list[list[PlacedScalar]] = [[] for _ in range(int(places.max()) // slots + 1)]
    for index, place in enumerate(places.tolist()):
        vectors[place // slots].append(PlacedScalar(place % slots, name, index))
    inputs: list[tuple[PlacedScalar, ...]] = []
    own = set(packing.vectors_of([name]))
    for number, scalars in enumerate(packing.places.inputs):
        if number not in own:
            inputs.append(scalars)
        elif number == min(own):
            inputs += map(tuple, vectors)
    # What lies beside the places of one evaluation is not that of another.
    return replace(packing, places=replace(packing.places, width=slots, inputs=tuple(inputs)))

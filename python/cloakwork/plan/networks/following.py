"""Networks whose inputs are results of other programs, brought to where their layers take them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import Parameters
from cloakwork.errors import (
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
)
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.passes.bringing import with_brought
from cloakwork.programs.matrices import MatrixPlace
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.places import Places
from cloakwork.programs.slots import Builder, Input, Output, SlotProgram
from cloakwork.runtime.after import place_of
from cloakwork.runtime.by_element import ByElement, elements_left, elements_taken
from cloakwork.runtime.executor import estimated_results
from cloakwork.runtime.program import Program
from cloakwork.schemes.ckks import Ckks

_ACTION = "compile a network"
# Of the precision, what the way to their places may take of elements.
_SPARE_BITS = 2


@dataclass(frozen=True, slots=True)
class InputResult:
    """A result that an input of a network is.

    Args:
        program: The program that makes it.
        result: Its name.
        shape: Its shape.
        bound: No number that it holds is larger.
        error: How far it may be off.
    """

    program: Program
    result: str
    shape: tuple[int, ...]
    bound: float
    error: float


def following_network(
    program: Program, results: Mapping[str, InputResult], precision: int
) -> tuple[Program, dict[str, float]]:
    """A network that takes results for some inputs, and how far these may be off in their places.

    Elements are brought to where its first layers take them, which takes a level, and adds no more
    errors than results have or the precision allows.

    Raises:
        InvalidArgumentError: It refreshes values and its parameters have no further level, or
            elements do not lie in real parts of slots.
        InsecureParametersError: A further level is not 128-bit secure in the ring.
    """
    errors: dict[str, float] = {}
    for name, result in results.items():
        program, off = _after_one(program, name, result, 2.0 ** -(precision + _SPARE_BITS))
        errors[name] = result.error + off
    return program, errors


def _after_one(
    program: Program, name: str, result: InputResult, error: float
) -> tuple[Program, float]:
    body, packing = program.body, program.packing
    assert isinstance(body, SlotProgram)
    assert isinstance(packing, BatchPacking)
    assert packing.width == 1
    port = next(port for port in packing.inputs if port.name == name)
    if port.shape != result.shape:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a result of the shape {port.shape} of its input {name}, "
            f"got {result.result} of {result.program.name}, {result.shape}; reshape it there"
        )
    wanted = elements_taken(program, port)
    left = elements_left(result.program, result.result)
    place = place_of(result.program, result.result)
    is_real = not isinstance(place, MatrixPlace) or place.is_real
    changed, values = with_brought(body, name, wanted, left, is_real=is_real)
    places = np.concatenate(
        [at * body.slots + np.flatnonzero(each >= 0) for at, each in enumerate(left.values())]
    )
    order = np.concatenate([each[each >= 0] for each in left.values()])
    number = packing.inputs.index(port)
    input_places = [*packing.input_places]
    input_places[number] = Places(body.slots, places[np.argsort(order)])
    inputs = [*packing.inputs]
    inputs[number] = replace(port, low=-result.bound, high=result.bound)
    for scheme in _with_levels(program.scheme, changed):
        off = _error_of_bringing(scheme, body, wanted, left, result.bound, is_real=is_real)
        if off <= max(result.error, error):
            break
    made = replace(
        program,
        scheme=scheme,
        body=changed,
        packing=replace(packing, inputs=tuple(inputs), input_places=tuple(input_places)),
        ranges=tuple(
            replace(each, values=tuple(values[value] for value in each.values))
            for each in program.ranges
        ),
        after=(*program.after, ByElement(name, result.program, result.result)),
    )
    return made, off


def _with_levels(scheme: Ckks, body: SlotProgram) -> Iterator[Ckks]:
    """The scheme with as many levels as the operations take, with longer and longer scales."""
    own = scheme.parameters
    if refreshes(body):
        if own.levels < body.top_level:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected parameters with a level to bring a result to its "
                f"places, got {scheme}, in which values are refreshed; compile it with a smaller "
                "precision, or with bootstrap=False"
            )
        yield scheme
        return
    for scale_bits in (own.scale_bits, *range(math.floor(own.scale_bits) + 1, SCALE_BITS[-1] + 1)):
        try:
            made = Parameters(
                levels=body.top_level,
                scale_bits=scale_bits,
                headroom_bits=own.headroom_bits,
                log_n=own.log_n,
                word_bits=own.word_bits,
                insecure=own.insecure,
            )
        except InsecureParametersError as refusal:
            raise InsecureParametersError(
                f"cannot {_ACTION}: to bring a result to its places takes a level more, of a scale "
                f"of {scale_bits:g} bits: {refusal.reason}; compile both with "
                f"log_n={own.log_n + 1}"
            ) from refusal
        except InvalidParametersError:
            continue
        yield Ckks(made, public_inputs=scheme.public_inputs)


def _error_of_bringing(
    scheme: Ckks,
    body: SlotProgram,
    wanted: Mapping[int, NDArray[np.int64]],
    left: Mapping[int, NDArray[np.int64]],
    bound: float,
    *,
    is_real: bool,
) -> float:
    """How far elements are off by being brought to their places."""
    builder = Builder(body.title, body.slots)
    inputs = [each.level for each in body.operations if isinstance(each, Input)]
    taken = {at: builder.append(Input("", inputs[number])) for at, number in enumerate(wanted)}
    for value in taken.values():
        builder.append(Output(value))
    numbered = dict(enumerate(wanted.values()))
    alone, _ = with_brought(builder.finish(), "", numbered, left, is_real=is_real)
    bounds = [bound] * len(left)
    ((*found,),) = estimated_results(scheme, alone, bounds, [bound] * len(alone.operations))
    return float(2.0 ** -min(each.precision for each in found))

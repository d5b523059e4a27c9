"""Inputs of a run that are not encrypted, which programs over bits alone take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, MalformedBytesError, ShapeMismatchError
from cloakwork.programs.packing import Packed, bound_arguments
from cloakwork.programs.packing.bits import results_of_bits
from cloakwork.programs.slots import SlotProgram

if TYPE_CHECKING:
    from cloakwork.runtime.interface import Interface
    from cloakwork.runtime.program import Program


def clear_inputs(
    program: Program | Interface, clear: Mapping[str, Any] | None, action: str
) -> dict[int, NDArray[np.uint8]]:
    """The bits of inputs that are given in the clear, by the numbers of their ports.

    Raises:
        InvalidArgumentError: They are not values by name, or the program is not over bits.
        ShapeMismatchError: They are of several evaluations, or a shape does not fit.
        ValueOutOfRangeError: A number lies outside the range of its input.
    """
    if clear is None:
        return {}
    if not isinstance(clear, Mapping):
        raise InvalidArgumentError(
            f"cannot {action}: expected the inputs in the clear as values by name, got "
            f"{shown(clear)}"
        )
    if clear and isinstance(program.body, SlotProgram):
        names = ", ".join(map(str, clear))
        advice = f"encrypt {names} with the client"
        if program.scheme.public_inputs:
            advice += " or with a public key of its"
        raise InvalidArgumentError(
            f"cannot {action}: expected encrypted inputs, got {names} in the clear, and "
            f"programs over bits alone take inputs in the clear; {advice}"
        )
    return dict(packed_clear(program, clear, action).runs[0])


def packed_clear(program: Program | Interface, named: Mapping[str, Any], action: str) -> Packed:
    """Inputs in the clear as they lie in a run, the same for all evaluations.

    Raises:
        ShapeMismatchError: They are of several evaluations, or a shape does not fit.
        ValueOutOfRangeError: A number lies outside the range of its input.
    """
    packed = program.packing.pack(bound_arguments(program.inputs, (), named, action), action)
    if packed.count is not None:
        raise ShapeMismatchError(
            f"cannot {action}: expected clear inputs that serve all evaluations, got "
            f"{packed.count} evaluations of them"
        )
    return packed


def values_of_clear(
    program: Program | Interface, bits: Mapping[int, NDArray[np.uint8]], action: str
) -> dict[str, Any] | None:
    """The values that `clear_inputs` found the bits of, by name; None where there are none.

    Raises:
        MalformedBytesError: They are not bits of the program's inputs.
    """
    if not bits:
        return None
    ports = program.packing.inputs
    found: dict[str, Any] = {}
    for number, row in bits.items():
        if not (number < len(ports) and row.shape == (ports[number].bits,) and (row < 2).all()):
            raise MalformedBytesError(
                f"cannot {action}: expected the bits of its inputs in the clear, got others; give "
                "values of the program's inputs"
            )
        found.update(results_of_bits([ports[number]], row[None], many=False))
    return found

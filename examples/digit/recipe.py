"""What a page needs of a program over reals: which slots, levels and keys, of its interface.

An interface says how arguments lie in ciphertexts in the words of its packing, of which there are
many. A page that serves one program needs what follows from them: which number goes into which
slot, and which slot each result comes from.
"""

from __future__ import annotations

import base64
from typing import Any, TypeAlias

import numpy as np

import cloakwork as cw
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime import container
from cloakwork.schemes.base import levels_of

Recipe: TypeAlias = dict[str, Any]
# What goes into a slot that no number goes into.
_NOTHING = -1


def recipe_of(name: str, program: cw.Program) -> Recipe:
    """What a page encrypts, which evaluation keys it makes, and what it decrypts, as JSON has it.

    Args:
        name: What the server calls the program.
        program: A program over reals of one ciphertext that goes in and one that comes out, whose
            keys are those of products and of rotations.

    Raises:
        InvalidArgumentError: It is another.

    Example:
        >>> recipe = recipe_of("double", cw.compile(lambda x: x * 2, (2,)))
        >>> recipe["input"]["numbers"][:2], recipe["result"]["slots"], recipe["keys"]["rotations"]
        ([0, 1], [0, 1], [])
    """
    interface = cw.Interface.of(program)
    body = _simple_body(interface)
    (taken,), (made,) = interface.inputs, interface.outputs
    keys, estimates, bounds = (
        interface.required_keys,
        interface.estimated_results,
        interface.input_bounds,
    )
    # Programs over reals have all of them.
    assert keys is not None
    assert estimates is not None
    assert bounds is not None
    return {
        "container": container.VERSION,
        "program": {"name": name, "fingerprint": interface.fingerprint},
        "parameters": base64.b64encode(program.scheme.parameters.to_bytes()).decode(),
        "input": {
            "name": taken.name,
            "numbers": _numbers_of_slots(interface, taken),
            "low": taken.low,
            "high": taken.high,
            "level": levels_of(body, "inputs")[0],
            "bound": bounds[0],
        },
        "keys": {
            "relinearisation": keys.relinearisation_level,
            "rotations": sorted(keys.rotations.items()),
        },
        "result": {
            "name": made.name,
            "slots": _slots_of_results(interface, body),
            "level": estimates[0].level,
            "scale": estimates[0].scale,
            "deviation": estimates[0].deviation,
            "bound": estimates[0].bound,
            "error": interface.error,
        },
    }


def _simple_body(interface: cw.Interface) -> SlotProgram:
    """The stand-in of a program that a recipe can say all of.

    Raises:
        InvalidArgumentError: It cannot.
    """
    body, keys = interface.body, interface.required_keys
    ports = (*interface.inputs, *interface.outputs)
    is_simple = (
        isinstance(body, SlotProgram)
        and interface.estimated_results is not None
        and interface.packing.vector_counts == (1, 1)
        and not (interface.row or interface.kept or interface.after)
        and not any(port.exponent for port in ports)
    )
    has_other_keys = keys is None or any(
        (keys.conjugation_level, keys.rotated_products, keys.encapsulation_weight)
    )
    if not is_simple or has_other_keys:
        raise cw.errors.InvalidArgumentError(
            f"cannot make a recipe of {interface.name}: expected a program over reals of one "
            "ciphertext that goes in and one that comes out, with keys of products and rotations "
            f"alone, got {interface!r:.120}; serve it to clients in Python"
        )
    assert isinstance(body, SlotProgram)
    return body


def _numbers_of_slots(interface: cw.Interface, port: cw.Port) -> list[int]:
    """For each slot which number of the input goes into it, or that it stays zero."""
    count = int(np.prod(port.shape))
    assert port.high is not None
    # All of them differ, and from zero.
    numbers = port.high * np.arange(1, count + 1) / count
    packed = interface.pack({port.name: numbers.reshape(port.shape)}, "make a recipe")
    vector = np.asarray(packed.runs[0].some([0])[0], dtype=np.float64)
    places = np.searchsorted(numbers, vector).clip(max=count - 1)
    found = np.where(vector == 0, _NOTHING, places)
    if not np.array_equal(np.where(vector == 0, 0, numbers[places]), vector):
        raise cw.errors.InvalidArgumentError(
            f"cannot make a recipe of {interface.name}: expected a packing that puts numbers into "
            "slots as they are, got one that changes them; serve it to clients in Python"
        )
    return [int(each) for each in found]


def _slots_of_results(interface: cw.Interface, body: SlotProgram) -> list[int]:
    """For each number of the result which slot it comes from."""
    slots = np.arange(body.slots, dtype=np.float64)
    found = interface.packing.unpack_parts([[{0: slots}]], None)
    return [int(each) for each in np.ravel(found)]

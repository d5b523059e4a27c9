"""How much room each value of a network's program needs for every input that is accepted."""

from __future__ import annotations

import numpy as np

from cloakwork.plan.networks.lower import Lowered
from cloakwork.programs.bounds import value_bounds

# A value that is always 0 comes out of ciphertexts as a small number.
_LEAST = 2.0**-20


def rooms(lowered: Lowered, bound: float, width: int) -> tuple[float | None, ...]:
    """For each operation what its values do not exceed; None for constants.

    Interval arithmetic, which begins anew at every polynomial: of its operand a client
    encrypts nothing that leaves the range that the polynomial is meant for.

    Args:
        lowered: The program.
        bound: The largest absolute value of an input.
        width: Inputs that a ciphertext has room for.

    Example:
        >>> from cloakwork.programs.packing.batch import Packing
        >>> from cloakwork.programs.slots import Builder, Input, Output
        >>> builder = Builder("same", 2)
        >>> _ = builder.append(Output(builder.append(Input("x", 0))))
        >>> packing = Packing(2, np.array([0, 1]))
        >>> rooms(Lowered(builder.finish(), packing, packing, ()), 3.0, 1)
        (3.0, 3.0)
    """
    ceilings: dict[int, float] = {}
    for watch in lowered.watches:
        reached = max(abs(end * watch.scale + watch.shift) for end in (watch.low, watch.high))
        for value in watch.values:
            ceilings[value] = min(reached, ceilings.get(value, reached))
    inputs = lowered.input.pack(np.full((width, len(lowered.input.places)), bound))
    found = value_bounds(lowered.program, inputs, ceilings)
    return tuple(None if each is None else max(each, _LEAST) for each in found)

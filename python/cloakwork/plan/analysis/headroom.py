"""What headroom values need, and whether polynomials have it, before any key is made."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cloakwork._native import Parameters
from cloakwork.errors import BoundOverflowError, ValueOutOfRangeError
from cloakwork.programs.keys import KeyRequirements
from cloakwork.programs.slots import Polynomial, SlotProgram
from cloakwork.schemes.ckks import Ckks

# The smallest ring: what the engine asks of bounds depends on the moduli alone.
_LOG_N = 5


def largest_at_bottom(
    program: SlotProgram, bounds: Sequence[float | None], scale_bits: int
) -> float:
    """The largest absolute value that takes as much headroom at level 0 as any value takes.

    The modulus of a level has a scale more than that of the level below, which is headroom: values
    above level 0 may be as much larger. A product that is not rescaled has spent one of them.

    Example:
        >>> from cloakwork.programs.slots import Input, Mul, Output, Rescale
        >>> made = Input("x", 1), Mul(0, 0), Rescale(1), Output(2)
        >>> program = SlotProgram("square", 4, made, (None,) * 4)
        >>> largest_at_bottom(program, [2.0**30, 64.0, 64.0, 64.0], 20)
        1024.0
    """
    return max(
        math.ldexp(bound, -scale_bits * ((state.level or 0) - state.waiting))
        for bound, state in zip(bounds, program.states, strict=True)
        if bound is not None
    )


def require_headroom(
    program: SlotProgram, bounds: Sequence[float | None], parameters: Parameters
) -> None:
    """Evaluate every polynomial once, of nothing, on a ring that is too small to take time.

    Example:
        >>> from cloakwork.programs.slots import Input, Output
        >>> operations = Input("x", 6), Polynomial(0, (0.0,) * 63 + (1.0,), "monomial"), Output(1)
        >>> stages = ("act | in order",) * 3
        >>> power = SlotProgram("power", 512, operations, (None,) * 3, stages=stages)
        >>> p = Parameters(levels=6, log_n=10, insecure=True)
        >>> require_headroom(power, [1.0, 1.0, 1.0], p)
        >>> try:
        ...     require_headroom(power, [9.0, 1.0, 1.0], p)
        ... except BoundOverflowError as error:
        ...     print(str(error).partition(":")[0])
        cannot compute layer 'act' of power, a polynomial of degree 63 of numbers up to 9
    """
    numbers = [
        number
        for number, operation in enumerate(program.operations)
        if isinstance(operation, Polynomial)
    ]
    if not numbers:
        return
    small = Parameters(
        levels=parameters.levels,
        scale_bits=parameters.scale_bits,
        headroom_bits=parameters.headroom_bits,
        log_n=_LOG_N,
        insecure=True,
    )
    scheme = Ckks(small)
    secret = scheme.secret_key()
    backend = scheme.backend(scheme.keys_for(secret, KeyRequirements(small.levels)), cache_bytes=0)
    for number in numbers:
        operation = program.operations[number]
        assert isinstance(operation, Polynomial)
        bound, level = bounds[operation.operand], program.states[operation.operand].level
        assert bound is not None
        assert level is not None
        value = scheme.encrypt_vector(secret, np.zeros(small.slots), level=level, bound=bound)
        try:
            backend.polynomial(value, operation.coefficients, operation.basis)
        except (BoundOverflowError, ValueOutOfRangeError) as error:
            layer = program.stages[number].partition(" | ")[0]
            raise BoundOverflowError(
                f"cannot compute layer {layer!r} of {program.title}, a polynomial of degree "
                f"{len(operation.coefficients) - 1} of numbers up to {bound:.4g}: {error.reason}; "
                "scale what comes to it down, lower its degree, or calibrate on narrower inputs"
            ) from error

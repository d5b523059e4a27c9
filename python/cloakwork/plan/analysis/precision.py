"""How precise a program's results will be by the engine's estimate, before it has run.

The engine keeps one error deviation per ciphertext and adds up deviations as if the
errors were one and the same; so does this, with the deviations of the noise model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cloakwork.programs.operations.base import Errors
from cloakwork.programs.slots import Constant, Output, SlotProgram
from cloakwork.runtime.schedule import sharing_transforms
from cloakwork.schemes.ckks_noise import NoiseModel

# What outgrows a double stays here, as in `programs.bounds`.
_LARGEST = float(np.finfo(np.float64).max)
# Half a bit, as the engine's errors are complex and the model's are their real parts; and a
# little, as the engine knows those of double precision too.
_MARGIN = 0.51


def predicted_precision(
    program: SlotProgram, bounds: Sequence[float | None], noise: NoiseModel
) -> float:
    """Bits after the binary point that are right in every result.

    Example:
        >>> from cloakwork.programs.slots import Input
        >>> from cloakwork.schemes.ckks_noise import noise_of
        >>> program = SlotProgram("", 512, (Input("x", 0), Output(0)), (None,) * 2)
        >>> from cloakwork._native import Parameters
        >>> parameters = Parameters(levels=0, scale_bits=40, log_n=10, insecure=True)
        >>> round(predicted_precision(program, [1.0, 1.0], noise_of(parameters)))
        30
    """
    largest = [
        float(np.abs(operation.vector).max()) if isinstance(operation, Constant) else bound
        for operation, bound in zip(program.operations, bounds, strict=True)
    ]
    sharing = sharing_transforms(program)
    deviations: list[float] = []
    for number, operation in enumerate(program.operations):
        at = Errors(
            program.context(number),
            program.states[number],
            noise,
            [deviations[operand] for operand in operation.operands],
            [largest[operand] or 0.0 for operand in operation.operands],
            sharing.get(number, 1),
        )
        made = operation.deviation(at)
        deviations.append(made if made < _LARGEST else _LARGEST)
    worst = max(
        deviation
        for operation, deviation in zip(program.operations, deviations, strict=True)
        if isinstance(operation, Output)
    )
    return -math.log2(worst) - math.log2(_tail(program.slots)) - _MARGIN


def _tail(slots: int) -> float:
    """Deviations that no error of any slot exceeds but by a chance of 2^-20.

    Errors are mostly products of two Gaussians, with the tail
    P(|XY| > t) < sqrt(4 pi t) exp(-2 t).
    """
    exponent = math.log(slots) + 20 * math.log(2)
    return (exponent + math.log(2 * math.pi * exponent) / 2) / 2

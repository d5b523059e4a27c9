"""How precise a program's results will be by the engine's estimate, before it has run.

The engine keeps one error deviation per ciphertext and adds up deviations as if the
errors were one and the same; so does this, with the deviations of the noise model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.polynomial import chebyshev, polynomial

from cloakwork._native import Parameters
from cloakwork.programs.bounds import transformed
from cloakwork.programs.slots import (
    Add,
    Basis,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    RotateSum,
    SlotProgram,
    State,
    Sub,
    operands,
)
from cloakwork.schemes.ckks_noise import NoiseModel, noise_of

# What outgrows a double stays here, as in `programs.bounds`.
_LARGEST = float(np.finfo(np.float64).max)
# Half a bit, as the engine's errors are complex and the model's are their real parts; and a
# little, as the engine knows those of double precision too.
_MARGIN = 0.51


def predicted_precision(
    program: SlotProgram, bounds: Sequence[float | None], parameters: Parameters
) -> float:
    """Bits after the binary point that are right in every result.

    Args:
        program: The program.
        bounds: The largest absolute value of each of its values, as `value_bounds` gives.
        parameters: The parameter set that it is to run under.

    Example:
        >>> from cloakwork.programs.slots import Output
        >>> program = SlotProgram("", 512, (Input("x", 0), Output(0)), (None,) * 2)
        >>> parameters = Parameters(levels=0, scale_bits=40, log_n=10, insecure=True)
        >>> round(predicted_precision(program, [1.0, 1.0], parameters))
        30
    """
    model = noise_of(parameters)
    largest = [
        float(np.abs(operation.vector).max()) if isinstance(operation, Constant) else bound
        for operation, bound in zip(program.operations, bounds, strict=True)
    ]
    deviations: list[float] = []
    for number in range(len(program.operations)):
        made = _deviation(program, number, deviations, largest, model)
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


def _deviation(
    program: SlotProgram,
    number: int,
    deviations: Sequence[float],
    largest: Sequence[float | None],
    model: NoiseModel,
) -> float:
    """Of the error of one value, those before it being known."""
    operation, state = program.operations[number], program.states[number]
    before = [deviations[operand] for operand in operands(operation)]
    reached = [largest[operand] or 0.0 for operand in operands(operation)]
    match operation:
        case Input(level=level):
            return model.encryption(level)
        case Constant():
            return 0.0
        case Add(left=left, right=right) | Sub(left=left, right=right):
            constant = any(program.states[operand].level is None for operand in (left, right))
            return sum(before) + (model.encoding(_scale(model, state)) if constant else 0.0)
        case Mul(left=left, right=right):
            factors = [
                model.encoding(_operand_scale(model, state))
                if program.states[operand].level is None
                else deviation
                for operand, deviation in zip((left, right), before, strict=True)
            ]
            product = factors[0] * reached[1] + factors[1] * reached[0] + math.prod(factors)
            return math.hypot(product, model.rotation(_scale(model, state)))
        case Rotate():
            return math.hypot(before[0], model.rotation(_scale(model, state)))
        case Linear(diagonals=diagonals):
            rows = float(transformed(np.ones(program.slots), diagonals).max())
            encoded = model.encoding(_operand_scale(model, state)) * math.sqrt(len(diagonals))
            switched = model.switching(_operand_scale(model, state)) * rows
            return math.hypot(
                before[0] * rows,
                encoded * reached[0],
                switched,
                model.rotation(_scale(model, state)),
            )
        case Polynomial(coefficients=coefficients, basis=basis):
            scale = _scale(model, state)
            slope = _SLOPES[basis](max(reached[0], 1.0), np.abs(coefficients))
            added = float(model.polynomial(scale, coefficients, basis, np.array(reached)).max())
            return math.hypot(before[0] * slope, added)
        case Rescale() | DropLevel():
            return math.hypot(before[0], model.rounding(_scale(model, state)))
        case Neg() | Output():
            return before[0]
        case RotateSum():
            raise AssertionError("programs over reals have no sums of rotations")


def _scale(model: NoiseModel, state: State) -> float:
    assert state.level is not None
    return model.scale(state.level, waiting=state.waiting)


def _operand_scale(model: NoiseModel, state: State) -> float:
    """The scale of the factors of a product."""
    assert state.level is not None
    return model.scale(state.level, waiting=False)


def _monomial_slope(value: float, coefficients: np.ndarray) -> float:
    return float(polynomial.polyval(value, polynomial.polyder(coefficients)))


def _chebyshev_slope(value: float, coefficients: np.ndarray) -> float:
    return float(chebyshev.chebval(value, chebyshev.chebder(coefficients)))


_SLOPES: Mapping[Basis, Callable[[float, np.ndarray], float]] = {
    "monomial": _monomial_slope,
    "chebyshev": _chebyshev_slope,
}

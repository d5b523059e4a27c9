"""The sign function as a composition of odd polynomials, each the nearest to 1 it can be.

Lee, Lee, No, Kim, "Minimax approximation of sign function by composite polynomial for
homomorphic comparison" (IEEE TDSC 2021; eprint 2020/834), section 3: the first polynomial
takes [gap, 1] near 1, the next takes the image of the first nearer. Used for ReLU as in
Lee et al. 2022 (eprint 2021/1688).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev

from cloakwork.plan.networks.minimax import minimax
from cloakwork.programs.ir.layers import Array

# Of each depth the largest odd degree: a smaller one of the same depth is less precise.
_DEGREES = (3, 7, 15, 31)
_MAX_DEPTH = 24

# For more bits no exchange settles in double precision, which takes half a minute to find out.
MAX_BITS = 18

_STEPS_PER_BIT = 8

# Within the gap the error is its width times much less than 1 (zeta in section 4 of the paper on
# ReLU): a wider gap leaves more error in it, a narrower one more outside it.
_GAPS = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)

# Errors are sampled on a grid; between its points they are larger by up to this factor.
_BETWEEN = 1.001

Stages = tuple[tuple[float, ...], ...]


def sign_stages(precision: float) -> Stages | None:
    """Polynomials whose composition p has |t (sign(t) - p(t))| at most `precision` on [-1, 1].

    Of the least depth, and of that the fewest coefficients.

    Args:
        precision: Largest error allowed.

    Returns:
        Coefficients of each stage in the Chebyshev basis; each takes [-1, 1] into itself, the
        last but for its own error. None beyond 18 bits, or where no composition is as precise.

    >>> stages = sign_stages(2.0**-6)
    >>> [len(stage) - 1 for stage in stages]
    [3, 3, 7]
    """
    if precision < 2.0**-MAX_BITS:
        return None
    # Layers ask for slightly different precisions; one search serves those within this step.
    return _least_deep(math.ceil(-_STEPS_PER_BIT * math.log2(precision)))


@cache
def _least_deep(steps: int) -> Stages | None:
    precision = 2.0 ** (-steps / _STEPS_PER_BIT)
    for depth in range(_DEGREES[0].bit_length(), _MAX_DEPTH + 1):
        fitting = [
            stages
            for degrees in _of_depth(depth, 0)
            for gap in _GAPS
            if (stages := _composed(degrees, min(0.5, gap * precision))) is not None
            and error_of(stages) <= precision
        ]
        if fitting:
            return min(fitting, key=lambda stages: sum(map(len, stages)))
    return None


def composed_value(stages: Stages, t: Array) -> Array:
    """The composition at t."""
    for coefficients in stages:
        t = np.asarray(chebyshev.chebval(t, coefficients), dtype=np.float64)
    return t


def error_of(stages: Stages) -> float:
    """The largest |t (sign(t) - p(t))| over [-1, 1]."""
    t = np.concatenate([np.geomspace(1e-9, 1.0, 20000), np.linspace(0.0, 1.0, 20000)])
    return float(np.abs(t * (1.0 - composed_value(stages, t))).max())


def _of_depth(depth: int, first: int) -> Iterator[tuple[int, ...]]:
    """Degrees, none below the one before it, whose depths add up."""
    if depth == 0:
        yield ()
    for position in range(first, len(_DEGREES)):
        taken = _DEGREES[position].bit_length()
        if taken <= depth:
            for rest in _of_depth(depth - taken, position):
                yield (_DEGREES[position], *rest)


def _composed(degrees: tuple[int, ...], gap: float) -> Stages | None:
    stages: list[tuple[float, ...]] = []
    for degree in degrees:
        if gap > 1 - 1e-12:
            return None
        found = _stage(degree, gap)
        if found is None:
            return None
        coefficients, error = found
        last = len(stages) == len(degrees) - 1
        # The next polynomial takes numbers up to 1.
        scale = 1.0 if last else 1.0 / (1.0 + error)
        stages.append(tuple(scale * each for each in coefficients))
        gap = (1.0 - error) / (1.0 + error)
    return tuple(stages)


@cache
def _stage(degree: int, gap: float) -> tuple[tuple[float, ...], float] | None:
    # Where a degree would be exact to rounding, a smaller one is too.
    found = (minimax(np.ones_like, range(1, n + 1, 2), gap, 1.0) for n in range(degree, 0, -2))
    best = next((each for each in found if each is not None), None)
    return None if best is None else (best.coefficients, _BETWEEN * best.error)

"""The sign function as a composition of odd polynomials, each the nearest to 1 it can be.

Lee, Lee, No, Kim, "Minimax approximation of sign function by composite polynomial for
homomorphic comparison" (IEEE TDSC 2021; eprint 2020/834), section 3: the first polynomial
takes [gap, 1] near 1, the next takes the image of the first nearer. Used for ReLU as in
Lee et al. 2022 (eprint 2021/1688).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache

import numpy as np
from numpy.polynomial import chebyshev

from cloakwork.plan.fitting.minimax import minimax
from cloakwork.programs.ir.layers import Array

# Of each depth the largest odd degree: a smaller one of the same depth is less precise.
DEGREES = (3, 7, 15, 31)
_MAX_DEPTH = 40

# Beyond, doubles do not tell how far numbers are from 1.
MAX_BITS = 30
MAX_STEEP_BITS = 40
# For more bits, and closer to 0, no exchange settles in double precision.
_MAX_EXCHANGED_BITS = 18
_LEAST_EXCHANGED_GAP = 2.0**-11
# A composition for so many bits takes more levels than this.
_DEPTH_BEYOND = 20

_STEPS_PER_BIT = 8

# Within the gap the error is its width times much less than 1 (zeta in section 4 of the paper on
# ReLU): a wider gap leaves more error in it, a narrower one more outside it.
_GAPS = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)

# Numbers come with noise. Just beyond 1 a polynomial that is steep at 0 falls back through 0, and
# takes the sign with it, so each is near 1 on so much more than the numbers it is made for; where
# these lie in a narrow interval, on a part of it. Steeper ones take noise less well.
_BEYOND = 2.0**-5
BEYOND_STEEP = 2.0**-7
_BEYOND_NARROW = 2.0**-4

# Errors are sampled on a grid; between its points they are larger by up to this factor.
_BETWEEN = 1.001
_POINTS = 20000
# One point in so many shows most compositions that are off by too much.
_EVERY = 61

Stages = tuple[tuple[float, ...], ...]


def sign_stages(precision: float) -> Stages | None:
    """Polynomials whose composition p has |t (sign(t) - p(t))| at most `precision` on [-1, 1].

    Of the least depth, and of that the fewest coefficients.


    >>> stages = sign_stages(2.0**-6)
    >>> [len(stage) - 1 for stage in stages]
    [7, 15]
    """
    if precision < 2.0**-MAX_BITS:
        return None
    # Layers ask for slightly different precisions; one search serves those within this step.
    return _least_deep(math.ceil(-_STEPS_PER_BIT * math.log2(precision)))


@cache
def _least_deep(steps: int) -> Stages | None:
    precision = 2.0 ** (-steps / _STEPS_PER_BIT)
    is_fine = steps > _STEPS_PER_BIT * _MAX_EXCHANGED_BITS
    least, gaps = (_DEPTH_BEYOND, _GAPS[1::2]) if is_fine else (DEGREES[0].bit_length(), _GAPS)
    exchanged = _LEAST_EXCHANGED_GAP if is_fine else 0.0
    for depth in range(least, _MAX_DEPTH + 1):
        tried = (
            composed(degrees, min(0.5, gap * precision), exchanged)
            for degrees in degrees_of_depth(depth, 0)
            for gap in gaps
        )
        found = shortest_within(tried, precision, error_of)
        if found is not None:
            return found
    return None


def shortest_within(
    composed: Iterable[Stages | None], allowed: float, error: Callable[[Stages, int], float]
) -> Stages | None:
    """The composition of the fewest coefficients whose error is allowed, the first of several."""
    found = sorted(
        (stages for stages in composed if stages is not None),
        key=lambda stages: sum(map(len, stages)),
    )
    # Most are off by too much already at a few points.
    return next(
        (each for each in found if error(each, _EVERY) <= allowed and error(each, 1) <= allowed),
        None,
    )


@cache
def steep_stages(gap: float, precision: float) -> Stages | None:
    """Polynomials whose composition p has |sign(t) - p(t)| at most `precision` beyond a gap.

    Of the least depth, and of that the fewest coefficients.


    >>> [len(stage) - 1 for stage in steep_stages(2.0**-4, 2.0**-10)]
    [15, 15]
    """
    if precision < 2.0**-MAX_STEEP_BITS:
        return None
    # At 0 no polynomial that is bounded by 1 is steeper than its degree.
    least_slope = (1.0 - precision) / gap
    for depth in range(DEGREES[0].bit_length(), _MAX_DEPTH + 1):
        tried = (
            composed(degrees, gap, beyond=BEYOND_STEEP)
            for degrees in degrees_of_depth(depth, 0)
            if math.prod(degrees) >= least_slope
        )
        found = shortest_within(
            tried, precision, lambda stages, every: steep_error(stages, gap, every)
        )
        if found is not None:
            return found
    return None


def steep_error(stages: Stages, gap: float, every: int = 1) -> float:
    """The largest |sign(t) - p(t)| beyond a gap, at one point in `every` of a grid."""
    t = _points(gap, gap)[::every]
    return float(np.abs(1.0 - composed_value(stages, t)).max())


def composed_value(stages: Stages, t: Array) -> Array:
    """The composition at t."""
    for coefficients in stages:
        t = np.asarray(chebyshev.chebval(t, coefficients), dtype=np.float64)
    return t


def error_of(stages: Stages, every: int = 1) -> float:
    """The largest |t (sign(t) - p(t))| over [-1, 1], at one point in `every` of a grid."""
    t = _points(1e-9, 0.0)[::every]
    return float(np.abs(t * (1.0 - composed_value(stages, t))).max())


@lru_cache(maxsize=4)
def _points(low: float, evenly_from: float) -> Array:
    """Points up to 1, in a constant ratio and at a constant distance."""
    return np.concatenate([np.geomspace(low, 1.0, _POINTS), np.linspace(evenly_from, 1.0, _POINTS)])


def degrees_of_depth(depth: int, first: int) -> Iterator[tuple[int, ...]]:
    """Degrees, none below the one before it, whose depths add up."""
    if depth == 0:
        yield ()
    for position in range(first, len(DEGREES)):
        taken = DEGREES[position].bit_length()
        if taken <= depth:
            for rest in degrees_of_depth(depth - taken, position):
                yield (DEGREES[position], *rest)


def composed(
    degrees: tuple[int, ...],
    gap: float,
    exchanged: float = _LEAST_EXCHANGED_GAP,
    beyond: float = _BEYOND,
) -> Stages | None:
    """Polynomials of these degrees, each the nearest to 1 on the image of the one before.

    Closer to 0 than `exchanged` they are the polynomials that are nearest beyond it. They are near
    1 up to so much `beyond` 1.
    """
    stages: list[tuple[float, ...]] = []
    for degree in degrees:
        if gap > 1 - 1e-12:
            return None
        end = 1.0 + min(beyond, _BEYOND_NARROW * (1.0 - gap))
        gap /= end
        found = _stage(degree, max(gap, exchanged))
        if found is None:
            return None
        coefficients, error = found
        last = len(stages) == len(degrees) - 1
        # The next polynomial takes numbers up to 1.
        scale = 1.0 if last else 1.0 / (1.0 + error)
        stages.append(_widened(coefficients, end, scale))
        if gap < exchanged:
            # Odd polynomials rise there.
            gap = scale * float(chebyshev.chebval(gap, coefficients))
        else:
            gap = (1.0 - error) / (1.0 + error)
    return tuple(stages)


# Compositions of other degrees begin with the same polynomials.
@lru_cache(maxsize=4096)
def _widened(coefficients: tuple[float, ...], end: float, scale: float) -> tuple[float, ...]:
    """An odd polynomial on [-end, end] for one on [-1, 1], times a scale."""
    points = chebyshev.chebpts1(len(coefficients))
    values = scale * chebyshev.chebval(points / end, coefficients)
    found = chebyshev.chebfit(points, values, range(1, len(coefficients), 2))
    return tuple(found.tolist())


@cache
def _stage(degree: int, gap: float) -> tuple[tuple[float, ...], float] | None:
    # Where a degree would be exact to rounding, a smaller one is too.
    found = (minimax(np.ones_like, range(1, n + 1, 2), gap, 1.0) for n in range(degree, 0, -2))
    best = next((each for each in found if each is not None), None)
    return None if best is None else (best.coefficients, _BETWEEN * best.error)

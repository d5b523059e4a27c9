"""The step between two numbers of an interval as a composition of polynomials.

The first polynomial is the nearest to the step on both sides of the gap, wherever in the interval
that lies: the closer to an end, the steeper polynomials are. Those after it are as of the sign.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev

from cloakwork.plan.fitting.minimax import minimax
from cloakwork.plan.fitting.sign import (
    BEYOND_STEEP,
    DEGREES,
    Stages,
    composed,
    composed_value,
    degrees_of_depth,
    shortest_within,
)
from cloakwork.programs.ir.layers import Array

_MOST_DEPTH = 20
# Errors within the gap count this little.
_ANYTHING = 1e9
# Errors are sampled on a grid; between its points they are larger by up to this factor.
_BETWEEN = 1.001
# Of errors on both sides, as a logarithm, and how often an interval of it is halved.
_LARGEST_RATIO, _HALVINGS = 2.0, 10
_POINTS = 20000


@cache
def step_stages(cut: float, gap: float, precision: float) -> Stages | None:
    """Polynomials whose composition is 0 below a cut of [-1, 1] and 1 above, within `precision`.

    Closer to the cut than the gap it is between both. Of the least depth, and of that the fewest
    coefficients; None where that is too deep.


    >>> [len(stage) - 1 for stage in step_stages(0.8, 0.08, 2.0**-13)]
    [7, 15]
    >>> [len(stage) - 1 for stage in step_stages(0.0, 0.08, 2.0**-13)]
    [15, 15]
    """
    # What a polynomial of degree n within [-1, 1] rises by at t is at most n / sqrt(1 - t^2).
    steepest = min(1.0, abs(cut) + gap)
    least_product = (1 - 2 * precision) / gap * math.sqrt(1 - steepest**2)
    for depth in range(DEGREES[0].bit_length(), _MOST_DEPTH + 1):
        tried = (
            _composed(first, rest, cut, gap)
            for first in DEGREES
            for rest in degrees_of_depth(depth - first.bit_length(), 0)
            if first * math.prod(rest) >= least_product
        )
        found = shortest_within(
            tried, precision, lambda stages, every: step_error(stages, cut, gap, every)
        )
        if found is not None:
            return found
    return None


def _composed(first: int, rest: tuple[int, ...], cut: float, gap: float) -> Stages | None:
    """A polynomial near the sign beyond the gap, those that take it nearer, and then the step."""
    fitted = _fitted(first, cut, gap)
    if fitted is None:
        return None
    coefficients, error = fitted
    nearer = composed(rest, (1 - error) / (1 + error), beyond=BEYOND_STEEP)
    if nearer is None:
        return None
    scale = 1 / (1 + error) if rest else 1.0
    *before, last = [tuple(scale * each for each in coefficients), *nearer]
    step = np.array(last) / 2
    step[0] += 0.5
    return (*before, tuple(step.tolist()))


@cache
def _fitted(degree: int, cut: float, gap: float) -> tuple[tuple[float, ...], float] | None:
    """The polynomial of a degree nearest to the sign of t - cut that is 0 there, and how near."""
    # The larger the errors above the cut may be beside those below, the lower it is there.
    least, most = -_LARGEST_RATIO, _LARGEST_RATIO
    found: tuple[tuple[float, ...], float] | None = None
    for _ in range(_HALVINGS):
        ratio = (least + most) / 2
        tried = _weighted(degree, cut, gap, ratio)
        if tried is None or tried[1] >= 1:
            break
        found = tried
        if chebyshev.chebval(cut, found[0]) > 0:
            least = ratio
        else:
            most = ratio
    return found


def _weighted(
    degree: int, cut: float, gap: float, ratio: float
) -> tuple[tuple[float, ...], float] | None:
    """The polynomial nearest to the sign of t - cut, with errors in a ratio, as a logarithm."""
    end = 1 + BEYOND_STEEP

    def sign(t: Array) -> Array:
        return np.where(end * t > cut, 1.0, -1.0)

    def unit(t: Array) -> Array:
        sides = np.where(end * t > cut, np.exp(ratio / 2), np.exp(-ratio / 2))
        return np.where(np.abs(end * t - cut) < gap, _ANYTHING, sides)

    found = minimax(sign, range(degree + 1), -1.0, 1.0, unit)
    if found is None:
        return None
    points = chebyshev.chebpts1(degree + 1)
    values = chebyshev.chebval(points / end, found.coefficients)
    coefficients = tuple(chebyshev.chebfit(points, values, degree).tolist())
    return coefficients, found.error * float(np.exp(abs(ratio) / 2)) * _BETWEEN


@cache
def _points(cut: float, gap: float) -> Array:
    """Points beyond the gap, on both sides."""
    sides = ((-1.0, cut - gap), (cut + gap, 1.0))
    return np.concatenate([np.linspace(*side, _POINTS) for side in sides if side[0] <= side[1]])


def step_error(stages: Stages, cut: float, gap: float, every: int = 1) -> float:
    """How far a composition is from the step, at one point in `every` of a grid."""
    t = np.union1d(_points(cut, gap)[::every], np.clip([cut - gap, cut + gap], -1, 1))
    t = t[np.abs(t - cut) >= gap * (1 - 1e-9)]
    return float(np.abs(composed_value(stages, t) - (t > cut)).max())

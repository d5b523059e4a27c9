"""The polynomial of least degree that is as near to a function as asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.polynomial.chebyshev import chebval

from cloakwork.plan.fitting.minimax import Approximation, interpolated, minimax
from cloakwork.programs.ir.layers import Array

MAX_DEGREE = 255

_DISTANCES = np.geomspace(1e-9, 2.0, 2000)
_AROUND_BEND = np.concatenate([-_DISTANCES, [0.0], _DISTANCES])


def least_degree(
    function: Callable[[Array], Array], allowed: float, highest: int, bend: float
) -> Approximation:
    """The polynomial of least degree whose error on [-1, 1] is allowed.

    Example:
        >>> found = least_degree(np.exp, 1e-3, 31, 0.0)
        >>> len(found.coefficients) - 1, found.error < 1e-3
        (4, True)
    """
    # The sum of the terms left out bounds the error of a section of Chebyshev's series.
    series = interpolated(function, 2 * highest + 1).coefficients
    tails = np.cumsum(np.abs(series[::-1]))[::-1]
    small = np.flatnonzero(tails[1:] <= allowed)
    degree = min(int(small[0]) if len(small) else highest, highest)
    best = nearest(function, max(degree, 1), bend)
    if best.error > allowed:
        return best
    # The least error falls as the degree rises.
    too_low, enough = 0, max(degree, 1)
    while enough - too_low > 1:
        middle = (too_low + enough) // 2
        tried = nearest(function, middle, bend)
        if tried.error > allowed:
            too_low = middle
        else:
            enough, best = middle, tried
    return best


def nearest(function: Callable[[Array], Array], degree: int, bend: float) -> Approximation:
    """The polynomial of a degree that is nearest to a function on [-1, 1].

    Example:
        >>> round(nearest(np.exp, 2, 0.0).error, 3)
        0.045
    """
    candidates = [interpolated(function, degree)]
    exchanged = minimax(function, range(degree + 1), -1.0, 1.0)
    candidates += [] if exchanged is None else [exchanged]
    best = min(candidates, key=lambda each: each.error)
    around = np.clip(bend + _AROUND_BEND, -1.0, 1.0)
    missed = np.abs(function(around) - chebval(around, best.coefficients)).max()
    return replace(best, error=max(best.error, float(missed)))

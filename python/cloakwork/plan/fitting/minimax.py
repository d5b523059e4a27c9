"""Polynomials of least largest error, and of least degree for an error: Remez's exchange.

They are in the Chebyshev basis.
Remez, "Sur le calcul effectif des polynomes d'approximation de Tchebichef" (1934); the
exchange of all points at once as in Trefethen, Approximation Theory and Approximation
Practice, chapter 10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev
from numpy.polynomial.chebyshev import chebval

from cloakwork.programs.ir.layers import Array

_ROUNDS = 60
_POINTS_PER_TERM = 60
# The largest error may stand above the even one by this much: far below a bit.
_UNEVEN = 1e-3
MAX_DEGREE = 255

_DISTANCES = np.geomspace(1e-9, 2.0, 2000)
_AROUND_BEND = np.concatenate([-_DISTANCES, [0.0], _DISTANCES])


@dataclass(frozen=True, slots=True)
class Approximation:
    """A polynomial of t in [-1, 1] and its largest error where it was fitted."""

    coefficients: tuple[float, ...]
    error: float


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
    series = Chebyshev.interpolate(function, 2 * highest + 1).coef
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


def minimax(
    function: Callable[[Array], Array], powers: Sequence[int], low: float, high: float
) -> Approximation | None:
    """The combination of Chebyshev polynomials that is nearest to a function on [low, high].


    >>> import numpy as np
    >>> round(minimax(np.exp, range(3), -1.0, 1.0).error, 3)
    0.045
    """
    count = len(powers) + 1
    grid = _grid(_POINTS_PER_TERM * count, low, high)
    exact = function(grid)
    basis = chebyshev.chebvander(grid, max(powers))[:, [*powers]]
    chosen = np.searchsorted(grid, _nodes(count, low, high))
    signs = (-1.0) ** np.arange(count)
    best: Approximation | None = None
    for _ in range(_ROUNDS):
        try:
            *solved, level = np.linalg.solve(np.column_stack([basis[chosen], signs]), exact[chosen])
        except np.linalg.LinAlgError:
            break
        errors = exact - basis @ np.array(solved)
        largest = float(np.abs(errors).max())
        # The errors even out until rounding stops them; near 1, a sign's, every bit counts.
        if best is not None and largest >= best.error:
            break
        if largest <= abs(level) * (1 + _UNEVEN):
            coefficients = np.zeros(max(powers) + 1)
            coefficients[[*powers]] = solved
            best = Approximation(tuple(map(float, coefficients)), largest)
        extremes = _extremes(errors, count)
        if extremes is None:
            break
        chosen = extremes
    return best


def interpolated(function: Callable[[Array], Array], degree: int) -> Approximation:
    """The polynomial that meets a function at the Chebyshev points of [-1, 1]."""
    coefficients = Chebyshev.interpolate(function, degree).coef
    grid = _nodes(_POINTS_PER_TERM * (degree + 2), -1.0, 1.0)
    error = np.abs(function(grid) - chebyshev.chebval(grid, coefficients)).max()
    return Approximation(tuple(map(float, coefficients)), float(error))


def _nodes(count: int, low: float, high: float) -> Array:
    """Chebyshev points, close to one another at both ends, and the ends."""
    middle, half = (high + low) / 2, (high - low) / 2
    return np.clip(middle - half * np.cos(np.linspace(0.0, np.pi, count)), low, high)


def _grid(count: int, low: float, high: float) -> Array:
    """Where the error is looked at; above 0, at points in a constant ratio too."""
    points = _nodes(count, low, high)
    return np.union1d(points, np.geomspace(low, high, count)) if low > 0 else points


def _extremes(errors: Array, count: int) -> np.ndarray[tuple[int], np.dtype[np.intp]] | None:
    """Where the error is largest between changes of sign, at `count` runs beside one another."""
    starts = np.flatnonzero(np.diff(np.signbit(errors))) + 1
    runs = np.split(np.arange(len(errors)), starts)
    peaks = np.array([run[np.abs(errors[run]).argmax()] for run in runs])
    if len(peaks) < count:
        return None
    # The ends go, so that signs still alternate, the smaller error first.
    while len(peaks) > count:
        first, last = np.abs(errors[peaks[[0, -1]]])
        peaks = peaks[1:] if first < last else peaks[:-1]
    return peaks

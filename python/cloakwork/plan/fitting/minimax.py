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

Function = Callable[[Array], Array]

_DISTANCES = np.geomspace(1e-9, 2.0, 2000)
_AROUND_BEND = np.concatenate([-_DISTANCES, [0.0], _DISTANCES])


@dataclass(frozen=True, slots=True)
class Approximation:
    """A polynomial of t in [-1, 1] and its largest error where it was fitted.

    Errors are parts of a unit, which may be another one at each t.
    """

    coefficients: tuple[float, ...]
    error: float


def least_degree(
    function: Function, allowed: float, highest: int, bend: float, unit: Function = np.ones_like
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
    small = np.flatnonzero(tails[1:] <= allowed * unit(_nodes(len(tails), -1.0, 1.0)).min())
    degree = min(int(small[0]) if len(small) else highest, highest)
    best = nearest(function, max(degree, 1), bend, unit)
    if best.error > allowed:
        return best
    # The least error falls as the degree rises.
    too_low, enough = 0, max(degree, 1)
    while enough - too_low > 1:
        middle = (too_low + enough) // 2
        tried = nearest(function, middle, bend, unit)
        if tried.error > allowed:
            too_low = middle
        else:
            enough, best = middle, tried
    return best


def nearest(
    function: Function, degree: int, bend: float, unit: Function = np.ones_like
) -> Approximation:
    """The polynomial of a degree that is nearest to a function on [-1, 1].

    Example:
        >>> round(nearest(np.exp, 2, 0.0).error, 3)
        0.045
        >>> round(nearest(np.exp, 2, 0.0, unit=np.exp).error, 3)
        0.04
    """
    candidates = [interpolated(function, degree, unit)]
    exchanged = minimax(function, range(degree + 1), -1.0, 1.0, unit)
    candidates += [] if exchanged is None else [exchanged]
    best = min(candidates, key=lambda each: each.error)
    around = np.clip(bend + _AROUND_BEND, -1.0, 1.0)
    missed = _wrong(function, best.coefficients, unit, around)
    return replace(best, error=max(best.error, missed))


def minimax(
    function: Function,
    powers: Sequence[int],
    low: float,
    high: float,
    unit: Function = np.ones_like,
) -> Approximation | None:
    """The combination of Chebyshev polynomials that is nearest to a function on [low, high].


    >>> import numpy as np
    >>> round(minimax(np.exp, range(3), -1.0, 1.0).error, 3)
    0.045
    """
    count = len(powers) + 1
    grid = _grid(_POINTS_PER_TERM * count, low, high)
    exact, units = function(grid), unit(grid)
    basis = chebyshev.chebvander(grid, max(powers))[:, [*powers]]
    chosen = np.searchsorted(grid, _nodes(count, low, high))
    signs = (-1.0) ** np.arange(count)
    best: Approximation | None = None
    for _ in range(_ROUNDS):
        try:
            columns = np.column_stack([basis[chosen], signs * units[chosen]])
            *solved, level = np.linalg.solve(columns, exact[chosen])
        except np.linalg.LinAlgError:
            break
        errors = (exact - basis @ np.array(solved)) / units
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


def interpolated(function: Function, degree: int, unit: Function = np.ones_like) -> Approximation:
    """The polynomial that meets a function at the Chebyshev points of [-1, 1]."""
    coefficients = tuple(map(float, Chebyshev.interpolate(function, degree).coef))
    grid = _nodes(_POINTS_PER_TERM * (degree + 2), -1.0, 1.0)
    error = _wrong(function, coefficients, unit, grid)
    return Approximation(coefficients, error)


def _wrong(function: Function, coefficients: Sequence[float], unit: Function, at: Array) -> float:
    """The largest error at points."""
    return float((np.abs(function(at) - chebval(at, coefficients)) / unit(at)).max())


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

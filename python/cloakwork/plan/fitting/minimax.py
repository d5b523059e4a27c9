"""Polynomials of least largest error: Remez's exchange, in the Chebyshev basis.

Remez, "Sur le calcul effectif des polynomes d'approximation de Tchebichef" (1934); the
exchange of all points at once as in Trefethen, Approximation Theory and Approximation
Practice, chapter 10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev

from cloakwork.programs.ir.layers import Array

_ROUNDS = 60
_POINTS_PER_TERM = 60
# The largest error may stand above the even one by this much: far below a bit.
_UNEVEN = 1e-3


@dataclass(frozen=True, slots=True)
class Approximation:
    """A polynomial of t in [-1, 1] and its largest error where it was fitted."""

    coefficients: tuple[float, ...]
    error: float


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

"""Polynomials of every slot."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from numpy.typing import NDArray

from cloakwork.programs.operations.base import (
    Context,
    Errors,
    Numbers,
    OfOne,
    State,
    Vector,
    kind_of_value,
)

Basis: TypeAlias = Literal["monomial", "chebyshev"]


@dataclass(frozen=True, slots=True, eq=False)
class Polynomial(OfOne):
    """A real polynomial of every slot, coefficients from degree 0 up; rescaled already.

    In the Chebyshev basis the slots lie in [-1, 1].
    """

    kind: ClassVar[str] = "polynomial"
    over: ClassVar[tuple[Numbers, ...]] = ("real",)
    wording: ClassVar[str] = "{basis:basis} {coefficients:reals}"

    coefficients: tuple[float, ...]
    basis: Basis

    @property
    def at_zero(self) -> float:
        """Its value in slots that hold 0."""
        if self.basis == "monomial":
            return float(self.coefficients[0])
        return float(chebyshev.chebval(0.0, self.coefficients))

    @property
    def depth(self) -> int:
        return polynomial_depth(self.coefficients)

    def state_after(self, context: Context) -> State:
        is_known = isinstance(self.basis, str) and self.basis in get_args(Basis)
        self.require(is_known, f"its basis is not of {get_args(Basis)}")
        self.require(isinstance(self.coefficients, tuple), "its coefficients are not a tuple")
        for coefficient in self.coefficients:
            is_number = isinstance(coefficient, int | float) and not isinstance(coefficient, bool)
            self.require(is_number, f"a coefficient is {kind_of_value(coefficient)}, not a float")
            # Holds of integers too, however large.
            self.require(abs(coefficient) <= sys.float_info.max, "a coefficient is not finite")
        self.require(self.depth >= 1, "its degree is below 1")
        return State(self.require_ready(context.states[0], levels=self.depth) - self.depth)

    def summary(self) -> str:
        return f"{{{self.basis}, degree {len(self.coefficients) - 1}}}"

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        return backend.polynomial(values[0], self.coefficients, self.basis)

    def relinearisation_level(self, context: Context) -> int | None:
        return context.level

    def seconds(self, context: Context, costs: Any) -> float:
        """Powers and blocks of Paterson and Stockmeyer (1973), about the degree's root each."""
        degree = max(n for n, coefficient in enumerate(self.coefficients) if coefficient)
        depth = degree.bit_length()
        products = max(0, 2 * math.isqrt(degree) + depth - 3)
        # They spread over the levels that the polynomial takes.
        each = [
            prices.product + prices.relinearisation + prices.rescale
            for prices in map(costs.at, range(context.level, context.level - depth, -1))
        ]
        last = costs.at(context.level - depth + 1)
        taken: float = products * math.fsum(each) / depth + degree * last.addition + last.rescale
        return taken

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return _EVALUATED[self.basis](slots[0], np.abs(self.coefficients))

    def deviation(self, at: Errors) -> float:
        slope = _SLOPES[self.basis](max(at.reached[0], 1.0), np.abs(self.coefficients))
        errors = at.model.polynomial(
            at.ready_scale, self.coefficients, self.basis, np.array(at.reached)
        )
        return math.hypot(at.before[0] * slope, float(errors.max()))


def polynomial_depth(coefficients: Sequence[float]) -> int:
    """Levels that a polynomial takes: the least for its degree, zeros at the end not counted.

    Example:
        >>> polynomial_depth([0.0, 0.5, 0.0, 0.25])
        2
    """
    return max((n for n, c in enumerate(coefficients) if c), default=0).bit_length()


def _monomials(slots: Vector, coefficients: Vector) -> Vector:
    return np.asarray(polynomial.polyval(slots, coefficients), dtype=np.float64)


def _chebyshev(slots: Vector, coefficients: Vector) -> Vector:
    # Within [-1, 1] no Chebyshev polynomial exceeds its value at 1; beyond, all of them grow.
    reached = chebyshev.chebval(np.maximum(slots, 1.0), coefficients)
    return np.asarray(reached, dtype=np.float64)


_EVALUATED: Mapping[Basis, Callable[[Vector, Vector], Vector]] = {
    "monomial": _monomials,
    "chebyshev": _chebyshev,
}


def _monomial_slope(value: float, coefficients: Vector) -> float:
    return float(polynomial.polyval(value, polynomial.polyder(coefficients)))


def _chebyshev_slope(value: float, coefficients: Vector) -> float:
    return float(chebyshev.chebval(value, chebyshev.chebder(coefficients)))


_SLOPES: Mapping[Basis, Callable[[float, Vector], float]] = {
    "monomial": _monomial_slope,
    "chebyshev": _chebyshev_slope,
}

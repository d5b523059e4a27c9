"""Which polynomials divide by sums that need not be divided by exactly, in the fewest levels.

The softmax of x / 2 is squared and divided by its sum to be that of x. Only the last of several
such sums must be divided by precisely: what a whole row is multiplied by before, the next division
takes out again. So the others are multiplied by a polynomial r with S r(S) between some part of 1
and 1, whatever it is in between, and that part is known for every sum S in a range: the nearer r is
to 1 / S, the less the next sums lie apart, and the more levels it takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cloakwork.plan.fitting.minimax import interpolated
from cloakwork.programs.ir import layers as g

# Levels of their polynomials at most, and the degree of the last, which may have to rise.
_MOST_LEVELS, _MOST_OF_LAST = 7, 200
# What of 1 a row's sum is then at the least: squares of less lose more bits.
_LEAST_PART = 0.3
# And at the most: errors do not bring numbers beyond 1.
_LARGEST_PART = 15 / 16
# Sums that lie further apart are not followed, by the power of e.
_MOST_APART = 16.0
# Steps in which they are.
_STEPS = 16


@dataclass(frozen=True, slots=True)
class Normaliser:
    """A polynomial that a row is multiplied by, and how often it is squared after that.

    Args:
        levels: Of the polynomial.
        squarings: How often.
    """

    levels: int
    squarings: int


@dataclass(frozen=True, slots=True)
class Normalisers:
    """All of a softmax but the last, which divides precisely.

    Args:
        all: In order.
        depth: The levels from the sum of powers to the softmax.
    """

    all: tuple[Normaliser, ...]
    depth: float


def fewest_levels(
    spread: float, terms: int, squarings: int, bits: float, margin: float
) -> Normalisers:
    """The normalisers that take the fewest levels; an infinite depth where none are good enough.

    Args:
        spread: The ratio of the largest sum of powers to the least.
        terms: How many numbers are summed.
        squarings: How often scores were halved.
        bits: Of the last reciprocal beside 1, its least value: rounding leaves fewer to small sums.
        margin: By what part the last sums may be beyond both ends.

    Example:
        >>> found = fewest_levels(200.0, 16, 1, 9, 0.25)
        >>> found.all, found.depth
        ((Normaliser(levels=4, squarings=1),), 15)
    """
    known: dict[tuple[int, int], Normalisers] = {}

    def of_rest(apart: float, left: int) -> Normalisers:
        # A little more than it is, so that few sums are told apart.
        step = math.ceil(apart * _STEPS)
        if (step, left) not in known:
            known[step, left] = best_of_rest(step / _STEPS, left)
        return known[step, left]

    def best_of_rest(apart: float, left: int) -> Normalisers:
        if not left:
            # A sum, the reciprocal, a product.
            widest = math.exp(apart) * (1.0 + margin) ** 2 if squarings else math.exp(apart)
            return Normalisers((), 2 + _levels_of_reciprocal(widest, bits))
        best = Normalisers((), math.inf)
        for levels in range(1, _MOST_LEVELS + 1):
            least = least_part(math.exp(apart), levels)
            if least < _LEAST_PART:
                continue
            scattered = -math.log(least)
            for power in range(1, left + 1):
                # Of n numbers of the sum 1 the sum of squares is 1 / n at the least.
                after = 2**power * scattered + (2**power - 1) * math.log(terms)
                if after > _MOST_APART:
                    break
                rest = of_rest(after, left - power)
                depth = 2 + levels + power + rest.depth
                if depth < best.depth:
                    best = Normalisers((Normaliser(levels, power), *rest.all), depth)
        return best

    apart = math.log(spread)
    return of_rest(apart, squarings) if apart <= _MOST_APART else Normalisers((), math.inf)


def least_part(spread: float, levels: int) -> float:
    """What of 1 the product of a sum and the polynomial of so many levels is at the least.

    Example:
        >>> round(least_part(25.0, 3), 2)
        0.8
    """
    wrong = _wrong(spread, levels)
    return _LARGEST_PART * (1.0 - wrong) / (1.0 + wrong)


def normaliser(low: float, high: float, levels: int, largest: float = 1.0) -> g.PolynomialLayer:
    """The polynomial of so many levels whose product with sums in a range varies least.

    The product less some number is a Chebyshev polynomial that is minus this number at 0.

    Args:
        low: The least sum.
        high: The largest.
        levels: Of the polynomial.
        largest: What products are below.

    Example:
        >>> made, sums = normaliser(1.0, 25.0, 3), np.linspace(1.0, 25.0, 1000)
        >>> t = (sums - 13.0) / 12.0
        >>> products = sums * np.polynomial.chebyshev.chebval(t, made.coefficients)
        >>> round(float(products.min()), 2), round(float(products.max()), 2)
        (0.8, 0.94)
    """
    degree, middle, half = 2**levels - 1, (high + low) / 2, (high - low) / 2
    wrong = _wrong(high / low, levels)
    # Of an even degree, so that it is the same at both signs.
    swing = np.polynomial.Chebyshev.basis(degree + 1)
    top = largest * _LARGEST_PART / (1.0 + wrong)

    def part(t: g.Array) -> g.Array:
        return np.asarray(top * (1.0 - wrong * swing(t)) / (middle + half * t))

    return g.PolynomialLayer(interpolated(part, degree).coefficients, "chebyshev", low, high)


def _wrong(spread: float, levels: int) -> float:
    """The largest error of a reciprocal by a polynomial of so many levels, as a part of it."""
    outside = (spread + 1.0) / max(spread - 1.0, 1e-9)
    exponent = 2**levels * math.acosh(outside)
    return 1.0 / math.cosh(min(exponent, 700.0))


def _levels_of_reciprocal(spread: float, bits: float) -> float:
    """The levels of a polynomial near 1 / x from 1 / spread to 1, by the least error there is."""
    root = math.sqrt(spread)
    ratio = (root - 1.0) / (root + 1.0)
    # (c - sqrt(c^2 - 1))^n / (c^2 - 1) of 1 / (t + c).
    factor = (spread - 1.0) / 2.0
    allowed = (-bits * math.log(2.0) - math.log(factor)) / math.log(ratio)
    if allowed > _MOST_OF_LAST:
        return math.inf
    return math.ceil(math.log2(max(allowed, 1.0) + 1.0))

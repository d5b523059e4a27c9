"""The ways to compute a function of encrypted numbers: polynomials, compositions, iterations.

A way is a graph of products, sums and polynomials. Several are written down for each function;
`plan.functions.choose` measures how far each is off and what it costs, and takes the cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev

from cloakwork.plan.fitting.minimax import MAX_DEGREE, least_degree
from cloakwork.plan.fitting.sign import Stages, sign_stages, steep_stages
from cloakwork.plan.tensors.evaluation import MOST_ADDED
from cloakwork.programs.functions import FUNCTIONS, Function, sampled
from cloakwork.programs.ir.elementwise import (
    minus_from,
    negative,
    plus,
    product,
    scaled,
    total_of_scalars,
)
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import Evaluate, Node, Use, Within
from cloakwork.programs.phases import REACH

# Of a function with a corner: beyond, a composition is cheaper.
_MAX_DEGREE_AT_CORNERS = 63
_ROOTS = frozenset({"sqrt", "rsqrt"})
_LOGARITHMS = frozenset({"log", "log2", "log10"})
# How near to 0, as a part of the range, a number may be whose sign is still told. Nearer ones lead
# to what rises from the one value to the other: each stage of a composition rises there.
GAP = 2.0**-6
# A wider one needs no composition.
_WIDEST_GAP = 0.5
# A halved exponent is squared; degrees fall slowly from then on.
_MOST_SQUARES = 6
# What cosines do not exceed, errors included: of sums and squares no bound is as near.
_AROUND_ONE = 1 + 2.0**-7
# Beyond, errors of the first cosine grow by more than its degree falls.
_MOST_DOUBLINGS = 6
_START_DEGREES = (1, 3, 7, 15, 31)
_MOST_STEPS = 16
# Beyond, no grid finds the error of a start.
_MOST_RATIO = 2.0**24
# Ends of a range up to which one polynomial is a cheaper root than any composition.
_ROOTS_RATIO = 1000.0

# Ends of a range up to which one polynomial is a cheaper logarithm.
_LOGARITHMS_RATIO = 30.0
# What numbers between samples may exceed these by.
_BETWEEN = 1e-3
# Of a factor that narrows the range of a logarithm.
_NARROWING_DEGREES = (3, 7, 15, 31, 63)

Way = Callable[[Node], Node]
_NOTHING = "no function at all"


@dataclass(frozen=True, slots=True)
class Request:
    """A function, where it is asked for, and how near.

    Args:
        function: Its name.
        low: The least number that comes.
        high: The greatest.
        allowed: The largest error that is.
        claimed: Whether the range rests on what a user says.
        origin: The user's line.
        given_gap: Of a jump, how close to 0 the user allows values between its two; None where he
            says nothing.
        closest: Of a jump, how close to 0 numbers come; None where no closer than usual.
        off: How far the numbers that come may be off.
    """

    function: str
    low: float
    high: float
    allowed: float
    claimed: bool = False
    origin: str = ""
    given_gap: float | None = None
    closest: float | None = None
    off: float = 0.0

    @property
    def known(self) -> Function:
        """The function."""
        return FUNCTIONS[self.function]

    @property
    def is_defined(self) -> bool:
        """Whether the function has a value that a double holds on all of the range."""
        if not self.known.has(self.low, self.high):
            return False
        with np.errstate(all="ignore"):
            return bool(np.isfinite(self.known.value(sampled(self.low, self.high))).all())

    @property
    def crosses_zero(self) -> bool:
        """Whether numbers of both sides of 0 come, or 0 itself where the function jumps."""
        if self.known.jumps:
            return self.low <= 0 <= self.high
        return self.low < 0 < self.high

    @property
    def gap(self) -> float:
        """How close to 0 a number is whose value is between those of a jump; 0 without a jump."""
        if not self.known.jumps or not self.crosses_zero:
            return 0.0
        if self.given_gap is None:
            usual = GAP * self.reach
            return usual if self.closest is None else min(usual, self.closest)
        return min(self.given_gap, _WIDEST_GAP * self.reach)

    @property
    def use(self) -> Use:
        """What the function is used for."""
        checked = self.gap if self.given_gap is None else 0.0
        # Of several the line tells which.
        name = f"{self.function} at {self.origin}" if self.origin else self.function
        return Use(name, self.low, self.high, self.claimed, checked)

    @property
    def reach(self) -> float:
        """The largest absolute value that comes."""
        return max(abs(self.low), abs(self.high))


def ways_to_compute(asked: Request) -> Iterator[tuple[str, Way]]:
    """The ways to compute a function, each with its name."""
    if asked.function == "bit_of_phase":
        yield from _doubled_angles(asked)
        return
    is_negative = asked.high < 0
    if asked.function == "reciprocal" and is_negative:
        mirrored = replace(asked, low=-asked.high, high=-asked.low)
        for name, way in ways_to_compute(mirrored):
            yield name, partial(_mirrored, way, asked.origin)
        return
    constant = _constant(asked)
    if constant is not None:
        yield _NOTHING, constant
        return
    has_corner = asked.known.corner
    if (has_corner or asked.known.jumps) and not asked.crosses_zero:
        yield _NOTHING, _one_sided(asked)
        return
    if asked.known.jumps:
        yield from _steep(asked)
        return
    at_corner = has_corner or (asked.function == "sqrt" and asked.low <= 0)
    yield from _polynomials(asked, _MAX_DEGREE_AT_CORNERS if at_corner else MAX_DEGREE)
    if asked.function == "exp":
        yield from _squared(asked)
    if asked.function == "reciprocal":
        yield from _iterated(asked)
    if asked.function in _ROOTS:
        yield from _roots(asked)
    if asked.function in _LOGARITHMS and asked.high > _LOGARITHMS_RATIO * asked.low:
        yield from _narrowed_logarithms(asked)
    if has_corner:
        yield from _signed(asked)


def _evaluate(
    asked: Request,
    x: Node,
    coefficients: Array | tuple[float, ...],
    ends: tuple[float, float],
    title: str,
    *,
    scale: float = 1.0,
    begins: bool = False,
) -> Evaluate:
    where = f"{asked.low:.4g} to {asked.high:.4g}"
    if asked.gap:
        where += f", between its two values within {asked.gap:.3g} of 0"
        where += "" if asked.given_gap is None else " as allowed"
    told = f"{asked.function} of {where}: {title}"
    use = asked.use if begins else None
    return Evaluate(x, tuple(map(float, coefficients)), *ends, told, use, scale, asked.origin)


def _mirrored(way: Way, origin: str, x: Node) -> Node:
    return negative(way(negative(x, origin)), origin)


def _one_sided(asked: Request) -> Way:
    """A function with a corner or a jump, where numbers are all on one side of it."""
    is_above = asked.low >= 0
    match asked.function:
        case "absolute":
            return lambda x: x if is_above else negative(x, asked.origin)
        case "relu" if is_above:
            return lambda x: x
        case "relu" | "step" if not is_above:
            value = 0.0
        case "step":
            value = 1.0
        case _:
            value = 1.0 if is_above else -1.0
    return _always(value, asked.origin)


def _constant(asked: Request) -> Way | None:
    """One number for all, where that is near enough, as of tanh far from 0; None elsewhere."""
    values = asked.known.value(sampled(asked.low, asked.high))
    low, high = float(values.min()), float(values.max())
    # Twice as near as it has to be: between samples others may come.
    return _always((low + high) / 2, asked.origin) if high - low <= asked.allowed else None


def _always(value: float, origin: str) -> Way:
    """One number for all numbers, in their places."""
    return lambda x: plus(total_of_scalars(x, negative(x, origin), origin), value, origin)


def _polynomials(asked: Request, highest: int) -> Iterator[tuple[str, Way]]:
    """One polynomial, over the range, or over a wider one that it takes no level to scale."""
    for ends in dict.fromkeys([(asked.low, asked.high), _free_range(asked)]):
        coefficients = _fitted(asked, ends, asked.allowed, highest)
        if coefficients is not None:
            title = f"polynomial of degree {len(coefficients) - 1}"
            yield title, partial(_first, asked, coefficients, ends, title)


def _first(
    asked: Request,
    coefficients: Array | tuple[float, ...],
    ends: tuple[float, float],
    title: str,
    x: Node,
) -> Node:
    """The polynomial that a way begins with."""
    return _evaluate(asked, x, coefficients, ends, title, begins=True)


def _fitted(
    asked: Request, ends: tuple[float, float], allowed: float, highest: int
) -> tuple[float, ...] | None:
    """Coefficients of least degree; None where the degree would be too high."""
    middle, half = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2

    def of_t(t: Array) -> Array:
        with np.errstate(all="ignore"):
            return asked.known.value(np.clip(half * t + middle, *ends))

    bend = float(np.clip(-middle / half, -1.0, 1.0))
    found = least_degree(of_t, allowed, highest, bend)
    return found.coefficients if found.error <= allowed else None


def _free_range(asked: Request) -> tuple[float, float]:
    """The narrowest wider range that a whole factor takes to one of width 2."""
    width = asked.high - asked.low
    if width > 2:
        return asked.low, asked.high
    more = 2 / min(int(2 / width), MOST_ADDED) - width
    if asked.known.above > -math.inf:
        return asked.low, asked.high + more
    return asked.low - more / 2, asked.high + more / 2


def _squared(asked: Request) -> Iterator[tuple[str, Way]]:
    """exp(x) as a power of exp(x / 2^k), squared k times."""
    largest = math.exp(asked.high)
    for squares in range(1, _MOST_SQUARES + 1):
        share = 2.0**-squares
        ends = (asked.low * share, asked.high * share)
        root = math.exp(ends[1])
        # A power's derivative.
        allowed = asked.allowed * share * root / largest / 2
        narrow = replace(asked, low=ends[0], high=ends[1])
        coefficients = _fitted(narrow, ends, allowed, MAX_DEGREE)
        if coefficients is None:
            continue
        title = f"polynomial of degree {len(coefficients) - 1}, squared {squares} times"

        start = partial(_first, asked, coefficients, (asked.low, asked.high), title)
        yield title, partial(_squares, start, squares, asked.origin)


def _squares(start: Way, squares: int, origin: str, x: Node) -> Node:
    made = start(x)
    for _ in range(squares):
        made = product(made, made, origin)
    return made


def _doubled_angles(asked: Request) -> Iterator[tuple[str, Way]]:
    """sin(r x)^2 as 1 - c^2, c the cosine of a part of the angle that is doubled k times."""
    for doublings in range(_MOST_DOUBLINGS + 1):
        angle = math.pi * REACH * asked.high / 2**doublings

        def cosine(x: Array, angle: float = angle) -> Array:
            return np.asarray(np.cos(angle * x))

        whole = np.asarray(Chebyshev.interpolate(cosine, MAX_DEGREE).coef, dtype=np.float64)
        whole[1::2] = 0.0
        left = np.cumsum(np.abs(whole)[::-1])[::-1]
        # Each doubling, and the square, may make errors so much larger; mostly they do not.
        for share in (1.0, 16.0):
            allowed = share * asked.allowed / (2 * 4.0**doublings)
            degree = int(np.argmax(left <= allowed)) - 1
            if degree > 0:
                title = f"cosine of degree {degree}, its angle doubled {doublings} times"
                yield title, partial(_doubled, asked, whole[: degree + 1], doublings, title)


def _doubled(asked: Request, cosine: Array, doublings: int, title: str, x: Node) -> Node:
    made: Node = _first(asked, cosine, (asked.low, asked.high), title, x)
    for doubling in range(doublings + 1):
        made = Within(made, -_AROUND_ONE, _AROUND_ONE, claimed=True)
        square = product(made, made, asked.origin)
        if doubling == doublings:
            break
        made = plus(total_of_scalars(square, square, asked.origin), -1.0, asked.origin)
    return minus_from(1.0, square, asked.origin)


def _iterated(asked: Request) -> Iterator[tuple[str, Way]]:
    """1/x by Goldschmidt's iteration: 1/x = y (1 + e) (1 + e^2) (1 + e^4) ..., e = 1 - x y.

    It starts from the polynomial y for which e is least: a Chebyshev polynomial of x, 1 at 0.
    """
    low, high = asked.low, asked.high
    if high / low > _MOST_RATIO:
        return
    zero = -(high + low) / (high - low)
    for degree in _START_DEGREES:
        of_error = _unit(degree + 1)
        of_error /= chebyshev.chebval(zero, of_error)
        off = abs(float(of_error[-1]))
        wanted = math.log(asked.allowed * low / 2)
        steps = max(0, math.ceil(math.log2(wanted / math.log(off)))) if wanted < 0 else 0
        if not 1 <= steps <= _MOST_STEPS:
            continue

        title = f"polynomial of degree {degree}, {steps} steps of Goldschmidt"
        yield title, partial(_goldschmidt, asked, of_error, steps, title)


def _goldschmidt(asked: Request, of_error: Array, steps: int, title: str, x: Node) -> Node:
    middle, half = (asked.high + asked.low) / 2, (asked.high - asked.low) / 2

    def of_start(t: Array) -> Array:
        return np.asarray((1 - chebyshev.chebval(t, of_error)) / (half * t + middle))

    start = np.asarray(Chebyshev.interpolate(of_start, len(of_error) - 2).coef, dtype=np.float64)
    ends = (asked.low, asked.high)
    made = _first(asked, start, ends, title, x)
    error: Node = _evaluate(asked, x, of_error, ends, title)
    for step in range(steps):
        made = total_of_scalars(made, product(made, error, asked.origin), asked.origin)
        if step < steps - 1:
            error = product(error, error, asked.origin)
    return made


def _unit(degree: int) -> Array:
    coefficients = np.zeros(degree + 1)
    coefficients[-1] = 1.0
    return coefficients


def _signed(asked: Request) -> Iterator[tuple[str, Way]]:
    """x times (middle + half * sign(x)), the sign composed of polynomials."""
    middle, half = (0.0, 1.0) if asked.function == "absolute" else (0.5, 0.5)
    stages = sign_stages(_rounded(asked.allowed / (half * asked.reach)))
    if stages is None:
        return
    title = _composed_title(stages)
    sign = partial(_sign, asked, stages, title, middle, half)
    yield title, partial(_times_x, sign, asked.origin)


def _times_x(sign: Way, origin: str, x: Node) -> Node:
    return product(x, sign(x), origin)


def _steep(asked: Request) -> Iterator[tuple[str, Way]]:
    """The sign, or the step, composed of polynomials, but for numbers close to 0."""
    middle, half = (0.0, 1.0) if asked.function == "sign" else (0.5, 0.5)
    # What is off may come closer to 0 than it is.
    gap = min((asked.gap - asked.off) / asked.reach, _WIDEST_GAP)
    if gap <= 0:
        return
    stages = steep_stages(_rounded(gap, parts=4), _rounded(asked.allowed / half))
    if stages is not None:
        title = _composed_title(stages)
        yield title, partial(_sign, asked, stages, title, middle, half)


def _composed_title(stages: Stages) -> str:
    degrees = ", ".join(str(len(stage) - 1) for stage in stages)
    return f"polynomials of degrees {degrees} in turn"


def _rounded(number: float, parts: int = 1) -> float:
    """A number down to a power of two, or of a root of it: a search serves all between two."""
    return float(2.0 ** (math.floor(parts * math.log2(number)) / parts))


def _sign(asked: Request, stages: Stages, title: str, middle: float, half: float, x: Node) -> Node:
    """middle + half * sign(x)."""
    made, end = x, asked.reach
    for number, stage in enumerate(stages):
        coefficients = np.array(stage)
        if number == len(stages) - 1:
            coefficients *= half
            coefficients[0] += middle
        ends = (-end, end)
        made = _evaluate(asked, made, coefficients, ends, title, begins=not number)
        end = 1.0
    return made


def _roots(asked: Request) -> Iterator[tuple[str, Way]]:
    """Roots from the sign: of w = sqrt(x), a stage w p(w^2) of the sign takes x to x p(x)^2.

    The product of all p is 1 / sqrt(x), as the last x p(x)^2 is 1.
    """
    high, is_root = asked.high, asked.function == "sqrt"
    gap = math.sqrt(max(asked.low, 0.0) / high)
    found = []
    if is_root and gap <= 1 / math.sqrt(_ROOTS_RATIO):
        found.append(sign_stages(_rounded(asked.allowed / math.sqrt(high))))
    if 0 < gap <= 1 / math.sqrt(_ROOTS_RATIO):
        allowed = asked.allowed * math.sqrt(asked.low if not is_root else 1 / high)
        found.append(steep_stages(_rounded(gap, parts=4), _rounded(allowed)))
    for stages in found:
        if stages is None:
            continue
        title = f"inverse root by {_composed_title(stages)}"
        yield title, partial(_root, asked, stages, title)


def _root(asked: Request, stages: Stages, title: str, x: Node) -> Node:
    high, origin = asked.high, asked.origin
    left = x if high == 1.0 else scaled(x, 1 / high, origin)
    made = x
    for number, stage in enumerate(stages):
        factor = _over_w(stage)
        begins = number == 0
        if begins:
            factor = factor / math.sqrt(high)
        times = _evaluate(asked, left, factor, (0.0, 1.0), title, scale=1 / high, begins=begins)
        if begins:
            # A root stays as small as it is; its inverse, and the noise in it, do not.
            made = product(x, times, origin) if asked.function == "sqrt" else times
        else:
            made = product(made, times, origin)
        if number < len(stages) - 1:
            left = _evaluate(asked, left, _squared_stage(stage), (0.0, 1.0), title)
    return made


def _narrowed_logarithms(asked: Request) -> Iterator[tuple[str, Way]]:
    """log(x) = log(x p^2) - 2 log(p), where p is a polynomial of x somewhat near to 1 / sqrt(x).

    The ends of both ranges are in a smaller ratio than those of x.
    """
    low, high = asked.low, asked.high
    numbers = np.concatenate([sampled(low, high), np.geomspace(low, high, 4097)])
    t = (2 * numbers - (high + low)) / (high - low)
    for degree in _NARROWING_DEGREES:
        rows = chebyshev.chebvander(t, degree) * np.sqrt(numbers)[:, None]
        start = np.linalg.lstsq(rows, np.ones(len(numbers)))[0]
        inverse_roots = np.asarray(chebyshev.chebval(t, start), dtype=np.float64)
        if inverse_roots.min() <= 0:
            continue
        products = numbers * inverse_roots**2
        fits = [
            (ends, _fitted(asked, ends, allowed, MAX_DEGREE))
            for ends, allowed in (
                (_widened(products), asked.allowed / 2),
                (_widened(inverse_roots), asked.allowed / 4),
            )
        ]
        (of_product, one), (of_factor, other) = fits
        if one is None or other is None:
            continue
        degrees = ", ".join(str(len(each) - 1) for each in (start, one, other))
        title = f"polynomials of degrees {degrees}, of which the first narrows the range"
        made = partial(_narrowed, asked, start, (of_product, one), (of_factor, other), title)
        yield title, made


def _widened(numbers: Array) -> tuple[float, float]:
    """The ends of numbers, a little apart for those between samples."""
    return float(numbers.min()) * (1 - _BETWEEN), float(numbers.max()) * (1 + _BETWEEN)


_Fitted: TypeAlias = tuple[tuple[float, float], tuple[float, ...]]


def _narrowed(
    asked: Request, start: Array, of_product: _Fitted, of_factor: _Fitted, title: str, x: Node
) -> Node:
    factor = _first(asked, start, (asked.low, asked.high), title, x)
    near_one = product(product(x, factor, asked.origin), factor, asked.origin)
    ends, coefficients = of_product
    one = _evaluate(asked, near_one, coefficients, ends, title)
    ends, coefficients = of_factor
    twice = tuple(-2 * each for each in coefficients)
    return total_of_scalars(one, _evaluate(asked, factor, twice, ends, title), asked.origin)


def _over_w(stage: tuple[float, ...]) -> Array:
    """Of an odd polynomial of w the quotient by w, as one of 2 w^2 - 1."""
    made = np.zeros(len(stage) // 2)
    for j, coefficient in enumerate(stage[1::2]):
        # T_(2j+1)(w) / w = 2 (T_j - T_(j-1) + ...) -+ T_0 of 2 w^2 - 1.
        signs = (-1.0) ** (j - np.arange(j + 1))
        made[: j + 1] += coefficient * signs * np.where(np.arange(j + 1) == 0, 1.0, 2.0)
    return made


def _squared_stage(stage: tuple[float, ...]) -> Array:
    """The square of an odd polynomial of w, as a polynomial of 2 w^2 - 1."""

    def of_u(u: Array) -> Array:
        return np.square(chebyshev.chebval(np.sqrt((u + 1) / 2), stage))

    return np.asarray(Chebyshev.interpolate(of_u, len(stage) - 1).coef)

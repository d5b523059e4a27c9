"""The cheapest way to compute a function that is as near to it as asked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from cloakwork._native import Parameters
from cloakwork.errors import ActivationFitError, InvalidParametersError
from cloakwork.plan.functions.clear import values_of
from cloakwork.plan.functions.recipes import Request, Way, ways_to_compute
from cloakwork.plan.passes.levels import depth_of, lowest_levels
from cloakwork.plan.passes.simplify import simplified
from cloakwork.plan.tensors.lower import lower
from cloakwork.programs.functions import sampled
from cloakwork.programs.ir.tensors import Node, Source
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.costs import Costs, comparable, total_seconds

# A program of one number, to count operations.
_SLOTS = 8
_TOP = 400
_SCALE_BITS = 40
_HEADROOM_BITS = 20
_LARGEST_RING = 17
_ADVICE = (
    "give a narrower range by cloakwork.Spec(shape, low=, high=), Session.encrypt(x, low=, high=), "
    "cloakwork.within(x, low, high), range= of cloakwork.softmax and others, or samples in place "
    "of shapes, cloakwork.compile(f, data)"
)
# By which powers of two ends are moved towards where a function can be computed.
_HALVINGS = (1, 2, 3, 4, 6, 8, 10)
# Where values are large, doubles are off by this part of them.
_ROUNDING = 2.0**-44


@dataclass(frozen=True, slots=True)
class Fit:
    """How a function is computed.

    Args:
        asked: What was asked for.
        name: The way, in words.
        way: What builds it.
        depth: Levels that it takes.
        error: The largest error over the range.
        cost: What it costs by the model.
    """

    asked: Request
    name: str
    way: Way
    depth: int
    error: float
    cost: float

    def __str__(self) -> str:
        bits = -math.log2(self.error) if self.error else math.inf
        return (
            f"{self.asked.function} of numbers from {self.asked.low:.4g} to {self.asked.high:.4g}: "
            f"{self.name}, {self.depth} levels, right to {bits:.1f} bits after the point"
        )


@lru_cache(maxsize=1024)
def chosen(asked: Request) -> Fit:
    """The cheapest way by the model; see `plan.functions.recipes`.

    Example:
        >>> fit = chosen(Request("exp", -1.0, 1.0, 2.0**-12))
        >>> fit.depth, fit.error < 2.0**-12
        (3, True)
    """
    _require_defined(asked)
    # A range of one number has none to scale it by.
    if asked.low == asked.high:
        asked = replace(asked, high=asked.low + max(abs(asked.low), 1.0) * 2.0**-10)
    found: list[Fit] = []
    for name, way in ways_to_compute(asked):
        error = _error(asked, way)
        if error <= asked.allowed:
            program = _program(way(Source("x", (1,))))
            depth = depth_of(program)
            cost = _cost(program, depth)
            found.append(Fit(asked, name, way, depth, error, cost))
    if found:
        return min(found, key=lambda fit: fit.cost)
    wider_gap = ", or a wider gap" if asked.gap else ""
    raise ActivationFitError(
        f"cannot compute {asked.function} of numbers from {asked.low:.4g} to {asked.high:.4g}: "
        f"nothing comes within 2^{math.log2(asked.allowed):.1f} of it; {_ADVICE}{wider_gap}"
    )


def range_that_would_do(asked: Request) -> tuple[float, float] | None:
    """The part of a range, of some that are tried, on which there is a way; None where none is.

    Example:
        >>> range_that_would_do(Request("sqrt", -0.5, 2.0, 2.0**-8))
        (0.0, 2.0)
        >>> range_that_would_do(Request("reciprocal", -1.0, 1.0, 2.0**-8))
        (0.0009765625, 1.0)
    """
    for low, high in _parts_of_range(asked):
        with suppress(ActivationFitError):
            chosen(replace(asked, low=low, high=high, claimed=True))
            return low, high
    return None


def _parts_of_range(asked: Request) -> Iterator[tuple[float, float]]:
    """Parts of a range where its function may be defined, wide ones first."""
    known, (low, high) = asked.known, (asked.low, asked.high)
    if not known.of_positive:
        low, high = max(low, known.above), min(high, known.below)
        yield from ((low / 2**power, high / 2**power) for power in _HALVINGS if low < high)
    elif high > 0:
        if not known.open:
            yield 0.0, high
        # The closer to 0, the more levels: from far away to where there is no way any more.
        yield from ((high / 2**power, high) for power in reversed(_HALVINGS))
    elif known.pole:
        yield from ((low, low / 2**power) for power in reversed(_HALVINGS))


def _require_defined(asked: Request) -> None:
    if asked.is_defined:
        return
    has = asked.known.has(asked.low, asked.high)
    reason = "its values outgrow doubles there" if has else "it is not defined on all of them"
    raise ActivationFitError(
        f"cannot compute {asked.function} of numbers from {asked.low:.4g} to {asked.high:.4g}: "
        f"{reason}; {_ADVICE}"
    )


def _error(asked: Request, way: Way) -> float:
    """The largest error over the range; of a jump, but for numbers close to it."""
    numbers = sampled(asked.low, asked.high)
    numbers = numbers[np.abs(numbers) >= asked.gap]
    exact = asked.known.value(numbers)
    source = Source("x", numbers.shape)
    made = way(source)
    error = float(np.abs(values_of([made], {source: numbers})[made] - exact).max())
    return error + _ROUNDING * float(np.abs(exact).max())


def _cost(program: SlotProgram, depth: int) -> float:
    """What a way costs by the model, and what its levels make all before it cost more.

    A level is worth a product at the highest of them.
    """
    costs = _costs(depth)
    top = costs.at(depth)
    level = top.product + top.relinearisation + top.rescale
    return total_seconds(program, costs) + level * depth


def _program(made: Node) -> SlotProgram:
    lowered = lower("", [made], _SLOTS, top=_TOP)
    return lowest_levels(simplified(lowered.program))


@lru_cache(maxsize=256)
def _costs(depth: int) -> Costs:
    """What operations cost on the smallest secure ring of a depth, or the largest of all."""

    def parameters(log_n: int | None, *, insecure: bool) -> Parameters:
        return Parameters(
            levels=depth,
            scale_bits=_SCALE_BITS,
            headroom_bits=_HEADROOM_BITS,
            log_n=log_n,
            insecure=insecure,
        )

    try:
        return comparable(parameters(None, insecure=False))
    except InvalidParametersError:
        return comparable(parameters(_LARGEST_RING, insecure=True))

"""Functions in a graph of tensors replaced by what comes near to them along samples.

Interval arithmetic adds errors up as if all were as large as they can be, and of one sign, so that
those of a few steps of an iteration exceed all numbers. Here they are what they are on samples of
the arguments, and some more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cloakwork.plan.functions.approximate import Approximated, approximated, approximated_to
from cloakwork.plan.functions.clear import values_of
from cloakwork.plan.functions.intervals import NO_ERRORS_BITS, Interval, intervals_of
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import Apply, Node, Source, Within, on_operands

# How much more errors may grow along other arguments than along samples.
UNSEEN = 2.0
_ROUNDS = 8


def approximated_along(
    samples: Sequence[Mapping[Source, Array]],
    results: Sequence[Node],
    sources: Callable[[Source], Interval],
    precision: int,
    title: str,
) -> Approximated:
    """As `approximated`, with the errors that there are on samples, times `UNSEEN`.

    What jumps is followed by intervals, as are errors that samples show no end of.

    Example:
        >>> from cloakwork.plan.functions.intervals import uniform
        >>> x = Source("x", (2,))
        >>> samples = [{x: np.array([0.25, 0.5])}]
        >>> found = approximated_along(
        ...     samples, [Apply("exp", x)], lambda _: uniform(1, -1.0, 1.0), 12, "exp")
        >>> found.fits[0].depth, found.error < 2.0**-12
        (3, True)
    """
    nodes = in_order(results)
    functions = [node for node in nodes if isinstance(node, Apply)]
    found = None
    if not any(FUNCTIONS[node.function].jumps for node in functions):
        found = _settled(samples, results, functions, sources, precision, title)
    return found or approximated(results, sources, precision, title)


def _settled(
    samples: Sequence[Mapping[Source, Array]],
    results: Sequence[Node],
    functions: Sequence[Apply],
    sources: Callable[[Source], Interval],
    precision: int,
    title: str,
) -> Approximated | None:
    """What is precise, and takes operands that are off as they are; None where nothing is found."""
    nodes = in_order(results)
    intervals = _exact_intervals(nodes, sources)
    exact = [values_of(results, each) for each in samples]
    operands = {each.operand for each in functions}
    # What users and samples say of numbers is checked of those that are computed.
    said = {node for node in nodes if isinstance(node, Within)}
    # Where users say how many bits are right, that is what there is.
    is_given = all(each.bits is not None for each in functions)
    bits = precision + 1
    for _ in range(_ROUNDS):
        found, made = approximated_to(bits, results, intervals, title)
        followed = [made[each] for each in (*results, *operands, *said)]
        near = [values_of(followed, each) for each in samples]
        pairs = list(zip(near, exact, strict=True))
        off = {
            node: UNSEEN * max(_largest(one[made[node]] - other[node]) for one, other in pairs)
            for node in (*results, *operands, *said)
        }
        error = max(off[each] for each in results)
        if not all(map(math.isfinite, off.values())):
            return None
        narrow = [each for each in off if off[each] > intervals[each].largest_error]
        intervals |= {each: _off_by(intervals[each], off[each]) for each in narrow}
        if (is_given or error <= 2.0**-precision) and (operands | said).isdisjoint(narrow):
            ends = tuple(_off_by(intervals[each], off[each]) for each in results)
            return replace(found, intervals=ends)
        bits += max(0, math.ceil(math.log2(error) + precision))
    return None


def _exact_intervals(
    nodes: Sequence[Node], sources: Callable[[Source], Interval]
) -> dict[Node, Interval]:
    """Intervals of numbers that no function is off by, though users say how near some are."""
    exact: dict[Node, Node] = {}
    for node in nodes:
        made = on_operands(node, exact.__getitem__)
        exact[node] = replace(made, bits=None) if isinstance(made, Apply) else made
    found = intervals_of([*exact.values()], sources, NO_ERRORS_BITS)
    return {node: found[exact[node]] for node in nodes}


def _largest(differences: Array) -> float:
    """The largest absolute value."""
    return float(np.abs(differences).max())


def _off_by(interval: Interval, error: float) -> Interval:
    """An interval of numbers that are off by so much."""
    off = np.full((1,) * interval.low.ndim, error)
    return replace(interval, error=off, error_in_gaps=off)

"""Functions in a graph of tensors replaced by what comes near to them, as near as asked.

Ranges that users give are made those of all slots where a plan without takes other slots too far:
sums leave partial sums in the slots beside them. Of these no range says anything, and what is
multiplied by itself again and again outgrows every scale there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from cloakwork.errors import ActivationFitError
from cloakwork.plan.functions.choose import Fit, chosen, range_that_would_do
from cloakwork.plan.functions.intervals import Interval, intervals_of
from cloakwork.plan.functions.recipes import Request
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir.tensors import Apply, Node, Source, Within, on_operands

_ROUNDS = 8
# Of a function that nothing comes near enough to.
_FEWER = (1, 2, 4, 8, 16)
# What a function is taken of, where users write no name for it.
_ROOT = ", x being what the root is of (of a norm the sum of squares, written out),"
_OPERANDS = {"sqrt": _ROOT, "rsqrt": _ROOT, "reciprocal": ", x being the divisor,"}
_LEAST_NEAR = 2.0**-3
# Functions that have so many bits right add nothing to an error.
EXACT_BITS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Approximated:
    """A graph without functions, and of all ranges with those that users give.

    Args:
        results: The nodes wanted, in place of those that were.
        intervals: For each of them between which ends its elements lie, and how far they are off.
        fits: How each function is computed, in order.
    """

    results: tuple[Node, ...]
    intervals: tuple[Interval, ...]
    fits: tuple[Fit, ...]

    @property
    def error(self) -> float:
        """How far a result may be off by its functions."""
        return max(each.largest_error for each in self.intervals)


def approximated(
    results: Sequence[Node],
    sources: Callable[[Source], Interval],
    precision: int,
    title: str,
) -> Approximated:
    """Replace the functions of a graph, each computed so precisely that results are as asked.

    Example:
        >>> from cloakwork.plan.functions.intervals import uniform
        >>> found = approximated(
        ...     [Apply("exp", Source("x", (2,)))], lambda _: uniform(1, -1.0, 1.0), 12, "exp")
        >>> found.fits[0].depth, found.error < 2.0**-12
        (3, True)
    """
    nodes = in_order(results)
    bits, intervals = _bits_needed(nodes, results, sources, precision)
    return approximated_to(bits, results, intervals, title)[0]


def approximated_to(
    bits: int, results: Sequence[Node], intervals: Mapping[Node, Interval], title: str
) -> tuple[Approximated, Mapping[Node, Node]]:
    """A graph whose functions have so many bits right, and what stands for each of its nodes."""
    made: dict[Node, Node] = {}
    fits: list[Fit] = []
    for node in in_order(results):
        if isinstance(node, Apply):
            fit = _fit(node, intervals, bits, title)
            fits.append(fit)
            made[node] = fit.way(made[node.operand])
            continue
        new = remade(node, made)
        error = intervals[node].largest_error
        if isinstance(new, Within) and math.isfinite(error):
            # What lies within a range before it is approximated lies by an error beyond it after.
            new = replace(new, low=new.low - error, high=new.high + error)
        made[node] = new
    found = tuple(intervals[each] for each in results)
    return Approximated(tuple(made[each] for each in results), found, tuple(fits)), made


def _bits_needed(
    nodes: Sequence[Node],
    results: Sequence[Node],
    sources: Callable[[Source], Interval],
    precision: int,
) -> tuple[int, Mapping[Node, Interval]]:
    """The bits that functions are to have right, and what then is known of every node."""
    bits = precision + 1
    intervals = intervals_of(nodes, sources, bits)
    if all(each.bits is not None for each in nodes if isinstance(each, Apply)):
        return bits, intervals
    # What operands are off by already stays, however near functions are.
    stays = _largest_error(results, intervals_of(nodes, sources, EXACT_BITS))
    if not math.isfinite(stays):
        return bits, intervals
    for _ in range(_ROUNDS):
        off = _largest_error(results, intervals) - stays
        if off <= 2.0**-precision or not math.isfinite(off):
            break
        bits += math.ceil(math.log2(off) + precision)
        intervals = intervals_of(nodes, sources, bits)
    return bits, intervals


def _largest_error(results: Sequence[Node], intervals: Mapping[Node, Interval]) -> float:
    return max(intervals[each].largest_error for each in results)


def _fit(node: Apply, intervals: Mapping[Node, Interval], bits: int, title: str) -> Fit:
    operand = intervals[node.operand]
    known = FUNCTIONS[node.function]
    low, high = known.reached(operand.ends, operand.largest_error)
    allowed = 2.0 ** -(bits if node.bits is None else node.bits)
    asked = Request(
        node.function,
        low,
        high,
        allowed,
        operand.claimed,
        node.origin,
        node.gap,
        node.closest,
        operand.largest_error if known.jumps else 0.0,
    )
    try:
        return chosen(asked)
    except ActivationFitError as error:
        what = f"{asked.use.name} of numbers from {low:.4g} to {high:.4g}"
        raise ActivationFitError(
            f"cannot compute {title}, {what}: {error.reason}; "
            f"{_what_would_do(asked) or error.remedy}{_less_precision(asked)}"
        ) from None


def _what_would_do(asked: Request) -> str:
    """The range with which a function can be computed, as a user would say it."""
    # Of a jump it is the gap that is too narrow.
    ends = None if asked.known.jumps else range_that_would_do(asked)
    if ends is None:
        return ""
    low, high = (float(f"{end:.4g}") for end in ends)
    operand = _OPERANDS.get(asked.function, "")
    return (
        f"cloakwork.within(x, {low:g}, {high:g}){operand} would do if all of them are there, as "
        "would a narrower range of the inputs, or samples in place of shapes, "
        "cloakwork.compile(f, data)"
    )


def _less_precision(asked: Request) -> str:
    less = _fewer_bits(asked)
    return f", or ask for a precision of {less} bits less" if less else ""


def _fewer_bits(asked: Request) -> int:
    """How many bits less there is a way for; 0 where there is none for any."""
    if not asked.is_defined:
        return 0
    for less in _FEWER:
        if asked.allowed * 2.0**less > _LEAST_NEAR:
            break
        with suppress(ActivationFitError):
            chosen(replace(asked, allowed=asked.allowed * 2.0**less))
            return less
    return 0


def remade(node: Node, made: Mapping[Node, Node]) -> Node:
    """A node on what is made of its operands; what is known without a user's word is left out."""
    if isinstance(node, Within) and not node.claimed:
        return made[node.operand]
    return on_operands(node, made.__getitem__)


def with_claims_cleared(results: Sequence[Node]) -> tuple[Node, ...]:
    """A graph without functions, in which other slots are cleared where a user gives a range."""
    made: dict[Node, Node] = {}
    for node in in_order(results):
        new = remade(node, made)
        if isinstance(new, Within):
            new = replace(new, cleared=new.claimed)
        made[node] = new
    return tuple(made[each] for each in results)

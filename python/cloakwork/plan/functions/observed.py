"""Ranges of a function's numbers from what they are on samples of its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cloakwork.errors import NotFiniteError
from cloakwork.plan.functions.clear import values_of
from cloakwork.plan.functions.intervals import Interval
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.functions import FUNCTIONS, Function
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import (
    Apply,
    Node,
    Source,
    Within,
    are_truths,
    on_operands,
)

# By how much numbers may exceed those of samples if nothing else is asked for, as a part of half
# the width of their range.
MARGIN = 0.25
# Beside the operands of functions a range is worth saying where numbers are at most this part of
# what follows from the ranges of the arguments.
_WORTH = 0.25


def widened(low: float, high: float, margin: float) -> tuple[float, float]:
    """A range with `margin` times its half width beyond both ends.

    Example:
        >>> widened(0.0, 8.0, 0.25), widened(3.0, 3.0, 0.25)
        ((-1.0, 9.0), (2.25, 3.75))
    """
    # What never changes has no width, and a polynomial needs one.
    more = margin * (high - low) / 2 or margin * abs(high) or 1.0
    return low - more, high + more


def widened_on_one_side(low: float, high: float, margin: float) -> tuple[float, float]:
    """The same, not beyond 0 where the range is not.

    Example:
        >>> widened_on_one_side(1.0, 17.0, 0.25), widened_on_one_side(-1.0, 3.0, 0.25)
        ((0.0, 19.0), (-1.5, 3.5))
    """
    least, greatest = widened(low, high, margin)
    return max(least, 0.0) if low >= 0 else least, min(greatest, 0.0) if high <= 0 else greatest


def _widened_where_defined(
    function: Function, low: float, high: float, margin: float
) -> tuple[float, float]:
    """The same for numbers that a function gets: an end of where it is defined stays outside.

    Numbers come nearer to such an end by a factor; those on it stay on it.

    Example:
        >>> _widened_where_defined(FUNCTIONS["log1p"], -0.5, 3.0, 0.25)
        (-0.6, 3.4375)
    """
    least, greatest = widened(low, high, margin)
    if low >= function.above:
        least = max(least, function.above + (low - function.above) / (1 + margin))
    elif function.pole:
        greatest = min(greatest, function.above - (function.above - high) / (1 + margin))
    if math.isfinite(function.below):
        greatest = min(greatest, function.below - (function.below - high) / (1 + margin))
    return least, greatest


class Observed:
    """The numbers of a function on samples, node by node as it is traced.

    Args:
        samples: The arguments, once for each sample.
        margin: By how much numbers may exceed those of the samples.
        interval_of: Between which ends the elements of a node lie by the ranges of the arguments.
    """

    def __init__(
        self,
        samples: Sequence[Mapping[Node, Array]],
        margin: float,
        interval_of: Callable[[Node], Interval],
    ) -> None:
        self._values: list[dict[Node, Array]] = [dict(each.items()) for each in samples]
        self._margin = margin
        self._interval_of = interval_of
        self._made: dict[Node, Node] = {}

    def ranged(self, node: Node) -> Node:
        """The same node on operands that are said to be in ranges, and it too, where that is worth.

        Raises:
            NotFiniteError: On samples its numbers are NaN or infinite.
        """
        for each in in_order([node]):
            if each not in self._made:
                self._made[each] = self._with_range(self._remade(each))
        return self._made[node]

    def decide(
        self,
        sources: Sequence[Source],
        operands: Sequence[Node],
        function: Callable[[Sequence[Array]], Sequence[Array]],
    ) -> None:
        """Take sources for what a function gives of the samples of nodes.

        Args:
            sources: What its results are called.
            operands: What it is given.
            function: The function.
        """
        for values in self._values:
            made = function([values[each] for each in operands])
            values.update(zip(sources, made, strict=True))

    def of_steps(
        self, states: Sequence[Source], taken: Sequence[Sequence[Sequence[Array]]]
    ) -> Observed:
        """The same within a step that is repeated, whose states have other numbers in each.

        Args:
            states: What stands for the states.
            taken: For each sample what they are in every step.
        """
        samples = [
            {**values, **dict(zip(states, each, strict=True))}
            for values, steps in zip(self._values, taken, strict=True)
            for each in steps
        ]
        found = Observed(samples, self._margin, self._interval_of)
        found._made = dict(self._made)
        return found

    def numbers_of(self, nodes: Sequence[Node]) -> list[dict[Node, Array]]:
        """Of each sample all numbers so far, those of some nodes among them."""
        return [{**values, **values_of(nodes, values)} for values in self._values]

    def range_of(self, arrays: Sequence[Array]) -> tuple[float, float]:
        """The range of numbers such as these, with the margin."""
        low, high = min(each.min() for each in arrays), max(each.max() for each in arrays)
        return widened(float(low), float(high), self._margin)

    def _remade(self, node: Node) -> Node:
        """A node on what was made of its operands; those of functions are all in ranges."""
        remade = on_operands(node, self._made.__getitem__)
        if not isinstance(remade, Apply):
            return remade
        function = FUNCTIONS[remade.function]
        ends = _widened_where_defined(function, *self.seen(remade.operand), self._margin)
        narrow = self._within(remade.operand, *ends)
        if function.jumps and remade.gap is None:
            remade = replace(remade, closest=self._closest_to_zero(remade.operand))
        return on_operands(remade, lambda _: narrow)

    def narrowed(self, node: Node) -> Node:
        """A node that is said to be in the range that it has on the samples, with the margin."""
        made = self.ranged(node)
        return self._within(made, *widened(*self.seen(made), self._margin))

    def _within(self, node: Node, low: float, high: float) -> Node:
        """A node that is said to be in a range; itself where it is known to be."""
        known_low, known_high = self._interval_of(node).ends
        if low <= known_low and known_high <= high:
            return node
        made = Within(node, max(low, known_low), min(high, known_high), claimed=True)
        self._follow(made)
        self._made[made] = made
        return made

    def _with_range(self, node: Node) -> Node:
        """A node that is said to be in a range, if it is far narrower than what is known."""
        self._follow(node)
        self._made[node] = node
        if isinstance(node, Source | Within) or are_truths(node):
            return node
        low, high = widened(*self.seen(node), self._margin)
        known_low, known_high = self._interval_of(node).ends
        if max(-low, high) > _WORTH * max(-known_low, known_high):
            return node
        return self._within(node, low, high)

    def _follow(self, node: Node) -> None:
        """Compute a node on all samples."""
        for values in self._values:
            with np.errstate(all="ignore"):
                values[node] = values_of([node], values)[node]
            if not np.isfinite(values[node]).all():
                origin = getattr(node, "origin", "") or "a step"
                raise NotFiniteError(
                    f"cannot compile: on the samples {origin} gives NaN or an infinity, expected "
                    "finite numbers; look at the samples, and at what functions are given"
                )

    def _closest_to_zero(self, node: Node) -> float | None:
        """How close to 0 numbers come by those of the samples, but for such as are 0 there."""
        away = [np.abs(values[node][values[node] != 0]) for values in self._values]
        least = min((float(each.min()) for each in away if each.size), default=None)
        return None if least is None else least / (1 + self._margin)

    def seen(self, node: Node) -> tuple[float, float]:
        """The least and the greatest number of a node on the samples."""
        arrays = [values_of([node], values)[node] for values in self._values]
        low, high = min(each.min() for each in arrays), max(each.max() for each in arrays)
        return float(low), float(high)

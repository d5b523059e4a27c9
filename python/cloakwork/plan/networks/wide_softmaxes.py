"""Softmaxes in the fewest levels: of scores that lie far apart, by softmaxes of closer ones.

The sum of a softmax's powers is divided by, and no polynomial is near 1 / x over a range as wide as
e to the power of twenty. The softmax of x is the square of the softmax of x / 2, divided by its
sum, and the sum of the squares of n numbers that have the sum 1 is between 1 / n and 1. (Cho,
Hanrot, Kim, Park, Stehlé, "Fast and accurate homomorphic softmax evaluation", CCS 2024.) All
divisions but the last may be rough (`plan.networks.normalisers`).

A number that is added to all scores of a row changes nothing: one for each head brings the sums of
all heads to one range, which may be as narrow as that of scores with the mean of each row
subtracted, and takes no level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from cloakwork.plan.networks.calibration import Calibration, calibrated_again
from cloakwork.plan.networks.normalisers import (
    fewest_levels,
    least_part,
    normaliser,
)
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.softmaxes import (
    SeenScores,
    Softmax,
    before_centring,
    seen_scores,
    softmaxes_of,
)
from cloakwork.programs.ir import layers as g

_MOST_HALVINGS = 6
# The largest scores beside the mean of those of the least sum, whether they are halved or not:
# powers take as many bits more than the least sum.
_LARGEST, _LARGEST_OF_HALVES = 12.0, 10.0
# Quotients of so many terms or more are raised, which takes a level.
_MANY_TERMS = 64
# Sums of inputs that errors bring beyond the margin are divided by as well.
_SLACK = 1.1
# What is wrong by a part of itself stays so, whatever the sum.
_RECIPROCAL = g.Activation("reciprocal", is_factor=True)


def with_narrower_softmaxes(
    graph: g.Graph,
    calibration: Calibration,
    batches: Iterable[g.Array],
    options: NetworkOptions,
) -> tuple[g.Graph, Calibration]:
    """The same network, whose softmaxes have their scores shifted, and halved where that helps.

    Example:
        >>> ones = g.LinearLayer(np.ones((2, 2)), np.zeros(2))
        >>> nodes = [g.node("x", g.InputLayer((2,)), (), [])]
        >>> for layer, operands in [
        ...     (g.Activation("exp", unit=1.0), (0,)), (ones, (1,)),
        ...     (g.Activation("reciprocal"), (2,)), (g.Multiply(), (1, 3)), (g.OutputLayer(), (4,)),
        ... ]:
        ...     nodes.append(g.node("softmax", layer, operands, nodes))
        >>> network = g.build(nodes)
        >>> from cloakwork.plan.networks.calibration import calibrate
        >>> def layers(*scores):
        ...     batch = [np.array(scores)]
        ...     seen = calibrate(network, batch)
        ...     options = NetworkOptions(precision=8)
        ...     return len(with_narrower_softmaxes(network, seen, batch, options)[0].nodes)
        >>> layers([1.0, 0.0]), layers([9.0, -9.0], [0.0, 0.0])
        (7, 12)
    """
    softmaxes = [
        each
        for each in softmaxes_of(graph)
        # No degree of its reciprocal was given.
        if {graph.nodes[each.parts].name, "reciprocal"}.isdisjoint(options.degrees or ())
    ]
    ways = _ways(graph, softmaxes, batches, options)
    if not ways:
        return graph, calibration
    narrowed = _Narrowed([], {}, {})
    numbers = narrowed.take(graph, ways)
    narrower = g.build(narrowed.nodes, graph.form)
    changed = {number for each, way in ways.items() for number in _changed(graph, each, way)}
    seen = calibrated_again(narrower, batches, calibration, numbers, changed)
    return narrower, narrowed.with_meant(seen, options.margin)


@dataclass(frozen=True, slots=True)
class _Division:
    """What numbers are multiplied by to be divided by their sum, and squarings after that.

    Args:
        reciprocal: What they are multiplied by.
        sums: What the sum is within.
        squarings: How often.
        largest: What quotients are at the most.
    """

    reciprocal: g.Activation | g.PolynomialLayer
    sums: g.Range
    squarings: int = 0
    largest: float = 1.0

    @property
    def reciprocals(self) -> g.Range:
        """What they are multiplied by is within."""
        low, high = self.sums
        return self.largest / high / _SLACK, self.largest / low * _SLACK


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """What powers are taken of, and the divisions by sums that follow.

    Args:
        scores: The node of the scores.
        halvings: How often they are halved.
        shift: What is added then, to those of each head.
        largest: What powers are at the most.
        divisions: By the sum of powers, and by those of the squares after.
        depth: The levels of all.
    """

    scores: int
    halvings: int
    shift: g.Array
    largest: float
    divisions: tuple[_Division, ...]
    depth: float


def _ways(
    graph: g.Graph,
    softmaxes: Sequence[Softmax],
    batches: Iterable[g.Array],
    options: NetworkOptions,
) -> dict[Softmax, _Way]:
    """The shallowest way of each softmax, none where no way is known."""
    if not softmaxes:
        return {}
    tried = [
        (each, scores)
        for each in softmaxes
        for scores in dict.fromkeys((before_centring(graph, each.scores), each.scores))
    ]
    found: dict[Softmax, list[_Way]] = {each: [] for each in softmaxes}
    seen = seen_scores(graph, tried, range(_MOST_HALVINGS + 1), batches)
    for (softmax, scores), of_scores in zip(tried, seen, strict=True):
        found[softmax] += _ways_of_scores(softmax, scores, of_scores, options)
    # Of as few levels powers of narrower scores are more precise.
    best = {each: min(reversed(ways), key=lambda way: way.depth) for each, ways in found.items()}
    return {each: way for each, way in best.items() if way.depth < math.inf}


@dataclass(frozen=True, slots=True, eq=False)
class _Narrowed:
    """A network that is made of another, with softmaxes of narrower scores.

    Args:
        nodes: Its layers.
        meant: What results of some are within, however far inputs go beyond those seen.
        last_sums: The same of sums that are divided by last, which are seen to be within less.
    """

    nodes: list[g.Node]
    meant: dict[int, g.Range]
    last_sums: dict[tuple[int, int], g.Range]

    def take(self, graph: g.Graph, ways: Mapping[Softmax, _Way]) -> list[int]:
        """Append all layers of a network, and tell which of its own is each."""
        changed: dict[int, g.Operation] = {
            # Of equal powers of the least sum, each is this part of it.
            each.powers: g.Activation("exp", unit=1.0 / each.terms)
            for each in ways
        }
        changed |= {each.parts: way.divisions[0].reciprocal for each, way in ways.items()}
        of_powers = {each.powers: way for each, way in ways.items()}
        products = {each.product: each for each in ways}
        left_out = {each.scores for each, way in ways.items() if _is_left_out(graph, each, way)}
        renamed: list[int] = []
        for number, node in enumerate(graph.nodes):
            inputs = [renamed[operand] for operand in node.inputs]
            if number in left_out:
                renamed += inputs
                continue
            if number in of_powers:
                way = of_powers[number]
                scale = np.full_like(way.shift, 2.0**-way.halvings)
                scores = g.Affine(scale, way.shift)
                inputs = [self._append(node.name, scores, renamed[way.scores])]
            found = self._append(node.name, changed.get(number, node.operation), *inputs)
            if number in products:
                softmax = products[number]
                found = self._divided_again(softmax, ways[softmax], renamed, found)
            renamed.append(found)
        return renamed

    def _append(self, name: str, operation: g.Operation, *inputs: int) -> int:
        return g.appended(self.nodes, name, operation, *inputs)

    def _divided_again(
        self, softmax: Softmax, way: _Way, renamed: Sequence[int], product: int
    ) -> int:
        """The squares of quotients by a sum, divided by their own sum, as often as it takes."""
        for each in (softmax.powers, softmax.counted):
            self.meant[renamed[each]] = _around_zero(way.largest)
        sums, reciprocals, found = renamed[softmax.sums], renamed[softmax.parts], product
        name = self.nodes[product].name
        for before, division in pairwise(way.divisions):
            self.meant.update({sums: before.sums, reciprocals: before.reciprocals})
            for squaring in range(before.squarings):
                largest = before.largest ** (2**squaring)
                self.meant[found] = _around_zero(largest)
                found = self._append(name, _square(largest), found)
            self.meant[found] = _around_zero(before.largest ** (2**before.squarings))
            sums = self._append(name, softmax.sum, found)
            reciprocals = self._append(name, division.reciprocal, sums)
            found = self._append(name, g.Multiply(), found, reciprocals)
        self.last_sums[sums, reciprocals] = way.divisions[-1].sums
        return found

    def with_meant(self, seen: Calibration, margin: float) -> Calibration:
        """What was seen of it, and what some of its results are meant to be within."""
        meant = dict(self.meant)
        for (sums, reciprocals), (least, most) in self.last_sums.items():
            low, high = float(seen.lows[sums]), float(seen.highs[sums])
            beyond = _times_beyond(high / low, margin)
            last = _Division(_RECIPROCAL, (max(least, low / beyond), min(most, high * beyond)))
            meant |= {sums: last.sums, reciprocals: last.reciprocals}
        return replace(seen, meant={**seen.meant, **meant})


def _around_zero(largest: float) -> g.Range:
    """What numbers up to another are within, which errors bring below 0 and beyond it."""
    return -(_SLACK - 1.0) * largest, _SLACK * largest


def _times_beyond(spread: float, margin: float) -> float:
    """How many times beyond both ends of what was seen sums of powers may be.

    Their logarithms may be by `margin` times half of what these lie apart, as scores may.

    Example:
        >>> _times_beyond(2.0, 0.25), _times_beyond(256.0, 0.25)
        (1.25, 2.0)
    """
    return max(1.0 + margin, math.pow(spread, margin / 2.0))


def _is_left_out(graph: g.Graph, softmax: Softmax, way: _Way) -> bool:
    """Whether nothing takes the scores of a softmax any more."""
    return way.scores != softmax.scores and graph.users[softmax.scores] == (softmax.powers,)


def _changed(graph: g.Graph, softmax: Softmax, way: _Way) -> tuple[int, ...]:
    """The nodes whose numbers are others than they were."""
    of_scores = (softmax.scores,) if _is_left_out(graph, softmax, way) else ()
    return (*of_scores, softmax.powers, softmax.counted, softmax.sums, softmax.parts)


def _ways_of_scores(
    softmax: Softmax, scores: int, seen: SeenScores, options: NetworkOptions
) -> Iterator[_Way]:
    """The ways of scores that a node makes, halved more and more often."""
    centring = int(scores == softmax.scores)
    for halvings, (least, most) in enumerate(zip(seen.least, seen.most, strict=True)):
        # The least sum is 1 in every head, so that neither powers nor reciprocals are small.
        shift = -least
        low = float((seen.lows / 2.0**halvings + shift).min())
        high = float((seen.highs / 2.0**halvings + shift).max())
        if high + math.log(softmax.terms) <= (_LARGEST_OF_HALVES if halvings else _LARGEST):
            spread = math.exp(float((most - least).max()))
            divisions, depth = _divisions(softmax.terms, spread, halvings, options)
            depth += _levels_of_powers(low, high, softmax.terms, options) + centring
            # No power is more than the sum, nor so many times beyond those seen as it.
            [_, most_of_sums] = divisions[0].sums
            beyond = _times_beyond(spread, options.margin)
            largest = min(math.exp(high) * beyond**2, most_of_sums)
            yield _Way(scores, halvings, shift, largest, divisions, depth)


def _divisions(
    terms: int, spread: float, halvings: int, options: NetworkOptions
) -> tuple[tuple[_Division, ...], float]:
    """The divisions by sums of powers that take the fewest levels, and how many."""
    beyond = _times_beyond(spread, options.margin)
    widened = spread * (beyond * _SLACK) ** 2
    found = fewest_levels(widened, terms, halvings, options.precision + 1, _SLACK - 1.0)
    if not halvings:
        return (_Division(_RECIPROCAL, (1.0 / beyond, spread * beyond)),), found.depth
    low = 1.0 / beyond / _SLACK
    high = low * widened
    made, raised = list[_Division](), 1.0
    for each in found.all:
        # Sums of n squares of numbers whose sum is known; and so of powers.
        power = 2**each.squarings
        least = least_part(high / low, each.levels) ** power / terms ** (power - 1) / _SLACK
        # Numbers are rounded to the same digit, whatever their size: many quotients are so large
        # that the next sums and their reciprocals are of one size.
        raised = 1.0 / math.sqrt(least) if terms >= _MANY_TERMS else 1.0
        largest = raised ** (1.0 / power)
        reciprocal = normaliser(low, high, each.levels, largest)
        made.append(_Division(reciprocal, (low, high), each.squarings, largest))
        low, high = raised * least, raised * _SLACK
    return (*made, _Division(_RECIPROCAL, (low, high))), found.depth


def _square(largest: float) -> g.PolynomialLayer:
    """The square of quotients up to a number."""
    return g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -largest, largest)


def _levels_of_powers(low: float, high: float, terms: int, options: NetworkOptions) -> int:
    """The levels of a polynomial near e^x, by the first term that it leaves out."""
    half = (high - low) / 2 * (1.0 + options.margin)
    allowed = -(options.precision + 1) * math.log(2.0) - math.log(terms)
    levels, left_out = 0, math.inf
    while left_out > allowed:
        levels += 1
        degree = 2**levels
        left_out = (
            (high + low) / 2 + degree * math.log(max(half / 2, 1e-9)) - math.lgamma(degree + 1)
        )
    return levels

"""What a network's layers see of sample inputs: the ranges that activations are fitted to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cmp_to_key
from math import prod

import numpy as np

from cloakwork.base.itself import Itself
from cloakwork.errors import ActivationFitError, InvalidArgumentError, NotFiniteError
from cloakwork.plan.functions.observed import widened
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import Compute, by_parts, computed_layers, values

# Numbers as small beside the largest are those of errors.
_NEXT_TO_ZERO = 2.0**-40
# Inputs that are retained, spread evenly over all.
_MOST_RETAINED = 256
# What those of either kind take at most: an input of a deep decoder's step has megabytes of state.
_MOST_BYTES_RETAINED = 1 << 28
# As few as tell anything of their extremes.
_LEAST_RETAINED = 8


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The smallest and largest element of every node's results.

    Args:
        lows: By the nodes' numbers.
        highs: By the nodes' numbers.
        samples: How many inputs were seen.
        outermost: The inputs with the extremes of the operands of layers that are not linear,
            and of the results, each once, as `joined_rows` makes them; of large ones those with
            the most.
        spread: Up to 256 inputs spread evenly over all, fewer of large ones.
        meant: What results of some nodes are meant to be within, any margin included.
    """

    lows: g.Array
    highs: g.Array
    samples: int
    outermost: g.Array
    spread: g.Array
    meant: Mapping[int, g.Range] = field(default_factory=dict)

    @property
    def retained(self) -> g.Array:
        """All inputs that are retained; of few the outermost are among the others."""
        if self.has_all:
            return self.spread
        return np.concatenate([self.outermost, self.spread])

    @property
    def has_all(self) -> bool:
        """Whether all inputs that were seen are retained."""
        return self.samples == len(self.spread)

    def of_sources(self, sources: Sequence[int]) -> Calibration:
        """That of a network whose layers have the numbers that these of this one have."""
        kept = np.array(sources)
        meant = {now: self.meant[old] for now, old in enumerate(sources) if old in self.meant}
        return replace(self, lows=self.lows[kept], highs=self.highs[kept], meant=meant)

    def widened(self, number: int, margin: float) -> g.Range:
        """What a node is meant to be within, or its range and `margin` times half its width."""
        if self._is_as_meant(number):
            return self.meant[number]
        return widened(float(self.lows[number]), float(self.highs[number]), margin)

    def _is_as_meant(self, number: int) -> bool:
        """Whether it is known what a node is meant to be within, and it is."""
        low, high = self.meant.get(number, (np.inf, -np.inf))
        return bool(low <= self.lows[number] and self.highs[number] <= high)

    def widened_for(self, node: g.Node, margin: float) -> g.Range:
        """The range of a node's operand with a margin to both ends.

        That of a function which is defined above 0 alone is widened by a factor.
        """
        [operand] = node.inputs
        operation = node.operation
        if self._is_as_meant(operand):
            return self.meant[operand]
        if not isinstance(operation, g.Activation) or not FUNCTIONS[operation.function].of_positive:
            return self.widened(operand, margin)
        low, high = float(self.lows[operand]), float(self.highs[operand])
        if low <= 0:
            raise ActivationFitError(
                f"cannot fit {operation.function} of layer {node.name!r}: expected numbers above "
                f"0, got numbers from {low:.4g} to {high:.4g}; add a constant before it"
            )
        return low / (1.0 + margin), high * (1.0 + margin)


def calibrate(
    graph: g.Graph, batches: Iterable[g.Array], compute: Compute = computed_layers
) -> Calibration:
    """Run sample inputs through a network, all of them; only some are retained.


    >>> import numpy as np
    >>> from cloakwork.programs.ir import layers as g
    >>> nodes = [g.node("x", g.InputLayer((1,)), (), [])]
    >>> nodes.append(g.node("square", g.PolynomialLayer((0, 0, 1), "monomial", -9, 9), (0,), nodes))
    >>> nodes.append(g.node("y", g.OutputLayer(), (1,), nodes))
    >>> calibrate(g.build(nodes), [np.array([[-2.0], [1.0]])]).highs
    array([1., 4., 4.])
    """
    seen = Extremes.of_nothing(graph)
    spread = _Spread()
    for rows in batches:
        spread.add(rows)
        for part in by_parts(graph, lambda part: Extremes.of(graph, part, compute), rows):
            seen.take_in(part)
    if not spread.seen:
        raise InvalidArgumentError(
            "cannot calibrate the network: expected samples, got none; give some of the inputs "
            "that it was trained on (an iterator runs only once)"
        )
    outermost = _different([*seen.rows.values(), spread.retained[0]])
    return Calibration(seen.lows, seen.highs, spread.seen, outermost, np.stack(spread.retained))


def calibrated_again(
    graph: g.Graph,
    batches: Iterable[g.Array],
    before: Calibration,
    numbers: Sequence[int],
    changed: Collection[int],
) -> Calibration:
    """A calibration of a network made of one that was calibrated, which is not forgotten.

    All that was seen counts, also where samples could be read only once.

    Args:
        graph: The network.
        batches: Samples.
        before: What was seen of the one that it was made of.
        numbers: Which layer is now each layer of that one.
        changed: Those of that one whose numbers are others now.
    """
    seen = calibrate(graph, batches)
    kept = [number for number in range(len(numbers)) if number not in changed]
    now = np.array(numbers)[kept]
    seen.lows[now] = np.minimum(seen.lows[now], before.lows[kept])
    seen.highs[now] = np.maximum(seen.highs[now], before.highs[kept])
    meant = {numbers[each]: before.meant[each] for each in kept if each in before.meant}
    return replace(seen, samples=before.samples, meant=meant)


def _different(rows: Sequence[g.Array]) -> g.Array:
    """Rows in order, each once: as `np.unique` gives them, which takes seconds of long ones."""
    found: list[g.Array] = []
    each_once = {Itself(row): row for row in rows}
    for row in sorted(each_once.values(), key=cmp_to_key(_order)):
        if not found or not np.array_equal(found[-1], row):
            found.append(row)
    return np.stack(found)


def _order(row: g.Array, other: g.Array) -> int:
    """-1, 0 or 1, as a row comes before another, is the same or comes after it.

    Example:
        >>> _order(np.array([1.0, 2.0, 5.0]), np.array([1.0, 3.0, 4.0]))
        -1
    """
    different = row != other
    first = int(different.argmax())
    return int(np.sign(row.flat[first] - other.flat[first])) if different.flat[first] else 0


@dataclass(slots=True, eq=False)
class Extremes:
    """The smallest and largest element of every node's results, and inputs with some of them.

    Args:
        lows: By the nodes' numbers.
        highs: By the nodes' numbers.
        rows: The input with the extreme, by the number of a node that is decisive and which of
            both it is: of the operands of layers that are not linear, and of the results.
    """

    lows: g.Array
    highs: g.Array
    rows: dict[tuple[int, str], g.Array]

    @classmethod
    def of_nothing(cls, graph: g.Graph) -> Extremes:
        """What any number extends."""
        nothing = np.full(len(graph.nodes), np.inf)
        return cls(nothing, -nothing, {})

    @classmethod
    def of(cls, graph: g.Graph, rows: g.Array, compute: Compute) -> Extremes:
        """Those of some inputs."""
        found = cls.of_nothing(graph)
        decisive = _decisive(graph)
        # Rows of a decoder's state are long, and few are extreme for hundreds of layers.
        copied = cache(lambda row: rows[row].copy())
        for number, result in enumerate(_quiet_values(graph, rows, compute)):
            numbers = result.reshape(len(rows), prod(result.shape[1:]))
            lows, highs = numbers.min(axis=1, initial=np.inf), numbers.max(axis=1, initial=-np.inf)
            # A NaN is the least number of its row, and the greatest.
            if numbers.size and not (np.isfinite(lows).all() and np.isfinite(highs).all()):
                raise found.not_finite(graph.nodes[number])
            found.lows[number], found.highs[number] = (
                lows.min(initial=np.inf),
                highs.max(initial=-np.inf),
            )
            if number in decisive and numbers.size:
                found.rows[number, "low"] = copied(int(lows.argmin()))
                found.rows[number, "high"] = copied(int(highs.argmax()))
        return found

    def not_finite(self, node: g.Node) -> NotFiniteError:
        """The refusal of a node that makes NaN or an infinity of what nodes before it make."""
        operation = node.operation
        function = f"{operation.function} of " if isinstance(operation, g.Activation) else ""
        ranges = [f"{self.lows[each]:.4g} to {self.highs[each]:.4g}" for each in node.inputs]
        taken = f", of numbers from {' and from '.join(ranges)}" * bool(ranges)
        # Beyond 709 the exp of a double is infinite.
        is_exp = isinstance(operation, g.Activation) and operation.function == "exp"
        of_exp = "keep what exp takes below 700, as by bringing scores of a softmax closer together"
        return NotFiniteError(
            "cannot calibrate the network: expected finite numbers, got NaN or an infinity at "
            f"{function}{node.name!r}{taken}; "
            f"{of_exp if is_exp and ranges else 'look at the samples and weights'}"
        )

    def take_in(self, other: Extremes) -> None:
        """Extend by what others came to; of equals the first stays."""
        lower, higher = other.lows < self.lows, other.highs > self.highs
        is_farther = {"low": lower, "high": higher}
        farther = {key: row for key, row in other.rows.items() if is_farther[key[1]][key[0]]}
        self.rows = _of_most_extremes(self.rows | farther)
        self.lows = np.where(lower, other.lows, self.lows)
        self.highs = np.where(higher, other.highs, self.highs)


def _of_most_extremes(rows: dict[tuple[int, str], g.Array]) -> dict[tuple[int, str], g.Array]:
    """As many of the inputs as are retained, those that are extreme most often."""
    counts = Counter(map(Itself, rows.values()))
    most = max((_most_retained(row.nbytes) for row in rows.values()), default=0)
    kept = {row for row, _ in counts.most_common(most)}
    return {key: row for key, row in rows.items() if Itself(row) in kept}


def _most_retained(row_bytes: int) -> int:
    """How many inputs are within the bytes that they may take, of those of one.

    Example:
        >>> _most_retained(1 << 20), _most_retained(1 << 30)
        (256, 8)
    """
    return max(_LEAST_RETAINED, _MOST_BYTES_RETAINED // max(1, row_bytes))


def _quiet_values(graph: g.Graph, rows: g.Array, compute: Compute) -> Iterator[g.Array]:
    """The values of all nodes, without a warning where they are not finite."""
    made = values(graph, rows, compute=compute)
    for _ in graph.nodes:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value = next(made)
        yield value


def _decisive(graph: g.Graph) -> set[int]:
    """The nodes whose extremes decide on ranges."""
    decisive = g.Activation | g.PolynomialLayer | g.Multiply | g.Contraction | g.OutputLayer
    return {
        operand
        for node in graph.nodes
        if isinstance(node.operation, decisive)
        for operand in node.inputs
    }


class _Spread:
    """Retains inputs at even distances from a stream whose length is not known."""

    def __init__(self) -> None:
        self.seen = 0
        self.retained: list[g.Array] = []
        self._stride = 1

    def add(self, rows: g.Array) -> None:
        """Take in a batch."""
        for each in rows[-self.seen % self._stride :: self._stride]:
            self.retained.append(each.copy())
        self.seen += len(rows)
        most = min(_MOST_RETAINED, _most_retained(rows.shape[1] * rows.itemsize))
        while len(self.retained) > most:
            self.retained = self.retained[::2]
            self._stride *= 2


def not_above_zero(graph: g.Graph, calibration: Calibration) -> bool:
    """Whether a function that is defined above 0 alone receives other numbers, or next to 0."""
    return any(
        calibration.lows[node.inputs[0]] <= _NEXT_TO_ZERO * calibration.highs[node.inputs[0]]
        for node in graph.nodes
        if isinstance(node.operation, g.Activation)
        and FUNCTIONS[node.operation.function].of_positive
    )


def with_ranges_of_factors(graph: g.Graph) -> g.Graph:
    """The same network, whose products expect factors within ranges that are not known yet."""
    unknown = (-float("inf"), float("inf"))
    nodes = [
        replace(node, operation=replace(node.operation, ranges=(unknown, unknown)))
        if isinstance(node.operation, g.Multiply | g.Contraction)
        else node
        for node in graph.nodes
    ]
    return g.build(nodes, graph.form)


def bounded(graph: g.Graph, bounds: Sequence[float]) -> g.Graph:
    """The same network with these bounds for inputs that have none yet."""
    nodes = list(graph.nodes)
    for number, (node, bound) in enumerate(zip(graph.inputs, bounds, strict=True)):
        operation = node.operation
        if isinstance(operation, g.InputLayer) and not np.isfinite(operation.bound):
            nodes[number] = replace(node, operation=replace(operation, bound=bound))
    return g.build(nodes, graph.form)

"""What a network's layers see of sample inputs: the ranges that activations are fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.base.arrays import real_array
from cloakwork.errors import InvalidArgumentError, NotFiniteError, ShapeMismatchError
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import Compute, applied, values

# Inputs that are run through a network at once.
_AT_ONCE = 256
# Inputs that are kept, spread evenly over all.
_MOST_KEPT = 256


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The smallest and largest element of every node's results.

    Args:
        lows: By the nodes' numbers.
        highs: By the nodes' numbers.
        samples: How many inputs were seen.
        outermost: Those of them with the extremes of the operands of layers that are not linear,
            and of the result, each once.
        spread: Up to 256 spread evenly over all.
    """

    lows: g.Array
    highs: g.Array
    samples: int
    outermost: g.Array
    spread: g.Array

    def widened(self, number: int, margin: float) -> tuple[float, float]:
        """A node's range with `margin` times its half width beyond both ends."""
        low, high = float(self.lows[number]), float(self.highs[number])
        # A node that never changes has no width, and a polynomial needs one.
        more = margin * (high - low) / 2 or margin * abs(high) or 1.0
        return low - more, high + more


def calibrate(graph: g.Graph, samples: Any, compute: Compute = applied) -> Calibration:
    """Run sample inputs through a network, all of them; only some are kept.

    Args:
        graph: The network.
        samples: Inputs along the first axis of an array, a tensor or nested lists, or an
            iterable, such as torch's DataLoader, of batches, each alone or first of a tuple or
            list.
        compute: How an operation is computed.

    Raises:
        InvalidArgumentError: There is no sample.
        ShapeMismatchError: The samples are not inputs of the network's shape.
        NotFiniteError: A sample, or what the network makes of one, is NaN or infinite.

    >>> import numpy as np
    >>> from cloakwork.programs.ir import layers as g
    >>> nodes = [g.node("x", g.Input((1,)), (), [])]
    >>> nodes.append(g.node("square", g.Polynomial((0, 0, 1), "monomial", -9, 9), (0,), nodes))
    >>> nodes.append(g.node("y", g.Output(), (1,), nodes))
    >>> calibrate(g.build(nodes), np.array([[-2.0], [1.0]])).highs
    array([1., 4., 4.])
    """
    lows = np.full(len(graph.nodes), np.inf)
    highs = -lows
    watched = {
        operand
        for node in graph.nodes
        if isinstance(node.operation, (g.Activation, g.Polynomial, g.Multiply, g.Output))
        for operand in node.inputs
    }
    extremes: dict[tuple[int, str], g.Array] = {}
    spread = _Spread()
    for batch in batches(graph.input.shape, samples):
        spread.add(batch)
        for number, result in enumerate(values(graph, batch, compute=compute)):
            if not np.isfinite(result).all():
                raise NotFiniteError(
                    "cannot calibrate the network: expected finite numbers, got NaN or an "
                    f"infinity at {graph.nodes[number].name!r}; look at the samples and weights"
                )
            rows = result.reshape(len(batch), -1)
            low, high = rows.min(initial=np.inf), rows.max(initial=-np.inf)
            if number in watched and low < lows[number]:
                extremes[number, "low"] = batch[rows.min(axis=1).argmin()].copy()
            if number in watched and high > highs[number]:
                extremes[number, "high"] = batch[rows.max(axis=1).argmax()].copy()
            lows[number] = min(lows[number], low)
            highs[number] = max(highs[number], high)
    if not spread.seen:
        raise InvalidArgumentError(
            "cannot calibrate the network: expected samples, got none; give some of the inputs "
            "that it was trained on (an iterator runs only once)"
        )
    outermost = np.unique(np.stack([*extremes.values(), spread.kept[0]]), axis=0)
    return Calibration(lows, highs, spread.seen, outermost, np.stack(spread.kept))


class _Spread:
    """Keeps inputs at even distances from a stream whose length is not known."""

    def __init__(self) -> None:
        self.seen = 0
        self.kept: list[g.Array] = []
        self._stride = 1

    def add(self, batch: g.Array) -> None:
        """Take in a batch."""
        for each in batch[-self.seen % self._stride :: self._stride]:
            self.kept.append(each.copy())
        self.seen += len(batch)
        while len(self.kept) > _MOST_KEPT:
            self.kept = self.kept[::2]
            self._stride *= 2


def bounded(graph: g.Graph, bound: float) -> g.Graph:
    """The same network with a bound for its input."""
    first = graph.nodes[0]
    checked = replace(first, operation=replace(graph.input, bound=bound))
    return g.build([checked, *graph.nodes[1:]])


def batches(shape: g.Shape, samples: Any) -> Iterator[g.Array]:
    """Samples as batches of up to 256 inputs of a shape, in float64.

    Args:
        shape: Of an input.
        samples: An array, which nested lists of numbers may stand for, or an iterable of arrays,
            each alone or first of a tuple or list.

    Raises:
        InvalidArgumentError: The samples are neither arrays nor an iterable of them.
        ShapeMismatchError: A batch's inputs have another shape.
        NotFiniteError: There is a NaN or an infinity.
        NotRealError: They are complex, text or objects.
    """
    whole = hasattr(samples, "shape") or _nesting(samples) == len(shape) + 1
    for each in [samples] if whole else _iterated(samples):
        alone = _nesting(each) == len(shape) + 1
        inputs = each[0] if isinstance(each, (tuple, list)) and each and not alone else each
        batch = real_array(inputs, "take samples of a network's input")
        if batch.ndim == 0 or batch.shape[1:] != shape:
            raise ShapeMismatchError(
                "cannot take samples of a network's input: expected batches of shape (batch, "
                f"{', '.join(map(str, shape))}), got {batch.shape}; put inputs along a first axis"
            )
        for start in range(0, len(batch), _AT_ONCE):
            yield batch[start : start + _AT_ONCE]


def _nesting(samples: Any) -> int:
    """How many axes nested lists of numbers have; 0 where they are none."""
    depth = 0
    while isinstance(samples, (tuple, list)) and samples:
        samples, depth = samples[0], depth + 1
    return depth if isinstance(samples, Real) else 0


def _iterated(samples: Any) -> Iterable[Any]:
    if isinstance(samples, Iterable):
        return samples
    raise InvalidArgumentError(
        "cannot take samples of a network's input: expected an array, a tensor or an iterable of "
        f"batches, such as a DataLoader, got {shown(samples)}"
    )

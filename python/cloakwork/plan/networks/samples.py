"""Sample inputs as users give them, read as batches of all inputs of a network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from numbers import Real
from typing import Any

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.base.arrays import real_array
from cloakwork.errors import InputNameError, InvalidArgumentError, ShapeMismatchError
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import table_of_inputs

# Inputs that are run through a network at once.
_BATCH = 256

_ACTION = "take samples of a network's inputs"


class Samples:
    """Batches of inputs for a network, read from what a user gives.

    A batch of several inputs is a tuple, or a dict by the names of the inputs. Samples are one
    batch, or an iterable of batches such as torch's DataLoader, in which labels may follow the
    inputs. A single input is its batch itself, too: an array, a tensor or nested lists.

    Args:
        graph: The network.
        given: The samples.

    Raises:
        InvalidArgumentError: The samples are neither a batch nor an iterable of batches.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((2,)), (), [])]
        >>> nodes += [g.node("y", g.InputLayer((1,)), (), [])]
        >>> nodes += [g.node("z", g.OutputLayer(), (1,), nodes)]
        >>> x, y = np.zeros((300, 2)), np.ones((300, 1))
        >>> [rows.shape for rows in Samples(g.build(nodes), {"x": x, "y": y})]
        [(256, 3), (44, 3)]
    """

    def __init__(self, graph: g.Graph, given: Any) -> None:
        self._graph = graph
        self._is_one_batch = self._is_batch(given)
        if not self._is_one_batch and not isinstance(given, Iterable):
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected an array, a tensor or an iterable of batches, such as "
                f"a DataLoader, got {shown(given)}"
            )
        self._batches = [given] if self._is_one_batch else given

    def __iter__(self) -> Iterator[g.Array]:
        """Batches of up to 256 entries, as `joined_rows` makes them."""
        for batch in self._batches:
            yield from batches_of(table_of_inputs(self._graph, self._arrays(batch)))

    @property
    def are_repeatable(self) -> bool:
        """Whether they may be read a second time; most that cannot have no length."""
        if isinstance(self._batches, Iterator):
            return False
        try:
            len(self._batches)
        except TypeError:
            return False
        return True

    def again(self, retained: g.Array) -> Iterable[g.Array]:
        """The batches once more, or what was retained where samples can be read only once."""
        return self if self.are_repeatable else list(batches_of(retained))

    def first(self, count: int) -> g.Array:
        """Up to `count` entries of the first batch, which stays to be read."""
        source = self._batches
        if not self.are_repeatable:
            remaining = iter(self._batches)
            source = list(islice(remaining, 1))
            self._batches = chain(source, remaining)
        for batch in source:
            return table_of_inputs(self._graph, self._arrays(batch))[:count]
        return np.zeros((0, 0))

    def _is_batch(self, given: Any) -> bool:
        """Whether samples are a batch of inputs, not several batches."""
        if len(self._graph.inputs) > 1:
            return isinstance(given, tuple | Mapping)
        [only] = self._graph.inputs
        axes = len(only.shape) + 1
        return isinstance(given, Mapping) or hasattr(given, "shape") or _nesting(given) == axes

    def _arrays(self, batch: Any) -> list[g.Array]:
        """The batch of each input."""
        inputs = self._graph.inputs
        if isinstance(batch, Mapping):
            missing = [each.name for each in inputs if each.name not in batch]
            if missing:
                raise InputNameError(
                    f"cannot {_ACTION}: expected a batch of {missing[0]!r}, got batches of "
                    f"{', '.join(map(str, batch)) or 'nothing'}"
                )
            parts = [batch[each.name] for each in inputs]
        elif len(inputs) == 1:
            alone = _nesting(batch) == len(inputs[0].shape) + 1
            parts = [batch[0] if isinstance(batch, tuple | list) and batch and not alone else batch]
        elif isinstance(batch, tuple | list) and len(batch) >= len(inputs):
            parts = list(batch[: len(inputs)])
        else:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected a tuple of {len(inputs)} arrays, or a dict by "
                f"{', '.join(each.name for each in inputs)}, got {shown(batch)}"
            )
        arrays = [real_array(part, _ACTION) for part in parts]
        for node, array in zip(inputs, arrays, strict=True):
            if array.ndim == 0 or array.shape[1:] != node.shape:
                raise ShapeMismatchError(
                    f"cannot {_ACTION}: expected batches of {node.name!r} of shape (batch, "
                    f"{', '.join(map(str, node.shape))}), got {array.shape}; put inputs along a "
                    "first axis"
                )
        if len({len(array) for array in arrays}) > 1:
            raise ShapeMismatchError(
                f"cannot {_ACTION}: expected as many entries of every input, got "
                f"{', '.join(f'{len(a)} of {n.name}' for n, a in zip(inputs, arrays, strict=True))}"
            )
        return arrays


def batches_of(rows: g.Array) -> Iterator[g.Array]:
    """Many inputs as batches of up to 256.

    Example:
        >>> [len(batch) for batch in batches_of(np.zeros((300, 2)))]
        [256, 44]
    """
    for start in range(0, len(rows), _BATCH):
        yield rows[start : start + _BATCH]


def _nesting(samples: Any) -> int:
    """How many axes nested lists of numbers have; 0 for anything else."""
    depth = 0
    while isinstance(samples, tuple | list) and samples:
        samples, depth = samples[0], depth + 1
    return depth if isinstance(samples, Real) else 0

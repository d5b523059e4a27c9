"""numpy's counts of encrypted numbers between known ones, by comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import choice
from cloakwork.base.arrays import real_array
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError, UnsupportedOperationError
from cloakwork.frontends.tensors.methods import TensorMethods, as_operand
from cloakwork.frontends.tensors.numpy.linear_maps import along
from cloakwork.frontends.tensors.numpy.rearranging import asked, require_clear


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """How many numbers lie between known edges, and these, as `numpy.histogram`.

    Raises:
        UnsupportedOperationError: The edges are not known.
        ShapeMismatchError: The weights are not as many as the numbers.
    """
    require_clear("histogram", bins, range)
    read = as_operand(a, "histogram")
    if not isinstance(read, TensorMethods):
        edges = asked("histogram", lambda: np.histogram_bin_edges(read, bins, range))
        return _weighed(read.reshape(-1), edges, _flat(weights, read.size)), edges
    if isinstance(bins, str) or (np.ndim(bins) == 0 and range is None):
        raise UnsupportedOperationError(
            "cannot compute numpy.histogram of an encrypted tensor: expected known edges, which "
            "nobody here can take from its numbers; give bins= as a list of edges, or range= "
            "beside their number"
        )
    edges = asked("histogram", lambda: np.histogram_bin_edges(np.zeros(0), bins, range))
    holds = 1.0 * (read.reshape(-1) >= edges[:, None])
    above = holds.sum(1) if weights is None else holds @ _flat(weights, read.size)
    return above[:-1] - above[1:], edges


def _flat(weights: Any, size: int) -> Any:
    read = as_operand(weights, "histogram").reshape(-1)
    if read.size != size:
        raise ShapeMismatchError(
            f"cannot histogram: expected a weight for each of {size} numbers, got {read.size}"
        )
    return read


def _weighed(numbers: NDArray[np.float64], edges: Any, weights: Any) -> Any:
    """The sums of encrypted weights of known numbers."""

    def columns(identity: NDArray[np.float64]) -> NDArray[np.float64]:
        found = [np.histogram(numbers, edges, weights=row)[0] for row in identity]
        return np.stack(found, axis=1)

    return along(1.0 * weights, 0, "histogram", columns)


def sums_by_number(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """The sums of encrypted weights by known numbers, as `numpy.bincount`.

    Raises:
        UnsupportedOperationError: The numbers are encrypted.
    """
    if isinstance(x, TensorMethods):
        raise UnsupportedOperationError(
            "cannot compute numpy.bincount of encrypted numbers: the largest says how long the "
            "result is; write numpy.histogram(x, numpy.arange(n + 1) - 0.5)[0] for numbers below n"
        )

    def columns(identity: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([np.bincount(x, row, minlength) for row in identity], axis=1)

    return along(1.0 * weights, 0, "bincount", columns)


def places_between(x: Any, bins: Any, right: bool = False) -> Any:
    """Between which known numbers each element lies, as `numpy.digitize`.

    Raises:
        InvalidArgumentError: The known numbers neither rise nor fall.
    """
    require_clear("digitize", bins)
    edges = real_array(bins, "digitize")
    steps = np.diff(edges)
    if edges.ndim != 1 or not ((steps >= 0).all() or (steps <= 0).all()):
        raise InvalidArgumentError(
            "cannot digitize: expected a vector of bins that rise or fall, got others; sort them"
        )
    spread = x[..., None]
    if (steps >= 0).all():
        return (spread > edges if right else spread >= edges).sum(-1)
    return (spread <= edges if right else spread < edges).sum(-1)


def places_among(a: Any, v: Any, side: str = "left") -> Any:
    """Where elements belong among sorted numbers, as `numpy.searchsorted`.

    Raises:
        ShapeMismatchError: The sorted numbers are not a vector.
        InvalidArgumentError: The side is neither "left" nor "right".
    """
    choice(side, ("left", "right"), "side", "searchsorted")
    a, v = as_operand(a, "searchsorted"), as_operand(v, "searchsorted")
    if a.ndim != 1:
        raise ShapeMismatchError(f"cannot searchsorted: expected a vector, got the shape {a.shape}")
    spread = v[..., None]
    return (a < spread if side == "left" else a <= spread).sum(-1)

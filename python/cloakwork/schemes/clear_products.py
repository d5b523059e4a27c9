"""Rotated products in the clear: what `programs.operations.products` means, by matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rotated_products(left: NDArray[Any], right: NDArray[Any], step: int) -> NDArray[Any]:
    """The sums over j of left j, rotated by t times the step, times right j.

    Example:
        >>> u, v = np.array([[1, 2, 3, 4]]), np.array([[10, 10, 1, 1]])
        >>> rotated_products(u, v, 2).tolist()
        [[10, 20, 3, 4], [30, 40, 1, 2]]
    """
    terms, *rows, slots = left.shape
    turns = slots // step
    # A matrix of each lane: rows of slots and lanes are what products are taken in.
    u, v = (each.reshape(terms, -1, turns, step) for each in (left, right))
    lanes = u.transpose(1, 3, 2, 0) @ v.transpose(1, 3, 0, 2)
    own = np.arange(turns)
    rotated = (own[:, np.newaxis] + own) % turns
    # Axes: row of slots, lane, rotation t, h.
    products = lanes[:, :, rotated, own]
    return np.ascontiguousarray(products.transpose(2, 0, 3, 1)).reshape(turns, *rows, slots)


def skewed(vectors: NDArray[Any], step: int) -> NDArray[Any]:
    """The lists whose rotated products are the diagonal products of runs of vectors.

    Slots of row h of vector j of a run are those of vector j - h.

    Example:
        >>> skewed(np.array([[1, 2], [3, 4]]), 1).tolist()
        [[1, 4], [3, 2]]
    """
    terms, *between, slots = vectors.shape
    turns = slots // step
    runs = vectors.reshape(terms // turns, turns, -1, turns, step)
    own = np.arange(turns)
    # Axes: number j of a run, row h.
    others = (own[:, np.newaxis] - own) % turns
    # Axes that are numbered come first: j, h, run, row of slots, lane.
    found = runs[:, others, :, own]
    return np.moveaxis(found, (0, 1, 2), (1, 3, 0)).reshape(terms, *between, slots)

"""By how much scores are multiplied before they are rounded to integers."""

from __future__ import annotations

import numpy as np

from cloakwork.frontends.models.forests import Forest, leaves_as_array

# What is nearer to an integer than this is one but for rounding.
_NEAR = 1e-6
# Integers that the largest leaf may be, so that all others are integers, too.
_MOST_TRIED = 1 << 12


def scale_of(greatest: float, bits: int) -> float:
    """The scale by which the greatest absolute value has so many bits.

    Example:
        >>> scale_of(0.5, 8)
        510.0
    """
    return ((1 << bits) - 1) / greatest if greatest else 1.0


def exact_scale(forest: Forest, bits: int) -> float | None:
    """The smallest scale of so many bits by which all leaves are integers, if there is one.

    Those of a forest that was grown to the end are 0 or 1 by the number of trees.

    Example:
        >>> from cloakwork.frontends.models.forests import InnerNode, Leaf
        >>> from cloakwork.frontends.models.features import Condition
        >>> tree = InnerNode(Condition(0, 1.0), Leaf((0.25,)), Leaf((0.75,)))
        >>> exact_scale(Forest((tree,), (0.0,)), 8)
        4.0
    """
    values = np.unique(np.concatenate([leaves_as_array(forest).ravel(), forest.base]))
    greatest = forest.greatest
    if not greatest:
        return 1.0
    for most in range(1, min(1 << bits, _MOST_TRIED)):
        scaled = values * (most / greatest)
        if np.all(np.abs(scaled - np.rint(scaled)) < _NEAR):
            return most / greatest
    return None

"""Values with minus infinity, or next to it, where a known mask hides elements from a softmax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g

# A softmax gives numbers as low no weight beside others, in float64 either; those in between might
# have some.
_LOW, _HIGH = -1e4, -5e3
# What is added to as low numbers is lost to rounding.
_LOWEST = -1e30


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """A value, some elements of which a softmax does not see.

    Args:
        seen: Ones for elements that count, zeros for those that do not, of the value's shape.
        value: Makes the value, with any numbers where low ones stand.
        plain: Makes the value with the numbers that do stand there; None where one is infinite.
        is_equal: Whether these numbers are one and the same, whatever was added to them.
    """

    seen: g.Array
    value: Callable[[], Term]
    plain: Callable[[], Term] | None
    is_equal: bool = False


def is_lowest(known: g.Array) -> bool:
    """Whether those of known numbers that hide elements are one, and what is added to them lost.

    Example:
        >>> is_lowest(np.array([0.0, -1e38])), is_lowest(np.array([0.0, -1e9]))
        (True, False)
    """
    low = known[known < _HIGH]
    return bool(low.size) and bool((low == low[0]).all() and _LOWEST >= low[0] > -np.inf)


def held_apart(known: g.Array) -> tuple[g.Array, g.Array]:
    """Known numbers with zeros in place of those that hide elements, and ones where these stand.

    Example:
        >>> held_apart(np.array([0.5, -np.inf, -1e9]))
        (array([0.5, 0. , 0. ]), array([0., 1., 1.]))
    """
    is_clear = not ((known > _LOW) & (known < _HIGH)).any()
    hidden = known <= _LOW if is_clear else np.isneginf(known)
    return np.where(hidden, 0.0, known), hidden.astype(np.float64)

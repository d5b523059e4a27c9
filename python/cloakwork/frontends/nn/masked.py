"""Values with minus infinity where a known mask hides elements, as a softmax takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """A value, some elements of which a softmax does not see.

    Args:
        value: The value, with any numbers where minus infinity stands.
        seen: Ones for elements that count, zeros for those that do not, of the value's shape.
    """

    value: Term
    seen: g.Array


def apart(known: g.Array) -> tuple[g.Array, g.Array]:
    """Known numbers with zeros in place of minus infinity, and ones where it stands.

    Example:
        >>> apart(np.array([0.5, -np.inf]))
        (array([0.5, 0. ]), array([0., 1.]))
    """
    hidden = np.isneginf(known)
    return np.where(hidden, 0.0, known), hidden.astype(np.float64)

"""Constants that several values in a row are multiplied by, encoded once."""

from __future__ import annotations

import threading
from collections import OrderedDict

from cloakwork._native import Parameters, Plaintext
from cloakwork.programs.slots import Vector

# As many as operations that run at the same time work with.
_MOST = 4


class RecentPlaintexts:
    """The constants that were encoded last.

    Args:
        parameters: The parameter set.

    Example:
        >>> import numpy as np
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> recent, ones = RecentPlaintexts(p), np.ones(512)
        >>> recent.of(ones, 1, p.scale(1)) is recent.of(ones, 1, p.scale(1))
        True
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        # The constants stay with their plaintexts, so that no other vector takes their identity.
        self._made: OrderedDict[tuple[int, int, float], tuple[Vector, Plaintext]] = OrderedDict()
        self._changing = threading.Lock()

    def of(self, constant: Vector, level: int, scale: float) -> Plaintext:
        """A constant encoded at a level and scale."""
        key = (id(constant), level, scale)
        with self._changing:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key][1]
        made = self._parameters.encode(constant, level=level, scale=scale)
        with self._changing:
            self._made[key] = (constant, made)
            if len(self._made) > _MOST:
                self._made.popitem(last=False)
        return made

"""Constants that several values in a row are multiplied by, encoded once."""

from __future__ import annotations

import threading
from collections import OrderedDict

from cloakwork._native import Parameters, Plaintext
from cloakwork.base.itself import Itself
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
        self._made: OrderedDict[tuple[Itself[Vector], int, float], Plaintext] = OrderedDict()
        self._changing = threading.Lock()

    def of(self, constant: Vector, level: int, scale: float) -> Plaintext:
        """A constant encoded at a level and scale."""
        key = (Itself(constant), level, scale)
        with self._changing:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
        made = self._parameters.encode(constant, level=level, scale=scale)
        with self._changing:
            self._made[key] = made
            if len(self._made) > _MOST:
                self._made.popitem(last=False)
        return made

"""The programs that a measured server has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cloakwork as cw

_MATRIX = np.random.default_rng(0).uniform(-1, 1, (512, 512)) / 8
# How far a result may be off.
TOLERANCE = 2.0**-10


@dataclass(frozen=True, slots=True)
class Case:
    """A program of one vector.

    Args:
        function: What it computes.
        size: The size of the vector.
        log_n: log2 of the ring.
    """

    function: Callable[[Any], Any]
    size: int
    log_n: int

    def compiled(self) -> cw.Program:
        """The program."""
        return cw.compile(self.function, (self.size,), log_n=self.log_n, insecure=True)

    def is_right(self, result: Any, x: NDArray[np.float64]) -> bool:
        """Whether a result is as close as it has to be."""
        return bool(np.abs(result - self.function(x)).max() < TOLERANCE)


def _layers(size: int) -> Callable[[Any], Any]:
    own = _MATRIX[:size, :size] / size**0.5

    def layers(x: Any) -> Any:
        return np.tanh(own @ np.tanh(x))

    return layers


# Their keys are small, as each of hundreds of clients has its own.
SMALL = Case(lambda x: np.exp(np.tanh(x)), 256, 13)
# Of 0.1 to 3 seconds on one thread.
MIXED: Mapping[str, Case] = {
    "short": Case(lambda x: np.exp(np.tanh(x)), 256, 15),
    "medium": Case(_layers(256), 256, 13),
    "long": Case(_layers(512), 512, 14),
}

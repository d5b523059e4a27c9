"""The numbers that bits stand for, of the phases that these come as."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.ir.elementwise import LABELS
from cloakwork.programs.ir.tensors import Apply, Contract, Node, Source
from cloakwork.programs.port import Port


def numbers_of_phases(source: Source, port: Port) -> Node:
    """The bits of a port, or, of a kind of numbers, the numbers that they are.

    Args:
        source: The phases of the bits, those of an element along the last axis.
        port: What the bits are.

    Example:
        >>> numbers_of_phases(Source("a", (3, 4)), Port("a", "unsigned", 4, (3,))).shape
        (3,)
    """
    bits = Apply("bit_of_phase", source)
    if port.kind == "bits":
        return bits
    worth: NDArray[np.float64] = np.ldexp(1.0, np.arange(port.width) - port.fraction)
    if port.kind == "signed":
        worth[-1] = -worth[-1]
    labels = LABELS[: len(source.shape)]
    return Contract((bits, worth), (labels, labels[-1]), labels[:-1], port.shape)

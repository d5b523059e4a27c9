"""Whether a network's client accepts inputs."""

import numpy as np
from numpy.typing import NDArray

from cloakwork.runtime.program import Program


def unfit(network: Program, inputs: NDArray[np.float64]) -> list[str]:
    """The layers that inputs along a first axis bring numbers to that they are not meant for."""
    (port,) = network.inputs
    shaped = np.asarray(inputs, dtype=np.float64).reshape(-1, *port.shape)
    left = network.left_ranges(network.packing.pack({port.name: shaped}, "test"))
    return [each.report for each in left]

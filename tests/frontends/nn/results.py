"""The arrays in the results of a network, or of torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def arrays(results: Any) -> list[np.ndarray]:
    """One array, or those of a list, a tuple or a dict, in order."""
    if isinstance(results, Mapping):
        return [np.asarray(each) for each in results.values()]
    if isinstance(results, list | tuple):
        return [np.asarray(each) for each in results]
    return [np.asarray(results)]

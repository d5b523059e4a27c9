"""The product of numbers that are given by their digits."""

from __future__ import annotations

from typing import Any

import cloakwork as cw
from benchmarks.suite.zn_multiplication.workload import DIGITS, LARGEST_DIGIT

_NUMBER = cw.vector(DIGITS, bounds=(0, LARGEST_DIGIT))


@cw.circuit(left=_NUMBER, right=_NUMBER)
def product(left: Any, right: Any) -> Any:
    """Digits of the product below 2^64, before carries."""
    return [sum(left[i] * right[k - i] for i in range(k + 1)) for k in range(DIGITS)]

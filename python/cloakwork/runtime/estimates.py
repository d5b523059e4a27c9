"""What noise does to a program's results, known before it runs by the program alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cloakwork.runtime.executor import run_in_order
from cloakwork.schemes.base import Scheme


def estimated_results(
    scheme: Scheme,
    body: Any,
    input_bounds: Sequence[float] | None = None,
    bounds: Sequence[float | None] | None = None,
) -> list[list[Any]]:
    """Under each parameter set an estimate of every result; nothing of schemes without estimates.

    Over reals the bounds are the largest absolute values of any slot, of inputs and of operations.

    Raises:
        NoiseExhaustedError: Noise would destroy a result.
    """
    return [
        run_in_order(body, backend, inputs, bounds)
        for backend, inputs in scheme.estimators(body, input_bounds)
    ]

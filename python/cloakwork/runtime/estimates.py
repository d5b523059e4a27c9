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
    """The estimates of a program's results, whatever key encrypts its inputs.

    Args:
        scheme: What it is encrypted by.
        body: The program.
        input_bounds: Of a program over reals, for each input the largest absolute value of any
            slot.
        bounds: For each operation the same, None where it is not known.

    Returns:
        Under each parameter set an estimate of every result; nothing of schemes without estimates.

    Raises:
        NoiseExhaustedError: Noise would destroy a result.

    Example:
        >>> from cloakwork._native import Parameters
        >>> from cloakwork.programs.slots import Add, Input, Output, SlotProgram
        >>> from cloakwork.schemes.ckks import Ckks
        >>> program = SlotProgram("x+x", 512, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
        >>> scheme = Ckks(Parameters(levels=0, log_n=10, insecure=True))
        >>> estimated_results(scheme, program, [1.0])[0][0].bound
        2.0
    """
    return [
        run_in_order(body, backend, inputs, bounds)
        for backend, inputs in scheme.estimators(body, input_bounds)
    ]

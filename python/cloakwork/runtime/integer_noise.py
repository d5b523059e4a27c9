"""Whether a program over integers leaves its results right, by bounds on noise."""

from __future__ import annotations

from typing import Any

from cloakwork._native import BgvParameters
from cloakwork.programs.slots import Input
from cloakwork.runtime.executor import run_in_order
from cloakwork.schemes.bgv_noise import BgvEstimates, Estimated


def require_noise_within(program: Any, parameters: BgvParameters) -> None:
    """Refuse a program whose noise would destroy a result.

    Args:
        program: A slot program over integers.
        parameters: What it runs under.

    Raises:
        NoiseExhaustedError: Noise would destroy a result.
    """
    inputs = [
        Estimated(parameters.fresh(operation.level))
        for operation in program.operations
        if isinstance(operation, Input)
    ]
    run_in_order(program, BgvEstimates(parameters), inputs)

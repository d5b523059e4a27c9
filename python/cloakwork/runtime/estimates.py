"""What noise does to a program's results, known before it runs by the program alone."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork._native import BgvParameters, CkksEstimate, Parameters
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.executor import run_in_order
from cloakwork.schemes.base import levels_of
from cloakwork.schemes.bgv_noise import BgvEstimates
from cloakwork.schemes.ckks_estimates import CkksEstimates


def require_noise_within(
    program: SlotProgram, parameters: BgvParameters, *, public_inputs: bool
) -> None:
    """Refuse a program over integers whose noise would destroy a result.

    Args:
        program: The program.
        parameters: What it runs under.
        public_inputs: Whether inputs may be encrypted by a public key.

    Raises:
        NoiseExhaustedError: Noise would destroy a result.
    """
    fresh = parameters.fresh_public if public_inputs else parameters.fresh
    inputs = [fresh(level) for level in levels_of(program, "inputs")]
    run_in_order(program, BgvEstimates(parameters), inputs)


def estimated_results(
    program: SlotProgram,
    parameters: Parameters,
    input_bounds: Sequence[float],
    bounds: Sequence[float | None] | None,
) -> list[CkksEstimate]:
    """The estimates of the results of a program over reals, whatever key encrypts its inputs.

    An encryption under the public key has more noise than one under the secret key.

    Args:
        program: The program.
        parameters: What it runs under.
        input_bounds: For each input the largest absolute value of any slot.
        bounds: For each operation the same, None where it is not known.

    Example:
        >>> from cloakwork.programs.slots import Add, Input, Output
        >>> program = SlotProgram("x+x", 512, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
        >>> p = Parameters(levels=0, log_n=10, insecure=True)
        >>> estimated_results(program, p, [1.0], None)[0].bound
        2.0
    """
    inputs = [
        parameters.estimate(program.slots, level=level, bound=bound).encrypted_publicly()
        for level, bound in zip(levels_of(program, "inputs"), input_bounds, strict=True)
    ]
    return run_in_order(program, CkksEstimates(parameters), inputs, bounds)

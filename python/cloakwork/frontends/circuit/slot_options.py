"""What is asked of the parameters of a program over integers on slots."""

from __future__ import annotations

from cloakwork._native import (
    BGV_FAILURE_BITS,
    BGV_LEAST_FAILURE_BITS,
    BGV_MOST_FAILURE_BITS,
)
from cloakwork.base.arguments import bytes_limit, integer, truth
from cloakwork.plan.parameters.bgv import IntegerOptions
from cloakwork.plan.parameters.rings import RINGS

_MAX_BATCH = 1 << 16


def slot_options(
    action: str,
    bits: int,
    *,
    batch: int = 1,
    log_n: int | None = None,
    insecure: bool = False,
    public_inputs: bool = False,
    key_budget: int | None = None,
    failure_bits: int = BGV_FAILURE_BITS,
) -> IntegerOptions:
    """What is asked, checked; see `CircuitFunction.compile`.

    Args:
        action: What is attempted.
        bits: Results are signed numbers of so many bits.

    Raises:
        InvalidArgumentError: An argument is out of range.

    Example:
        >>> slot_options("compile", 8, log_n=13).rings
        range(13, 14)
    """
    rings = RINGS
    if log_n is not None:
        log_n = integer(log_n, "log_n", action, least=5, most=17)
        rings = range(log_n, log_n + 1)
    return IntegerOptions(
        bits,
        integer(batch, "batch", action, least=1, most=_MAX_BATCH),
        rings,
        truth(insecure, "insecure", action),
        truth(public_inputs, "public_inputs", action),
        bytes_limit(key_budget, "key_budget", action),
        integer(
            failure_bits,
            "failure_bits",
            action,
            least=BGV_LEAST_FAILURE_BITS,
            most=BGV_MOST_FAILURE_BITS,
        ),
    )

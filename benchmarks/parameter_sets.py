"""The parameter sets that the engine is measured under."""

from __future__ import annotations

from cloakwork._native import Parameters, max_log_qp
from cloakwork.errors import InsecureParametersError, InvalidParametersError

SCALE_BITS = 40.0

# log2 of the ring degrees.
RINGS = range(13, 17)

_DIGITS = (3, 2, 1)
_LEAST_HEADROOM_BITS = 10
_MOST_HEADROOM_BITS = 60


def largest_parameters(log_n: int, share: float = 1.0) -> Parameters:
    """The most levels that a modulus holds with three key-switching digits or fewer.

    What is left over becomes headroom.

    Args:
        log_n: log2 of the ring degree.
        share: The part of the bits of the largest modulus at 128 bits of security.
    """
    log_qp = share * (max_log_qp(log_n) or 0.0)
    # The key-switching primes exceed a digit, so a third of all digits at the least.
    room = int(log_qp * _DIGITS[0] / (_DIGITS[0] + 1) - SCALE_BITS)
    for levels in reversed(range(int(room / SCALE_BITS) + 1)):
        most_headroom_bits = min(int(room - levels * SCALE_BITS), _MOST_HEADROOM_BITS)
        for digits in _DIGITS:
            # Key-switching primes come in whole words, so sizes do not rise evenly.
            for headroom_bits in range(most_headroom_bits, _LEAST_HEADROOM_BITS - 1, -2):
                found = _within(log_qp, log_n, digits, levels, headroom_bits)
                if found is not None:
                    return found
    raise InsecureParametersError(
        f"cannot make parameters: {log_qp:.0f} bits are too few for a scale of {SCALE_BITS:.0f}"
    )


def _within(
    log_qp: float, log_n: int, digits: int, levels: int, headroom_bits: int
) -> Parameters | None:
    try:
        made = Parameters(
            levels=levels,
            scale_bits=SCALE_BITS,
            headroom_bits=headroom_bits,
            log_n=log_n,
            digits=digits,
        )
    except (InsecureParametersError, InvalidParametersError):
        return None
    return made if made.log_qp <= log_qp else None

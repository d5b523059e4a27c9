"""Which parameters serve a depth, a precision and a bound."""

from __future__ import annotations

import math

from cloakwork._native import Parameters
from cloakwork.errors import InvalidParametersError

# Bits that fresh noise and a few operations take from a scale, with a margin.
_NOISE_BITS = 18
# Bits above the bound within which a result that breaks it is still seen for what it is;
# beyond them it wraps around the modulus, and nothing could tell it from a right one.
_WATCH_BITS = 16
# Bits of the engine's primes at most, and of those of which doubles hold long sums of products.
LONGEST_WORD_BITS = 30
EXACT_WORD_BITS = 24
# Scales that the engine has.
SCALE_BITS = range(20, 61)


def parameters_for(
    depth: int,
    precision: int,
    *,
    bound: float,
    slots: int | None = None,
    insecure: bool = False,
    log_n: int | None = None,
    word_bits: int = LONGEST_WORD_BITS,
    scale_bits: int | None = None,
) -> Parameters:
    """Parameters for a depth and a precision.

    Example:
        >>> parameters_for(1, 20, bound=1.0).slots
        4096
    """
    magnitude = _magnitude(bound)
    scale_bits = max(scale_bits or 0, _scale_bits(precision, bound))
    if scale_bits not in SCALE_BITS:
        raise InvalidParametersError(_no_scale(precision, bound, magnitude, scale_bits))

    def build(log_n: int | None) -> Parameters:
        # One bit of headroom for the sign, one for noise and rounding at the bound itself.
        return Parameters(
            levels=depth,
            scale_bits=scale_bits,
            headroom_bits=magnitude + 2 + _WATCH_BITS,
            log_n=log_n,
            word_bits=word_bits,
            insecure=insecure,
        )

    parameters = build(log_n)
    if slots is None or slots <= parameters.slots:
        return parameters
    if log_n is not None:
        raise InvalidParametersError(
            f"cannot make parameters: log_n={log_n} has {parameters.slots} slots, {slots} are asked"
        )
    return build((slots - 1).bit_length() + 1)


def fits_a_scale(precision: int, *, bound: float) -> bool:
    """Whether a scale of the engine leaves so many bits right of numbers up to a bound.

    Example:
        >>> fits_a_scale(20, bound=64.0), fits_a_scale(20, bound=2.0**30)
        (True, False)
    """
    return _scale_bits(precision, bound) in SCALE_BITS


def _scale_bits(precision: int, bound: float) -> int:
    return max(SCALE_BITS.start, precision + _NOISE_BITS + _magnitude(bound))


def _magnitude(bound: float) -> int:
    """Bits of a bound before the binary point."""
    return max(0, math.ceil(math.log2(bound)))


def _no_scale(precision: int, bound: float, magnitude: int, scale_bits: int) -> str:
    spare = SCALE_BITS[-1] - _NOISE_BITS
    remedies = [f"bound={2.0 ** (spare - precision):.15g} or less"] if precision <= spare else []
    remedies += [f"precision={spare - magnitude} or less"] if magnitude <= spare else []
    return (
        f"cannot make parameters: precision={precision} with bound={bound:g} needs a scale of "
        f"{scale_bits} bits, at most {SCALE_BITS[-1]} work; ask for "
        f"{' or '.join(remedies) or 'less of both'}"
    )

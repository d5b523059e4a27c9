"""Which parameters have levels for bootstrapping beside those of a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

from cloakwork._native import BootstrappingParameters
from cloakwork.errors import InvalidParametersError
from cloakwork.programs.refreshing import Refreshing

# Base-2 logarithms of the ring degrees that have a secure set, and of those that are taken where
# nobody asks for one: keys of the largest take more memory than most machines have.
SECURE_RINGS = range(15, 18)
USUAL_RINGS = range(15, 17)


@dataclass(frozen=True, slots=True)
class ThinLevels:
    """Levels of fewer bits than those of a ring's usual set, of which more fit.

    Args:
        levels: How many a refreshed value has left.
        scale_bits: Base-2 logarithm of their scale.
        base_bits: That of the modulus of level 0.
        ratio_bits: That of this modulus over the largest message.
        reduction_bits: What each level of the modular reduction divides by.
        transform_bits: What each level of the transform to slots divides by.
    """

    levels: int
    scale_bits: float
    base_bits: float
    ratio_bits: float
    reduction_bits: float
    transform_bits: float


# The thinnest first; errors of a refreshed number are about 2^-14, 2^-17.2, 2^-19.7 and 2^-21.2,
# where those of the usual set are 2^-23.
_THIN = {
    16: (
        ThinLevels(21, 28.0, 36.0, 10.5, 50.0, 46.0),
        ThinLevels(18, 31.0, 41.0, 10.5, 50.0, 48.0),
        ThinLevels(16, 32.0, 43.0, 12.5, 54.0, 50.0),
        ThinLevels(13, 36.0, 47.0, 12.5, 56.0, 50.0),
    )
}
# The same for numbers in coefficients, as many levels as a program takes. Their scale there is that
# of every level, so that level 0 holds more.
LEVELS_OF_COEFFICIENTS = (
    ThinLevels(0, 32.0, 44.6, 12.5, 54.0, 50.0),
    ThinLevels(0, 36.0, 48.6, 12.5, 56.0, 50.0),
    ThinLevels(0, 40.0, 54.0, 13.9, 59.7, 50.0),
)
# Bits above the bound of a value, as in `plan.parameters.ckks`: for its sign, for noise, and to see
# that a result breaks its bound.
_HEADROOM_BITS = 18
# Of a refreshed vector, whose scale in coefficients has 40 bits at the bound of 1.
_MOST_BOUND_BITS = 20


def session_refreshing(
    depth: int,
    precision: int | None,
    *,
    slots: int | None,
    bound: float,
    insecure: bool,
    log_n: int | None,
) -> Refreshing:
    """The bootstrapping for values that are refreshed wherever their levels are spent.

    Example:
        >>> session_refreshing(
        ...     3, 16, slots=None, bound=1.0, insecure=True, log_n=8).output_level
        13
    """
    ring = USUAL_RINGS[-1] if log_n is None else log_n
    # Its power of 2 may be more than any double holds.
    _require_bound(bound)
    found = refreshing_for(ring, bound=2.0 ** math.ceil(math.log2(bound)), insecure=insecure)
    left, right = found.output_level - found.input_level, found.precision
    reasons = [
        (depth > left, f"it leaves {left} levels, depth={depth} is asked"),
        (
            slots is not None and slots > found.chain.slots,
            f"it has {found.chain.slots} slots, {slots} are asked",
        ),
        (
            (precision or 0) > right,
            f"it leaves {right:.1f} bits right of numbers up to {bound:g}, precision={precision} "
            f"is asked; ask for precision={max(0, math.floor(right))} or less, or a smaller bound",
        ),
    ]
    for is_lacking, reason in reasons:
        if is_lacking:
            raise InvalidParametersError(
                f"cannot make parameters for bootstrapping in a ring of degree 2^{ring}: {reason}"
            )
    return found


def _require_bound(bound: float) -> None:
    """Refuse a bound that leaves numbers no bits."""
    if bound > 2.0**_MOST_BOUND_BITS:
        raise InvalidParametersError(
            f"cannot bootstrap numbers up to {bound:g}: expected up to 2^{_MOST_BOUND_BITS}, "
            "beyond which nothing is left of 1; say by cloakwork.within(x, low, high) how large "
            "numbers on the way are, scale them down, or give inputs tighter bounds"
        )


@lru_cache(maxsize=64)
def refreshing_for(
    log_n: int, *, bound: float, insecure: bool, thin: ThinLevels | None = None
) -> Refreshing:
    """The bootstrapping in a ring, of its usual levels or of thinner ones.

    Example:
        >>> refreshing_for(16, bound=1.0, insecure=False).chain.insecure
        False
    """
    _require_bound(bound)
    if log_n not in SECURE_RINGS and not insecure:
        raise InvalidParametersError(
            f"cannot make parameters: expected log_n = 15, 16 or 17, of which there is a secure "
            f"bootstrapping, got {log_n}; leave log_n out, or set insecure, for tests"
        )
    allowed = insecure and log_n not in SECURE_RINGS
    levels = {} if thin is None else asdict(thin)
    return Refreshing(BootstrappingParameters(log_n, bound=bound, insecure=allowed, **levels))


def refreshing_of_coefficients(
    log_n: int, levels: int, like: ThinLevels, *, insecure: bool
) -> Refreshing:
    """What takes coefficients up to 1 to slots that have so many levels left.

    Args:
        log_n: The base-2 logarithm of the ring's degree.
        levels: How many; never fewer than those at which values in slots are refreshed.
        like: What the levels are, of `LEVELS_OF_COEFFICIENTS`.
        insecure: Whether a ring may be one that has no secure set.

    Example:
        >>> made = refreshing_of_coefficients(8, 9, LEVELS_OF_COEFFICIENTS[0], insecure=True)
        >>> made.input_level, made.output_level
        (0, 9)
    """
    usual = refreshing_for(log_n, bound=1.0, insecure=insecure)
    settings = asdict(like)
    # Those by which values in slots would be put into coefficients are left for the program.
    settings["levels"] = max(0, levels - usual.input_level)
    made = BootstrappingParameters(log_n, bound=1.0, insecure=usual.chain.insecure, **settings)
    return Refreshing(made, "coefficients")


def thin_levels(log_n: int) -> Sequence[ThinLevels]:
    """What the levels of a ring may be beside those of its usual set, the most first.

    Example:
        >>> [each.levels for each in thin_levels(16)], thin_levels(15)
        ([21, 18, 16, 13], ())
    """
    return _THIN.get(log_n, ())


def least_level(refreshing: Refreshing, bound: float) -> int:
    """The lowest level whose modulus holds values up to a bound.

    Example:
        >>> refreshing = refreshing_for(8, bound=1.0, insecure=True)
        >>> least_level(refreshing, 1.0), least_level(refreshing, 2.0**40)
        (1, 2)
    """
    chain = refreshing.chain
    needed = math.log2(max(bound, 1.0)) + _HEADROOM_BITS
    # Products of large numbers may be more than any double holds.
    level = max(0.0, (needed - chain.headroom_bits) / chain.scale_bits)
    if level > refreshing.input_level:
        raise InvalidParametersError(
            f"cannot bootstrap a program of numbers up to {bound:g}: refreshed at level "
            f"{refreshing.input_level} they do not fit; say by cloakwork.within(x, low, high) how "
            "large numbers on the way are, scale them down, or give inputs tighter bounds"
        )
    return math.ceil(level)

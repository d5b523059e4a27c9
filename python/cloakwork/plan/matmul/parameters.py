"""Which parameters serve a product of matrices of reals."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import lru_cache

from cloakwork._native import Parameters
from cloakwork.errors import InvalidParametersError
from cloakwork.plan.analysis.precision import predicted_precision
from cloakwork.plan.parameters.ckks import EXACT_WORD_BITS, SCALE_BITS
from cloakwork.plan.parameters.scales import Scaled, raised_scale
from cloakwork.plan.passes.levels import depth_of
from cloakwork.programs.slots import (
    Add,
    AddProducts,
    Builder,
    Input,
    Numbers,
    Output,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
    SwitchProduct,
)
from cloakwork.schemes.ckks_noise import noise_of

# Where the search for a scale begins, above the precision.
_LEAST_NOISE_BITS = 10
# Half of a modulus is for signs, and half of that for noticing what outgrows it; and a little.
_SPARE_BITS = 2.05
# Steps towards the largest scale, each tried once.
_SCALE_STEPS = (4.0, 2.0, 1.0, 0.5)
_HEADROOM_BITS = range(2, 61)


def shortest_parameters(
    program: SlotProgram,
    bounds: Sequence[float | None],
    largest: float,
    *,
    precision: float,
    log_n: int,
    insecure: bool,
    public_inputs: bool = False,
) -> Parameters:
    """The parameters with the shortest modulus that a program of products takes."""
    depth = depth_of(program)
    headroom = max(_HEADROOM_BITS[0], math.log2(max(largest, sys.float_info.min)) + _SPARE_BITS)

    def attempt(scale: int) -> Scaled[Parameters]:
        if scale > SCALE_BITS[-1] or headroom > _HEADROOM_BITS[-1]:
            raise InvalidParametersError(
                f"cannot make parameters: results up to {largest:g} at precision={precision:g} "
                f"need a scale of {scale} bits and {headroom:.0f} bits of headroom, at most "
                f"{SCALE_BITS[-1]} and {_HEADROOM_BITS[-1]} work; ask for less of either"
            )
        parameters = _made(depth, scale, headroom, log_n, insecure)
        noise = noise_of(parameters, public_inputs=public_inputs)
        lacking = precision - predicted_precision(program, bounds, noise)
        return Scaled(scale, parameters, lacking)

    _, found = raised_scale(attempt, _least_scale(precision))
    return found.made


def require_levels_of_products(
    levels: int, precision: float, *, log_n: int, insecure: bool
) -> None:
    """Refuse a ring in which so many levels are not secure, whatever the numbers.

    Example:
        >>> require_levels_of_products(2, 10, log_n=13, insecure=False)
    """
    _made(levels, _least_scale(precision), _HEADROOM_BITS[0], log_n, insecure)


def has_parameters(precision: float, largest: float, gain: float) -> bool:
    """Whether there may be parameters for products, whatever the ring and the way.

    Example:
        >>> has_parameters(12, 2.0**40, 2.0**20), has_parameters(12, 2.0**60, 2.0**20)
        (True, False)
    """
    scale = precision + max(0.0, math.log2(gain)) if gain else precision
    return scale <= SCALE_BITS[-1] and math.log2(largest) + _SPARE_BITS <= _HEADROOM_BITS[-1]


def _least_scale(precision: float) -> int:
    return max(SCALE_BITS[0], math.ceil(precision) + _LEAST_NOISE_BITS)


def _made(levels: int, scale: float, headroom: float, log_n: int, insecure: bool) -> Parameters:
    return Parameters(
        levels=levels,
        scale_bits=float(scale),
        headroom_bits=headroom,
        log_n=log_n,
        word_bits=EXACT_WORD_BITS,
        insecure=insecure,
    )


def with_largest_scale(parameters: Parameters) -> Parameters:
    """The parameters with the largest scale that takes no more primes: precision for nothing.

    Example:
        >>> shortest = Parameters(levels=1, scale_bits=27, headroom_bits=12, log_n=12)
        >>> with_largest_scale(shortest).scale_bits
        29.5
    """
    best = parameters
    for step in _SCALE_STEPS:
        if best.scale_bits + step > SCALE_BITS[-1]:
            continue
        try:
            scale = best.scale_bits + step
            tried = _made(best.levels, scale, best.headroom_bits, best.log_n, parameters.insecure)
        except InvalidParametersError:
            continue
        if _takes_no_more(tried, best):
            best = tried
    return best


def _takes_no_more(tried: Parameters, best: Parameters) -> bool:
    """Whether each level has as many primes, and key switching no more primes or digits."""
    levels = range(best.levels + 1)
    alike = all(tried.prime_count(level) == best.prime_count(level) for level in levels)
    smaller = all(
        tried.evaluation_key_bytes(level) <= best.evaluation_key_bytes(level) for level in levels
    )
    return alike and smaller and tried.key_prime_count <= best.key_prime_count


@lru_cache(maxsize=64)
def product_sketch(
    terms: int, lane_sums: int, log_n: int, numbers: Numbers = "real"
) -> SlotProgram:
    """A program whose errors, or noise, are those of any result of a product.

    Example:
        >>> len(product_sketch(3, 1, 12).operations)
        10
    """
    is_real = numbers == "real"
    builder = Builder("product", 1 << log_n - 1, numbers)
    left, right = (builder.append(Input(name, int(is_real))) for name in "ab")
    if is_real:
        products = _doubled(builder, left, right, terms)
    else:
        # The noise of a sum is less than the sum of bounds on the noise of its terms.
        products = builder.append(RotatedProducts((left,) * terms, (right,) * terms, builder.slots))
    value = builder.append(SwitchProduct(products, 0))
    if is_real:
        value = builder.append(Rescale(value))
    for _ in range(lane_sums):
        value = builder.append(Add(value, builder.append(Rotate(value, 1))))
    builder.append(Output(value))
    return builder.finish()


def _doubled(builder: Builder, left: int, right: int, terms: int) -> int:
    """A sum of equal products by additions of sums to themselves, as deviations do not differ."""
    one = builder.append(RotatedProducts((left,), (right,), builder.slots))
    total = one
    # The digits of the number of terms after the first.
    for digit in f"{terms:b}"[1:]:
        total = builder.append(AddProducts(total, total))
        if digit == "1":
            total = builder.append(AddProducts(total, one))
    return total

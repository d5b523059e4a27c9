"""What operations on encrypted integers cost, counted from the primes of their parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cloakwork.runtime.costs import Costs, LevelCosts

# In transforms (NTTs) of one limb: what a multiply-accumulate takes in a basis conversion and, with
# its loads of key, in an inner product; a product, and a sum, of limbs.
_CONVERSION = 0.1
_INNER_PRODUCT = 0.35
_PRODUCT = 0.3
_SUM = 0.15
# Of rotated products: an operand's words put in order, and a term of each of the four products.
_GATHERING = 1.3
_ROTATED_TERM = 0.125
_NARROW_TERM = 1.4
# What every call into the engine takes besides, in transforms of a ring of this degree.
_CALL = 2.5
_CALL_LOG_N = 12
# Of the largest primes, and how far the key-switching primes stay above a digit.
WORD_BITS = 29.98
MARGIN_BITS = 4.0


@dataclass(frozen=True, slots=True)
class Limbs:
    """Primes by what they are for.

    Args:
        levels: Of the modulus of each level, from level 0 up.
        digit: In a digit of key switching.
        special: That key switching adds.
    """

    levels: tuple[int, ...]
    digit: int
    special: int


def expected_limbs(
    base_bits: float, level_bits: float, levels: int, most_bits: float
) -> Limbs | None:
    """The primes that parameters will have: with the digits whose rotation is cheapest.

    Bits are base-2 logarithms: of the modulus of level 0, what each further level adds, and what
    the modulus may have with the primes of key switching; None where no digits are few enough.
    """
    counts = [math.ceil(base_bits / WORD_BITS)]
    for level in range(1, levels + 1):
        words = math.ceil((base_bits + level * level_bits) / WORD_BITS)
        counts.append(max(words, counts[-1] + 1))
    if levels > 1 and level_bits > WORD_BITS and level_bits % WORD_BITS > 1:
        # Primes that join below the top level and leave there take a word more.
        counts[-1] += 1
    modulus_bits = base_bits + levels * level_bits
    choices: list[Limbs] = []
    for digit in range(1, counts[-1] + 1):
        special_bits = modulus_bits / counts[-1] * digit + MARGIN_BITS
        if modulus_bits + special_bits <= most_bits:
            special = math.ceil(special_bits / WORD_BITS)
            choices.append(Limbs(tuple(counts), digit, special))
    return min(choices, key=lambda limbs: _rotation(limbs, counts[-1]), default=None)


def counted_costs(limbs: Limbs, log_n: int) -> Costs:
    """Costs in transforms of one limb.

    A rotation takes a transform back of each limb, forward ones of every digit to the primes that
    are not its own, and in the division two back for each prime of key switching and two forward
    for each limb, besides conversions and inner products (`crates/rlwe`, `chain::digits`).
    """
    call = _CALL * 2.0 ** (_CALL_LOG_N - log_n)
    return Costs(tuple(_level_costs(limbs, count, call) for count in limbs.levels))


def _level_costs(limbs: Limbs, count: int, call: float) -> LevelCosts:
    rotation = _rotation(limbs, count)
    finishing = _division(limbs, count) + _inner_products(limbs, count)
    plaintext_product = 2.0 * count
    return LevelCosts(
        rotation=rotation + call,
        hoisted_rotation=finishing + call / 2,
        product=4 * _PRODUCT * count + call,
        relinearisation=rotation + call,
        rescale=2.5 * count + call,
        encoding=plaintext_product,
        plaintext_product=plaintext_product + 2 * _PRODUCT * count + call,
        addition=2 * _SUM * count + call,
        linear=rotation,
        baby_step=_inner_products(limbs, count),
        giant_step=rotation,
        diagonal=plaintext_product,
        drop_level=2 * _SUM * count + call,
        gathering=_GATHERING * count,
        rotated_term=_ROTATED_TERM * count,
        narrow_term=_NARROW_TERM * count,
        product_switch=2 * rotation - _division(limbs, count) + call,
        weighted_term=_ROTATED_TERM / 2 * count,
    )


def _rotation(limbs: Limbs, count: int) -> float:
    extended = count + limbs.special
    digits = math.ceil(count / limbs.digit)
    raised = digits * extended - count
    converted = limbs.digit * raised
    decomposition = count + raised + _CONVERSION * converted
    return decomposition + _division(limbs, count) + _inner_products(limbs, count)


def _division(limbs: Limbs, count: int) -> float:
    return 2 * (limbs.special + count) + _CONVERSION * 2 * limbs.special * count


def _inner_products(limbs: Limbs, count: int) -> float:
    digits = math.ceil(count / limbs.digit)
    return _INNER_PRODUCT * 2 * digits * (count + limbs.special)

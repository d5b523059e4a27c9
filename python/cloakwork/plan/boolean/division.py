"""Division of numbers of bits, rounded down, with the remainder."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.plan.boolean.words import Number, WordGates


def quotient_and_remainder(
    words: WordGates, number: Number, divisor: Number
) -> tuple[Number, Number]:
    """The quotient, rounded down, and the remainder, which has the sign of the divisor.

    By a divisor of 0 they may be anything.

    Example:
        >>> from cloakwork.programs.port import Port
        >>> words = WordGates("by 3", (Port("x", "unsigned", 8),))
        >>> by_three = Number(tuple(range(8))), words.known(3)
        >>> quotient, remainder = quotient_and_remainder(words, *by_three)
        >>> len(remainder.bits)
        3
    """
    turned = divisor.bits[-1] if divisor.signed else words.zero
    if divisor.signed:
        # Both negative divide as both positive ones do.
        width = len(number.bits) + 1
        number = Number(tuple(words.negated_where(turned, number, width)), signed=True)
        size = words.negated_where(turned, divisor, len(divisor.bits))
        divisor = Number(tuple(size))
    below = number.bits[-1] if number.signed else words.zero
    # -1 - x is x with all bits turned round, and divides to -1 - the quotient.
    magnitude = [words.differ(each, below) for each in number.bits]
    quotient, rest = _of_positive(words, magnitude, divisor.bits)
    quotient = [words.differ(each, below) for each in quotient]
    rest = _from_above(words, below, rest, divisor.bits)
    signed = words.negated_where(turned, Number(tuple(rest)), len(rest) + 1)
    return Number((*quotient, below), signed=True), Number(tuple(signed), signed=True)


def _from_above(
    words: WordGates, below: int, rest: Sequence[int], divisor: Sequence[int]
) -> list[int]:
    """The remainder r, or where a number is below 0 divisor - 1 - r."""
    made, carry = [], words.zero
    for own, other in zip(rest, divisor, strict=True):
        a, b = words.differ(own, below), words.both(below, other)
        made.append(words.differ(words.differ(a, b), carry))
        carry = words.majority(a, b, carry)
    return made


def _of_positive(
    words: WordGates, number: Sequence[int], divisor: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Quotient and remainder of numbers from 0 up, bit for bit from the top.

    A remainder is no longer than the bits that are there yet, so that the first steps are short.
    """
    above = [words.zero]
    for each in reversed(divisor):
        above.append(words.either(above[-1], each))
    above.reverse()
    quotient: list[int] = []
    rest: list[int] = []
    for bit in reversed(number):
        if bit == words.zero and not rest:
            quotient.insert(0, bit)
            continue
        rest = [bit, *rest]
        borrow, less = words.zero, []
        for place, own in enumerate(rest):
            other = divisor[place] if place < len(divisor) else words.zero
            less.append(words.differ(words.differ(own, other), borrow))
            borrow = words.majority(words.opposite(own), other, borrow)
        if len(rest) < len(divisor):
            borrow = words.either(borrow, above[len(rest)])
        fits = words.opposite(borrow)
        rest = words.choose(fits, less, rest)[: len(divisor)]
        quotient.insert(0, fits)
    rest += [words.zero] * (len(divisor) - len(rest))
    return quotient, rest

"""Numbers with a fixed point rounded to fewer bits after it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from cloakwork.base.arguments import integer
from cloakwork.frontends.circuit.inputs import MAX_BITS
from cloakwork.frontends.circuit.points import integer_and_fraction
from cloakwork.frontends.circuit.refusals import refuse_number
from cloakwork.frontends.circuit.symbols import Symbol, Vector
from cloakwork.programs.packing.fixed_point import with_point


def rounded(x: Any, bits: int) -> Any:
    """The nearest number with so many bits after the point; of two the even one.

    Args:
        x: A number, encrypted or clear, or a vector of them.
        bits: Bits after the point, from 0 up; a number that has no more is as it was.

    Raises:
        InvalidArgumentError: The bits are out of range.
        NotIntegerError: It is not a number.

    Example:
        >>> rounded(0.375, 2), rounded(2.5, 0)
        (0.5, 2)
    """
    bits = integer(bits, "bits", "round a number", least=0, most=MAX_BITS)
    if isinstance(x, Symbol):
        return x.rounded(bits)
    if isinstance(x, Vector | list | tuple | np.ndarray):
        return Vector([rounded(each, bits) for each in x])
    known = integer_and_fraction(x, is_fixed=True)
    if known is None:
        refuse_number(x)
    number = round(Fraction(known[0], 1 << known[1]) * (1 << bits))
    return with_point(number, bits) if bits and known[1] else number >> bits

"""Numbers with a fixed point as the integers that stand for them, and back."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import NotFiniteError, NotIntegerError, NotRealError
from cloakwork.programs.port import Port

# Floats hold every number of so many bits.
_FLOAT_BITS = 53


def scaled_integers(port: Port, numbers: NDArray[Any]) -> NDArray[Any]:
    """The integers that stand for numbers: of the nearest that a port has, ties to even ones."""
    if numbers.dtype.kind not in "iubfO":
        raise not_a_number(port, str(numbers.dtype))
    made: list[int] = []
    if numbers.dtype.kind == "f" and numbers.dtype.itemsize <= np.dtype(np.float64).itemsize:
        with np.errstate(over="ignore"):
            nearest = np.rint(np.ldexp(numbers.astype(np.float64), port.fraction))
        if np.isfinite(nearest).all():
            made = [int(number) for number in nearest.flat]
    made = made or [round(_exact(port, number) * (1 << port.fraction)) for number in numbers.flat]
    return np.array(made, dtype=object).reshape(numbers.shape)


def unscaled(port: Port, numbers: NDArray[Any]) -> NDArray[Any]:
    """The numbers that integers stand for; of more than 53 bits Python's `Fraction`."""
    if port.width <= _FLOAT_BITS:
        return np.ldexp(numbers.astype(np.float64), -port.fraction)
    made = [Fraction(int(number), 1 << port.fraction) for number in numbers.flat]
    return np.array(made, dtype=object).reshape(numbers.shape)


def with_point(number: int, fraction: int) -> float | Fraction:
    """An integer divided by 2^fraction: a float, or where that has too few bits a `Fraction`.

    Example:
        >>> with_point(5, 1), with_point((1 << 60) + 1, 1)
        (2.5, Fraction(1152921504606846977, 2))
    """
    exact = Fraction(number, 1 << fraction)
    return float(exact) if number.bit_length() <= _FLOAT_BITS else exact


def _exact(port: Port, number: Any) -> Fraction:
    if isinstance(number, np.integer | np.bool_):
        number = int(number)
    if isinstance(number, Rational):
        return Fraction(number)
    if not isinstance(number, float | np.floating | Decimal):
        raise not_a_number(port, f"an object of type {type(number).__name__}")
    try:
        return Fraction(*number.as_integer_ratio())
    except (OverflowError, ValueError) as error:
        raise NotFiniteError(
            f"cannot give {port.name!r} its value: expected finite numbers, got {number}"
        ) from error


def not_a_number(port: Port, came: str) -> NotRealError | NotIntegerError:
    """The error for what is not a number of a port's kind."""
    action = f"cannot give {port.name!r} its value"
    if port.fraction:
        return NotRealError(f"{action}: expected real numbers, got {came}")
    numbers = "bytes" if port.kind == "bytes" else "integers"
    return NotIntegerError(f"{action}: expected {numbers}, got {came}")

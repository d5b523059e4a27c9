"""Numbers in the coefficients of a polynomial, and the slots that they make of it.

A bootstrap that begins in coefficients gives them in slots, two in each: of n slots number k and
number k + n in the place that k is with its bits reversed. Products of such a polynomial with a
constant multiply its numbers as they do its slots.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def slots_of_coefficients(numbers: NDArray[Any]) -> NDArray[Any]:
    """The slots of a polynomial whose coefficients come out as these slots.

    Example:
        >>> slots_of_coefficients(np.array([1.0, 0.0])).tolist()
        [(1+0j), (1+0j)]
    """
    size = len(numbers)
    folded = np.asarray(numbers, dtype=np.complex128)[_reversed(size)]
    coefficients = np.concatenate([folded.real, folded.imag])
    values = np.fft.ifft(coefficients * _twist(size)) * (2 * size)
    return np.asarray(values[_odd_powers(size)])


def coefficients_of_slots(slots: NDArray[Any]) -> NDArray[Any]:
    """The slots that a bootstrap makes of the coefficients of a polynomial with these slots.

    Example:
        >>> numbers = np.array([1 + 2j, 3, 4, -5j])
        >>> found = coefficients_of_slots(slots_of_coefficients(numbers))
        >>> bool(np.abs(found - numbers).max() < 1e-12)
        True
    """
    size = len(slots)
    values = np.empty(2 * size, dtype=np.complex128)
    powers = _odd_powers(size)
    values[powers], values[2 * size - 1 - powers] = slots, np.conj(slots)
    coefficients = np.real(np.fft.fft(values) / (2 * size) * np.conj(_twist(size)))
    return np.asarray((coefficients[:size] + 1j * coefficients[size:])[_reversed(size)])


@lru_cache(maxsize=4)
def _twist(size: int) -> NDArray[np.complex128]:
    """The powers of a primitive root of which -1 is the one whose number is twice the slots."""
    return np.asarray(np.exp(1j * np.pi * np.arange(2 * size) / (2 * size)))


@lru_cache(maxsize=4)
def _odd_powers(size: int) -> NDArray[np.int64]:
    """For each slot which odd power of the root it is the value at: slot j that of 5^j."""
    powers = [1]
    for _ in range(size - 1):
        powers.append(powers[-1] * 5 % (4 * size))
    return (np.array(powers, dtype=np.int64) - 1) // 2


@lru_cache(maxsize=4)
def _reversed(size: int) -> NDArray[np.int64]:
    """Places with their bits reversed."""
    places = np.zeros(1, dtype=np.int64)
    while len(places) < size:
        places = np.concatenate([2 * places, 2 * places + 1])
    return places

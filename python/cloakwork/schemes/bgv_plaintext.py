"""Integers as plaintexts of BGV: modulo one prime, or from what they are modulo several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import BgvLinearTransform, BgvParameters, BgvPlaintext
from cloakwork.programs.slots import Integers


def encoded(parameters: BgvParameters, row: Integers, level: int) -> BgvPlaintext:
    """Integers modulo the parameters' prime, the same in both rows."""
    return parameters.encode(centred(row, parameters.plaintext_modulus), level=level)


def encoded_transform(
    parameters: BgvParameters, diagonals: Mapping[int, Integers], level: int, baby_steps: int
) -> BgvLinearTransform:
    """A linear transform modulo the parameters' prime, the same in both rows."""
    modulus = parameters.plaintext_modulus
    # Diagonals are counted from 0 up by the engine.
    rows = {
        number % len(vector): centred(vector.astype(np.int64, copy=False), modulus)
        for number, vector in diagonals.items()
    }
    return BgvLinearTransform(parameters, rows, level=level, baby_steps=baby_steps)


def centred(numbers: Any, modulus: int) -> Any:
    """Integers modulo an odd one, between minus and plus half of it.

    Example:
        >>> centred(np.array([0, 9, 16, -9]), 17).tolist(), centred(2**70, 17)
        ([0, -8, -1, 8], -4)
    """
    half = modulus // 2
    return (numbers % modulus + half) % modulus - half


def from_residues(residues: Sequence[NDArray[np.int64]], moduli: Sequence[int]) -> NDArray[Any]:
    """Integers from what they are modulo distinct primes (the Chinese remainder theorem).

    Example:
        >>> from_residues([np.array([3, -1]), np.array([-2, -1])], [7, 11]).tolist()
        [31, -1]
    """
    if len(moduli) == 1:
        return residues[0]
    product = 1
    total: Any = np.zeros(residues[0].shape, dtype=object)
    for residue, modulus in zip(residues, moduli, strict=True):
        # Mixed radix: what the total lacks modulo the next prime, in units of the product so far.
        digit = (residue.astype(object) - total) * pow(product, -1, modulus) % modulus
        total = total + digit * product
        product *= modulus
    made: NDArray[Any] = centred(total, product)
    return made

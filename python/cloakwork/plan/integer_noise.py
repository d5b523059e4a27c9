"""The noise of BGV's ciphertexts in a few numbers, for planning; the engine has the last word.

Noise is a polynomial; it is bounded in the canonical embedding, where products are products, and
by its coefficients, which the modulus must hold (`crates/rlwe`, `bgv::noise`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# The engine wants noise this far below the modulus.
_CLEAR_BITS = 2.0
# By how much a division has to be better than dropping primes.
_DROPPED_BITS = 1.5


@dataclass(frozen=True, slots=True)
class Noise:
    """Base-2 logarithms of bounds on a noise.

    Args:
        norm: Of the canonical norm.
        coefficient: Of the largest coefficient.

    Example:
        >>> Noise(10.0, 5.0).times(Noise(20.0, 15.0))
        Noise(norm=30.0, coefficient=30.0)
    """

    norm: float
    coefficient: float

    def plus(self, other: Noise) -> Noise:
        """Of the sum of two."""
        return Noise(_sum(self.norm, other.norm), _sum(self.coefficient, other.coefficient))

    def times(self, other: Noise) -> Noise:
        """Of the product of two."""
        return self.embedded(other.norm)

    def embedded(self, norm: float) -> Noise:
        """Of the product with a polynomial of this norm."""
        return Noise(self.norm + norm, self.norm + norm)

    def scaled(self, bits: float) -> Noise:
        """Of a multiple by 2^bits."""
        return Noise(self.norm + bits, self.coefficient + bits)


def _sum(a: float, b: float) -> float:
    low, high = min(a, b), max(a, b)
    return high + math.log2(1 + 2.0 ** (low - high))


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """What the noise of a ring and a plaintext modulus comes from.

    Args:
        modulus: The plaintext modulus.
        fresh: Of an encryption.
        rounding: What a switch to a smaller modulus adds.
        rotation: What a rotation adds.
        message: The norm of any plaintext.
        mask: The norm of a plaintext whose slots hold different numbers, as a rule.
    """

    modulus: int
    fresh: Noise
    rounding: Noise
    rotation: Noise
    message: float
    mask: float

    @classmethod
    def of(cls, modulus: int, log_n: int) -> NoiseModel:
        """The model for a plaintext modulus and a ring of degree 2^log_n.

        The engine's bounds grow with both as written here, whatever the chain of moduli.

        Example:
            >>> round(NoiseModel.of(65537, 13).fresh.norm, 1)
            28.7
        """
        message = math.log2(modulus)
        norm, coefficient = message + log_n, message + log_n / 2
        return cls(
            modulus,
            Noise(norm - 0.3, message + 4.85),
            Noise(norm + 2.3, coefficient + 2.3),
            Noise(norm + 2.5, coefficient + 2.4),
            norm - 1,
            coefficient + 1,
        )

    def switched(self, noise: Noise, bits: float) -> Noise:
        """After a switch to a modulus smaller by so many bits, or dropping as many.

        Example:
            >>> model = NoiseModel(17, Noise(20, 10), Noise(30, 20), Noise(31, 21), 15, 9)
            >>> round(model.switched(Noise(70, 60), 20).norm), model.switched(Noise(9, 5), 20).norm
            (50, 9)
        """
        if bits <= 0:
            return noise
        divided = self.divided(noise, bits)
        return divided if divided.norm + _DROPPED_BITS < noise.norm else noise

    def divided(self, noise: Noise, bits: float) -> Noise:
        """After a division by primes of so many bits, and rounding."""
        return noise.scaled(-bits).plus(self.rounding)

    def switches(self, noise: Noise, bits: float) -> int:
        """How many switches by so many bits each leave most room for a product.

        As far as noise falls by half of what the modulus does.

        Example:
            >>> model = NoiseModel(17, Noise(20, 10), Noise(30, 20), Noise(31, 21), 15, 9)
            >>> model.switches(Noise(70, 60), 20), model.switches(Noise(20, 10), 20)
            (2, 0)
        """
        count = 0
        while True:
            below = self.switched(noise, bits)
            if 2 * (noise.norm - below.norm) < bits:
                return count
            noise, count = below, count + 1

    def needed_bits(self, noise: Noise) -> float:
        """Of a modulus that holds a noise."""
        return noise.coefficient + _CLEAR_BITS

"""The noise of BGV's ciphertexts in a few numbers, for planning; the engine has the last word.

Noise is a polynomial; it is bounded in the canonical embedding, where products are products, by
its Euclidean length, whose product no coefficient of a product exceeds, and by its coefficients,
which the modulus must hold (`crates/rlwe`, `bgv::noise`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# The engine wants noise below this part of the modulus (`crates/rlwe`, `bgv::parameters`).
_CAPACITY = 7 / 16
# By how much a division has to be better than dropping primes.
_DROPPED_BITS = 1.5


@dataclass(frozen=True, slots=True)
class Noise:
    """Base-2 logarithms of bounds on a noise.

    Args:
        norm: Of the canonical norm.
        length: Of the Euclidean length of all coefficients.
        coefficient: Of the largest coefficient.

    Example:
        >>> Noise(10.0, 8.0, 5.0).times(Noise(20.0, 17.0, 15.0))
        Noise(norm=30.0, length=27.0, coefficient=25.0)
    """

    norm: float
    length: float
    coefficient: float

    def plus(self, other: Noise) -> Noise:
        """Of the sum of two."""
        return Noise(
            _sum(self.norm, other.norm),
            _sum(self.length, other.length),
            _sum(self.coefficient, other.coefficient),
        )

    def times(self, other: Noise) -> Noise:
        """Of the product of two."""
        return Noise(
            self.norm + other.norm,
            min(self.length + other.norm, self.norm + other.length),
            self.length + other.length,
        )

    def scaled(self, bits: float) -> Noise:
        """Of a multiple by 2^bits."""
        return Noise(self.norm + bits, self.length + bits, self.coefficient + bits)


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
        message: Of any plaintext.
        mask: Of a plaintext whose slots hold different numbers, as a rule.
    """

    modulus: int
    fresh: Noise
    rounding: Noise
    rotation: Noise
    message: Noise
    mask: Noise

    @classmethod
    def of(cls, modulus: int, log_n: int, *, public_inputs: bool = False) -> NoiseModel:
        """The model for a plaintext modulus and a ring of degree 2^log_n.

        The engine's bounds grow with both as written here, whatever the chain of moduli.

        Args:
            modulus: The plaintext modulus.
            log_n: Base-2 logarithm of the ring degree.
            public_inputs: Whether inputs may be encrypted by a public key, whose encryption rounds.

        Example:
            >>> round(NoiseModel.of(65537, 13).fresh.norm, 1)
            28.7
        """
        message = math.log2(modulus)
        norm, root = message + log_n, message + log_n / 2
        rounding = Noise(norm + 2.3, norm - 1.5, root + 2.3)
        secret = Noise(norm - 0.3, root + 2.05, message + 4.85)
        return cls(
            modulus,
            rounding.scaled(0.1) if public_inputs else secret,
            rounding,
            Noise(norm + 2.5, norm - 1.35, root + 2.4),
            Noise(norm - 1, root - 1, message - 1),
            Noise(root + 1, root - 1, message - 1),
        )

    def switched(self, noise: Noise, bits: float) -> Noise:
        """After a switch to a modulus smaller by so many bits, or dropping as many.

        Example:
            >>> model = NoiseModel.of(65537, 12)
            >>> product = model.rounding.times(model.rounding)
            >>> round(product.length - model.switched(product, 20).length, 1)
            20.0
            >>> model.switched(model.fresh, 20) == model.fresh
            True
        """
        if bits <= 0:
            return noise
        divided = self.divided(noise, bits)
        return divided if divided.length + _DROPPED_BITS < noise.length else noise

    def divided(self, noise: Noise, bits: float) -> Noise:
        """After a division by primes of so many bits, and rounding."""
        return noise.scaled(-bits).plus(self.rounding)

    def switches(self, noise: Noise, bits: float) -> int:
        """How many switches by so many bits each leave most headroom for a product.

        As far as the length of the noise falls by half of what the modulus does.

        Example:
            >>> model = NoiseModel.of(65537, 12)
            >>> product = model.rounding.times(model.rounding)
            >>> model.switches(product, 15), model.switches(model.fresh, 15)
            (2, 0)
        """
        count = 0
        while True:
            below = self.switched(noise, bits)
            if 2 * (noise.length - below.length) < bits:
                return count
            noise, count = below, count + 1

    def needed_bits(self, noise: Noise) -> float:
        """Of a modulus that holds a noise."""
        return noise.coefficient - math.log2(_CAPACITY)

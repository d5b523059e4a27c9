"""The noise of BGV's ciphertexts in a few numbers, for planning; the engine has the last word.

Noise is a polynomial; it is bounded in the canonical embedding, where products are products, and
by its coefficients, which the modulus must hold (`crates/rlwe`, `bgv::noise`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cloakwork._native import BgvParameters

# The engine wants noise this far below the modulus.
_CLEAR_BITS = 2.0
# What the model may be off by.
_SLACK_BITS = 1.0


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
    """

    modulus: int
    fresh: Noise
    rounding: Noise
    rotation: Noise
    message: float

    @classmethod
    def of(cls, parameters: BgvParameters) -> NoiseModel:
        """Read off what the engine estimates, at the top of parameters of two levels or more."""
        top = parameters.levels
        fresh = parameters.fresh(top)
        norm = fresh.multiply_lazily(fresh).noise_bits / 2
        noise = Noise(norm, fresh.noise_bits)
        # Whatever it was before, a switched product has the noise of the rounding alone.
        switched = fresh.multiply(fresh).switch_to(top - 2)
        floor = Noise(switched.multiply_lazily(switched).noise_bits / 2, switched.noise_bits)
        rotated = fresh.rotate()
        moved = Noise(rotated.multiply_lazily(rotated).noise_bits / 2, rotated.noise_bits)
        return cls(
            parameters.plaintext_modulus,
            noise,
            floor,
            Noise(max(moved.norm, floor.norm), max(moved.coefficient, floor.coefficient)),
            fresh.multiply_plain().noise_bits - norm,
        )

    def switched(self, noise: Noise, bits: float) -> Noise:
        """After a switch to a modulus smaller by so many bits, or dropping as many.

        Example:
            >>> model = NoiseModel(17, Noise(20, 10), Noise(30, 20), Noise(31, 21), 15.0)
            >>> round(model.switched(Noise(70, 60), 20).norm), model.switched(Noise(9, 5), 20).norm
            (50, 9)
        """
        if bits <= 0:
            return noise
        divided = noise.scaled(-bits).plus(self.rounding)
        return divided if divided.norm < noise.norm else noise

    def switches(self, noise: Noise, bits: float) -> int:
        """How many switches by so many bits each leave most room for a product.

        As far as noise falls by half of what the modulus does.

        Example:
            >>> model = NoiseModel(17, Noise(20, 10), Noise(30, 20), Noise(31, 21), 15.0)
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
        return noise.coefficient + _CLEAR_BITS + _SLACK_BITS

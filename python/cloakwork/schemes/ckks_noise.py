"""The noise that CKKS adds to the numbers, predicted at its typical size.

The engine tracks bounds, which are meant to hold; these are deviations, which are
meant to be met (Costache, Curtis, Hales, Murphy, Ogilvie, Player, "On the
precision loss in approximate homomorphic encryption", 2022). A coefficient's
error of deviation d is seen in the real part of every slot as Gaussian with
deviation d sqrt(N / 2) / scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import Parameters
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Basis

# Of the errors in a fresh encryption and in a key.
ERROR_DEVIATION = 3.2
_ROUNDING = math.sqrt(1 / 12)
# The engine keeps the largest digit this many bits below the key-switching modulus; the
# others are somewhat smaller, as if all were one bit further below.
_DIGIT_MARGIN = 4
_TYPICAL_MARGIN = _DIGIT_MARGIN + 1
# What a limb takes in a division, in products of a limb of a diagonal; as the engine counts.
_DIVISION_COST = 3


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """Deviations of the errors in the slots, for a uniform ternary secret.

    Args:
        n: Ring degree.
        scales: Scale of each level, from 0 up.
        switching_deviation: Coefficient deviation that key switching adds, the rounding of its
            division left out.
        public_inputs: Whether encryptions are those under the public key.
        seed: What the errors are drawn from.
        bootstrapping: Deviation of what a bootstrap adds to the real part of a slot.
        paired_bootstrapping: The same of a bootstrap of two vectors at once.
        special_shares: For each level the part of the limbs of a key switch that are those of the
            key-switching modulus.
        times: What drawn errors are multiplied by, one number or one for each slot.

    Example:
        >>> scales = 2.0**40, 2.0**40
        >>> models = [NoiseModel(1 << 14, scales, public_inputs=each) for each in (False, True)]
        >>> [round(math.log2(model.encryption(1))) for model in models]
        [-32, -29]
    """

    n: int
    scales: tuple[float, ...]
    switching_deviation: float = 0.0
    public_inputs: bool = False
    seed: int = 0
    bootstrapping: float = 0.0
    paired_bootstrapping: float = 0.0
    special_shares: tuple[float, ...] = ()
    times: float | NDArray[np.float64] = 1.0

    def of_levels(self, depth: int, like: int) -> NoiseModel:
        """That of a chain of so many levels, all of them like one.

        Example:
            >>> NoiseModel(1 << 14, (2.0**30, 1024.0)).of_levels(3, like=1).scales
            (1024.0, 1024.0, 1024.0, 1024.0)
        """

        def repeated(of_levels: tuple[float, ...]) -> tuple[float, ...]:
            return of_levels[like : like + 1] * (depth + 1)

        shares = repeated(self.special_shares)
        return replace(self, scales=repeated(self.scales), special_shares=shares)

    def scale(self, level: int, *, waiting: bool) -> float:
        """The scale of a value; that of a product that is not rescaled is a square."""
        return self.scales[level] ** 2 if waiting else self.scales[level]

    def encryption(self, level: int) -> float:
        """Of an encryption at a level, its encoding included.

        One under the public key ends in a division by the key-switching modulus, which rounds; what
        comes before is less.
        """
        scale = self.scales[level]
        own = self.rounding(scale) if self.public_inputs else self._in_slots(ERROR_DEVIATION, scale)
        return math.hypot(own, self.encoding(scale))

    def encoding(self, scale: float) -> float:
        """Of an encoded constant."""
        return self._in_slots(_ROUNDING, scale)

    def rounding(self, scale: float) -> float:
        """Of a division with rounding that ends at a scale: both polynomials are rounded,
        and one of them meets the secret.
        """
        return self._in_slots(_ROUNDING * math.sqrt(1 + 2 * self.n / 3), scale)

    def switching(self, scale: float) -> float:
        """Of a key switch whose division is yet to come."""
        return self._in_slots(self.switching_deviation, scale)

    def rotation(self, scale: float) -> float:
        """Of a key switch and its division: a rotation or a relinearisation."""
        return math.hypot(self.switching(scale), self.rounding(scale))

    def baby_step(
        self, scale: float, level: int, diagonals: int, steps: tuple[int, int], shared_by: int
    ) -> float:
        """Of a rotation that a linear transform takes of its operand, as the engine does it."""
        divisions = max(0, math.ceil(2 * steps[0] / shared_by) - steps[1])
        share = self.special_shares[level] if self.special_shares else 0.0
        if diagonals * share > _DIVISION_COST * divisions:
            return self.rotation(scale)
        return self.switching(scale)

    def polynomial(
        self,
        scale: float,
        coefficients: Sequence[float],
        basis: Basis,
        values: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Of a polynomial of each value that ends at a scale: its last rescale and its powers'."""
        slopes = _slopes_of_powers(values, coefficients, basis)
        squares = sum((slope**2 for slope in slopes[2:]), np.zeros(1))
        return self.rounding(scale) * np.sqrt(1 + squares)

    def _in_slots(self, deviation: float, scale: float) -> float:
        return deviation * math.sqrt(self.n / 2) / scale


def _halves(n: int) -> tuple[int, int]:
    """The powers whose product the engine makes power n of."""
    high = 1 << ((n - 1).bit_length() - 1)
    return high, n - high


def powers_of(
    values: NDArray[Any], count: int, basis: Basis, finish: Callable[[NDArray[Any]], NDArray[Any]]
) -> list[NDArray[Any]]:
    """The first powers of each value, two at least, each finished before others are made of it.

    Example:
        >>> powers_of(np.array([0.5]), 4, "chebyshev", np.copy)[3].tolist()
        [-1.0]
    """
    powers = [np.ones_like(values), values]
    for n in range(2, count):
        high, low = _halves(n)
        power = powers[high] * powers[low]
        # T_n = 2 T_high T_low - T_(high - low).
        powers.append(finish(2 * power - powers[high - low] if basis == "chebyshev" else power))
    return powers


def _slopes_of_powers(
    values: NDArray[np.float64], coefficients: Sequence[float], basis: Basis
) -> list[NDArray[np.float64]]:
    """How a polynomial of each value changes with each of its powers, of which others are made."""
    count, factor = len(coefficients), 2 if basis == "chebyshev" else 1
    powers = powers_of(values, count, basis, lambda power: power)
    slopes = [np.full_like(values, coefficient) for coefficient in coefficients]
    for n in reversed(range(2, count)):
        high, low = _halves(n)
        slopes[high] += factor * slopes[n] * powers[low]
        slopes[low] += factor * slopes[n] * powers[high]
        if basis == "chebyshev":
            # T_n = 2 T_high T_low - T_(high - low).
            slopes[high - low] -= slopes[n]
    return slopes


def noise_of(
    parameters: Parameters,
    seed: int = 0,
    refreshing: Refreshing | None = None,
    *,
    public_inputs: bool = False,
) -> NoiseModel:
    """The noise under a parameter set.

    Example:
        >>> noise_of(Parameters(levels=1, log_n=10, insecure=True)).n
        1024
    """
    log_p = parameters.log_qp - parameters.log_q
    digits = math.ceil(parameters.log_q / (log_p - _DIGIT_MARGIN))
    digit_bits = min(parameters.log_q, log_p - _TYPICAL_MARGIN)
    # Each digit, uniform below its size, meets an error of the key, and P divides the sum.
    digit = _ROUNDING * 2 ** (digit_bits - log_p)
    special = parameters.key_prime_count - parameters.prime_count(parameters.levels)
    limbs = [parameters.prime_count(level) for level in range(parameters.levels + 1)]
    return NoiseModel(
        n=parameters.n,
        scales=tuple(parameters.scale(level) for level in range(parameters.levels + 1)),
        switching_deviation=ERROR_DEVIATION * digit * math.sqrt(digits * parameters.n),
        public_inputs=public_inputs,
        seed=seed,
        bootstrapping=0.0 if refreshing is None else refreshing.deviation / math.sqrt(2),
        paired_bootstrapping=0.0
        if refreshing is None
        else refreshing.paired_deviation / math.sqrt(2),
        special_shares=tuple(special / (special + own) for own in limbs),
    )

"""What TFHE's operations on bits cost under one parameter set, beside the noise that they leave."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cloakwork._native import boolean_parameter_sets, boolean_seconds
from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.cost import cache
from cloakwork.schemes.tfhe_noise import FAILURE_BITS, BitNoise, noise_of, tables_log

# Of the table that is kept.
_VERSION = 1
_REPETITIONS = 15


@dataclass(frozen=True, slots=True)
class BitCosts:
    """A parameter set with what its operations cost, for which the mapper makes programs.

    Args:
        noise: What its operations leave of noise, and may leave.
        bootstrap_seconds: Seconds of a bootstrap of one table, two tables, four tables.
        linear_seconds: Seconds to add one LWE ciphertext times a weight to a sum.

    Raises:
        InvalidArgumentError: A cost is not finite or negative, or costs and noise are of different
            numbers of tables.

    Example:
        >>> costs = published_costs()
        >>> costs.noise.most_tables(2)
        2
    """

    noise: BitNoise
    bootstrap_seconds: tuple[float, ...]
    linear_seconds: float

    def __post_init__(self) -> None:
        numbers = [*self.bootstrap_seconds, self.linear_seconds]
        legal = all(math.isfinite(number) and number >= 0 for number in numbers)
        if not legal or len(self.bootstrap_seconds) != len(self.noise.switch_variance):
            raise InvalidArgumentError(
                f"cannot use the costs of {self.noise.name!r}: expected finite ones of 0 or more, "
                f"for {len(self.noise.switch_variance)} numbers of tables"
            )

    @classmethod
    def from_seconds(cls, noise: BitNoise, seconds: Mapping[str, Any]) -> BitCosts:
        """The costs of seconds as they are measured.

        Args:
            noise: That of the parameter set.
            seconds: `bootstrap` by logarithm of the tables, and `linear`.

        Raises:
            InvalidArgumentError: A number is missing or invalid.

        Example:
            >>> from cloakwork.schemes.tfhe_noise import noise_of
            >>> seconds = {"bootstrap": [0.01, 0.011, 0.012], "linear": 1e-6}
            >>> BitCosts.from_seconds(noise_of("space8"), seconds).seconds(1)
            0.01
        """
        try:
            return cls(
                noise,
                tuple(float(each) for each in seconds["bootstrap"]),
                float(seconds["linear"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"cannot use the costs of {noise.name!r}: a number is missing: {error}"
            ) from error

    @property
    def name(self) -> str:
        """The name of the parameter set."""
        return self.noise.name

    def seconds(self, tables: int) -> float:
        """Seconds of a bootstrap of so many tables."""
        return self.bootstrap_seconds[tables_log(tables)]


def measured_sets(failure_bits: int = FAILURE_BITS) -> list[BitCosts]:
    """Every parameter set for bits, with its costs on this machine.

    Costs are measured where the cache has none yet, which takes a few seconds.

    Example:
        >>> [costs.name for costs in measured_sets()] == boolean_parameter_sets()
        True
    """
    return [measured_set(name, failure_bits) for name in boolean_parameter_sets()]


def measured_set(name: str, failure_bits: int = FAILURE_BITS) -> BitCosts:
    """One parameter set; its costs are measured where the cache has none yet.

    Raises:
        InvalidArgumentError: There is no such set.

    Example:
        >>> measured_set("space8").noise.max_message_bits
        3
    """
    return BitCosts.from_seconds(noise_of(name, failure_bits), _seconds(name))


def known_set(name: str, failure_bits: int = FAILURE_BITS) -> BitCosts | None:
    """One parameter set with costs that were measured before; None where none were.

    Example:
        >>> known_set("space8") in (None, measured_set("space8"))
        True
    """
    kept = cache.read(_identity(name))
    return BitCosts.from_seconds(noise_of(name, failure_bits), kept) if _is_table(kept) else None


def _seconds(name: str) -> Mapping[str, Any]:
    identity = _identity(name)
    kept = cache.read(identity)
    if _is_table(kept):
        return dict(kept)
    measured = boolean_seconds(name, _REPETITIONS)
    cache.write(identity, measured)
    return measured


def _identity(name: str) -> dict[str, Any]:
    return cache.identity({"version": _VERSION, "bits": name})


def _is_table(kept: Any) -> bool:
    """Whether it is what was written: a file of the user's may be damaged."""
    match kept:
        case {"bootstrap": [_, _, _] as by_tables, "linear": linear, "gate": gate}:
            numbers = [*by_tables, linear, gate]
            # JSON of Python's has infinity.
            return all(isinstance(each, float) and 0 < each < math.inf for each in numbers)
        case _:
            return False


def published_costs() -> BitCosts:
    """A published parameter set, with costs as on a processor of 2023.

    The set is V1_1_PARAM_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M64 of Zama's tfhe 1.8: small keys of
    dimension 781 and noise 8.868e-6, large ones of 4 polynomials of 512 coefficients and noise
    2.845e-15, both binary; bootstraps of base 2^23 and one level, key switches of base 2^4 and
    three levels. Variances by the formulas of Bergerat, Boudi, Bourgerie, Chillotti, Ligier,
    Orfila and Tap, "Parameter optimization and larger precision for (T)FHE", Journal of
    Cryptology 2023, without the error of Fourier transforms.

    Example:
        >>> published_costs().noise.max_message_bits
        2
    """
    small, polynomials, size = 781, 4, 512
    small_variance, large_variance = 8.868480365938865e-6**2, 2.845267479601915e-15**2
    large = polynomials * size
    base, switch_base, switch_levels = 2.0**23, 2.0**4, 3
    products = (polynomials + 1) * size * (base**2 + 2) / 12 * large_variance
    rounding = (1 + large / 2) / (24 * base**2)
    bootstrap_variance = small * (products + rounding)
    key_switch = large * (
        switch_levels * (switch_base**2 + 2) / 12 * small_variance
        + 1 / (24 * switch_base ** (2 * switch_levels))
    )
    steps = [2 * size / (1 << log) for log in range(3)]
    noise = BitNoise(
        "published",
        # By these formulas messages of a space of 8 are missed a little more often than 2^-64.
        2,
        large_variance,
        large_variance,
        bootstrap_variance,
        tuple(key_switch + (1 + small / 2) / (12 * step**2) for step in steps),
    )
    return BitCosts(noise, (0.018, 0.0185, 0.019), 1e-6)

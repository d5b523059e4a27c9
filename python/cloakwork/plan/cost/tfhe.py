"""What TFHE's operations on bits cost and how much noise they leave, for one parameter set.

Variances are of torus numbers: 1 is one turn squared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cloakwork.errors import InvalidArgumentError

# The most that a bootstrap may miss its box, or an output its bit: log2 of the probability.
LOG2_FAILURE = -64.0


@dataclass(frozen=True, slots=True)
class Target:
    """A table of costs and noise that the mapper makes programs for.

    Args:
        name: The name of the parameter set.
        max_boxes_log: log2 of the most boxes that a bootstrap tells apart.
        bootstrap_seconds: Seconds of a bootstrap of one table, two tables, four tables.
        linear_seconds: Seconds to add one signal times a weight to a sum.
        fresh_variance: Noise of an encrypted input.
        bootstrap_variance: Noise of one output of a bootstrap.
        switch_variance: What the way into a bootstrap of one, two, four tables adds: key switch
            and modulus switch.

    Raises:
        InvalidArgumentError: A number is not finite or negative, there is no cost of a
            bootstrap of one table, or costs and noise are of different numbers of tables.

    Example:
        >>> target = published_target()
        >>> target.most_tables(2)
        2
        >>> target.log2_failure(2, 1, target.bootstrap_variance) < -64
        True
    """

    name: str
    max_boxes_log: int
    bootstrap_seconds: tuple[float, ...]
    linear_seconds: float
    fresh_variance: float
    bootstrap_variance: float
    switch_variance: tuple[float, ...]

    def __post_init__(self) -> None:
        numbers = [*self.bootstrap_seconds, *self.switch_variance, self.linear_seconds]
        numbers += [self.fresh_variance, self.bootstrap_variance]
        if not all(math.isfinite(number) and number >= 0 for number in numbers):
            self._refuse("expected finite costs and variances of 0 or more")
        if not 1 <= len(self.bootstrap_seconds) == len(self.switch_variance) <= 3:
            self._refuse(
                "expected costs and noise of one, two and four tables, got "
                f"{len(self.bootstrap_seconds)} and {len(self.switch_variance)}"
            )
        if self.max_boxes_log < 2:
            self._refuse(f"expected 4 boxes or more, got 2^{self.max_boxes_log}")

    @classmethod
    def from_measurements(
        cls,
        name: str,
        max_boxes_log: int,
        noise: Mapping[str, Any],
        seconds: Mapping[str, Any],
    ) -> Target:
        """The target of a parameter set whose noise is stated and whose costs are measured.

        Args:
            name: Its name.
            max_boxes_log: log2 of the most boxes that a bootstrap tells apart.
            noise: `fresh_variance`, `bootstrap_variance`, and `switch_variance` by logarithm of
                the tables.
            seconds: `bootstrap` by logarithm of the tables, and `linear`.

        Raises:
            InvalidArgumentError: A number is missing or no legal one.

        Example:
            >>> noise = {"fresh_variance": 1e-20, "bootstrap_variance": 1e-9}
            >>> noise["switch_variance"] = [1e-5]
            >>> seconds = {"bootstrap": [0.01], "linear": 1e-6}
            >>> Target.from_measurements("mine", 2, noise, seconds).seconds(1)
            0.01
        """
        try:
            return cls(
                name,
                max_boxes_log,
                tuple(float(each) for each in seconds["bootstrap"]),
                float(seconds["linear"]),
                float(noise["fresh_variance"]),
                float(noise["bootstrap_variance"]),
                tuple(float(each) for each in noise["switch_variance"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"cannot make the target {name!r}: its noise or seconds lack a number: {error}"
            ) from error

    def seconds(self, tables: int) -> float:
        """Seconds of a bootstrap of so many tables."""
        return self.bootstrap_seconds[tables_log(tables)]

    def budget(self, boxes_log: int, tables: int) -> float:
        """The most variance that a bootstrap's sum may have; below 0 where there is none."""
        margin = 2.0 ** -(boxes_log + 1)
        return margin**2 / (2 * _ERFC_ARGUMENT**2) - self.switch_variance[tables_log(tables)]

    def most_tables(self, boxes_log: int) -> int:
        """The most tables that leave room for sums of some bootstraps' outputs; 0 for none."""
        room = _LEAST_ROOM * max(self.bootstrap_variance, self.fresh_variance)
        fitting = [
            1 << log
            for log in range(len(self.bootstrap_seconds))
            if self.budget(boxes_log, 1 << log) >= room
        ]
        return max(fitting, default=0)

    def doublings(self, boxes_log: int) -> int:
        """How often an output may be doubled until a quarter of the budget is gone."""
        budget = self.budget(boxes_log, max(1, self.most_tables(boxes_log)))
        share = budget / (4 * max(self.bootstrap_variance, 2.0**-64))
        return min(_MOST_DOUBLINGS, math.floor(math.log(share, 4))) if share >= 1 else 0

    def most_boxes_log(self) -> int:
        """log2 of the most boxes that bootstraps of one table tell apart; 0 for none."""
        able = [each for each in range(2, self.max_boxes_log + 1) if self.most_tables(each)]
        return max(able, default=0)

    def log2_failure(self, boxes_log: int, tables: int, variance: float) -> float:
        """log2 of the probability that a bootstrap's sum of this variance misses its box."""
        return log2_beyond(
            2.0 ** -(boxes_log + 1), variance + self.switch_variance[tables_log(tables)]
        )

    def _refuse(self, reason: str) -> None:
        raise InvalidArgumentError(f"cannot make the target {self.name!r}: {reason}")


# Outputs of bootstraps that a sum may have at least where a bootstrap is to be of use.
_LEAST_ROOM = 32

# Encodings get no finer than so many halves of the half encoding.
_MOST_DOUBLINGS = 8


def tables_log(tables: int) -> int:
    """log2 of the room that so many tables take, a power of two.

    Example:
        >>> [tables_log(tables) for tables in (1, 2, 3, 4)]
        [0, 1, 2, 2]
    """
    return (tables - 1).bit_length()


def log2_beyond(margin: float, variance: float) -> float:
    """log2 of the probability that Gaussian noise goes beyond a margin to either side.

    Args:
        margin: In turns.
        variance: In turns squared.

    Example:
        >>> round(log2_beyond(1.0, 1.0), 3)
        -1.656
        >>> log2_beyond(1.0, 1e-5) < -2**16
        True
    """
    if variance == 0:
        return -math.inf
    argument = margin / math.sqrt(2 * variance)
    if argument < _LARGE_ARGUMENT:
        return math.log2(math.erfc(argument))
    # The first two terms of the asymptotic series; the third is 3 / (4 argument^4).
    series = math.log1p(-1 / (2 * argument**2)) - argument**2
    return series * math.log2(math.e) - math.log2(argument * math.sqrt(math.pi))


# math.erfc underflows beyond 26.5.
_LARGE_ARGUMENT = 20.0


def _erfc_argument(log2_probability: float) -> float:
    """Where erfc has fallen to a probability."""
    low, high = 0.0, _LARGE_ARGUMENT
    for _ in range(60):
        middle = (low + high) / 2
        if math.log2(math.erfc(middle)) > log2_probability:
            low = middle
        else:
            high = middle
    return high


_ERFC_ARGUMENT = _erfc_argument(LOG2_FAILURE)


def published_target() -> Target:
    """The target of a published parameter set, with costs as on a processor of 2023.

    The set is V1_1_PARAM_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M64 of Zama's tfhe 1.8: small keys of
    dimension 781 and noise 8.868e-6, large ones of 4 polynomials of 512 coefficients and noise
    2.845e-15, both binary; bootstraps of base 2^23 and one level, key switches of base 2^4 and
    three levels. Variances by the formulas of Bergerat, Boudi, Bourgerie, Chillotti, Ligier,
    Orfila and Tap, "Parameter optimization and larger precision for (T)FHE", Journal of
    Cryptology 2023, without the error of Fourier transforms.

    Example:
        >>> published_target().max_boxes_log
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
    return Target(
        "published",
        # By these formulas 8 boxes are missed a little more often than 2^-64.
        2,
        (0.018, 0.0185, 0.019),
        1e-6,
        large_variance,
        bootstrap_variance,
        tuple(key_switch + (1 + small / 2) / (12 * step**2) for step in steps),
    )

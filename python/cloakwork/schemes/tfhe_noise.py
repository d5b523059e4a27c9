"""How likely a bootstrap program goes wrong: noise followed from the inputs to every bootstrap.

Every signal is a sum of weights times sources: encrypted inputs, whose noises are independent, and
outputs of bootstraps, independent between bootstraps; outputs of one bootstrap may carry the same
noise, so their weights are added before they are squared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

from cloakwork._native import (
    BooleanParameters,
    boolean_largest_variance,
    boolean_log2_failure,
    boolean_noise,
)
from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.bootstraps import BootstrapProgram

# Of programs for which nothing else is asked.
FAILURE_BITS = 128
# With fewer an evaluator that tries many ciphertexts would meet a failure by chance.
LEAST_FAILURE_BITS = 40
# Of a variance that is added up from terms, what their rounding may not exceed.
_BEFORE_ROUNDING = 1 - 1e-12
# Outputs of bootstraps that a sum may have at least where several tables are to be of use.
_LEAST_OUTPUTS = 32

# Encodings get no finer than so many halves of the half encoding.
_MOST_DOUBLINGS = 8
# From a signal that is a source to its weight.
Sum = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class BitNoise:
    """How much noise TFHE's operations on bits leave under a parameter set, and may leave.

    Variances are of torus numbers: 1 is one turn squared.

    Args:
        name: The name of the parameter set.
        max_message_bits: log2 of the largest message space of a bootstrap.
        fresh_variance: Noise of an encrypted input.
        public_variance: Noise of one that a public key encrypted.
        bootstrap_variance: Noise of one output of a bootstrap.
        switch_variance: What the way into a bootstrap of one, two, four tables adds: key switch
            and modulus switch.
        failure_bits: The most that a bootstrap may miss its message, or an output its bit: a
            probability of 2^-failure_bits.

    Raises:
        InvalidArgumentError: A number is not finite or negative, or there is no noise of a
            bootstrap of one table.

    Example:
        >>> noise = noise_of("space8")
        >>> noise.log2_failure(2, 1, noise.bootstrap_variance) < -64
        True
    """

    name: str
    max_message_bits: int
    fresh_variance: float
    public_variance: float
    bootstrap_variance: float
    switch_variance: tuple[float, ...]
    failure_bits: int = FAILURE_BITS

    def __post_init__(self) -> None:
        numbers = [*self.switch_variance, self.fresh_variance, self.public_variance]
        numbers.append(self.bootstrap_variance)
        if not all(math.isfinite(number) and number >= 0 for number in numbers):
            self._refuse("expected finite variances of 0 or more")
        if not 1 <= len(self.switch_variance) <= 3:
            self._refuse("expected the noise of one, two and four tables")
        if self.max_message_bits < 2:
            self._refuse(f"expected a message space of 4 or more, got 2^{self.max_message_bits}")

    def budget(self, message_bits: int, tables: int) -> float:
        """The most variance that a bootstrap's sum may have; below 0 where there is none."""
        return (
            _largest_variance(message_bits, self.failure_bits)
            - self.switch_variance[tables_log(tables)]
        )

    def most_tables(self, message_bits: int) -> int:
        """The most tables whose outputs may be summed a few times; 0 if one table is too many.

        Of one table a bootstrap is of use already where a single output fits.
        """
        output = max(self.bootstrap_variance, self.fresh_variance)
        fitting = [
            1 << log
            for log in range(len(self.switch_variance))
            if self.budget(message_bits, 1 << log) >= output * (_LEAST_OUTPUTS if log else 1)
        ]
        return max(fitting, default=0)

    @property
    def most_outputs_summed(self) -> int:
        """The most outputs of bootstraps that a bootstrap with a message space of 4 takes."""
        return max(0, math.floor(self.budget(2, 1) / max(self.bootstrap_variance, 2.0**-128)))

    def doublings(self, message_bits: int) -> int:
        """How often an output may be doubled until a quarter of the budget is gone."""
        budget = self.budget(message_bits, max(1, self.most_tables(message_bits)))
        share = budget / (4 * max(self.bootstrap_variance, 2.0**-64))
        return min(_MOST_DOUBLINGS, math.floor(math.log(share, 4))) if share >= 1 else 0

    def most_message_bits(self) -> int:
        """log2 of the largest message space of bootstraps of one table; 0 for none."""
        able = [each for each in range(2, self.max_message_bits + 1) if self.most_tables(each)]
        return max(able, default=0)

    def log2_failure(self, message_bits: int, tables: int, variance: float) -> float:
        """log2 of the probability that a bootstrap's sum of this variance misses its message."""
        return boolean_log2_failure(
            2.0 ** -(message_bits + 1), variance + self.switch_variance[tables_log(tables)]
        )

    def _refuse(self, reason: str) -> NoReturn:
        raise InvalidArgumentError(f"cannot use the parameters {self.name!r}: {reason}")


@cache
def _largest_variance(message_bits: int, failure_bits: int) -> float:
    """The most variance, the way into a bootstrap included, with which it misses so seldom."""
    margin = 2.0 ** -(message_bits + 1)
    return boolean_largest_variance(margin, -failure_bits) * _BEFORE_ROUNDING


def tables_log(tables: int) -> int:
    """log2 of so many tables, rounded up to a power of two.

    Example:
        >>> [tables_log(tables) for tables in (1, 2, 3, 4)]
        [0, 1, 2, 2]
    """
    return (tables - 1).bit_length()


def noise_of(name: str, failure_bits: int = FAILURE_BITS) -> BitNoise:
    """The noise of one of the engine's parameter sets.

    Example:
        >>> noise_of("space8").max_message_bits
        3
    """
    stated = boolean_noise(name)
    return BitNoise(
        name,
        BooleanParameters(name).max_message_bits,
        stated["fresh_variance"],
        stated["public_variance"],
        stated["bootstrap_variance"],
        tuple(stated["switch_variance"]),
        failure_bits,
    )


@dataclass(frozen=True, slots=True)
class FailureProbability:
    """Probabilities that a program goes wrong, as log2.

    Args:
        worst: The greatest of any bootstrap or output.
        total: Their sum: that anything goes wrong.
    """

    worst: float
    total: float


class Sources:
    """Which bootstrap a source comes from, and the variance of sums of sources.

    Args:
        noise: That of the parameter set.

    Example:
        >>> sources = Sources(noise_of("space8"))
        >>> sources.add_outputs([5, 6])
        >>> unit = noise_of("space8").bootstrap_variance
        >>> round(sources.variance({5: 1, 6: -1}) / unit), round(sources.variance({5: 1}) / unit)
        (4, 1)
    """

    def __init__(self, noise: BitNoise) -> None:
        self._noise = noise
        self._bootstrap_of: dict[int, int] = {}

    def add_outputs(self, signals: list[int]) -> None:
        """Note the outputs of one bootstrap; all other sources are inputs."""
        self._bootstrap_of |= dict.fromkeys(signals, signals[0])

    def variance(self, weighted: Sum) -> float:
        """The variance of a sum of sources."""
        together: dict[int, int] = {}
        fresh = 0
        for source, weight in weighted.items():
            bootstrap = self._bootstrap_of.get(source)
            if bootstrap is None:
                fresh += weight * weight
            else:
                together[bootstrap] = together.get(bootstrap, 0) + abs(weight)
        squares = sum(weight * weight for weight in together.values())
        return fresh * self._noise.fresh_variance + squares * self._noise.bootstrap_variance


def failure_of(program: BootstrapProgram, noise: BitNoise) -> FailureProbability:
    """How likely a program goes wrong with a parameter set, whatever key encrypts its inputs.

    Example:
        >>> from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = BootstrapBuilder("and", (Port("a", "bits", 2),))
        >>> terms = [(builder.input(0, QUARTER), 1), (builder.input(1, QUARTER), 1)]
        >>> _ = builder.bootstrap(terms, 0, 2, [(-EIGHTH, -EIGHTH)], [EIGHTH])
        >>> failure_of(builder.finish(), noise_of("space8")).worst < -64
        True
    """
    inputs, bootstraps = max(noise.fresh_variance, noise.public_variance), noise.bootstrap_variance
    known, key = program.failures, (inputs, bootstraps, noise.switch_variance)
    if key not in known:
        found = program.native.log2_failure(
            program.output_encodings,
            input_variance=inputs,
            bootstrap_variance=bootstraps,
            switch_variance=noise.switch_variance,
        )
        known[key] = FailureProbability(*found)
    failure: FailureProbability = known[key]
    return failure

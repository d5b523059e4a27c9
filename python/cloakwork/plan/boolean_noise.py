"""How likely a bootstrap program goes wrong: noise followed from the inputs to every bootstrap.

Every signal is a sum of weights times sources: encrypted inputs, whose noises are independent, and
outputs of bootstraps, independent between bootstraps; outputs of one bootstrap may carry the same
noise, so their weights are added before they are squared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cloakwork.plan.boolean_target import Target
from cloakwork.programs.bootstraps import BootstrapProgram

# From a signal that is a source to its weight.
Sum = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Failure:
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
        target: The parameter set.

    Example:
        >>> from cloakwork.plan.boolean_target import published_target
        >>> sources = Sources(published_target())
        >>> sources.add_outputs([5, 6])
        >>> unit = published_target().bootstrap_variance
        >>> round(sources.variance({5: 1, 6: -1}) / unit), round(sources.variance({5: 1}) / unit)
        (4, 1)
    """

    def __init__(self, target: Target) -> None:
        self._target = target
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
        return fresh * self._target.fresh_variance + squares * self._target.bootstrap_variance


def failure_of(
    program: BootstrapProgram, target: Target, input_variance: float | None = None
) -> Failure:
    """How likely a program goes wrong with a parameter set.

    Args:
        program: The program.
        target: The parameter set.
        input_variance: Of each input; by default as the secret key encrypts it.

    Raises:
        InvalidProgramError: Sums, written out, are larger than any noise leaves room for.

    Example:
        >>> from cloakwork.plan.boolean_target import published_target
        >>> from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder
        >>> from cloakwork.programs.ports import Port
        >>> builder = BootstrapBuilder("and", (Port("a", "bits", 2),))
        >>> terms = [(builder.input(0, QUARTER), 1), (builder.input(1, QUARTER), 1)]
        >>> _ = builder.bootstrap(terms, 0, 2, [(-EIGHTH, -EIGHTH)], [EIGHTH])
        >>> failure_of(builder.finish(), published_target()).worst < -64
        True
    """
    worst, total = program.native().log2_failure(
        program.output_encodings,
        input_variance=target.fresh_variance if input_variance is None else input_variance,
        bootstrap_variance=target.bootstrap_variance,
        switch_variance=target.switch_variance,
    )
    return Failure(worst, total)

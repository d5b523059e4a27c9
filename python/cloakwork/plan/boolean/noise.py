"""How likely a bootstrap program goes wrong: noise followed from the inputs to every bootstrap.

Every signal is a sum of weights times sources: encrypted inputs, whose noises are independent, and
outputs of bootstraps, independent between bootstraps; outputs of one bootstrap may carry the same
noise, so their weights are added before they are squared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from cloakwork.plan.cost.tfhe import Target, log2_beyond
from cloakwork.programs.bootstraps import LINEAR, BootstrapProgram

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
        >>> from cloakwork.plan.cost.tfhe import published_target
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


def failure_of(program: BootstrapProgram, target: Target) -> Failure:
    """How likely a program goes wrong with a parameter set.

    Example:
        >>> from cloakwork.plan.cost.tfhe import published_target
        >>> from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = BootstrapBuilder("and", (Port("a", "bits", 2),))
        >>> terms = [(builder.input(0, QUARTER), 1), (builder.input(1, QUARTER), 1)]
        >>> _ = builder.bootstrap(terms, 0, 2, [(-EIGHTH, -EIGHTH)], [EIGHTH])
        >>> failure_of(builder.finish(), published_target()).worst < -64
        True
    """
    sources = Sources(target)
    sums: list[Sum] = [{signal: 1} for signal in range(program.input_count)]
    signals, weights = program.term_signals.tolist(), program.term_weights.tolist()
    starts, made = program.term_starts.tolist(), program.output_starts.tolist()
    boxes_log, tables = program.boxes_log.tolist(), program.table_counts.tolist()
    logs = []
    for node, kind in enumerate(program.kinds.tolist()):
        terms = range(starts[node], starts[node + 1])
        total: dict[int, int] = {}
        for term in terms:
            for source, weight in sums[signals[term]].items():
                total[source] = total.get(source, 0) + weight * weights[term]
        if kind == LINEAR:
            sums.append(total)
            continue
        variance = sources.variance(total)
        logs.append(target.log2_failure(boxes_log[node], tables[node], variance))
        own = list(range(len(sums), len(sums) + made[node + 1] - made[node]))
        sources.add_outputs(own)
        sums += [{signal: 1} for signal in own]
    for signal, encoding in zip(
        program.output_signals.tolist(), program.output_encodings.tolist(), strict=True
    ):
        logs.append(log2_beyond(encoding / 2**33, sources.variance(sums[signal])))
    if not logs:
        return Failure(-math.inf, -math.inf)
    worst = max(logs)
    if worst == -math.inf:
        return Failure(worst, worst)
    return Failure(worst, worst + math.log2(sum(2.0 ** (log - worst) for log in logs)))

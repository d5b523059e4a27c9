"""What TFHE's operations on bits cost under one parameter set, beside the noise that they leave.

Programs are mapped for stated costs, so that a mapping is the same on every machine and at every
time; measured ones tell how long a program takes on this one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cloakwork._native import boolean_parameter_sets, boolean_seconds
from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.cost import cache
from cloakwork.programs.bootstraps import BootstrapProgram, counts_between
from cloakwork.schemes.tfhe_noise import FAILURE_BITS, BitNoise, noise_of, tables_log

# Of the table that is kept.
_VERSION = 2
_REPETITIONS = 15

# CPU seconds of a bootstrap of one, two and four tables among four made together, and of a term of
# a sum, on a core of Zen 3 on which nothing else runs; those of space8 are of space4x2, which has
# the same rings, by the dimension of its small key. Only their ratios matter.
_STATED: dict[str, tuple[tuple[float, float, float], float]] = {
    "space4": ((0.0054, 0.0055, 0.0056), 2e-7),
    "space4x2": ((0.0079, 0.0080, 0.0081), 3e-7),
    "space8": ((0.0086, 0.0087, 0.0088), 3e-7),
    "space16": ((0.0096, 0.0097, 0.0098), 3e-7),
}


@dataclass(frozen=True, slots=True)
class BitCosts:
    """A parameter set with what its operations cost, for which the mapper makes programs.

    Args:
        noise: What its operations leave of noise, and may leave.
        bootstrap_seconds: Seconds of a bootstrap of one table, two tables, four tables.
        linear_seconds: Seconds to add one LWE ciphertext times a weight to a sum.
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
        """The costs of seconds as measured: `bootstrap` by log2 of the tables, and `linear`."""
        try:
            return cls(noise, tuple(map(float, seconds["bootstrap"])), float(seconds["linear"]))
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


def stated_sets(failure_bits: int = FAILURE_BITS) -> list[BitCosts]:
    """Every parameter set for bits, with the costs that programs are mapped for.

    They are those of a machine of 2021. On others all sets are faster or slower alike, and a
    mapping depends on their ratios alone.

    Example:
        >>> [costs.name for costs in stated_sets()] == boolean_parameter_sets()
        True
    """
    return [
        BitCosts(noise_of(name, failure_bits), *_STATED[name]) for name in boolean_parameter_sets()
    ]


def measured_set(name: str, failure_bits: int = FAILURE_BITS) -> BitCosts:
    """One parameter set with its costs in CPU seconds on this machine.

    They are measured where the cache has none yet, which takes a second or two.
    """
    costs = known_set(name, failure_bits)
    if costs is None:
        measured = boolean_seconds(name, _REPETITIONS)
        cache.keep_costs(_identity(name), measured)
        costs = BitCosts.from_seconds(noise_of(name, failure_bits), measured)
    return costs


def known_set(name: str, failure_bits: int = FAILURE_BITS) -> BitCosts | None:
    """One parameter set with costs that were measured before; None where none were."""
    match cache.kept_costs(_identity(name)):
        case {"bootstrap": [_, _, _] as by_tables, "linear": linear, "gate": gate} as kept:
            # The user's file may be damaged, and JSON of Python's has infinity.
            numbers = [*by_tables, linear, gate]
            if all(isinstance(each, float) and 0 < each < math.inf for each in numbers):
                return BitCosts.from_seconds(noise_of(name, failure_bits), kept)
    return None


def _identity(name: str) -> dict[str, Any]:
    return {"version": _VERSION, "bits": name}


def data_flow_seconds(program: BootstrapProgram, costs: BitCosts, threads: int) -> float:
    """Seconds when every node starts as soon as its operands are there and a thread is free.

    Nodes on which no output depends are left out. Of the nodes that could start, that one does
    from which the longest path leads to an output, as in a run (`crates/tfhe-eval`, `schedule`).
    """
    return program.native.data_flow_seconds(
        bootstrap_seconds=costs.bootstrap_seconds,
        term_seconds=costs.linear_seconds,
        threads=threads,
    )


def node_seconds(program: BootstrapProgram, costs: BitCosts) -> list[float]:
    """What each node costs on its own."""
    tables = program.table_counts.tolist()
    terms = counts_between(program.term_starts).tolist()
    by_tables = {count: costs.seconds(count) if count else 0.0 for count in set(tables)}
    return [
        count * costs.linear_seconds + by_tables[made]
        for made, count in zip(tables, terms, strict=True)
    ]

"""What a bootstrap program consists of: bootstraps by outputs, linear nodes, depth, width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cloakwork.programs.bootstraps import BOOTSTRAP, BootstrapProgram, counts_between


@dataclass(frozen=True, slots=True)
class BootstrapStatistics:
    """Counts of a bootstrap program.

    Args:
        bootstraps: Bootstraps.
        by_outputs: How many of them have one output, two and so on, by number of outputs.
        linear: Linear nodes.
        terms: Signals summed by all nodes together.
        depth: The most bootstraps on a way from an input.
        widths: How many bootstraps stand at level 1, 2, ... depth.
    """

    bootstraps: int
    by_outputs: Mapping[int, int]
    linear: int
    terms: int
    depth: int
    widths: tuple[int, ...]


def bootstrap_statistics_of(program: BootstrapProgram) -> BootstrapStatistics:
    """Count the nodes of a program.

    Example:
        >>> from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = BootstrapBuilder("and", (Port("a", "bits", 2),))
        >>> terms = [(builder.input(0, QUARTER), 1), (builder.input(1, QUARTER), 1)]
        >>> _ = builder.bootstrap(terms, 0, 2, [(-EIGHTH, -EIGHTH)], [EIGHTH])
        >>> bootstrap_statistics_of(builder.finish())
        BootstrapStatistics(bootstraps=1, by_outputs={1: 1}, linear=0, terms=2, depth=1,
            widths=(1,))
    """
    is_bootstrap = program.kinds == BOOTSTRAP
    counts = np.bincount(counts_between(program.output_starts)[is_bootstrap], minlength=1).tolist()
    by_outputs = {outputs: count for outputs, count in enumerate(counts) if count}
    widths = tuple(np.bincount(program.levels[is_bootstrap], minlength=1)[1:].tolist())
    bootstraps = int(is_bootstrap.sum())
    return BootstrapStatistics(
        bootstraps,
        by_outputs,
        program.node_count - bootstraps,
        len(program.term_signals),
        len(widths),
        widths,
    )

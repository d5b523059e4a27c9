"""How long a bootstrap program takes on a number of threads, by data flow."""

from __future__ import annotations

from cloakwork.plan.cost.tfhe import BitCosts
from cloakwork.programs.bootstraps import BootstrapProgram, counts_between


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

"""Times of bootstrap programs on a number of threads."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.boolean.layers import layered_seconds
from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.boolean.gate_by_gate import gate_by_gate
from cloakwork.plan.cost.tfhe import data_flow_seconds, node_seconds
from cloakwork.programs.bootstraps import BootstrapProgram, bootstrap_statistics_of
from tests.plan.boolean import circuits
from tests.plan.boolean.test_map import random_program
from tests.plan.cost.published import published_costs

COSTS = published_costs()


def needed_nodes(program: BootstrapProgram) -> list[int]:
    """The nodes on which an output depends: no other is run."""
    needed: list[int] = []
    used = set(program.output_signals.tolist())
    for node in reversed(range(program.node_count)):
        first, end = program.output_starts[node : node + 2] + program.input_count
        if used & set(range(first, end)):
            needed.append(node)
            terms = slice(*program.term_starts[node : node + 2])
            used |= set(program.term_signals[terms].tolist())
    return needed


@given(st.integers(0, 2**32), st.integers(1, 128))
@settings(deadline=None, max_examples=40)
def test_bounds(seed: int, threads: int) -> None:
    made = gate_by_gate(random_program(seed))
    every = node_seconds(made, COSTS)
    depth = bootstrap_statistics_of(made).depth
    totals = {
        layered_seconds: (sum(every), depth),
        data_flow_seconds: (
            sum(every[node] for node in needed_nodes(made)),
            made.native.depth,
        ),
    }
    for seconds, (total, longest) in totals.items():
        found = seconds(made, COSTS, threads)
        assert found >= max(total / threads, longest * 0.018) - 1e-9
        assert found <= total + 1e-9
        assert seconds(made, COSTS, 1) == pytest.approx(total)


def test_data_flow_does_not_wait_for_layers() -> None:
    made = gate_by_gate(circuits.multiplier(8))
    for threads in (2, 8, 16):
        by_flow, by_layer = (
            seconds(made, COSTS, threads) for seconds in (data_flow_seconds, layered_seconds)
        )
        assert by_flow < by_layer


@pytest.mark.parametrize("seconds", [data_flow_seconds, layered_seconds])
def test_no_threads_are_refused(seconds: type) -> None:
    with pytest.raises(InvalidArgumentError, match="1 thread or more"):
        seconds(gate_by_gate(circuits.adder(2)), COSTS, 0)

"""How long a bootstrap program takes on a number of threads, by data flow."""

from __future__ import annotations

from heapq import heappop, heappush

from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.cost.tfhe import BitCosts
from cloakwork.programs.bootstraps import BootstrapProgram, counts_between


def data_flow_seconds(program: BootstrapProgram, costs: BitCosts, threads: int) -> float:
    """Seconds when every node starts as soon as its operands are there and a thread is free.

    Of the nodes that could start, that one does from which the longest way leads to an end.

    Args:
        program: The program.
        costs: What its nodes cost.
        threads: Threads, 1 or more.

    Raises:
        InvalidArgumentError: There are no threads.
    """
    _require_threads(threads)
    seconds = node_seconds(program, costs)
    users, waiting = _users(program)
    longest = list(seconds)
    for node in range(len(seconds) - 1, -1, -1):
        longest[node] += max((longest[user] for user in users[node]), default=0.0)
    ready = [(-longest[node], node) for node, count in enumerate(waiting) if not count]
    ready.sort()
    running: list[tuple[float, int]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < threads:
            _, node = heappop(ready)
            heappush(running, (now + seconds[node], node))
        now, done = heappop(running)
        for user in users[done]:
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, (-longest[user], user))
    return now


def node_seconds(program: BootstrapProgram, costs: BitCosts) -> list[float]:
    """What each node costs on its own."""
    tables = program.table_counts.tolist()
    terms = counts_between(program.term_starts).tolist()
    by_tables = {count: costs.seconds(count) if count else 0.0 for count in set(tables)}
    return [
        count * costs.linear_seconds + by_tables[made]
        for made, count in zip(tables, terms, strict=True)
    ]


def _users(program: BootstrapProgram) -> tuple[list[list[int]], list[int]]:
    """For every node the nodes that use it, and of how many nodes it uses outputs."""
    made_by = [-1] * program.signal_count
    signals, starts = program.term_signals.tolist(), program.term_starts.tolist()
    made = program.output_starts.tolist()
    users: list[list[int]] = [[] for _ in range(program.node_count)]
    waiting = []
    for node in range(program.node_count):
        used = {made_by[signal] for signal in signals[starts[node] : starts[node + 1]]} - {-1}
        for each in used:
            users[each].append(node)
        waiting.append(len(used))
        for output in range(made[node], made[node + 1]):
            made_by[program.input_count + output] = node
    return users, waiting


def _require_threads(threads: int) -> None:
    if threads < 1:
        raise InvalidArgumentError(
            f"cannot predict the time of a program: expected 1 thread or more, got {threads}"
        )

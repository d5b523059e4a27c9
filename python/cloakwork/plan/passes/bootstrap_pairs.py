"""Bootstraps two at a time: one vector of complex numbers holds two of real ones.

All of a bootstrap but the reduction is done once for both, so that two at once take less than one
after the other. Values are refreshed together that come after as many bootstraps each: neither is
made of the other then, nor of anything that a pair makes which is made of the other.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise

from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Bootstrap,
    Builder,
    Operation,
    Output,
    PairedBootstrap,
    SlotProgram,
    State,
)
from cloakwork.runtime.costs import Costs
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.schemes.encoded_cache import ciphertext_bytes

# A value waits for the other of its pair. What ciphertexts take more by that stays below this part
# of what the keys take.
_MORE_BYTES = 1 / 8


def with_pairs(program: SlotProgram, refreshing: Refreshing, costs: Costs) -> SlotProgram:
    """The same computation with bootstraps two at a time, where that takes less time.

    Example:
        >>> from cloakwork._native import BootstrappingParameters
        >>> from cloakwork.programs.slots import Input
        >>> from cloakwork.runtime.costs import modelled_for
        >>> made = Refreshing(BootstrappingParameters(8, insecure=True))
        >>> operations = (
        ...     Input("x", 3), Bootstrap(0, 3, 13), Input("y", 3), Bootstrap(2, 3, 13),
        ...     Output(1), Output(3))
        >>> program = SlotProgram("two", 128, operations, (None,) * 6)
        >>> print(with_pairs(program, made, modelled_for(made.chain).with_bootstrap(made)))
        two, 128 slots
          %0 = input x                            level 3
          %1 = input y                            level 3
          %2 = paired_bootstrap %0 %1 to 13       level 13
          %3 = paired_bootstrap %1 %0 to 13       level 13
          %4 = output %2                          level 13
          %5 = output %3                          level 13
    """
    if costs.bootstrap_pair >= 2 * costs.bootstrap:
        return program

    def bytes_at(state: State) -> int:
        return ciphertext_bytes(refreshing.chain, state.level or 0)

    pairs = sorted(_independent_neighbours(program), key=lambda pair: pair[1] - pair[0])
    allowed = predicted_peak_bytes(program, bytes_at) + _MORE_BYTES * refreshing.key_bytes
    while pairs:
        paired = _paired(program, pairs)
        if predicted_peak_bytes(paired, bytes_at) <= allowed:
            return paired
        # Those that wait longest are left to themselves.
        pairs = pairs[: len(pairs) // 2]
    return program


def _independent_neighbours(program: SlotProgram) -> list[tuple[int, int]]:
    """The bootstraps two by two, in program order, of those that come after as many others."""
    depths: list[int] = []
    waiting: dict[int, int] = {}
    pairs: list[tuple[int, int]] = []
    for number, operation in enumerate(program.operations):
        depth = max((depths[operand] for operand in operation.operands), default=0)
        is_bootstrap = isinstance(operation, Bootstrap)
        depths.append(depth + is_bootstrap)
        if not is_bootstrap:
            continue
        if depth in waiting:
            pairs.append((waiting.pop(depth), number))
        else:
            waiting[depth] = number
    return pairs


def _paired(program: SlotProgram, pairs: Sequence[tuple[int, int]]) -> SlotProgram:
    """The program with these bootstraps done together."""
    partners = dict(pairs) | {second: first for first, second in pairs}
    operations = list(program.operations)
    for number, partner in partners.items():
        single, other = program.operations[number], program.operations[partner]
        assert isinstance(single, Bootstrap)
        assert isinstance(other, Bootstrap)
        operations[number] = PairedBootstrap(
            single.operand, single.least, single.level, other.operand
        )
    builder = Builder(program.title, program.slots, program.numbers)
    new_of: dict[int, int] = {}
    for number in _operands_first(operations):
        operation = operations[number]
        moved = operation.with_operands([new_of[operand] for operand in operation.operands])
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        new_of[number] = builder.append(moved, program.layouts[number])
    return builder.finish()


def _operands_first(operations: Sequence[Operation]) -> list[int]:
    """The numbers of operations, each after its operands, outputs in order, else as they come."""
    before = [set(operation.operands) for operation in operations]
    outputs = [number for number, each in enumerate(operations) if isinstance(each, Output)]
    for first, second in pairwise(outputs):
        before[second].add(first)
    users: list[list[int]] = [[] for _ in operations]
    for number, needed in enumerate(before):
        for each in needed:
            users[each].append(number)
    free = [number for number, needed in enumerate(before) if not needed]
    ordered: list[int] = []
    while free:
        number = heapq.heappop(free)
        ordered.append(number)
        for user in users[number]:
            before[user].discard(number)
            if not before[user]:
                heapq.heappush(free, user)
    return ordered

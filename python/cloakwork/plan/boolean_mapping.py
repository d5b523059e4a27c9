"""Gate programs mapped to the bootstrap programs that take the least time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cloakwork.errors import InvalidArgumentError, NoiseBudgetError
from cloakwork.plan.boolean_cover import cover
from cloakwork.plan.boolean_cuts import with_fewer_ands
from cloakwork.plan.boolean_encodings import written_out
from cloakwork.plan.boolean_exclusive import with_exclusive_ors
from cloakwork.plan.boolean_gate_by_gate import gate_by_gate
from cloakwork.plan.boolean_network import network_of
from cloakwork.plan.boolean_noise import Failure, failure_of
from cloakwork.plan.boolean_schedule import data_flow_seconds
from cloakwork.plan.boolean_target import LOG2_FAILURE, Target
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.gates import GateProgram

# How many bootstraps deeper a re-encoding saved may make a program, and whether operands are
# re-encoded in advance (see `plan.boolean_cover`): from few bootstraps to shallow programs.
_WAYS = ((math.inf, True), (math.inf, False), (1.0, True), (0.0, False))


@dataclass(frozen=True, eq=False)
class MappedProgram:
    """A bootstrap program, made for a target.

    Args:
        program: The program.
        target: The parameter set that it is for.
        seconds: What it takes by data flow on the threads that it was made for.
        failure: How likely it goes wrong.
    """

    program: BootstrapProgram
    target: Target
    seconds: float
    failure: Failure


def map_gates(
    program: GateProgram, targets: Target | Sequence[Target], threads: int
) -> MappedProgram:
    """The bootstrap program of a gate program that takes the least time.

    Several ways are tried, for every target: few bootstraps one after another, or more of them
    that are less deep; and gate by gate. That one is taken which takes the least time by data flow.

    Args:
        program: The gate program.
        targets: A parameter set, or several to choose from.
        threads: Threads that the program is to run on.

    Raises:
        InvalidArgumentError: There is no target, or no thread.
        NoiseBudgetError: No target has little enough noise.

    Example:
        >>> from cloakwork.plan.boolean_target import published_target
        >>> from cloakwork.programs.gates import GateBuilder, GateKind
        >>> from cloakwork.programs.ports import Port
        >>> builder = GateBuilder("full adder", (Port("a", "bits", 3),))
        >>> either = builder.append(GateKind.XOR, 0, 1)
        >>> both = builder.append(GateKind.AND, 0, 1)
        >>> through = builder.append(GateKind.AND, either, 2)
        >>> carry = builder.append(GateKind.OR, both, through)
        >>> total = builder.append(GateKind.XOR, either, 2)
        >>> builder.output(Port("y", "unsigned", 2), (total, carry))
        >>> map_gates(builder.finish(), published_target(), 1).program.bootstrap_count
        1
    """
    targets = [targets] if isinstance(targets, Target) else list(targets)
    if not targets:
        raise InvalidArgumentError("cannot map the gates: expected a target, got none")
    best: MappedProgram | None = None
    for target, made in _ways(program, targets):
        failure = failure_of(made, target)
        if failure.worst > LOG2_FAILURE:
            continue
        seconds = data_flow_seconds(made, target, threads)
        if best is None or seconds < best.seconds:
            best = MappedProgram(made, target, seconds, failure)
    if best is None:
        names = ", ".join(target.name for target in targets)
        raise NoiseBudgetError(
            f"cannot map the gates to any of {names}: expected bootstraps that go wrong with a "
            f"probability of 2^{LOG2_FAILURE:g} or less; take other parameters"
        )
    return best


def _ways(
    program: GateProgram, targets: Sequence[Target]
) -> Iterator[tuple[Target, BootstrapProgram]]:
    network = with_fewer_ands(network_of(with_exclusive_ors(program)))
    plain = gate_by_gate(program)
    for most_outputs, chain in sorted(set(map(_abilities, targets))):
        if not most_outputs:
            continue
        covers = [
            cover(network, most_outputs, chain, slack, generous=generous)
            for slack, generous in _WAYS
        ]
        for target in targets:
            if _abilities(target) != (most_outputs, chain):
                continue
            for each in covers:
                try:
                    yield target, written_out(program, network, each, target)
                except NoiseBudgetError:
                    continue
    for target in targets:
        yield target, plain


def _abilities(target: Target) -> tuple[int, int]:
    """The most outputs of a bootstrap, and the longest chain of products in finer encodings."""
    return target.most_outputs(2), max(0, target.doublings(2) - 1)

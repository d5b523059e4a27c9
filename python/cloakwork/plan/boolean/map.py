"""Gate programs mapped to the bootstrap programs that take the least time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from cloakwork._native import BooleanParameters, BooleanSecretKey
from cloakwork.base.progress import progress_bar
from cloakwork.errors import InvalidArgumentError, NoiseBudgetError
from cloakwork.plan.boolean.cover import Abilities, cover
from cloakwork.plan.boolean.cuts import with_fewer_ands
from cloakwork.plan.boolean.emit import written_out
from cloakwork.plan.boolean.exclusive import with_exclusive_ors
from cloakwork.plan.boolean.gate_by_gate import gate_by_gate
from cloakwork.plan.boolean.makespan import data_flow_seconds
from cloakwork.plan.boolean.noise import Failure, failure_of
from cloakwork.plan.boolean.steps import Cover
from cloakwork.plan.boolean.xag import network_of
from cloakwork.plan.cost.tfhe import LOG2_FAILURE, Target
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.gates import GateProgram
from cloakwork.runtime.boolean_roles import BooleanClient, BooleanEvaluator

# How many bootstraps deeper a re-encoding saved may make a program, and whether operands are
# re-encoded in advance (see `plan.boolean.cover`): from few bootstraps to shallow programs.
_FEWEST = (math.inf, True)
_OTHER_WAYS = ((math.inf, False), (1.0, False), (0.0, False))
# Other ways are tried where threads wait for more than this share of the time.
_WAITING = 0.02


@dataclass(frozen=True, eq=False)
class MappedProgram:
    """A bootstrap program, made for a target.

    Args:
        program: The program.
        target: The parameter set that it is for.
        threads: The threads that it was made for.
        seconds: What it takes by data flow on these.
        failure: How likely it goes wrong.
    """

    program: BootstrapProgram
    target: Target
    threads: int
    seconds: float
    failure: Failure

    @classmethod
    def of(cls, program: BootstrapProgram, target: Target, threads: int) -> MappedProgram:
        """A bootstrap program with what it takes and how likely it goes wrong for a target."""
        seconds = data_flow_seconds(program, target, threads)
        return cls(program, target, threads, seconds, failure_of(program, target))

    def keygen(self) -> tuple[BooleanClient, BooleanEvaluator]:
        """Fresh keys for the two parties, at 128 bits of security.

        Raises:
            InvalidArgumentError: The target is none of the engine's parameter sets.

        Example:
            >>> import cloakwork as cw
            >>> mapped = cw.boolean.from_bristol("examples/boolean/adder.txt").mapped()
            >>> client, evaluator = mapped.keygen()
            >>> client.decrypt(evaluator.run(client.encrypt(x0=3, x1=4)))
            {'y0': 7}
        """
        secret = BooleanSecretKey.generate(BooleanParameters(self.target.name))
        client = BooleanClient(secret, self.program)
        return client, BooleanEvaluator(secret.evaluation_key(), self.program)

    def __repr__(self) -> str:
        return f"MappedProgram({self.program!r}, {self.target.name}, {self.threads} threads)"


def map_gates(
    program: GateProgram, targets: Target | Sequence[Target], threads: int
) -> MappedProgram:
    """The bootstrap program of a gate program that takes the least time.

    Several ways are tried, for every target: few bootstraps one after another, or more of them
    that are less deep; and gate by gate. That one is taken which takes the least time by data
    flow. What could not win even if no thread ever waited is not written out. On a terminal a
    bar shows how far this is.

    Args:
        program: The gate program.
        targets: A parameter set, or several to choose from.
        threads: Threads that the program is to run on.

    Raises:
        InvalidArgumentError: There is no target, or no thread.
        NoiseBudgetError: No target has little enough noise.

    Example:
        >>> from cloakwork.plan.cost.tfhe import published_target
        >>> from cloakwork.programs.gates import GateBuilder, GateKind
        >>> from cloakwork.programs.port import Port
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
    with progress_bar(f"mapping {program.title}", total=len(targets) + 2, unit="step") as bar:
        search = _Search(program, threads)
        ranked = search.ranked(targets)
        bar.update(1 + len(targets) - len(ranked))
        for target in ranked:
            search.try_covers(target)
            bar.update()
        search.try_gate_by_gate(targets)
        bar.update()
    best = search.best
    if best is None:
        names = ", ".join(target.name for target in targets)
        raise NoiseBudgetError(
            f"cannot map the gates to any of {names}: expected bootstraps that go wrong with a "
            f"probability of 2^{LOG2_FAILURE:g} or less; take other parameters"
        )
    return best


class _Search:
    """The best program so far, and covers of the network by abilities and way."""

    def __init__(self, program: GateProgram, threads: int) -> None:
        self.best: MappedProgram | None = None
        self._program = program
        self._threads = threads
        self._network = with_fewer_ands(network_of(with_exclusive_ors(program)))
        self._covers: dict[tuple[Abilities, tuple[float, bool]], Cover] = {}

    def ranked(self, targets: Sequence[Target]) -> list[Target]:
        """The targets that any cover can be for, the most promising first."""
        able = [target for target in targets if target.most_tables(2)]
        return sorted(able, key=self._least_of_all)

    def try_covers(self, target: Target) -> None:
        """Try all ways that could win for a target."""
        several = _abilities_of(target)
        for abilities in several:
            self._try_cover(self._cover(abilities, _FEWEST), target)
        fewest = min(
            several, key=lambda abilities: self._least(self._cover(abilities, _FEWEST), target)
        )
        for way in _OTHER_WAYS:
            if self._is_open(self._least(self._cover(fewest, _FEWEST), target) / (1 - _WAITING)):
                self._try_cover(self._cover(fewest, way), target)

    def try_gate_by_gate(self, targets: Sequence[Target]) -> None:
        """Try every gate as its own bootstrap."""
        made = gate_by_gate(self._program)
        for target in targets:
            if self._is_open(self._busy_seconds(made.bootstrap_count, target)):
                self._try(made, target)

    def _try_cover(self, cover: Cover, target: Target) -> None:
        if not self._is_open(self._least(cover, target)):
            return
        with suppress(NoiseBudgetError):
            self._try(written_out(self._program, self._network, cover, target), target)

    def _try(self, made: BootstrapProgram, target: Target) -> None:
        seconds = data_flow_seconds(made, target, self._threads)
        if not self._is_open(seconds):
            return
        failure = failure_of(made, target)
        if failure.worst <= LOG2_FAILURE:
            self.best = MappedProgram(made, target, self._threads, seconds, failure)

    def _is_open(self, seconds: float) -> bool:
        """Whether a program of so many seconds would be better than the best so far."""
        return self.best is None or seconds < self.best.seconds

    def _least_of_all(self, target: Target) -> float:
        return min(
            self._least(self._cover(abilities, _FEWEST), target)
            for abilities in _abilities_of(target)
        )

    def _least(self, cover: Cover, target: Target) -> float:
        return self._busy_seconds(len(cover.steps), target)

    def _busy_seconds(self, bootstraps: int, target: Target) -> float:
        """What so many bootstraps take if no thread ever waits."""
        return bootstraps * min(target.bootstrap_seconds) / self._threads

    def _cover(self, abilities: Abilities, way: tuple[float, bool]) -> Cover:
        if (abilities, way) not in self._covers:
            slack, generous = way
            self._covers[abilities, way] = cover(self._network, abilities, slack, generous=generous)
        return self._covers[abilities, way]


def _abilities_of(target: Target) -> list[Abilities]:
    """What a target's bootstraps can do, without and with ANDs that share one."""
    chain = max(0, target.doublings(2) - 1)
    most_shared = max(1, target.most_boxes_log() - 1)
    return [Abilities(target.most_tables(2), chain, shared) for shared in sorted({1, most_shared})]

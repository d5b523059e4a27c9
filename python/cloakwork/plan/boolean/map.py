"""Gate programs mapped to the bootstrap programs that take the least time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from cloakwork.base.collector import without_collections
from cloakwork.base.itself import Itself
from cloakwork.base.progress import progress_bar
from cloakwork.errors import InvalidArgumentError, InvalidProgramError, NoiseBudgetError
from cloakwork.plan.boolean.cover import Abilities, cover, is_also_of
from cloakwork.plan.boolean.emit import program_of_cover
from cloakwork.plan.boolean.exclusive import with_exclusive_ors
from cloakwork.plan.boolean.fewer_ands_by_cuts import with_fewer_ands
from cloakwork.plan.boolean.gate_by_gate import gate_by_gate
from cloakwork.plan.boolean.steps import Cover
from cloakwork.plan.boolean.sum_tests import LEAST_MESSAGE_BITS
from cloakwork.plan.boolean.wide_network import WideNetwork, with_tests
from cloakwork.plan.boolean.xag import XorAndGraph, network_of
from cloakwork.plan.cost.tfhe import BitCosts, data_flow_seconds
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.gates import GateProgram
from cloakwork.schemes.tfhe_noise import FailureProbability, failure_of

# How many bootstraps deeper a re-encoding saved may make a program, and whether operands are
# re-encoded in advance (see `plan.boolean.cover`): from few bootstraps to shallow programs.
_FEWEST = (math.inf, True)
_OTHER_WAYS = ((math.inf, False), (1.0, False), (0.0, False))
# Other ways are tried where threads wait for more than this share of the time.
_WAITING = 0.02


@dataclass(frozen=True, eq=False)
class MappedProgram:
    """A bootstrap program, made for a parameter set.

    Args:
        program: The program.
        costs: The parameter set that it is for, with what its operations cost.
        threads: The threads that it was made for.
        seconds: What it takes by data flow on these.
        failure: How likely it goes wrong.
    """

    program: BootstrapProgram
    costs: BitCosts
    threads: int
    seconds: float
    failure: FailureProbability

    @classmethod
    def of(cls, program: BootstrapProgram, costs: BitCosts, threads: int) -> MappedProgram:
        """A bootstrap program with its time and its failure under a parameter set."""
        seconds = data_flow_seconds(program, costs, threads)
        return cls(program, costs, threads, seconds, failure_of(program, costs.noise))

    def __repr__(self) -> str:
        return f"MappedProgram({self.program!r}, {self.costs.name}, {self.threads} threads)"


def map_gates(
    program: GateProgram, sets: BitCosts | Sequence[BitCosts], threads: int
) -> MappedProgram:
    """The bootstrap program of a gate program that takes the least time.

    Several ways are tried for every parameter set: few bootstraps one after another, or more
    of them that are less deep; and gate by gate. The one that takes the least time by data flow
    wins. What could not win even if no thread ever waited is not written out. On a terminal a
    bar shows how far this is.
    """
    sets = [sets] if isinstance(sets, BitCosts) else list(sets)
    if not sets:
        raise InvalidArgumentError("cannot map the gates: expected a parameter set, got none")
    bar_of = progress_bar(f"mapping {program.title}", total=len(sets) + 2, unit="step")
    with without_collections(), bar_of as bar:
        search = _BestSoFar(program, threads)
        ranked = search.ranked(sets)
        bar.update(1 + len(sets) - len(ranked))
        for costs in ranked:
            search.try_covers(costs)
            bar.update()
        search.try_gate_by_gate(sets)
        if search.best is None:
            for costs in ranked:
                search.try_noisy(costs)
        bar.update()
    best = search.best
    if best is None:
        names = ", ".join(costs.name for costs in sets)
        raise NoiseBudgetError(
            f"cannot map the gates to any of {names}: expected bootstraps that go wrong with a "
            f"probability of 2^-{sets[0].noise.failure_bits} or less; take other parameters"
        )
    return best


class _BestSoFar:
    """The best program so far, and covers of networks by abilities and way."""

    def __init__(self, program: GateProgram, threads: int) -> None:
        self.best: MappedProgram | None = None
        self._program = program
        self._threads = threads
        self._plain = WideNetwork(with_fewer_ands(network_of(with_exclusive_ors(program))))
        # By message space, 0 for no tests.
        self._wide: dict[int, WideNetwork] = {0: self._plain}
        self._covers: dict[tuple[int, Abilities, tuple[float, bool]], Cover] = {}

    def ranked(self, sets: Sequence[BitCosts]) -> list[BitCosts]:
        """The parameter sets that any cover can be for, the most promising first."""
        least = 2 if _adds_outputs(self._plain.network) else 1
        able = [
            costs
            for costs in sets
            if costs.noise.most_tables(2) and costs.noise.most_outputs_summed >= least
        ]
        most = [(each.noise.most_tables(2), each.noise.most_message_bits()) for each in able]
        for at in sorted(range(len(able)), key=most.__getitem__, reverse=True):
            # What the most able make others often make, too.
            self._least_of_all(able[at])
        return sorted(able, key=self._least_of_all)

    def try_covers(self, costs: BitCosts) -> None:
        """Try all ways that could win for a parameter set, unless sums are too noisy for it."""
        for wide in self._networks(costs):
            several = self._differing(wide, _abilities_of(costs))
            written = [self._try_cover(wide, each, _FEWEST, costs) for each in several]
            if any(written):
                self._try_other_ways(wide, several, costs)

    def try_noisy(self, costs: BitCosts) -> None:
        """Try all other ways for a parameter set that sums are too noisy for."""
        for wide in self._networks(costs):
            self._try_other_ways(wide, _abilities_of(costs), costs)

    def _try_other_ways(
        self, wide: WideNetwork, several: Sequence[Abilities], costs: BitCosts
    ) -> None:
        fewest = min(several, key=lambda abilities: self._least(wide, abilities, costs))
        for way in _OTHER_WAYS:
            if self._is_open(self._least(wide, fewest, costs) / (1 - _WAITING)):
                self._try_cover(wide, fewest, way, costs)

    def try_gate_by_gate(self, sets: Sequence[BitCosts]) -> None:
        """Try every gate as its own bootstrap."""
        made = gate_by_gate(self._program)
        for costs in sets:
            if self._is_open(self._busy_seconds(made.bootstrap_count, costs)):
                self._try(made, costs)

    def _networks(self, costs: BitCosts) -> list[WideNetwork]:
        """The network with the tests that a parameter set can do, if any, and without."""
        message_bits = costs.noise.most_message_bits()
        if message_bits < LEAST_MESSAGE_BITS:
            return [self._plain]
        if message_bits not in self._wide:
            self._wide[message_bits] = with_tests(self._plain.network, message_bits)
        wide = self._wide[message_bits]
        return [wide, self._plain] if wide.tests else [self._plain]

    def _differing(self, wide: WideNetwork, several: Sequence[Abilities]) -> list[Abilities]:
        """Abilities whose covers are not one another's."""
        by_cover = {Itself(self._cover(wide, each, _FEWEST)): each for each in several}
        return list(by_cover.values())

    def _try_cover(
        self, wide: WideNetwork, abilities: Abilities, way: tuple[float, bool], costs: BitCosts
    ) -> bool:
        """Try a cover; whether it could win, and its sums are not too noisy."""
        cover = self._cover(wide, abilities, way)
        if not self._is_open(self._busy_seconds(_bootstraps(wide, cover), costs)):
            return False
        with suppress(NoiseBudgetError, InvalidProgramError):
            self._try(program_of_cover(self._program, wide, cover, costs.noise), costs)
            return True
        return False

    def _try(self, made: BootstrapProgram, costs: BitCosts) -> None:
        seconds = data_flow_seconds(made, costs, self._threads)
        if not self._is_open(seconds):
            return
        failure = failure_of(made, costs.noise)
        if failure.worst <= -costs.noise.failure_bits:
            self.best = MappedProgram(made, costs, self._threads, seconds, failure)

    def _is_open(self, seconds: float) -> bool:
        """Whether a program of so many seconds would be better than the best so far."""
        return self.best is None or seconds < self.best.seconds

    def _least_of_all(self, costs: BitCosts) -> float:
        return min(
            self._least(wide, abilities, costs)
            for wide in self._networks(costs)
            for abilities in _abilities_of(costs)
        )

    def _least(self, wide: WideNetwork, abilities: Abilities, costs: BitCosts) -> float:
        """What the fewest bootstraps take if no thread ever waits."""
        cover = self._cover(wide, abilities, _FEWEST)
        return self._busy_seconds(_bootstraps(wide, cover), costs)

    def _busy_seconds(self, bootstraps: int, costs: BitCosts) -> float:
        return bootstraps * min(costs.bootstrap_seconds) / self._threads

    def _cover(self, wide: WideNetwork, abilities: Abilities, way: tuple[float, bool]) -> Cover:
        key = wide.message_bits, abilities, way
        if key not in self._covers:
            slack, generous = way
            known = (
                made
                for (message_bits, more, other_way), made in self._covers.items()
                if (message_bits, other_way) == (wide.message_bits, way)
                and is_also_of(made, more, abilities)
            )
            self._covers[key] = next(known, None) or cover(
                wide.network, abilities, slack, generous=generous
            )
        return self._covers[key]


def _adds_outputs(network: XorAndGraph) -> bool:
    """Whether an AND takes two sums of which each has an output of a bootstrap in it."""
    is_and = network.is_and

    def is_made(node: int) -> bool:
        return any(is_and[base] for base in network.forms[node])

    ands = (node for node, used in enumerate(network.used()) if used and is_and[node])
    return any(all(map(is_made, network.plane(node))) for node in ands)


def _bootstraps(wide: WideNetwork, cover: Cover) -> int:
    return wide.bootstrap_count + len(cover.steps)


def _abilities_of(costs: BitCosts) -> list[Abilities]:
    """What the bootstraps of a parameter set can do, without and with ANDs that share one."""
    chain = max(0, costs.noise.doublings(2) - 1)
    most_shared = max(1, costs.noise.most_message_bits() - 1)
    tables = costs.noise.most_tables(2)
    return [Abilities(tables, chain, shared) for shared in sorted({1, most_shared}, reverse=True)]

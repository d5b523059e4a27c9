"""Programs that are deeper than their chain: values are refreshed where that costs least.

The ring decides on the chain, and all that a program varies is where it is refreshed; see
`plan.passes.bootstraps`. The bound of what is refreshed follows from the places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from cloakwork.errors import ImpreciseError, InvalidParametersError
from cloakwork.plan.parameters.bootstrapping import (
    ThinLevels,
    least_level,
    refreshing_for,
    thin_levels,
)
from cloakwork.plan.parameters.rings import at_first, cheapest_of
from cloakwork.plan.passes.bootstrap_pairs import with_pairs
from cloakwork.plan.passes.bootstraps import (
    key_bytes_beside,
    with_bootstraps,
    within_key_budget_beside,
)
from cloakwork.plan.passes.splits import split_by_cost
from cloakwork.plan.reals.options import RealOptions
from cloakwork.programs.bounds import largest_bound
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Bootstrap, SlotProgram
from cloakwork.runtime.costs import Costs, total_seconds
from cloakwork.schemes.ckks_noise import NoiseModel

# Noise of pairs that is at most so many times that of single ones makes no difference.
_AS_PRECISE = 1.0625
# Bits that programs lose between a refreshed value and their results, mostly.
_LOST = 4
# Errors of results are so many bits from those that other levels let expect, at most.
_UNLIKE = 1
# By how much transforms are taken to be dearer for each level, one after another, until their keys
# fit the budget.
_PRICES_OF_KEYS = (0.05, 0.2, 0.8)
# What a baby step costs, in giant steps. With few of them the engine divides each by the primes of
# key switching, which the many diagonals of such programs need not be encoded for then.
_BABY_STEP = 1.25


class Refreshable(Protocol):
    """A program, and what is known of its values."""

    @property
    def program(self) -> SlotProgram:
        """The program."""
        ...

    def changed(self: L, change: Callable[[SlotProgram], SlotProgram]) -> L:
        """The same of a program that passes change, which keep inputs and outputs, in order."""
        ...


L = TypeVar("L", bound=Refreshable)
P = TypeVar("P")

Bounds = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Candidate(Generic[L]):
    """A program of any depth that is to be refreshed on the way.

    Args:
        lowered: The program.
        together: How many inputs in a row stand at one level.
        among: The values that may be refreshed, by their numbers; of several choices the first
            with which there is a program. None is all values.
        bounds: Of a program the largest absolute value of each of its values.
        precise_error: How far results of a program of these bounds may be off under some noise;
            raises ImpreciseError where that is more than was asked.
        is_carried_on: Whether results are refreshed when they are next arguments.
    """

    lowered: L
    together: Sequence[int]
    among: Sequence[Collection[int] | None]
    bounds: Callable[[L], Bounds]
    precise_error: Callable[[L, Bounds, NoiseModel], float]
    is_carried_on: bool = False


@dataclass(frozen=True, slots=True)
class RefreshedProgram(Generic[L]):
    """A program that bootstraps.

    Args:
        lowered: The program.
        refreshing: What its bootstraps do, and the chain that it runs on.
        bounds: The largest absolute value of each of its values.
        error: How far results may be off.
        price: What a run costs.
    """

    lowered: L
    refreshing: Refreshing
    bounds: Bounds
    error: float
    price: float


class RoughChainError(ImpreciseError):
    """The rounding of a chain's levels alone leaves results less precise than was asked."""


@dataclass(frozen=True, slots=True)
class RefreshingChain:
    """The chain of a ring in which values can be refreshed.

    Args:
        options: What is asked.
        log_n: Base-2 logarithm of the ring degree.
        refreshing: What bootstraps do to values up to 1; levels and costs are those of any bound.
        costs: What operations and bootstraps cost.
        thin: Its levels, where they are not those of the ring's usual set.
    """

    options: RealOptions
    log_n: int
    refreshing: Refreshing
    costs: Costs
    thin: ThinLevels | None = None

    @classmethod
    def of(
        cls, options: RealOptions, log_n: int, thin: ThinLevels | None = None
    ) -> RefreshingChain:
        """The chain of a ring, of its usual levels or of thinner ones."""
        refreshing = refreshing_for(log_n, bound=1.0, insecure=options.insecure, thin=thin)
        costs = options.costs_of(refreshing.chain).with_bootstrap(refreshing)
        return cls(options, log_n, refreshing, costs, thin)

    def may_serve_after(self, other: RefreshingChain, refusal: ImpreciseError) -> bool:
        """Whether it may gain what results lacked on another chain.

        Errors are those of rounding or of bootstraps; it is taken to gain the most of both, unless
        rounding alone is known to be too much.
        """
        mine, others = self.refreshing, other.refreshing
        gained: float = mine.chain.scale_bits - others.chain.scale_bits
        if not isinstance(refusal, RoughChainError):
            gained = max(gained, mine.precision - others.precision)
        return gained > refusal.missing - _UNLIKE

    def refreshed(self, candidate: Candidate[L]) -> RefreshedProgram[L]:
        """A program with bootstraps where they cost least, two at a time where that is precise."""
        lowered = self._placed_within_key_budget(candidate)
        values = candidate.bounds(lowered)
        operations = lowered.program.operations
        spent = (values[each.operand] for each in operations if isinstance(each, Bootstrap))
        bound, insecure = largest_bound(spent), self.options.insecure
        refreshing = refreshing_for(self.log_n, bound=bound, insecure=insecure, thin=self.thin)
        lowered, values, error = self._precise(candidate, lowered, values, refreshing)
        price = total_seconds(lowered.program, self.costs)
        return RefreshedProgram(lowered, refreshing, values, error, price)

    def _placed_within_key_budget(self, candidate: Candidate[L]) -> L:
        """With bootstraps: transforms stand lower where keys would be more than they may."""
        lowered = self._placed(candidate, 0.0)
        budget = self.options.key_budget
        for price in _PRICES_OF_KEYS:
            if budget is None or key_bytes_beside(lowered.program, self.refreshing) <= budget:
                return lowered
            lowered = self._placed(candidate, price)
        return lowered.changed(
            lambda program: within_key_budget_beside(program, self.refreshing, budget)
        )

    def _placed(self, candidate: Candidate[L], price_of_keys: float) -> L:
        floor = least_level(self.refreshing, largest_bound(candidate.bounds(candidate.lowered)))
        if candidate.is_carried_on:
            floor = max(floor, self.refreshing.input_level)

        def among_these(among: Collection[int] | None) -> L:
            def placed(program: SlotProgram) -> SlotProgram:
                found = with_bootstraps(
                    program,
                    self.refreshing,
                    self.costs,
                    floor=floor,
                    together=candidate.together,
                    among=among,
                    price_of_keys=price_of_keys,
                )
                return split_by_cost(found, self.costs, _BABY_STEP)

            return candidate.lowered.changed(placed)

        *preferred, last = candidate.among
        for among in preferred:
            with suppress(InvalidParametersError):
                return among_these(among)
        return among_these(last)

    def _precise(
        self, candidate: Candidate[L], lowered: L, values: Bounds, refreshing: Refreshing
    ) -> tuple[L, Bounds, float]:
        """With bootstraps two at a time, if that leaves enough right; its bounds and error."""
        noise = self.options.noise(refreshing.chain, refreshing)
        paired = lowered.changed(lambda program: with_pairs(program, refreshing, self.costs))
        if paired.program is not lowered.program:
            bounds = candidate.bounds(paired)
            try:
                return paired, bounds, candidate.precise_error(paired, bounds, noise)
            except InvalidParametersError:
                if noise.paired_bootstrapping <= _AS_PRECISE * noise.bootstrapping:
                    # One after the other they would be refused as well, after as long a simulation.
                    raise
        return lowered, values, candidate.precise_error(lowered, values, noise)


def on_first_chain(options: RealOptions, log_n: int, attempt: Callable[[RefreshingChain], P]) -> P:
    """What is planned on the first chain of a ring on which it can be.

    Errors of results follow those of refreshed values: a chain on which results are far from what
    was asked tells which others need not be tried.

    Args:
        options: What is asked.
        log_n: Base-2 logarithm of the ring degree.
        attempt: Plans on a chain, or raises why it cannot.
    """
    refused: list[tuple[RefreshingChain, ImpreciseError]] = []

    def attempted(chain: RefreshingChain) -> P:
        try:
            return attempt(chain)
        except ImpreciseError as refusal:
            if math.isfinite(refusal.missing):
                refused.append((chain, refusal))
            raise

    promising = (
        each
        for each in chains_of_ring(options, log_n)
        if each.thin is None
        or all(each.may_serve_after(other, refusal) for other, refusal in refused)
    )
    return cheapest_of(promising, attempted, lambda _: 0.0, at_first)


def chains_of_ring(options: RealOptions, log_n: int) -> Iterator[RefreshingChain]:
    """The chains of thinner levels that may be precise enough, and the usual one.

    Their bootstraps take about as long, so that the first that is precise enough is cheapest. Each
    is made when it is asked for: its costs may be measured.

    Example:
        >>> [
        ...     each.refreshing.output_level - each.refreshing.input_level
        ...     for precision in (6, 8, 12, 16)
        ...     for each in chains_of_ring(RealOptions(precision=precision), 16)
        ... ]
        [21, 18, 16, 13, 10, 18, 16, 13, 10, 13, 10, 10]
    """

    def is_precise(thin: ThinLevels) -> bool:
        found = refreshing_for(log_n, bound=1.0, insecure=options.insecure, thin=thin)
        return found.precision >= options.precision + _LOST

    for each in filter(is_precise, thin_levels(log_n)):
        yield RefreshingChain.of(options, log_n, each)
    yield RefreshingChain.of(options, log_n)


def most_levels(options: RealOptions, log_n: int) -> int:
    """The most levels that a bootstrap in a ring leaves, 0 where the ring has none.

    Example:
        >>> most_levels(RealOptions(), 16) > most_levels(RealOptions(), 15)
        True
    """
    # Of several sets the first has the most levels; making them takes a second each.
    for thin in thin_levels(log_n):
        return thin.levels
    try:
        found = refreshing_for(log_n, bound=1.0, insecure=options.insecure)
    except InvalidParametersError:
        return 0
    return found.output_level - found.input_level

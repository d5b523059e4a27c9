"""Searches for the cheapest plan of several steps: ring, price of a level, ways of contractions.

No price is known before a plan is whole: the depth and the bounds say which parameters it
takes, and those what its operations cost. So whole plans are made and compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

from cloakwork._native import Parameters
from cloakwork.base.arrays import MIN_RIGHT_BITS
from cloakwork.errors import (
    InsecureParametersError,
    InvalidParametersError,
    KeyBudgetError,
    LevelExhaustedError,
)
from cloakwork.plan.analysis.least_needs import least_depth, least_needs
from cloakwork.plan.analysis.precision import predicted_precision
from cloakwork.plan.functions.intervals import intervals_of, uniform
from cloakwork.plan.parameters.ckks import (
    EXACT_WORD_BITS,
    LONGEST_WORD_BITS,
    SCALE_BITS,
    fits_a_scale,
    parameters_for,
)
from cloakwork.plan.parameters.rings import REFUSALS, cheapest_of, is_dearer, same_kind
from cloakwork.plan.parameters.scales import Scaled, raised_scale
from cloakwork.plan.passes.encoded_products import with_encoded_products
from cloakwork.plan.passes.levels import depth_of, lowest_levels
from cloakwork.plan.passes.simplify import drop_dead, same_value, simplified
from cloakwork.plan.passes.splits import split_by_cost
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.lower import Lowered, in_order, lower
from cloakwork.programs.bounds import largest_bound
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import Contract, Evaluate, Node, Source
from cloakwork.programs.layout import Layout
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.vectors import VectorTable
from cloakwork.runtime.costs import total_seconds

# Above every level that a program can end up with; the true ones follow from its depth.
_TOP = 200
# Ways of one contraction that are tried, and plans in all for one ring.
_WAYS = 3
_PLANS = 24
# By which scales are lengthened at once: errors that exceed the numbers themselves grow by products
# of errors, and say nothing of what longer scales would bring.
_MOST_EXTRA_BITS = 8
# For signs, and as much again for noticing what outgrows its bound.
_LEAST_HEADROOM_BITS = 2.0
# What else to do than to ask for longer scales.
ADVICE_ON_ERRORS = (
    "a product has the errors of each factor as often as the other is large: give narrower ranges "
    "by tighter bounds or cloakwork.within(x, low, high), or compute fewer steps"
)
# Operations of a plan up to which others are made to compare.
_MOST_COMPARED = 3000
# A level is worth what larger parameters cost, which is known once a plan is whole.
_LEVEL_PRICES = (1e6, 12.0, 0.0)


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be planned.

    Args:
        options: What is asked.
        results: The nodes wanted.
        bounds: For each source that they need, the largest absolute value of its elements.
        spare: Bits of precision that the user did not ask for: they are for what functions are off
            by, or for what a plan is changed to.
        least: Bits after the binary point that results need at least: with fewer, all are noise.
        samples: Arguments such as there will be.
        gained: By how many bits errors along them are smaller than bounds of all values say.
        places: Where the first results are to lie, which are the next arguments; the planner
            chooses for others.
    """

    options: RealOptions
    results: Sequence[Node]
    bounds: Mapping[Source, float]
    spare: int = 0
    least: int = 0
    samples: Sequence[Mapping[Source, Array]] = ()
    gained: float = 0.0
    places: Sequence[Layout] = ()

    @property
    def title(self) -> str:
        """What is computed, in the user's words."""
        return self.options.title

    @property
    def precision(self) -> int:
        """Bits after the binary point that results should have."""
        return self.options.precision + self.spare


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan.

    Args:
        lowered: The program, every level at its lowest, and where tensors lie.
        parameters: The parameters that it takes.
        cost: What a run costs, for comparison.
        refreshing: What its bootstraps do; None of a plan whose chain has no levels for them.
    """

    lowered: Lowered
    parameters: Parameters
    cost: float
    refreshing: Refreshing | None = None


def cheapest_plan(task: Task) -> Plan:
    """The cheapest plan found.

    Example:
        >>> x = Source("x", (4,))
        >>> square = Contract((x, x), ("i", "i"), "i", (4,))
        >>> cheapest_plan(Task(RealOptions(), [square], {x: 1.0})).parameters.levels
        1
    """

    def attempt(log_n: int) -> Plan:
        _require_chain(task, log_n)
        return _cheapest_in_ring(task, log_n)

    def is_enough(plans: Sequence[Plan]) -> bool:
        # A ring twice as large costs more than twice as much for each operation.
        return _is_long(plans[-1]) or is_dearer(_cost, 2.0)(plans)

    try:
        return cheapest_of(task.options.rings, attempt, _cost, is_enough)
    except (InvalidParametersError, LevelExhaustedError) as last:
        raise same_kind(
            last,
            f"cannot compile {task.title} at a precision of {task.options.precision} bits: {last}",
        ) from last


def _cost(plan: Plan) -> float:
    return plan.cost


def _require_chain(task: Task, log_n: int) -> None:
    """Refuse what no chain of a ring is long or fine enough for, before ways are compared."""
    needs = least_needs(task.results, task.bounds)
    if needs is not None:
        largest = power_of_two_above(needs.largest)
        _require_scale(task, largest)
        if not task.samples:
            _require_small_errors(task, log_n, needs.gain)
        require_levels_in_ring(needs.depth, task, log_n, bound=largest)
    elif log_n < max(task.options.rings):
        # What the largest is refused for, users read: it says all levels.
        require_levels_in_ring(least_depth(task.results), task, log_n)


def _require_scale(task: Task, largest: float) -> None:
    """Refuse numbers so large that no scale leaves as many bits right of them as are asked."""
    if largest > 1 and not fits_a_scale(task.precision, bound=largest):
        raise InvalidParametersError(
            f"by the bounds of the inputs numbers on the way may be as large as {largest:.3g}"
            f"{_where(task, largest)}, which takes a longer scale than the longest, of "
            f"{SCALE_BITS[-1]} bits; say by cloakwork.within(x, low, high) how large they are, "
            f"give inputs tighter bounds{_or_samples(task)}, or ask for less precision, or by "
            "relative= for bits of the largest result in place of bits after the point"
        )


def _where(task: Task, largest: float) -> str:
    """The first line at which numbers are about as large; nothing where bounds of tensors are less.

    What lies in slots beside a tensor has no line, and polynomials have no intervals.
    """
    nodes = in_order(task.results)
    if any(isinstance(node, Evaluate) for node in nodes):
        return ""
    found = intervals_of(
        nodes,
        lambda source: uniform(len(source.shape), -task.bounds[source], task.bounds[source]),
        task.precision,
    )
    for node, interval in found.items():
        origin = getattr(node, "origin", "")
        if origin and interval.size > largest / 4:
            return f" at {origin}"
    return ""


def _or_samples(task: Task) -> str:
    return "" if task.samples else ", or samples in place of shapes: cloakwork.compile(f, data)"


def _require_small_errors(task: Task, log_n: int, gain: float) -> None:
    """Refuse a graph that takes errors of inputs too far under the finest scale of a ring."""
    finest = Parameters(
        levels=0,
        scale_bits=SCALE_BITS[-1],
        headroom_bits=_LEAST_HEADROOM_BITS,
        log_n=log_n,
        insecure=True,
    )
    error = task.options.noise(finest).encryption(0) * gain
    if error > 2.0 ** -max(task.precision, MIN_RIGHT_BITS):
        raise InvalidParametersError(
            f"errors grow by {math.log2(gain):.0f} bits on the way, for which no scale is fine "
            f"enough; {ADVICE_ON_ERRORS}"
        )


def _cheapest_in_ring(task: Task, log_n: int) -> Plan:
    ways = Ways(task, 1 << (log_n - 1), _TOP, lambda lowered: _planned(task, log_n, lowered))
    return ways.cheapest()


class Ways:
    """The ways of the contractions of a task, and plans by them in one ring.

    Args:
        task: What is to be planned.
        slots: Slots of a ciphertext.
        top: The level of inputs that have none.
        planned: Makes a plan of a program.
    """

    def __init__(
        self, task: Task, slots: int, top: int, planned: Callable[[Lowered], Plan]
    ) -> None:
        self._task = task
        self._slots = slots
        self._top = top
        self._planned = planned
        self._vectors = VectorTable()
        self._seen: set[Hashable] = set()

    def cheapest(self, plans: int = _PLANS) -> Plan:
        """The cheapest plan found: ways of each contraction are varied in turn."""
        best, level_price = self._at_best_level_price()
        contractions = sum(isinstance(node, Contract) for node in in_order(self._task.results))
        if contractions < 2 or _is_long(best):
            return best
        choices: dict[int, int] = {}
        variations = [(number, way) for number in range(contractions) for way in range(1, _WAYS)]
        for number, way in variations[:plans]:
            try:
                tried = self._attempt({**choices, number: way}, level_price)
            except REFUSALS:
                continue
            if tried is not None and tried.cost < best.cost:
                best = tried
                choices[number] = way
        return best

    def _at_best_level_price(self) -> tuple[Plan, float]:
        # Where the fewest levels are too many, the others need not be tried.
        best_price, *others = _LEVEL_PRICES
        best = self._attempt({}, best_price)
        assert best is not None, "no program was seen before"
        for price in () if _is_long(best) else others:
            with suppress(*REFUSALS):
                tried = self._attempt({}, price)
                if tried is not None and tried.cost < best.cost:
                    best, best_price = tried, price
        return best, best_price

    def _attempt(self, choices: Mapping[int, int], level_price: float) -> Plan | None:
        """The plan by some choices of ways and a price of a level; None of a program seen before.

        Such a program costs as much as it did, or is refused as it was.
        """
        lowered = lower(
            self._task.title,
            self._task.results,
            self._slots,
            top=self._top,
            choices=choices,
            level_price=level_price,
            places=self._task.places,
        )
        content = self._content(lowered)
        if content in self._seen:
            return None
        self._seen.add(content)
        return self._planned(lowered)

    def _content(self, lowered: Lowered) -> Hashable:
        """Equal for programs whose plans cost the same."""
        return (
            tuple(same_value(each, self._vectors) for each in lowered.program.operations),
            tuple(place for _, place in lowered.inputs),
            tuple((each.values, each.places) for each in lowered.ranges),
        )


def _is_long(plan: Plan) -> bool:
    """Whether to look for a better plan would take longer than it could save."""
    return len(plan.lowered.program.operations) > _MOST_COMPARED


def end_of_search(results: Sequence[Node], operations: int) -> str:
    """Where the search for plans in slots ended before all of them were tried; else nothing.

    Args:
        results: What was planned.
        operations: Of the plan that was taken.
    """
    contractions = sum(isinstance(node, Contract) for node in in_order(results))
    if operations > _MOST_COMPARED:
        return (
            f"no other plan was looked for, as this one has more than {_MOST_COMPARED} operations"
        )
    if contractions * (_WAYS - 1) > _PLANS:
        return f"of {contractions} contractions the first {_PLANS // (_WAYS - 1)} were varied"
    return ""


def _planned(task: Task, log_n: int, lowered: Lowered) -> Plan:
    together = [place.ciphertexts for _, place in lowered.inputs]
    lowered = lowered.changed(
        lambda each: lowest_levels(
            drop_dead(with_encoded_products(simplified(each))), together=together
        )
    )
    known = lowered.value_bounds(task.bounds)
    parameters = parameters_of(task, lowered, known, log_n)
    costs = task.options.costs_of(parameters)
    lowered = lowered.changed(lambda each: split_by_cost(each, costs))
    return Plan(lowered, parameters, total_seconds(lowered.program, costs))


def require_keys(task: Task) -> None:
    """Refuse a budget too small for any plan: one key is that of the first products."""
    key_budget = task.options.key_budget
    needs = None if key_budget is None else least_needs(task.results, task.bounds)
    if needs is None or needs.depth == 0:
        return
    found: list[int] = []
    for log_n, word_bits in product(task.options.rings, (EXACT_WORD_BITS, LONGEST_WORD_BITS)):
        with suppress(InvalidParametersError):
            chain = Parameters(
                levels=needs.depth,
                scale_bits=max(SCALE_BITS.start, task.precision),
                headroom_bits=_LEAST_HEADROOM_BITS,
                log_n=log_n,
                word_bits=word_bits,
                insecure=task.options.insecure,
            )
            found.append(chain.evaluation_key_bytes(needs.depth))
    # Other scales may have primes that fit a little better.
    least = min(found, default=0) // 2
    if key_budget is not None and key_budget < least:
        raise KeyBudgetError(
            f"cannot compile {task.title} within {key_budget} bytes of evaluation keys: that of "
            f"products alone takes more than {least}; allow several times as many",
            least,
        )


def require_levels_in_ring(depth: int, task: Task, log_n: int, *, bound: float = 1.0) -> None:
    """Refuse a ring in which so many levels are not secure for numbers up to a bound."""
    _parameters_with_primes(
        depth,
        task.precision,
        bound=bound,
        log_n=log_n,
        insecure=task.options.insecure,
        word_bits=LONGEST_WORD_BITS,
    )


def _parameters_with_primes(
    depth: int, precision: int, *, bound: float, log_n: int, insecure: bool, word_bits: int
) -> tuple[Parameters, int]:
    """Parameters for a precision, or the next for whose scale a ring has primes, and which it is.

    Large rings have no primes for short scales.
    """
    refusal: InvalidParametersError | None = None
    while refusal is None or fits_a_scale(precision, bound=bound):
        try:
            made = parameters_for(
                depth,
                precision,
                bound=bound,
                log_n=log_n,
                insecure=insecure,
                word_bits=word_bits,
            )
        except InsecureParametersError:
            raise
        except InvalidParametersError as error:
            refusal = refusal or error
            precision += 1
        else:
            return made, precision
    raise refusal


def parameters_of(
    task: Task, lowered: Lowered, bounds: Sequence[float | None], log_n: int
) -> Parameters:
    """Parameters at which every result has its precision, whatever errors grow to on the way."""
    # Only its power of two counts; so more plans share their parameters.
    largest = power_of_two_above(largest_bound(bounds))
    depth = depth_of(lowered.program)
    # With fewer right bits a result is not decrypted.
    wanted = max(task.precision, MIN_RIGHT_BITS)
    _require_scale(task, largest)

    def attempt(precision: int) -> Scaled[Parameters]:
        extra = precision - task.precision
        try:
            parameters, reached = _parameters_with_primes(
                depth,
                precision,
                bound=largest,
                log_n=log_n,
                insecure=task.options.insecure,
                word_bits=LONGEST_WORD_BITS,
            )
        except InvalidParametersError as error:
            if not extra:
                raise
            raise _refusal_of_longer_scales(task, extra, error) from error
        noise = task.options.noise(parameters)
        reached_bits = predicted_precision(lowered.program, bounds, noise) + task.gained
        return Scaled(reached, parameters, wanted - reached_bits)

    _, found = raised_scale(attempt, task.precision, longest_step=_MOST_EXTRA_BITS)
    return found.made


def _refusal_of_longer_scales(
    task: Task, extra: int, error: InvalidParametersError
) -> InvalidParametersError:
    """Why scales cannot be so many bits longer, for errors that grow on the way."""
    if isinstance(error, InsecureParametersError):
        # In a larger ring errors are larger, too: whether it would do is not known.
        return InsecureParametersError(
            f"errors may grow by {extra} bits on the way, which scales are longer for: "
            f"{error.reason}; {ADVICE_ON_ERRORS}, or try a larger log_n"
        )
    less = "ask for less precision, or note that " if task.options.precision > task.least else ""
    return InvalidParametersError(
        f"errors may grow by {extra} bits on the way, and a scale for that many more there "
        f"is not; {less}{ADVICE_ON_ERRORS}"
    )


def power_of_two_above(bound: float) -> float:
    """The least power of two that is no less than a bound, if a double holds it.

    Example:
        >>> power_of_two_above(5.0), power_of_two_above(4.0)
        (8.0, 4.0)
    """
    mantissa, exponent = math.frexp(bound)
    try:
        return math.ldexp(1.0, exponent - (mantissa == 0.5))
    except OverflowError:
        return bound

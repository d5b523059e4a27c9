"""Which parameters of BGV serve a program over integers: primes, ring and chain of moduli."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count, islice, product

from cloakwork._native import (
    BGV_FAILURE_BITS,
    WORD_BYTES,
    BgvNoiseModel,
    BgvParameters,
    max_log_qp,
)
from cloakwork.errors import (
    CircuitTooDeepError,
    InsecureParametersError,
    InvalidParametersError,
    KeyBudgetError,
    NoiseExhaustedError,
)
from cloakwork.plan.circuits.levels import (
    SWITCHINGS,
    Chain,
    Switching,
    levelled,
    lowest_lane_levels,
    switches,
)
from cloakwork.plan.circuits.to_slots import SlotPlan, slot_plan
from cloakwork.plan.cost.bgv import Limbs, counted_costs, expected_limbs
from cloakwork.plan.parameters.rings import RINGS, at_first, cheapest_of
from cloakwork.plan.passes.key_budget import within_key_budget
from cloakwork.plan.passes.rotate_sums import with_rotate_sums, without_rotate_sums
from cloakwork.programs.ir.vectors import LaneProgram
from cloakwork.programs.keys import required_keys
from cloakwork.programs.packing.scalar import capacity
from cloakwork.programs.slots import Input, SlotProgram
from cloakwork.runtime.costs import total_seconds
from cloakwork.runtime.executor import estimated_results
from cloakwork.schemes.bgv import Bgv

# Of the engine: bits that a level adds, and that the first modulus has beyond those.
_LEVEL_BITS = range(20, 61)
_HEADROOM_BITS = range(2, 61)
_MAX_PRIME_BITS = 30
# Of levels where none of programs in a row had any.
_FIRST_LEVEL_BITS = 30
# Operations of the programs that are tried together, about: long ones are tried less often.
_EFFORT = 600
_FEWEST_STEPS = 5
# Between bits of levels that are tried.
_STEPS = (1, 2, 3, 5, 10)
# What the model of noise may be off by, tried in order.
_SPARE_BITS = (0.1, 0.5, 3.0, 8.0)
# Of the chains that the model finds cheapest, those whose parameters are made and counted.
_MOST_MADE = 4
# What a rotation or a product of a program costs beside its run: its key is made, sent and held.
_MOVE = 20.0
# Candidates whose parameters are looked for, and not only modelled.
_MOST_PLANNED = 4
# Costs are told in transforms of so many coefficients, as a base-2 logarithm.
_UNIT_LOG_N = 12
# An encryption, in rotations at its level.
_ENCRYPTION = 0.5
# Bits of room that a modulus gets for programs in a row, tried in order.
_ROOM = range(0, 57, 8)
# A modulus is asked to have this much more than it needs, for primes do not come in every size.
_MARGIN_BITS = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class IntegerPlan:
    """A program with its levels, where its scalars lie, and the parameters of every prime."""

    slots: SlotPlan
    parameter_sets: tuple[BgvParameters, ...]

    @property
    def program(self) -> SlotProgram:
        """The program."""
        return self.slots.program

    @property
    def cost(self) -> float:
        """What a run and the encryption of its inputs take, in transforms of 2^12 coefficients."""
        return cost_of(self.program, self.parameter_sets)


@dataclass(frozen=True, slots=True)
class IntegerOptions:
    """What is asked of the parameters of a program over integers.

    Args:
        bits: Results are signed numbers of so many bits.
        evaluations: How many a run is to have slots for.
        rings: Base-2 logarithms of the ring degrees to try, in order.
        insecure: Whether parameters below 128-bit security are allowed.
        public_inputs: Whether inputs may be encrypted by a public key.
        key_budget: Bytes for the evaluation keys of all primes; None for no limit.
        failure_bits: Each bound on noise fails with a probability of at most 2^-failure_bits.
        least_modulus_bits: The product of the plaintext moduli has at least so many.
    """

    bits: int
    evaluations: int = 1
    rings: Sequence[int] = RINGS
    insecure: bool = False
    public_inputs: bool = False
    key_budget: int | None = None
    failure_bits: int = BGV_FAILURE_BITS
    least_modulus_bits: int = 1

    @property
    def modulus_bits(self) -> int:
        """The product of the plaintext moduli holds signed numbers of so many bits."""
        return max(self.bits, self.least_modulus_bits)

    def wide_enough(self, lanes: LaneProgram) -> Iterator[int]:
        """The rings in whose rows so many evaluations of a program fit."""
        for log_n in self.rings:
            if capacity(lanes.width, 1 << log_n - 1) >= self.evaluations:
                yield log_n

    def most_bits(self, log_n: int) -> float:
        """The most bits of a modulus, that of key switching included."""
        return math.inf if self.insecure else max_log_qp(log_n) or 0.0

    def moduli(self, log_n: int) -> tuple[int, ...]:
        """The plaintext moduli."""
        return plaintext_moduli(self.modulus_bits, log_n)

    def noise(self, log_n: int) -> BgvNoiseModel:
        """The noise under the largest of the plaintext moduli, which has the most."""
        return BgvNoiseModel(
            log_n,
            self.moduli(log_n)[-1],
            public_inputs=self.public_inputs,
            failure_bits=self.failure_bits,
        )


def cheapest_integer_plan(
    candidates: Sequence[LaneProgram], options: IntegerOptions
) -> IntegerPlan:
    """Of several programs of one circuit the one whose plan costs least; see `integer_plan`.

    Rotations and products cost a little more than their time, for their keys.
    """

    def attempt(lanes: LaneProgram) -> tuple[IntegerPlan, float]:
        plan = integer_plan(lanes, options)
        return plan, plan.cost + _keys_price(lanes, plan.parameter_sets[0].log_n)

    return cheapest_of(_most_promising(candidates, options), attempt, lambda found: found[1])[0]


def _most_promising(
    candidates: Sequence[LaneProgram], options: IntegerOptions
) -> Sequence[LaneProgram]:
    """Those that cost least on few chains of moduli, whose primes are not looked for."""
    if len(candidates) <= _MOST_PLANNED:
        return candidates

    def expected(lanes: LaneProgram) -> float:
        for log_n in options.wide_enough(lanes):
            program = with_rotate_sums(slot_plan(lanes, 1 << log_n - 1).program)
            found = _cheapest(program, options, _SPARE_BITS[0], log_n, _FEWEST_STEPS)
            if found:
                return found[0].cost * _unit(log_n) + _keys_price(lanes, log_n)
        return math.inf

    return sorted(candidates, key=expected)[:_MOST_PLANNED]


def _keys_price(lanes: LaneProgram, log_n: int) -> float:
    return _MOVE * (lanes.counts["rotate"] + lanes.counts["mul"]) * _unit(log_n)


def _unit(log_n: int) -> float:
    """A transform of the ring in those that costs are told in."""
    return 2.0 ** (log_n - _UNIT_LOG_N)


def integer_plan(lanes: LaneProgram, options: IntegerOptions) -> IntegerPlan:
    """The program on the smallest ring that is secure and wide enough, at least modelled cost."""
    wide_enough = [*options.wide_enough(lanes)]
    if not wide_enough:
        raise CircuitTooDeepError(
            f"cannot compile {lanes.title}: {options.evaluations} evaluation(s) of "
            f"{lanes.width} slots each fit no ring; compile with a smaller batch"
        )

    def made(log_n: int) -> SlotPlan:
        return slot_plan(lanes, 1 << log_n - 1)

    return plan_in_rings(lanes.title, made, wide_enough, options)


def plan_in_rings(
    title: str,
    make: Callable[[int], SlotPlan],
    rings: Sequence[int],
    options: IntegerOptions,
    sample: Callable[[int], SlotPlan] | None = None,
) -> IntegerPlan:
    """What a function makes for the smallest of some rings that is secure, with its parameters.

    Args:
        title: What it is.
        make: Makes the program for a ring, by the base-2 logarithm of its degree.
        rings: The rings, rising.
        options: What is asked of its parameters.
        sample: Makes a short program that is as deep, by which moduli are chosen where the program
            is too long to be tried with many.

    Raises:
        CircuitTooDeepError: No parameters take as many products in a row.
        InsecureParametersError: The one ring asked for falls short of 128-bit security.
    """

    def attempt(log_n: int) -> IntegerPlan:
        if sample is None:
            return _in_ring(make(log_n), options, log_n)
        return _in_ring(sample(log_n), options, log_n, cache(partial(make, log_n)))

    try:
        return cheapest_of(rings, attempt, lambda plan: plan.cost, at_first)
    except (InvalidParametersError, NoiseExhaustedError) as refusal:
        rings = options.rings
        if len(rings) == 1 and isinstance(refusal, InsecureParametersError):
            raise
        raise CircuitTooDeepError(
            f"cannot compile {title}: it multiplies more often in a row than the noise of "
            f"any secure ring of degree 2^{rings[0]} to 2^{rings[-1]} allows at {options.bits} "
            f"bits; multiply in a tree rather than in a row, or ask for fewer bits ({refusal})"
        ) from refusal


def _in_ring(
    plan: SlotPlan,
    options: IntegerOptions,
    log_n: int,
    whole: Callable[[], SlotPlan] | None = None,
) -> IntegerPlan:
    """A program with the moduli with which it costs least, or that of which it is a sample."""
    program = with_rotate_sums(plan.program)
    steps = max(_FEWEST_STEPS, min(len(_LEVEL_BITS), _EFFORT // max(len(program.operations), 1)))
    refusal: Exception | None = None
    for spare_bits in _SPARE_BITS:
        cheapest = _cheapest(program, options, spare_bits, log_n, steps)
        if not cheapest:
            break
        made: list[tuple[float, IntegerPlan]] = []
        for tried in cheapest:
            if made and (whole or min(cost for cost, _ in made) <= tried.cost):
                break
            found = tried
            if whole:
                plan = whole()
                found = tried.of(with_rotate_sums(plan.program), options.noise(log_n))
            try:
                sets = _parameter_sets(found.program, found.chain, options, log_n)
                made_of = _within_key_budget(found.program, sets, options)
            except (InvalidParametersError, KeyBudgetError, NoiseExhaustedError) as error:
                refusal = error
                continue
            cost = total_seconds(made_of, counted_costs(limbs_of(sets[0]), log_n))
            made.append((cost, IntegerPlan(replace(plan, program=made_of), sets)))
        if made:
            return min(made, key=lambda each: each[0])[1]
    raise refusal or InsecureParametersError(
        f"cannot make parameters: no modulus of up to {options.most_bits(log_n):g} bits, those "
        f"that are secure for log_n = {log_n}, holds the noise of {plan.program.title}"
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Levelled:
    """A program with its levels, the chain they are of, and what it costs by the model."""

    cost: float
    chain: Chain
    switching: Switching
    program: SlotProgram

    def of(self, program: SlotProgram, model: BgvNoiseModel) -> _Levelled:
        """Another program on the same chain, switched down in the same way."""
        asked = switches(program, model, self.chain.level_bits, self.switching)
        levels = lowest_lane_levels(program, asked, self.chain)
        return replace(self, program=levelled(program, asked, levels))


def _cheapest(
    program: SlotProgram, options: IntegerOptions, spare_bits: float, log_n: int, steps: int
) -> list[_Levelled]:
    """The chains on which the program costs least by the model, one for each count of primes."""
    model, most_bits = options.noise(log_n), options.most_bits(log_n)
    found: dict[Limbs, _Levelled] = {}
    made: dict[object, SlotProgram] = {}
    priced: set[object] = set()
    # Of chains that cost the same, the one with the fewest levels.
    for switching, level_bits in product(SWITCHINGS, _spread(_LEVEL_BITS, steps)):
        asked = switches(program, model, level_bits, switching)
        needed = [noise.needed_bits for noise in asked.noises if noise is not None]
        for base_bits in _bases(level_bits, max(needed, default=0.0) + spare_bits):
            chain = Chain(level_bits, base_bits, spare_bits)
            levels = lowest_lane_levels(program, asked, chain)
            top = max(levels.values(), default=0)
            limbs = expected_limbs(base_bits, level_bits, top, most_bits)
            if limbs is None:
                continue
            # Most chains put all values where another one has them, and cost the same.
            form = asked.before_use, asked.canonical, tuple(levels.values())
            if (form, limbs) in priced:
                continue
            priced.add((form, limbs))
            if form not in made:
                made[form] = levelled(program, asked, levels)
            cost = total_seconds(made[form], counted_costs(limbs, log_n))
            if limbs not in found or cost < found[limbs].cost:
                found[limbs] = _Levelled(cost, chain, switching, made[form])
    return sorted(found.values(), key=lambda each: each.cost)[:_MOST_MADE]


def _spread(numbers: range, most: int) -> list[int]:
    """So many of them at most, from the greatest down in steps that meet whole words."""
    spread = [numbers[::-step] for step in _STEPS if len(numbers[::-step]) <= most]
    return list(spread[0] if spread else numbers[:: -_STEPS[-1]])


def _bases(level_bits: int, needed: float) -> list[float]:
    """Moduli of level 0: the least, the most, and those with which the largest noise fits."""
    low, high = level_bits + _HEADROOM_BITS[0], level_bits + _HEADROOM_BITS[-1]
    fitting = [needed + _MARGIN_BITS - n * level_bits for n in range(1 + int(needed // level_bits))]
    return [low, *sorted({each for each in fitting if low < each <= high}), high]


def cost_of(program: SlotProgram, parameter_sets: Sequence[BgvParameters]) -> float:
    """What a run and the encryption of its inputs take by the model."""
    parameters = parameter_sets[0]
    costs = counted_costs(limbs_of(parameters), parameters.log_n)
    inputs = [each.level for each in program.operations if isinstance(each, Input)]
    encryption = _ENCRYPTION * math.fsum(costs.at(level).rotation for level in inputs)
    transforms = encryption + total_seconds(program, costs)
    return len(parameter_sets) * _unit(parameters.log_n) * transforms


def limbs_of(parameters: BgvParameters) -> Limbs:
    """The primes of parameters."""
    levels = range(parameters.levels + 1)
    counts = tuple(parameters.prime_count(level) for level in levels)
    # A key is two polynomials for each digit.
    polynomial_bytes = WORD_BYTES * parameters.n * parameters.key_prime_count
    digits = parameters.evaluation_key_bytes(parameters.levels) // (2 * polynomial_bytes)
    return Limbs(counts, -(-counts[-1] // digits), parameters.key_prime_count - counts[-1])


def _parameter_sets(
    program: SlotProgram, chain: Chain, options: IntegerOptions, log_n: int
) -> tuple[BgvParameters, ...]:
    """The parameters of every prime, on which the engine lets the program through."""
    sets = tuple(
        BgvParameters(
            levels=program.top_level,
            plaintext_modulus=modulus,
            level_bits=chain.level_bits,
            base_bits=chain.base_bits,
            log_n=log_n,
            failure_bits=options.failure_bits,
            insecure=options.insecure,
        )
        for modulus in options.moduli(log_n)
    )
    estimated_results(Bgv(sets, public_inputs=options.public_inputs), program)
    return sets


def _within_key_budget(
    program: SlotProgram, sets: Sequence[BgvParameters], options: IntegerOptions
) -> SlotProgram:
    """The program with few enough keys, whose rotations made of others have more noise."""
    if options.key_budget is None:
        return program

    def key_bytes_at(level: int) -> int:
        return sum(each.evaluation_key_bytes(level) for each in sets)

    if required_keys(program).nbytes(key_bytes_at) <= options.key_budget:
        return program
    apart = without_rotate_sums(program)
    fitting = with_rotate_sums(within_key_budget(apart, key_bytes_at, options.key_budget))
    estimated_results(Bgv(sets, public_inputs=options.public_inputs), fitting)
    return fitting


def roomier_sets(
    sets: Sequence[Sequence[BgvParameters]],
    moduli: Sequence[int],
    levels: int,
    *,
    insecure: bool,
) -> Iterator[tuple[BgvParameters, ...]]:
    """Parameters of so many levels for each of some primes, with more and more room for noise.

    Args:
        sets: Those of programs in one ring, none of which has more room.
        moduli: The primes.
        levels: The levels.
        insecure: Whether parameters below 128-bit security are allowed.

    Raises:
        InsecureParametersError: They are not 128-bit secure in the ring.
    """
    given = [each for of_one in sets for each in of_one]
    # Without levels nothing is known of them.
    level_bits = max((each.level_bits for each in given if each.levels), default=_FIRST_LEVEL_BITS)
    base = max(math.ceil(each.log_q(0)) for each in given)
    for bits in _ROOM:
        longer = min(level_bits + bits / 4, _LEVEL_BITS[-1])
        least, most = longer + _HEADROOM_BITS[0], longer + _HEADROOM_BITS[-1]
        try:
            made = tuple(
                BgvParameters(
                    levels=levels,
                    plaintext_modulus=modulus,
                    level_bits=longer,
                    base_bits=min(max(base + bits, least), most),
                    log_n=given[0].log_n,
                    failure_bits=max(each.failure_bits for each in given),
                    insecure=insecure or any(each.insecure for each in given),
                )
                for modulus in moduli
            )
        except InsecureParametersError:
            raise
        except InvalidParametersError:
            continue
        yield made


def plaintext_moduli(bits: int, log_n: int) -> tuple[int, ...]:
    """Primes that are 1 modulo 2N whose product holds signed numbers of so many bits.

    As few as can be, each below 2^30, and as small and alike as they come.

    Example:
        >>> plaintext_moduli(16, 13), plaintext_moduli(24, 13)
        ((65537,), (16957441,))
        >>> [modulus.bit_length() for modulus in plaintext_moduli(64, 13)]
        [22, 22, 22]
    """
    for primes in count(1 + bits // _MAX_PRIME_BITS):
        least = math.ceil(2 ** (bits / primes))
        moduli = tuple(islice(_primes(least, 2 << log_n), primes))
        if moduli[-1] >> _MAX_PRIME_BITS == 0:
            return moduli
    raise AssertionError


def _primes(least: int, step: int) -> Iterator[int]:
    """Primes from a number on that are 1 modulo a step, in order."""
    return filter(is_prime, count(-(-(least - 1) // step) * step + 1, step))


def is_prime(number: int) -> bool:
    """Whether a number is a prime.

    Example:
        >>> is_prime(65537), is_prime(65539 * 3)
        (True, False)
    """
    return number > 1 and all(number % factor for factor in range(2, math.isqrt(number) + 1))

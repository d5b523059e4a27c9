"""What every operation of a program would take on ciphertexts, on this machine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Any

from cloakwork._native import WORD_BYTES, Parameters, ntt_seconds
from cloakwork.plan.cost.measure import known
from cloakwork.plan.cost.timing import rotation_seconds
from cloakwork.programs.bsgs import split
from cloakwork.programs.equal_diagonals import period_of
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.slots import Linear, SlotProgram
from cloakwork.runtime.costs import Costs, LevelCosts, modelled_for, seconds_of
from cloakwork.runtime.held_memory import HeldMemory
from cloakwork.runtime.program import Program
from cloakwork.runtime.returning import Returning
from cloakwork.runtime.schedule import sharing_transforms
from cloakwork.schemes.encoded_cache import diagonal_limbs

_TRANSFORMS = 20
# What operations take of what the planner counts for them, as measured from N = 2^14 to 2^16. The
# planner's ratios stay as they are: plans would change with every change of the engine.
_SHARES = {
    "rotation": 0.65,
    "hoisted_rotation": 0.7,
    "product": 0.3,
    "relinearisation": 0.55,
    "encoding": 0.7,
    "plaintext_product": 0.2,
    "linear": 0.35,
    "baby_step": 0.35,
    "giant_step": 0.25,
    "diagonal": 0.65,
    "narrow_term": 0.4,
    "gathering": 0.1,
}
_SHARE_OF_BOOTSTRAPS = 0.85
# In rings of this degree rotated values and diagonals come from memory instead of a cache: an inner
# product takes this part more of what a diagonal takes that is encoded when it is used.
_FROM_MEMORY = 1 << 16
_MORE_FROM_MEMORY = 0.15
# What expanding a limb of a key from its seed takes, in transforms, as measured at N = 2^16.
_EXPANDED_LIMB = 1.5
# What switches keys. The shares are those of up to three digits; every further one adds to them.
_OF_FEW_DIGITS = 3
_MORE_BY_DIGIT = {
    "rotation": 0.25,
    "hoisted_rotation": 0.1,
    "relinearisation": 0.25,
    "baby_step": 0.3,
    "giant_step": 0.5,
    "product_switch": 0.25,
}


def costs_here(parameters: Parameters) -> Costs:
    """Costs in seconds: those measured before, or counted in a unit that is timed."""
    # To measure them takes seconds.
    costs = known(parameters)
    if costs is not None:
        return costs
    counted = modelled_for(parameters)
    levels = [
        _as_measured(each, _digits(parameters, level)) for level, each in enumerate(counted.levels)
    ]
    return replace(counted, levels=tuple(levels)).scaled(unit_seconds(parameters))


def unit_seconds(parameters: Parameters) -> float:
    """Seconds of what costs are counted in, a transform of one limb, by a rotation that is timed.

    A transform alone stays in the caches, while operations go through memory, which is another
    multiple slower on another machine.
    """
    top = parameters.levels
    rotation = _as_measured(modelled_for(parameters).at(top), _digits(parameters, top)).rotation
    return rotation_seconds(parameters) / rotation


def _as_measured(counted: LevelCosts, digits: int) -> LevelCosts:
    more = max(0, digits - _OF_FEW_DIGITS)
    return LevelCosts(
        **{
            kind: cost * _SHARES.get(kind, 1.0) * (1.0 + more * _MORE_BY_DIGIT.get(kind, 0.0))
            for kind, cost in asdict(counted).items()
        }
    )


def _digits(parameters: Parameters, level: int) -> int:
    """The digits that a key switch at a level takes a polynomial apart into."""
    top = parameters.levels
    whole, limbs = parameters.prime_count(top), parameters.prime_count(level)
    of_key = 2 * parameters.key_prime_count * parameters.n * WORD_BYTES
    digits = max(1, round(parameters.evaluation_key_bytes(top) / of_key))
    return math.ceil(limbs / math.ceil(whole / digits))


def costs_with_bootstraps(scheme: Any) -> Costs:
    """Costs in seconds under a scheme, those of bootstraps whose diagonals are encoded."""
    parameters, refreshing = scheme.parameters, scheme.refreshing
    costs = costs_here(parameters)
    if refreshing is None:
        return costs
    # Of bootstraps the counts are nearer to what they take than those of their parts.
    counted = modelled_for(parameters).kept().with_bootstrap(refreshing)
    seconds = _SHARE_OF_BOOTSTRAPS * unit_seconds(parameters)
    return replace(
        costs,
        bootstrap=seconds * counted.bootstrap,
        bootstrap_pair=seconds * counted.bootstrap_pair,
    )


def seconds_of_limit(
    program: SlotProgram, scheme: Any, whole: HeldMemory, within: HeldMemory
) -> float:
    """Seconds that a run takes more within a limit of memory, added up over threads.

    Diagonals of bootstraps that do not fit are encoded in each of them, and uniform halves of keys
    are expanded whenever the keys are used.
    """
    parameters, refreshing = scheme.parameters, scheme.refreshing
    transform = unit_seconds(parameters)
    more = 0.0
    if within.encoded < whole.encoded:
        counted = modelled_for(parameters)
        encoding = counted.with_bootstrap(refreshing).bootstrap
        encoding -= counted.kept().with_bootstrap(refreshing).bootstrap
        more += _SHARES["diagonal"] * encoding * refreshes(program)
    if within.uniform < whole.uniform:
        limb = parameters.n * WORD_BYTES
        more += _EXPANDED_LIMB * _expanded_bytes(program, scheme, within.uniform) / limb
    return more * transform


def _expanded_bytes(program: SlotProgram, scheme: Any, ahead: int) -> float:
    """Bytes of uniform halves that a run expands, of which so many are expanded ahead.

    Those of rotations: other keys are few, and come first. Of a key all digits are expanded, over
    the primes that the level has.
    """
    uses = list(scheme.rotations_used(program))
    counted = Counter(step for step, _ in uses)
    key_bytes = scheme.parameters.evaluation_key_bytes
    needed = scheme.required_keys(program)
    left = ahead - scheme.bytes_of(replace(needed, rotations={})) // 2
    seeds: set[int] = set()
    for step, _ in counted.most_common():
        half = key_bytes(needed.rotations[step]) // 2
        if half > left:
            seeds.add(step)
        else:
            left -= half
    limbs = scheme.parameters.prime_count
    special = scheme.parameters.key_prime_count - limbs(scheme.parameters.levels)
    tops = needed.rotations
    return math.fsum(
        key_bytes(tops[step]) / 2 * (limbs(level) + special) / (limbs(tops[step]) + special)
        for step, level in uses
        if step in seeds
    )


def run_seconds(program: Program, kept: Collection[int] = ()) -> float:
    """Seconds of all steps of a run, and of what comes into slots before them.

    Args:
        program: A program over slots.
        kept: The operations of the first step whose transforms are encoded already.
    """
    times = 1 if program.repeated is None else program.repeated.times
    cycle, seconds = program.cycle, 0.0
    for place, step in enumerate(cycle):
        own = {at for at, number in enumerate(step.numbers) if number in kept} if kept else kept
        often = len(range(place, times, len(cycle)))
        seconds += often * sum(modelled_seconds(step.body, program.scheme, own))
    return seconds + returning_seconds(program)


def returning_seconds(program: Program) -> float:
    """Seconds in which bits come back into slots, before a program over reals begins.

    Example:
        >>> import cloakwork as cw
        >>> returning_seconds(cw.compile(lambda x: x + 1, (4,)))
        0.0
    """
    parameters, seconds = program.scheme.parameter_sets[0], 0.0
    for link in program.after:
        if isinstance(link, Returning):
            place, level = link.place(program), min(link.level(program), parameters.levels)
            costs = costs_here(parameters).at(level)
            seconds += place.parts * costs.plaintext_product + costs.rescale
            seconds += place.turns * (costs.rotation + costs.addition)
    return seconds


def modelled_seconds(program: SlotProgram, scheme: Any, kept: Collection[int] = ()) -> list[float]:
    """Seconds of every operation, added up over threads, and over the primes of BGV."""
    if program.numbers == "real":
        return seconds_with_kept(program, scheme.parameters, costs_with_bootstraps(scheme), kept)
    by_prime: list[list[float]] = []
    for parameters in scheme.parameter_sets:
        ring = Parameters(levels=0, log_n=parameters.log_n, insecure=True)
        costs = modelled_for(parameters).scaled(ntt_seconds(ring, _TRANSFORMS))
        by_prime.append(seconds_of(program, costs))
    return [sum(seconds) for seconds in zip(*by_prime, strict=True)]


def seconds_with_kept(
    program: SlotProgram, parameters: Parameters, costs: Costs, kept: Collection[int]
) -> list[float]:
    """Seconds of every operation of a program over real numbers, by given costs.

    A diagonal takes as long as it has limbs; costs are those of one with all limbs of the
    key-switching modulus, which those of a transform of many diagonals lack. One that repeats
    itself is encoded sooner.
    """
    encoded, sharing = costs.kept(), sharing_transforms(program)
    seconds = seconds_of(program, costs)
    special = parameters.key_prime_count - parameters.prime_count(parameters.levels)
    for number, operation in enumerate(program.operations):
        if not isinstance(operation, Linear):
            continue
        level, count = program.context(number).level, len(operation.diagonals)
        steps = split(operation.diagonals, program.slots, operation.baby_steps)
        limbs = diagonal_limbs(parameters, steps, level, sharing[number])
        share = limbs / (parameters.prime_count(level) + special)
        each = encoded.at(level).diagonal
        if number not in kept:
            each = costs.repeated_diagonal(level, parameters.slots / period_of(operation.diagonals))
        if parameters.n >= _FROM_MEMORY:
            each += _MORE_FROM_MEMORY * costs.at(level).diagonal
        seconds[number] += count * (share * each - costs.at(level).diagonal)
    return seconds

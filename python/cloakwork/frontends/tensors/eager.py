"""The eager way: each call on tensors is planned and run at once."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.polynomial.chebyshev import chebval

from cloakwork._native import CkksEstimate, Parameters
from cloakwork.base.arguments import digits_above
from cloakwork.base.arrays import MIN_RIGHT_BITS
from cloakwork.errors import (
    BoundOverflowError,
    InvalidParametersError,
    KeyBudgetError,
    LevelExhaustedError,
    PrecisionLostError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.tensors.tensor import Tensor, TensorRunner
from cloakwork.plan.analysis.headroom import largest_at_bottom
from cloakwork.plan.functions.approximate import approximated, with_claims_cleared
from cloakwork.plan.functions.intervals import Interval, intervals_of, uniform
from cloakwork.plan.matmul.dense_rows import product_of_rows
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.passes.bootstrap_pairs import with_pairs
from cloakwork.plan.passes.simplify import simplified
from cloakwork.plan.tensors.lower import Lowered, in_order, lower
from cloakwork.programs.bounds import polynomial_ceilings, value_bounds
from cloakwork.programs.ir.tensors import Evaluate, Node, Source, are_truths, with_sources
from cloakwork.programs.places import TensorPlace
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Bootstrap,
    Builder,
    Input,
    Output,
    Polynomial,
    SlotProgram,
    State,
    Vector,
)
from cloakwork.runtime.costs import comparable
from cloakwork.runtime.executor import run_in_order
from cloakwork.runtime.memory import require_memory
from cloakwork.runtime.profile import Profile
from cloakwork.schemes.base import SlotScheme, levels_of
from cloakwork.schemes.ckks_estimates import CkksEstimates
from cloakwork.schemes.device.devices import CPU

# A level is worth more rotations than any plan has.
_LEVELS_FIRST = 1e6
# Levels by which operands are lifted to learn how many they lack.
_LIFT = 1000
# Of the headroom, that the engine keeps clear of values and of their signs.
_KEPT_BITS = 2
# Where the range of a polynomial is looked for.
_POINTS_PER_DEGREE = 4096
# Of bounds, which are sums and products of doubles.
_ROUNDING = 1e-9
# By which functions on the way are off, as far as ranges of later numbers go.
_BITS = 20


class Executor(TensorRunner, Protocol):
    """Whoever runs programs: a session or its evaluator."""

    @property
    def parameters(self) -> Parameters: ...
    @property
    def scheme(self) -> SlotScheme: ...
    @property
    def precision(self) -> int: ...
    @property
    def memory_limit(self) -> int: ...
    @property
    def device(self) -> str: ...
    def fitted(self, program: SlotProgram) -> SlotProgram: ...
    def run(
        self,
        program: SlotProgram,
        inputs: Sequence[Any],
        *,
        profile: Profile | None = None,
        bounds: Sequence[float | None] | None = None,
    ) -> list[Any]: ...


def computed(executor: Executor, node: Node, title: str) -> Tensor:
    """Plan one result, run the plan, and return the tensor.

    Raises:
        LevelExhaustedError: The operands have too few levels left.
        MissingKeyError: The evaluator lacks a key that the plan needs.
        PrecisionLostError: A function would enlarge the noise so that too little is right.
        BoundOverflowError: By the bounds of the operands a number may wrap around the modulus.
    """
    parameters = executor.parameters
    # What could not be held, however well it were planned, is refused before it is planned.
    ciphertext = executor.scheme.bytes_at(State(0))
    for each in in_order([node]):
        count = -(-math.prod(each.shape) // parameters.slots)
        needed = count * ciphertext
        advice = f"allow memory_limit={needed} or more, or compute it in smaller parts"
        require_memory(needed, executor.memory_limit, f"compute {title}", advice)
    made = approximated([node], _known, executor.precision + 1, title)
    near, refreshing = made.results[0], executor.scheme.refreshing
    if refreshing is not None:
        # Where depth has no end, what lies beside the elements would grow without one, too.
        (near,) = with_claims_cleared([near])
        near = _with_levels(executor, refreshing, near, title)
    return replace(_run(executor, near, title, made.intervals[0]), truths=are_truths(node))


def _run(executor: Executor, node: Node, title: str, interval: Interval | None) -> Tensor:
    """Plan a node without functions, and run the plan; the interval is None where none is known."""
    lowered = _by_rows(executor, node, title) or _lowered(executor, node, title)
    planned = lowered.program
    if any(isinstance(each, Evaluate) for each in in_order([node])):
        # Ways to compute functions scale one number several times.
        planned = simplified(planned)
    program = executor.fitted(planned)
    inputs = [value for source, _ in lowered.inputs for value in source.tensor.values]
    profile = Profile()
    (layout,) = lowered.outputs
    # By the range of its elements, what no slot exceeds.
    largest = math.inf if interval is None or layout.garbage else max(map(abs, interval.ends))
    given = _Given.of(lowered, largest)
    bounds = None if given is None else _bounds(program, given)
    if bounds is not None:
        _require_right(executor, program, inputs, bounds, title)
    values = executor.run(program, inputs, profile=profile, bounds=bounds)
    if bounds is not None:
        # An operand that is the result, of which only the range is new, is no operation's.
        reached = [
            bound
            for bound, each in zip(bounds, program.operations, strict=True)
            if isinstance(each, Output)
        ]
        values = [
            value.with_bound(min(value.bound, bound))
            for value, bound in zip(values, reached, strict=True)
        ]
    first, *_ = (source.tensor for source, _ in lowered.inputs)
    claimed = any(source.tensor.claimed for source, _ in lowered.inputs)
    return Tensor(
        values,
        layout,
        first.scheme,
        first.key_id,
        executor,
        program,
        profile,
        claimed,
        interval,
    )


def _require_right(
    executor: Executor,
    program: SlotProgram,
    inputs: Sequence[Any],
    bounds: Sequence[float | None],
    title: str,
) -> None:
    """Refuse, before it is computed, what may overflow, or a function that noise spoils."""
    parameters, refreshing = executor.parameters, executor.scheme.refreshing
    evaluates = any(isinstance(each, Polynomial) for each in program.operations)
    if not evaluates:
        largest = largest_at_bottom(program, bounds, math.floor(parameters.scale_bits))
        if largest < 2.0 ** (parameters.headroom_bits - _KEPT_BITS):
            return
    known = [value.estimate for value in inputs]
    try:
        right = _right_bits(program, CkksEstimates(parameters, refreshing), known, bounds)
    except BoundOverflowError as error:
        error.add_note(f"in {title}, of which nothing was computed")
        raise
    if not evaluates or right >= MIN_RIGHT_BITS:
        return
    # What operands have more noise than fresh ones they have under a finer scale, too.
    fresh = _fresh(parameters, known)
    lost = max(one.precision - each.precision for one, each in zip(fresh, known, strict=True))
    enough = max(MIN_RIGHT_BITS, executor.precision + 1) + max(0.0, lost)

    def leaves_enough(scale_bits: int) -> bool:
        finer = Parameters(
            levels=parameters.levels,
            scale_bits=scale_bits,
            headroom_bits=parameters.headroom_bits,
            log_n=parameters.n.bit_length() - 1,
            insecure=True,
        )
        found = _right_bits(program, CkksEstimates(finer), _fresh(finer, known), bounds)
        return bool(found >= enough)

    advice = "make the session with less precision"
    scales = range(math.floor(parameters.scale_bits) + 1, SCALE_BITS.stop)
    if refreshing is None and scales and leaves_enough(scales[-1]):
        least = scales[bisect_left(scales, True, key=leaves_enough)]
        advice = f"make the session with scale_bits={least}"
    raise PrecisionLostError(
        f"cannot compute {title}: expected {MIN_RIGHT_BITS} right bits or more, and noise, which "
        f"the function enlarges, would leave {max(0, math.floor(right))}; {advice}, or compile all "
        "steps together by cloakwork.compile"
    )


def _fresh(parameters: Parameters, like: Sequence[CkksEstimate]) -> list[CkksEstimate]:
    """Estimates of fresh encryptions of such numbers at such levels."""
    return [
        parameters.estimate(parameters.slots, level=each.level, bound=each.bound).encrypted()
        for each in like
    ]


def _right_bits(
    program: SlotProgram,
    backend: CkksEstimates,
    inputs: Sequence[CkksEstimate],
    bounds: Sequence[float | None],
) -> float:
    """Bits after the binary point of the results, or of the largest where that is more than 1."""
    results = run_in_order(program, backend, inputs, bounds)
    return min(each.precision + math.log2(max(1.0, each.bound)) for each in results)


def interval_of(node: Node) -> Interval:
    """Between which ends the elements of a node of tensors lie."""
    return intervals_of(in_order([node]), _known, _BITS)[node]


def _known(source: Source) -> Interval:
    interval: Interval = source.tensor.known
    return interval


@dataclass(frozen=True, slots=True)
class _Given:
    """What is known of the numbers that a program is run on.

    Args:
        inputs: For each input, where it lies, and the bounds of its ciphertexts.
        largest: What no slot of a result exceeds.
    """

    inputs: tuple[tuple[TensorPlace, tuple[float, ...]], ...]
    largest: float

    @classmethod
    def of(cls, lowered: Lowered, largest: float) -> _Given | None:
        """None of tensors in the clear, which have no bounds."""
        if not all(source.tensor.encrypted for source, _ in lowered.inputs):
            return None
        inputs = (
            (place, tuple(value.bound for value in source.tensor.values))
            for source, place in lowered.inputs
        )
        return cls(tuple(inputs), largest)

    def slot_bounds(self) -> list[Vector]:
        """For each input ciphertext, the largest absolute value of each slot."""
        bounds: list[Vector] = []
        for place, known in self.inputs:
            bounds += [bound * each for bound, each in zip(known, place.filled(), strict=True)]
        return bounds


# What a program was given last, and the bounds of its values: the same product is often taken
# again of numbers within the same range, as in a loop.
_last_bounds: WeakKeyDictionary[SlotProgram, tuple[_Given, list[float | None]]] = (
    WeakKeyDictionary()
)


def _bounds(program: SlotProgram, given: _Given) -> list[float | None]:
    """The bounds of all values of a program."""
    last = _last_bounds.get(program)
    if last is not None and last[0] == given:
        return last[1]
    results = {each.operand for each in program.operations if isinstance(each, Output)}
    ceilings = polynomial_ceilings(program)
    ceilings.update((each, min(given.largest, ceilings.get(each, math.inf))) for each in results)
    found = value_bounds(program, given.slot_bounds(), ceilings)
    _last_bounds[program] = given, found
    return found


def refreshed(executor: Executor, tensor: Tensor) -> Tensor:
    """Bootstrap every ciphertext of a tensor.

    Raises:
        InvalidParametersError: The parameters have no levels for it.
        KeyBudgetError: Its keys take more bytes than they may.
        LevelExhaustedError: Fewer levels are left than it takes.
        MemoryBudgetError: It takes more memory than it may.
        MissingKeyError: The evaluator lacks a key.
        ValueOutOfRangeError: A number may be larger than bootstraps are made for.
    """
    return _refreshed_together(executor, [tensor])[0]


def _refreshed_together(executor: Executor, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Bootstrap every ciphertext of several tensors, two at a time where that takes less time."""
    refreshing = executor.scheme.refreshing
    if refreshing is None:
        raise InvalidParametersError(
            "cannot bootstrap: the parameters of the tensor have no levels for it; make the "
            "session with bootstrap=True"
        )
    least, level = refreshing.input_level, refreshing.output_level
    builder = Builder("bootstrap", refreshing.chain.slots)
    builder.stage = "bootstrap"
    for place, tensor in enumerate(tensors):
        if tensor.level < least:
            raise LevelExhaustedError(
                f"cannot bootstrap: it takes {least} levels of its own, the tensor has "
                f"{tensor.level} left; bootstrap earlier"
            )
        _require_refreshable(tensor, refreshing.bound)
        for number in range(len(tensor.values)):
            spent = builder.append(Input(f"x{place}.{number}", tensor.level), tensor.layout)
            fresh = builder.append(Bootstrap(spent, least, level), tensor.layout)
            builder.append(Output(fresh))
    costs = comparable(refreshing.chain).with_bootstrap(refreshing)
    program = executor.fitted(with_pairs(builder.finish(), refreshing, costs))
    profile = Profile()
    inputs = [value for tensor in tensors for value in tensor.values]
    made = iter(executor.run(program, inputs, profile=profile))
    return [
        replace(
            tensor,
            values=[next(made) for _ in tensor.values],
            program=program,
            profile=profile,
            runner=executor,
        )
        for tensor in tensors
    ]


def _require_refreshable(tensor: Tensor, bound: float) -> None:
    """Refuse a tensor that a bootstrap may make arbitrary numbers of."""
    if not tensor.encrypted:
        return
    largest = max(float(value.bound) for value in tensor.values)
    if largest > bound * (1 + _ROUNDING):
        needed = digits_above(largest, bound)
        raise ValueOutOfRangeError(
            f"cannot bootstrap: by the bounds of what was encrypted a value of up to {needed} "
            f"exceeds the bound {bound:g} that bootstraps are made for; say by "
            f"cloakwork.within(x, low, high) that numbers are smaller, make the session with "
            f"bound={needed}, or scale the data down"
        )


def _with_levels(executor: Executor, refreshing: Refreshing, node: Node, title: str) -> Node:
    """The node of tensors from which a result can be computed that can be refreshed again.

    Where a result is deeper than what a bootstrap leaves, all that it is made of is computed first,
    step by step.
    """
    spent = _spent(refreshing, node, title, executor.parameters.slots)
    if spent is not None:
        return with_sources(node, _refreshed_among(executor, node, spent))
    *steps, last = (each for each in in_order([node]) if not isinstance(each, Source))
    done: dict[Node, Source] = {each: each for each in in_order([node]) if isinstance(each, Source)}
    for each in [*steps, last]:
        step = with_sources(each, done)
        spent = _spent(refreshing, step, title, executor.parameters.slots)
        fresh = _refreshed_among(executor, step, spent or [])
        done = {name: fresh.get(source, source) for name, source in done.items()}
        if each is not last:
            interval = _range_of(each) if isinstance(each, Evaluate) else None
            done[each] = _run(executor, with_sources(each, done), title, interval).source
    return with_sources(last, done)


def _range_of(polynomial: Evaluate) -> Interval:
    """Between which ends the values of a polynomial are, on the range that it is meant for.

    Of degree n they exceed those at m Chebyshev points by a factor of 1 / cos(pi n / 2m) at most:
    Ehlich and Zeller, "Schwankung von Polynomen zwischen Gitterpunkten" (1964).
    """
    degree = len(polynomial.coefficients) - 1
    points = np.cos(np.linspace(0.0, np.pi, _POINTS_PER_DEGREE * degree + 1))
    reached = float(np.abs(chebval(points, polynomial.coefficients)).max())
    reached /= math.cos(math.pi / (2 * _POINTS_PER_DEGREE))
    return uniform(len(polynomial.shape), -reached, reached)


def _spent(refreshing: Refreshing, node: Node, title: str, slots: int) -> list[Tensor] | None:
    """The tensors to refresh before a node is computed; None where that is not enough."""
    with suppress(LevelExhaustedError):
        found = lower(title, [node], slots).program
        if min(levels_of(found, "outputs")) >= refreshing.input_level:
            return []
    sources = [each for each in in_order([node]) if isinstance(each, Source)]
    tensors = [each.tensor for each in sources]
    # What a result takes shows where all that it is made of stands at one level.
    even = with_sources(node, {each: replace(each, level=_LIFT) for each in sources})
    found = lower(title, [even], slots, level_price=_LEVELS_FIRST).program
    taken = _LIFT - min(levels_of(found, "outputs"))
    if refreshing.output_level - taken < refreshing.input_level:
        return None
    return [each for each in tensors if each.level - taken < refreshing.input_level]


def _refreshed_among(executor: Executor, node: Node, spent: Sequence[Tensor]) -> dict[Node, Source]:
    """For each source of a node itself, or what some are refreshed to."""
    fresh = _refreshed_together(executor, spent) if spent else []
    found: dict[Node, Source] = {
        each: each for each in in_order([node]) if isinstance(each, Source)
    }
    found |= {old.source: new.source for old, new in zip(spent, fresh, strict=True)}
    return found


def _by_rows(executor: Executor, node: Node, title: str) -> Lowered | None:
    """The plan of a product of matrices that lie by rows, where there are keys for it."""
    if executor.device != CPU:
        # It takes rotated products, which devices lack.
        return None
    lowered = product_of_rows(title, [node], executor.parameters.slots)
    with suppress(KeyBudgetError):
        if lowered is not None and executor.fitted(lowered.program) is lowered.program:
            return lowered
    return None


def _lowered(executor: Executor, node: Node, title: str) -> Lowered:
    """The plan; where it takes more levels than there are, the one that takes the fewest."""
    slots = executor.parameters.slots
    with suppress(LevelExhaustedError):
        return lower(title, [node], slots)
    with suppress(LevelExhaustedError):
        return lower(title, [node], slots, level_price=_LEVELS_FIRST)
    lifted = lower(title, [node], slots, level_price=_LEVELS_FIRST, lift=_LIFT)
    lowest = min(state.level for state in lifted.program.states if state.level is not None)
    missing = _LIFT - lowest
    depth = executor.parameters.levels + missing
    advice = (
        f"make the session with depth={depth}, or with bootstrap=True, which refreshes them"
        if executor.scheme.refreshing is None
        else "a bootstrap leaves no more; make the session with less precision or a larger log_n"
    )
    raise LevelExhaustedError(
        f"cannot compute {title}: needs {missing} level(s) more than the operands have left; "
        f"{advice}"
    )

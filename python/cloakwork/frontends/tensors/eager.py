"""The eager way: each call on tensors is planned and run at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from cloakwork._native import Parameters
from cloakwork.base.arguments import above
from cloakwork.errors import (
    InvalidParametersError,
    KeyBudgetError,
    LevelExhaustedError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.tensors.tensor import Tensor, TensorRunner
from cloakwork.plan.functions.approximate import approximated
from cloakwork.plan.functions.intervals import Interval, intervals_of
from cloakwork.plan.matmul.dense_rows import product_of_rows
from cloakwork.plan.parameters.ckks import precision_of
from cloakwork.plan.passes.bootstrap_pairs import with_pairs
from cloakwork.plan.passes.simplify import simplified
from cloakwork.plan.tensors.lower import Lowered, in_order, lower
from cloakwork.programs.bounds import polynomial_ceilings, value_bounds
from cloakwork.programs.ir.tensors import Node, Source, with_sources
from cloakwork.programs.layout import Layout
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Bootstrap,
    Builder,
    Input,
    Output,
    SlotProgram,
    State,
    Vector,
)
from cloakwork.runtime.costs import comparable
from cloakwork.runtime.memory import require_memory
from cloakwork.runtime.profile import Profile
from cloakwork.schemes.base import SlotScheme, levels_of
from cloakwork.schemes.devices import CPU

# A level is worth more rotations than any plan has.
_LEVELS_FIRST = 1e6
# Levels by which operands are lifted to learn how many they lack.
_LIFT = 1000
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
    """
    parameters = executor.parameters
    # What could not be held, however well it were planned, is refused before it is planned.
    ciphertext = executor.scheme.bytes_at(State(0))
    for each in in_order([node]):
        count = -(-math.prod(each.shape) // parameters.slots)
        needed = count * ciphertext
        advice = f"allow memory_limit={needed} or more, or compute it in smaller parts"
        require_memory(needed, executor.memory_limit, f"compute {title}", advice)
    made = approximated([node], _known, precision_of(parameters) + 1, title)
    near = made.results[0]
    if executor.scheme.refreshing is not None:
        near = _with_levels(executor, executor.scheme.refreshing, near, title)
    lowered = _by_rows(executor, near, title) or _lowered(near, title, parameters)
    # Ways to compute functions scale one number several times.
    planned = simplified(lowered.program) if made.fits else lowered.program
    program = executor.fitted(planned)
    inputs = [value for source, _ in lowered.inputs for value in source.tensor.values]
    profile = Profile()
    slot_bounds = _slot_bounds(lowered, parameters.slots)
    (layout,) = lowered.outputs
    largest = _largest(layout, made.intervals[0])
    bounds = None if slot_bounds is None else _bounds(program, slot_bounds, largest)
    values = executor.run(program, inputs, profile=profile, bounds=bounds)
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
        made.intervals[0],
    )


def interval_of(node: Node) -> Interval:
    """Between which ends the elements of a node of tensors lie."""
    return intervals_of(in_order([node]), _known, _BITS)[id(node)]


def _known(source: Source) -> Interval:
    interval: Interval = source.tensor.known
    return interval


def _largest(layout: Layout, known: Interval) -> float:
    """What no slot of a result exceeds, by the range of its elements."""
    if layout.garbage or known.claimed:
        return math.inf
    return max(map(abs, known.ends))


def _bounds(program: SlotProgram, inputs: Sequence[Vector], largest: float) -> list[float | None]:
    results = {each.operand for each in program.operations if isinstance(each, Output)}
    ceilings = polynomial_ceilings(program)
    ceilings.update((each, min(largest, ceilings.get(each, math.inf))) for each in results)
    return value_bounds(program, inputs, ceilings)


def refreshed(executor: Executor, tensor: Tensor) -> Tensor:
    """Bootstrap every ciphertext of a tensor.

    Raises:
        InvalidParametersError: The parameters have no levels for it.
        LevelExhaustedError: Fewer levels are left than it takes.
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
    program, profile = with_pairs(builder.finish(), refreshing, costs), Profile()
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
        needed = above(largest, bound)
        raise ValueOutOfRangeError(
            f"cannot bootstrap: by the bounds of what was encrypted a value of up to {needed} "
            f"exceeds the bound {bound:g} that bootstraps are made for; make the session with "
            f"bound={needed}, or scale the data down"
        )


def _with_levels(executor: Executor, refreshing: Refreshing, node: Node, title: str) -> Node:
    """The node with its tensors refreshed where the result could not be refreshed any more."""
    slots = executor.parameters.slots
    with suppress(LevelExhaustedError):
        found = lower(title, [node], slots).program
        if min(levels_of(found, "outputs")) >= refreshing.input_level:
            return node
    tensors = {id(each): each.tensor for each in in_order([node]) if isinstance(each, Source)}
    lifted = lower(title, [node], slots, level_price=_LEVELS_FIRST, lift=_LIFT).program
    lowest = min(levels_of(lifted, "outputs"))
    taken = max(tensor.level for tensor in tensors.values()) + _LIFT - lowest
    spent = {
        name: tensor
        for name, tensor in tensors.items()
        if tensor.level - taken < refreshing.input_level
    }
    if not spent:
        return node
    fresh = dict(zip(spent, _refreshed_together(executor, list(spent.values())), strict=True))
    return with_sources(node, {name: each.source for name, each in {**tensors, **fresh}.items()})


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


def _lowered(node: Node, title: str, parameters: Parameters) -> Lowered:
    """The plan; where it takes more levels than there are, the one that takes the fewest."""
    slots = parameters.slots
    with suppress(LevelExhaustedError):
        return lower(title, [node], slots)
    with suppress(LevelExhaustedError):
        return lower(title, [node], slots, level_price=_LEVELS_FIRST)
    lifted = lower(title, [node], slots, level_price=_LEVELS_FIRST, lift=_LIFT)
    lowest = min(state.level for state in lifted.program.states if state.level is not None)
    missing = _LIFT - lowest
    depth = parameters.levels + missing
    raise LevelExhaustedError(
        f"cannot compute {title}: needs {missing} level(s) more than the operands have left; make "
        f"the session with depth={depth}, or with bootstrap=True, which refreshes them"
    )


def _slot_bounds(lowered: Lowered, slots: int) -> list[Vector] | None:
    """For each input ciphertext, the largest absolute value of each slot."""
    if not all(source.tensor.encrypted for source, _ in lowered.inputs):
        return None
    bounds: list[Vector] = []
    for source, layout in lowered.inputs:
        known = [value.bound for value in source.tensor.values]
        filled = np.ones((len(known), slots)) if layout.garbage else layout.occupied()
        bounds += [bound * each for bound, each in zip(known, filled, strict=True)]
    return bounds

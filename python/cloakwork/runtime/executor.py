"""Runs a slot program on a backend."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from cloakwork import _native
from cloakwork.base.arguments import integer, optional
from cloakwork.base.itself import Itself
from cloakwork.base.progress import Bar, work_bar
from cloakwork.errors import InvalidArgumentError, RunCancelledError
from cloakwork.programs.slots import (
    Add,
    ClearInput,
    Constant,
    Linear,
    Operation,
    PairedBootstrap,
    Rotate,
    SlotProgram,
    SwitchProduct,
)
from cloakwork.runtime.memory import LiveValues, Stored
from cloakwork.runtime.profile import Measurement, Profile
from cloakwork.runtime.schedule import Schedule, schedule
from cloakwork.runtime.transform_groups import sums_among
from cloakwork.runtime.workers import work_on_threads
from cloakwork.schemes.base import Backend, Leveled, Scheme, Transform, levels_of


class _Live(Leveled, Stored, Protocol):
    """A value that takes memory."""


V = TypeVar("V", bound=_Live)
W = TypeVar("W", bound=Leveled)
V_co = TypeVar("V_co", covariant=True)

# Of one run.
MAX_THREADS = 1024


def run(
    program: SlotProgram,
    backend: Backend[V],
    inputs: Sequence[V],
    *,
    threads: int | None = None,
    profile: Profile | None = None,
    cancel: threading.Event | None = None,
    bounds: Sequence[float | None] | None = None,
    work: Sequence[float] | None = None,
) -> list[V]:
    """Run a program and return its outputs in order; values are freed at their last use.

    Operations that do not wait for each other run at the same time, those first in the
    program first. Results do not depend on the number of threads. A progress bar shows on a
    terminal when the run takes longer than a moment. An interrupt from the keyboard stops the
    run after the operations under way.

    Args:
        program: The program.
        backend: Where it runs.
        inputs: One value per input operation, in order.
        threads: How many operations may run at once, each on all threads of the engine; by
            default as many as the engine has threads. One runs the program in order.
        profile: Filled with what the run took.
        cancel: Set it, from another thread, to stop the run after the operations under way.
        bounds: For each operation the largest absolute value of any slot of its value, None
            where it is not known; see `programs.bounds.value_bounds`. The backend is told, which
            alone would have to assume the worst of every slot.
        work: For each operation the part of the run's work that it is, for the bar; alike for all
            where it is not known. See `runtime.costs.work_of`.

    Raises:
        InvalidArgumentError: The inputs do not fit the program in number or level, the number
            of threads is out of range, `profile` is no Profile, or `cancel` no event.
        RunCancelledError: The run was cancelled.
        CloakworkError: An operation failed; a note names it, the program and the user's line.

    Example:
        >>> from cloakwork.programs.slots import Add, Input, Output
        >>> from cloakwork.schemes.clear_real import ClearBackend, ClearVector
        >>> import numpy as np
        >>> program = SlotProgram("x+x", 2, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
        >>> run(program, ClearBackend(), [ClearVector(np.array([1.0, 2.0]), 0)])[0].slots.tolist()
        [2.0, 4.0]
    """
    plan = schedule(program)
    if len(plan.inputs) != len(inputs):
        raise InvalidArgumentError(
            f"cannot run {program.title}: expected {len(plan.inputs)} inputs, got {len(inputs)}"
        )
    levels = levels_of(program, "inputs")
    for number, expected, value in zip(plan.inputs, levels, inputs, strict=True):
        level = value.level
        if level != expected:
            raise InvalidArgumentError(
                f"cannot run {program.title}: expected {program.line(number)} at level "
                f"{expected}, got level {level}"
            )
    if bounds is not None and len(bounds) != len(program.operations):
        raise InvalidArgumentError(
            f"cannot run {program.title}: expected bounds of its {len(program.operations)} "
            f"values, got {len(bounds)}; programs.bounds.value_bounds gives them"
        )
    action = f"run {program.title}"
    threads = _native.threads() if threads is None else threads
    threads = integer(threads, "threads", action, least=1, most=MAX_THREADS)
    profile = optional(profile, Profile, "profile", action) or Profile()
    cancel = optional(cancel, threading.Event, "cancel", action)
    with work_bar(program.title) as bar:
        followed = None if bar.disable else _Followed(program, work or _alike(program, plan), bar)
        execution = _Execution(program, plan, backend, inputs, bounds, profile, cancel, followed)
        return execution.results(threads)


def run_part(
    program: SlotProgram,
    part: Schedule,
    backend: Backend[V],
    inputs: Sequence[V],
    *,
    threads: int,
    profile: Profile,
    bounds: Sequence[float | None] | None = None,
) -> list[V]:
    """Run some tasks of a program without a bar, and return the values that they are run for.

    Args:
        program: The program.
        part: The tasks; see `runtime.schedule.part_of_schedule`.
        backend: Where they run.
        inputs: One value for each input of the part, in order.
        threads: How many operations may run at once.
        profile: Filled with what the run took.
        bounds: Of all operations of the program; see `run`.

    Raises:
        CloakworkError: An operation failed; a note names it, the program and the user's line.
    """
    execution = _Execution(program, part, backend, inputs, bounds, profile, None, None)
    return execution.results(threads)


def run_in_order(
    program: SlotProgram,
    backend: Backend[W],
    inputs: Sequence[W],
    bounds: Sequence[float | None] | None = None,
) -> list[W]:
    """Run a program on this thread without a bar or a profile: for values that take no memory.

    Args:
        program: The program.
        backend: Where it runs.
        inputs: One value per input operation, in order.
        bounds: See `run`.

    Example:
        >>> from cloakwork.programs.slots import Add, Input, Output
        >>> from cloakwork.schemes.clear_real import ClearBackend, ClearVector
        >>> import numpy as np
        >>> program = SlotProgram("x+x", 2, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
        >>> inputs = [ClearVector(np.array([1.0, 2.0]), 0)]
        >>> run_in_order(program, ClearBackend(), inputs)[0].slots.tolist()
        [2.0, 4.0]
    """
    plan = schedule(program)
    values = _KeptValues(plan, dict(zip(plan.inputs, inputs, strict=True)))
    for numbers in plan.tasks:
        made = _made(numbers, program, plan, backend, values)
        if bounds is not None:
            made = _bounded(numbers, made, backend, bounds)
        values.made.update(zip(numbers, made, strict=True))
    return [values[value] for value in plan.outputs]


@dataclass(frozen=True, slots=True)
class _KeptValues(Generic[W]):
    """Values that nobody frees."""

    plan: Schedule
    made: dict[int, W]

    def __getitem__(self, number: int) -> W:
        return self.made[self.plan.sources[number]]


class _Made(NamedTuple, Generic[V]):
    """What a task made, and what it took."""

    task: int
    thread: int
    start: float
    seconds: float
    values: Sequence[V]


def _alike(program: SlotProgram, plan: Schedule) -> list[float]:
    return [1 / max(1, sum(map(len, plan.tasks)))] * len(program.operations)


@dataclass(frozen=True, slots=True)
class _Followed:
    """A run that a bar follows: how far it is, and in which stage of its program."""

    program: SlotProgram
    work: Sequence[float]
    bar: Bar

    def finish(self, numbers: Sequence[int]) -> None:
        if self.program.stages:
            stage, *_ = self.program.stages[numbers[0]].split(" | ")
            self.bar.set_postfix_str(stage, refresh=False)
        self.bar.update(sum(self.work[number] for number in numbers))


class _Execution(Generic[V]):
    """One run of a program: what is made, and who is told; see `runtime.workers.Work`."""

    def __init__(
        self,
        program: SlotProgram,
        plan: Schedule,
        backend: Backend[V],
        inputs: Sequence[V],
        bounds: Sequence[float | None] | None,
        profile: Profile,
        cancel: threading.Event | None,
        followed: _Followed | None,
    ) -> None:
        self._program = program
        self._plan = plan
        self._backend = backend
        self._bounds = bounds
        self._profile = profile
        self._cancel = cancel
        self._followed = followed
        self._live: LiveValues[V] = LiveValues(plan)
        self._live.add(plan.inputs, inputs)
        self._start = perf_counter()
        profile.operations.clear()

    def results(self, threads: int) -> list[V]:
        """Do all tasks, and give the results."""
        plan = self._plan
        # What waits for one another gains nothing from threads.
        threads = 1 if plan.in_a_row else min(threads, len(plan.tasks))
        try:
            if threads > 1:
                work_on_threads(self, plan, threads)
            else:
                for task in range(len(plan.tasks)):
                    self.require_wanted()
                    self.take_in(self.make(task, 0))
            return [self._live[value] for value in plan.outputs]
        finally:
            self._profile.peak_bytes = self._live.peak_bytes
            self._profile.seconds = perf_counter() - self._start
            # Whoever keeps an error keeps the run with it, but need not keep its values.
            self._live.clear()

    def require_wanted(self) -> None:
        """Raise where the run was cancelled."""
        if self._cancel is not None and self._cancel.is_set():
            raise RunCancelledError(
                f"cannot finish {self._program.title}: it was cancelled after "
                f"{len(self._profile.operations)} operations"
            )

    def make(self, task: int, thread: int) -> _Made[V]:
        """Do a task."""
        numbers = self._plan.tasks[task]
        start = perf_counter()
        try:
            values = _made(numbers, self._program, self._plan, self._backend, self._live)
            if self._bounds is not None:
                values = _bounded(numbers, values, self._backend, self._bounds)
        except Exception as error:
            error.add_note(self._place(numbers))
            raise
        return _Made(task, thread, start, perf_counter() - start, values)

    def take_in(self, made: _Made[V]) -> None:
        """Keep what a task made for its users, and let go of what it was the last to use."""
        numbers = self._plan.tasks[made.task]
        self._live.add(numbers, made.values)
        start, seconds = made.start - self._start, made.seconds / len(numbers)
        for number in numbers:
            kind, nbytes = self._program.operations[number].kind, self._live.sizes[number]
            self._profile.operations.append(
                Measurement(number, kind, start, seconds, made.thread, nbytes)
            )
        self._live.finish(made.task)
        if self._followed is not None:
            self._followed.finish(numbers)

    def _place(self, numbers: Sequence[int]) -> str:
        first, *others = numbers
        origin = self._program.origins[first]
        place = f"in {self._program.title}, operation {self._program.line(first)}"
        if others:
            kinds = {self._program.operations[number].kind for number in numbers}
            what = "rotations made" if kinds == {"rotate"} else "done"
            place += f" and {len(others)} more {what} with it"
        return f"{place}, from {origin}" if origin else place


def _bounded(
    numbers: Sequence[int],
    made: Sequence[W],
    backend: Backend[W],
    bounds: Sequence[float | None],
) -> Sequence[W]:
    """The values of one task, with what is known of their size.

    One that stands for several has the bound of the first.
    """
    found: dict[Itself[W], W] = {}
    for number, value in zip(numbers, made, strict=True):
        if Itself(value) not in found:
            bound = bounds[number]
            found[Itself(value)] = value if bound is None else backend.bounded(value, bound)
    return [found[Itself(value)] for value in made]


def _made(
    numbers: Sequence[int],
    program: SlotProgram,
    plan: Schedule,
    backend: Backend[W],
    values: Values[W],
) -> Sequence[W]:
    """The values of one task."""
    operation = program.operations[numbers[0]]
    if len(numbers) > 1:
        if isinstance(operation, Linear | Add):
            return _summed_transforms(numbers, program, backend, values)
        return _made_together([program.operations[number] for number in numbers], backend, values)
    if numbers[0] in plan.known_sums:
        pairs = [(values[one], values[other]) for one, other in plan.known_sums[numbers[0]].terms]
        return [backend.sum_of_products(*zip(*pairs, strict=True))]
    if numbers[0] in plan.lazy_products:
        left, right = operation.operands
        return [backend.multiply_lazily(values[left], values[right])]
    return [applied(operation, program, backend, values)]


def _made_together(
    operations: Sequence[Operation], backend: Backend[W], values: Values[W]
) -> Sequence[W]:
    match operations:
        case [SwitchProduct(operand=operand), *_]:
            steps = [each.steps for each in operations if isinstance(each, SwitchProduct)]
            rescaled = backend.switch_products_and_rescale(values[operand], steps)
            # Nothing else uses what is not rescaled; the result stands for it as well.
            return [value for each in rescaled for value in (each, each)]
        case [PairedBootstrap(operand=left, other=right, level=level), _]:
            return backend.bootstrap_pair(values[left], values[right], level)
        case [Rotate(operand=operand), *_]:
            steps = [rotation.steps for rotation in operations if isinstance(rotation, Rotate)]
            return backend.rotate_many(values[operand], steps)
        case _:
            raise AssertionError(
                "only rotations, switches that are rescaled, or two bootstraps are done together"
            )


def _summed_transforms(
    numbers: Sequence[int], program: SlotProgram, backend: Backend[W], values: Values[W]
) -> Sequence[W]:
    """The values of transforms that are made together: a sum stands for all that it is made by."""
    sums = sums_among(program, numbers)
    places: dict[int, int] = {}

    def term(number: int) -> tuple[int, Transform]:
        linear = program.operations[number]
        assert isinstance(linear, Linear)
        place = places.setdefault(linear.operand, len(places))
        return place, (linear.diagonals, linear.baby_steps)

    terms = [[term(number) for number in each.transforms] for each in sums]
    made = backend.linear_sums([values[operand] for operand in places], terms)
    by_number = {
        number: value for each, value in zip(sums, made, strict=True) for number in each.members
    }
    return [by_number[number] for number in numbers]


class Values(Protocol[V_co]):
    """The values of a program so far, by number."""

    def __getitem__(self, number: int, /) -> V_co: ...


def applied(
    operation: Operation, program: SlotProgram, backend: Backend[W], values: Values[W]
) -> W:
    """What an operation makes on a backend.

    Args:
        operation: One that is no input, constant or output.
        program: The program, which knows the constants.
        backend: Where it runs.
        values: Its operands, by number.

    Example:
        >>> from cloakwork.programs.slots import Add, Input, Output
        >>> from cloakwork.schemes.clear_real import ClearBackend, ClearVector
        >>> import numpy as np
        >>> program = SlotProgram("x+x", 2, (Input("x", 0), Add(0, 0)), (None,) * 2)
        >>> x = ClearVector(np.array([1.0, 2.0]), 0)
        >>> applied(Add(0, 0), program, ClearBackend(), [x]).slots.tolist()
        [2.0, 4.0]
    """
    constants = [
        _clear(program.operations[number], values, number) for number in operation.operands
    ]
    of_operands = [
        values[number] if constant is None else None
        for number, constant in zip(operation.operands, constants, strict=True)
    ]
    made: W = operation.compute(backend, of_operands, constants)
    return made


def _clear(operation: Operation, values: Values[Any], number: int) -> Any:
    """A clear operand of an operation; None where it is encrypted."""
    match operation:
        case Constant(vector=vector):
            return vector
        case ClearInput():
            return values[number]
        case _:
            return None


def estimated_results(
    scheme: Scheme,
    body: Any,
    input_bounds: Sequence[float] | None = None,
    bounds: Sequence[float | None] | None = None,
) -> list[list[Any]]:
    """Under each parameter set an estimate of every result; nothing of schemes without estimates.

    Over reals the bounds are the largest absolute values of any slot, of inputs and of operations.

    Raises:
        NoiseExhaustedError: Noise would destroy a result.
    """
    return [
        run_in_order(body, backend, inputs, bounds)
        for backend, inputs in scheme.estimators(body, input_bounds)
    ]

"""Runs a slot program on a backend."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from time import perf_counter
from typing import Any, Generic, NoReturn, Protocol, TypeVar, assert_never

from numpy.typing import NDArray
from tqdm import tqdm

from cloakwork import _native
from cloakwork.errors import InvalidArgumentError, RunCancelledError
from cloakwork.programs.slots import (
    Add,
    Basis,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Operation,
    Output,
    Polynomial,
    Program,
    Rescale,
    Rotate,
    RotateSum,
    Sub,
    Vector,
    name_of,
)
from cloakwork.runtime.arguments import integer, optional
from cloakwork.runtime.memory import LiveValues, Stored
from cloakwork.runtime.profile import Measurement, Profile
from cloakwork.runtime.progress import progress_bar
from cloakwork.runtime.ready_queue import ReadyQueue
from cloakwork.runtime.schedule import Schedule, schedule

V = TypeVar("V", bound=Stored)
V_co = TypeVar("V_co", covariant=True)

_MAX_THREADS = 1024
# Tasks by which every thread may run ahead of program order; each may hold a value.
_LOOKAHEAD = 4
# Seconds after which the waiting thread looks whether it was interrupted.
_LONGEST_WAIT = 0.2


class Backend(Protocol[V]):
    """What a backend computes on values V; one method per operation of the program.

    Two are the same in a cheaper way: `multiply_lazily` leaves the product to be
    relinearised by the rescale or rotation that follows, and `rotate_many` makes several
    rotations of one value. Several threads call the methods at once.
    """

    def level(self, value: V) -> int: ...
    def add(self, left: V, right: V) -> V: ...
    def subtract(self, left: V, right: V) -> V: ...
    def add_constant(self, value: V, constant: NDArray[Any]) -> V: ...
    def multiply(self, left: V, right: V) -> V: ...
    def multiply_lazily(self, left: V, right: V) -> V: ...
    def multiply_constant(self, value: V, constant: NDArray[Any]) -> V: ...
    def negate(self, value: V) -> V: ...
    def rotate(self, value: V, steps: int) -> V: ...
    def rotate_many(self, value: V, steps: Sequence[int]) -> Sequence[V]: ...
    def rotate_sum(self, value: V, added: Sequence[int], subtracted: Sequence[int]) -> V: ...
    def linear(self, value: V, diagonals: Mapping[int, Vector], baby_steps: int) -> V: ...
    def polynomial(self, value: V, coefficients: Sequence[float], basis: Basis) -> V: ...
    def rescale(self, value: V) -> V: ...
    def drop_level(self, value: V, level: int) -> V: ...
    def bounded(self, value: V, bound: float) -> V: ...


def run(
    program: Program,
    backend: Backend[V],
    inputs: Sequence[V],
    *,
    threads: int | None = None,
    profile: Profile | None = None,
    cancel: threading.Event | None = None,
    bounds: Sequence[float | None] | None = None,
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
            where it is not known; see `plan.bounds.value_bounds`. The backend is told, which
            alone would have to assume the worst of every slot.

    Raises:
        InvalidArgumentError: The inputs do not fit the program in number or level, the number
            of threads is out of range, or the profile or the event is none.
        RunCancelledError: The run was cancelled.
        CloakworkError: An operation failed; a note names it, the program and the user's line.

    Example:
        >>> from cloakwork.backends.clear import ClearBackend, ClearVector
        >>> import numpy as np
        >>> program = Program("x+x", 2, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
        >>> run(program, ClearBackend(), [ClearVector(np.array([1.0, 2.0]), 0)])[0].slots.tolist()
        [2.0, 4.0]
    """
    wanted = [operation for operation in program.operations if isinstance(operation, Input)]
    if len(wanted) != len(inputs):
        raise InvalidArgumentError(
            f"cannot run {program.title}: expected {len(wanted)} inputs, got {len(inputs)}"
        )
    for entry, value in zip(wanted, inputs, strict=True):
        if backend.level(value) != entry.level:
            raise InvalidArgumentError(
                f"cannot run {program.title}: expected input {entry.name} at level "
                f"{entry.level}, got level {backend.level(value)}"
            )
    if bounds is not None and len(bounds) != len(program.operations):
        raise InvalidArgumentError(
            f"cannot run {program.title}: expected bounds of its {len(program.operations)} "
            f"values, got {len(bounds)}; plan.bounds.value_bounds gives them"
        )
    threads = integer(
        _native.threads() if threads is None else threads,
        "threads",
        f"run {program.title}",
        least=1,
        most=_MAX_THREADS,
    )
    action = f"run {program.title}"
    profile = optional(profile, Profile, "profile", action) or Profile()
    cancel = optional(cancel, threading.Event, "cancel", action) or threading.Event()
    plan = schedule(program)
    threads = max(1, min(threads, len(plan.tasks)))
    with progress_bar(program.title, total=sum(map(len, plan.tasks)), unit="operation") as bar:
        execution = _Execution(program, plan, backend, inputs, threads, profile, cancel, bar)
        execution.bounds = bounds
        try:
            if threads == 1:
                execution.work(0)
            else:
                _work_on_threads(execution, threads)
            return execution.outputs()
        finally:
            execution.close()


def run_in_order(program: Program, backend: Backend[V], inputs: Sequence[V]) -> list[V]:
    """Run a program on this thread without a bar or a profile: for values that cost nothing.

    Args:
        program: The program.
        backend: Where it runs.
        inputs: One value per input operation, in order.

    Example:
        >>> from cloakwork.backends.clear import ClearBackend, ClearVector
        >>> import numpy as np
        >>> program = Program("x+x", 2, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
        >>> inputs = [ClearVector(np.array([1.0, 2.0]), 0)]
        >>> run_in_order(program, ClearBackend(), inputs)[0].slots.tolist()
        [2.0, 4.0]
    """
    plan = schedule(program)
    live: LiveValues[V] = LiveValues(plan)
    entries = [n for n, operation in enumerate(program.operations) if isinstance(operation, Input)]
    live.add(entries, inputs)
    for task, numbers in enumerate(plan.tasks):
        live.add(numbers, _made(numbers, program, plan, backend, live))
        live.finish(task)
    return [live[value] for value in plan.outputs]


def _work_on_threads(execution: _Execution[V], threads: int) -> None:
    # Until all have started, an interrupt would leave behind one that is being started.
    begun = threading.Event()

    def work(thread: int) -> None:
        begun.wait()
        execution.work(thread)

    with ThreadPoolExecutor(threads, thread_name_prefix="cloakwork-run") as pool:
        try:
            futures = [pool.submit(work, thread) for thread in range(threads)]
            begun.set()
            # An interrupt that comes just before a wait does not end it.
            while wait(futures, timeout=_LONGEST_WAIT).not_done:
                pass
        except BaseException:
            execution.stop()
            begun.set()
            raise
    if execution.failed_thread is not None:
        futures[execution.failed_thread].result()


class _Execution(Generic[V]):
    """One run of a program: what is made, what is to do, and who is told."""

    def __init__(
        self,
        program: Program,
        plan: Schedule,
        backend: Backend[V],
        inputs: Sequence[V],
        threads: int,
        profile: Profile,
        cancel: threading.Event,
        bar: tqdm[NoReturn],
    ) -> None:
        self._program = program
        self._plan = plan
        self._backend = backend
        self._profile = profile
        self._cancel = cancel
        self._bar = bar
        self._queue = ReadyQueue(plan, lookahead=_LOOKAHEAD * threads)
        self._live: LiveValues[V] = LiveValues(plan)
        entries = [
            n for n, operation in enumerate(program.operations) if isinstance(operation, Input)
        ]
        self._live.add(entries, inputs)
        # Whoever holds this looks at or changes the queue, the live values, profile and bar.
        self._changed = threading.Condition(threading.Lock())
        self._stopped = False
        self.failed_thread: int | None = None
        self.bounds: Sequence[float | None] | None = None
        self._start = perf_counter()
        profile.operations.clear()

    def work(self, thread: int) -> None:
        """Do tasks until none is left; a failure stops the other threads, too."""
        try:
            while (task := self._next()) is not None:
                self._do(task, thread)
        except BaseException:
            with self._changed:
                if self.failed_thread is None:
                    self.failed_thread = thread
            self.stop()
            raise

    def stop(self) -> None:
        """Let no further task start."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def outputs(self) -> list[V]:
        """The results, once everything is done."""
        return [self._live[value] for value in self._plan.outputs]

    def close(self) -> None:
        """Complete the profile and let go of all values."""
        self._profile.peak_bytes = self._live.peak_bytes
        self._profile.seconds = perf_counter() - self._start
        # Whoever keeps an error keeps the run with it, but need not keep its values.
        self._live.clear()

    def _next(self) -> int | None:
        """The task to do now, after waiting for one; None when there is none to come."""
        with self._changed:
            while not (self._stopped or self._queue.exhausted):
                if self._cancel.is_set():
                    raise RunCancelledError(
                        f"cannot finish {self._program.title}: it was cancelled after "
                        f"{len(self._profile.operations)} operations"
                    )
                task = self._queue.take()
                if task is not None:
                    if self._queue.can_take:
                        self._changed.notify()
                    return task
                self._changed.wait()
            return None

    def _do(self, task: int, thread: int) -> None:
        numbers = self._plan.tasks[task]
        start = perf_counter()
        try:
            made = _made(numbers, self._program, self._plan, self._backend, self._live)
            made = self._bounded(numbers, made)
        except Exception as error:
            error.add_note(self._place(numbers))
            raise
        seconds = (perf_counter() - start) / len(numbers)
        with self._changed:
            for number, value in zip(numbers, made, strict=True):
                kind = name_of(self._program.operations[number])
                self._profile.operations.append(
                    Measurement(number, kind, start - self._start, seconds, thread, value.nbytes)
                )
            self._live.add(numbers, made)
            self._live.finish(task)
            self._queue.finish(task)
            self._bar.update(len(numbers))
            if self._queue.exhausted:
                self._changed.notify_all()

    def _bounded(self, numbers: Sequence[int], made: Sequence[V]) -> Sequence[V]:
        if self.bounds is None:
            return made
        bounds = [self.bounds[number] for number in numbers]
        return [
            value if bound is None else self._backend.bounded(value, bound)
            for value, bound in zip(made, bounds, strict=True)
        ]

    def _place(self, numbers: Sequence[int]) -> str:
        first, *others = numbers
        origin = self._program.origins[first]
        place = f"in {self._program.title}, operation {self._program.line(first)}"
        if others:
            place += f" and {len(others)} more rotations made with it"
        return f"{place}, from {origin}" if origin else place


def _made(
    numbers: Sequence[int],
    program: Program,
    plan: Schedule,
    backend: Backend[V],
    values: LiveValues[V],
) -> Sequence[V]:
    """The values of one task."""
    operations = [program.operations[number] for number in numbers]
    match operations:
        case [Mul(left=left, right=right)] if plan.degrees[numbers[0]] == 2 and _constants(
            program, left, right
        ) == (None, None):
            return [backend.multiply_lazily(values[left], values[right])]
        case [operation]:
            return [applied(operation, program, backend, values)]
        case [Rotate(operand=operand), *_]:
            steps = [rotation.steps for rotation in operations if isinstance(rotation, Rotate)]
            return backend.rotate_many(values[operand], steps)
        case _:
            raise AssertionError("only rotations are done together")


class Values(Protocol[V_co]):
    """The values of a program so far, by number."""

    def __getitem__(self, number: int, /) -> V_co: ...


def applied(operation: Operation, program: Program, backend: Backend[V], values: Values[V]) -> V:
    """What an operation makes on a backend.

    Args:
        operation: One that is no input, constant or output.
        program: The program, which knows the constants.
        backend: Where it runs.
        values: Its operands, by number.

    Example:
        >>> from cloakwork.backends.clear import ClearBackend, ClearVector
        >>> import numpy as np
        >>> program = Program("x+x", 2, (Input("x", 0), Add(0, 0)), (None,) * 2)
        >>> x = ClearVector(np.array([1.0, 2.0]), 0)
        >>> applied(Add(0, 0), program, ClearBackend(), [x]).slots.tolist()
        [2.0, 4.0]
    """
    match operation:
        case Add(left=left, right=right):
            first, second = _constants(program, left, right)
            if second is not None:
                return backend.add_constant(values[left], second.vector)
            if first is not None:
                return backend.add_constant(values[right], first.vector)
            return backend.add(values[left], values[right])
        case Sub(left=left, right=right):
            first, second = _constants(program, left, right)
            if second is not None:
                return backend.add_constant(values[left], -second.vector)
            if first is not None:
                return backend.add_constant(backend.negate(values[right]), first.vector)
            return backend.subtract(values[left], values[right])
        case Mul(left=left, right=right):
            first, second = _constants(program, left, right)
            if second is not None:
                return backend.multiply_constant(values[left], second.vector)
            if first is not None:
                return backend.multiply_constant(values[right], first.vector)
            return backend.multiply(values[left], values[right])
        case Neg(operand=operand):
            return backend.negate(values[operand])
        case Rotate(operand=operand, steps=steps):
            return backend.rotate(values[operand], steps)
        case RotateSum(operand=operand, added=added, subtracted=subtracted):
            return backend.rotate_sum(values[operand], added, subtracted)
        case Linear(operand=operand, diagonals=diagonals, baby_steps=baby_steps):
            return backend.linear(values[operand], diagonals, baby_steps)
        case Polynomial(operand=operand, coefficients=coefficients, basis=basis):
            return backend.polynomial(values[operand], coefficients, basis)
        case Rescale(operand=operand):
            return backend.rescale(values[operand])
        case DropLevel(operand=operand, level=level):
            return backend.drop_level(values[operand], level)
        case Input() | Constant() | Output():
            raise AssertionError("inputs, constants and outputs are no work")
        case _:
            assert_never(operation)


def _constants(program: Program, left: int, right: int) -> tuple[Constant | None, Constant | None]:
    first, second = program.operations[left], program.operations[right]
    return (
        first if isinstance(first, Constant) else None,
        second if isinstance(second, Constant) else None,
    )

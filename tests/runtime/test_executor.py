"""Running programs, on the clear backend."""

from __future__ import annotations

import io
import re
import signal
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork import _native
from cloakwork._native import Parameters
from cloakwork.base import progress
from cloakwork.errors import InvalidArgumentError, RunCancelledError
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Output,
    PairedBootstrap,
    Polynomial,
    Rescale,
    Rotate,
    SlotProgram,
    Sub,
)
from cloakwork.runtime.executor import estimated_results, run
from cloakwork.runtime.profile import Profile
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.clear_real import ClearBackend, ClearVector
from tests.runtime.slot_programs import programs

SLOTS = 16
RNG = np.random.default_rng(5)
X, Y, C = (RNG.uniform(-1, 1, SLOTS) for _ in range(3))


def result(program: SlotProgram, *inputs: np.ndarray) -> np.ndarray:
    (output,) = run(program, ClearBackend(), [ClearVector(array, 3) for array in inputs])
    assert output.level == program.states[-1].level
    return np.asarray(output.slots)


def test_rotation_is_to_the_left() -> None:
    builder = Builder("", SLOTS)
    builder.append(Output(builder.append(Rotate(builder.append(Input("x", 3)), 5))))
    turned = result(builder.finish(), X)
    assert all(turned[i] == X[(i + 5) % SLOTS] for i in range(SLOTS))


@pytest.mark.parametrize("baby_steps", [1, 2, 4, 16])
def test_linear_is_the_sum_over_diagonals(baby_steps: int) -> None:
    diagonals = {d: RNG.normal(size=SLOTS) for d in (0, 1, 3, 7, 12, 15)}
    builder = Builder("", SLOTS)
    moved = builder.append(Linear(builder.append(Input("x", 3)), diagonals, baby_steps))
    builder.append(Output(builder.append(Rescale(moved))))
    expected = sum(vector * np.roll(X, -d) for d, vector in diagonals.items())
    assert np.allclose(result(builder.finish(), X), expected)


@pytest.mark.parametrize(
    ("kind", "constant_left", "expected"),
    [
        (Add, False, X + C),
        (Add, True, C + X),
        (Sub, False, X - C),
        (Sub, True, C - X),
    ],
)
def test_sums_with_a_constant(
    kind: type[Add] | type[Sub], constant_left: bool, expected: np.ndarray
) -> None:
    builder = Builder("", SLOTS)
    x, c = builder.append(Input("x", 3)), builder.append(Constant(C))
    builder.append(Output(builder.append(kind(c, x) if constant_left else kind(x, c))))
    assert np.allclose(result(builder.finish(), X), expected)


@pytest.mark.parametrize("constant_left", [False, True])
def test_products_with_a_constant(constant_left: bool) -> None:
    builder = Builder("", SLOTS)
    x, c = builder.append(Input("x", 3)), builder.append(Constant(C))
    product = builder.append(Mul(c, x) if constant_left else Mul(x, c))
    builder.append(Output(builder.append(Rescale(product))))
    assert np.allclose(result(builder.finish(), X), X * C)


def test_two_inputs_and_the_rest_of_the_operations() -> None:
    builder = Builder("", SLOTS)
    x, y = builder.append(Input("x", 3)), builder.append(Input("y", 3))
    product = builder.append(Rescale(builder.append(Mul(builder.append(Sub(x, y)), x))))
    lower = builder.append(DropLevel(builder.append(Neg(y)), 2))
    builder.append(Output(builder.append(Add(product, lower))))
    assert np.allclose(result(builder.finish(), X, Y), (X - Y) * X - Y)


def test_polynomials_in_both_bases() -> None:
    for basis, expected in (
        ("monomial", 1 + 2 * X - X**3),
        ("chebyshev", 1 + 2 * X - (4 * X**3 - 3 * X)),
    ):
        builder = Builder("", SLOTS)
        value = builder.append(Input("x", 3))
        polynomial = Polynomial(value, (1.0, 2.0, 0.0, -1.0), basis)  # type: ignore[arg-type]
        builder.append(Output(builder.append(polynomial)))
        assert np.allclose(result(builder.finish(), X), expected)


def test_inputs_are_checked() -> None:
    builder = Builder("doubling", SLOTS)
    x = builder.append(Input("x", 3))
    builder.append(Output(builder.append(Add(x, x))))
    program = builder.finish()
    with pytest.raises(InvalidArgumentError, match="doubling: expected 1 inputs, got 0"):
        run(program, ClearBackend(), [])
    with pytest.raises(InvalidArgumentError, match="input x at level 3, got level 1"):
        run(program, ClearBackend(), [ClearVector(X, 1)])


def test_a_failure_names_operation_and_program() -> None:
    class Broken(ClearBackend):
        def negate(self, value: ClearVector) -> ClearVector:
            raise ArithmeticError("no")

    builder = Builder("the user's words", SLOTS)
    builder.append(Output(builder.append(Neg(builder.append(Input("x", 3))))))
    with pytest.raises(ArithmeticError) as caught:
        run(builder.finish(), Broken(), [ClearVector(X, 3)])
    assert caught.value.__notes__ == ["in the user's words, operation %1 = neg %0"]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_failure_names_the_users_line(threads: int) -> None:
    class Broken(ClearBackend):
        def rotate_many(self, value: ClearVector, steps: Sequence[int]) -> list[ClearVector]:
            raise ArithmeticError("no")

    builder = Builder("model", SLOTS)
    x = builder.append(Input("x", 3))
    for line in (7, 8, 9):
        builder.origin = f"model.py:{line}"
        builder.append(Rotate(x, line))
    with pytest.raises(ArithmeticError) as caught:
        run(builder.finish(), Broken(), [ClearVector(X, 3)], threads=threads)
    assert caught.value.__notes__ == [
        "in model, operation %1 = rotate %0 by 7 and 2 more rotations made with it, from model.py:7"
    ]


def test_a_failure_of_two_bootstraps_at_once_names_both() -> None:
    class Broken(ClearBackend):
        def bootstrap_pair(
            self, left: ClearVector, right: ClearVector, level: int
        ) -> Sequence[ClearVector]:
            raise ArithmeticError("no")

    builder = Builder("model", SLOTS)
    x, y = (builder.append(Input(name, 1)) for name in "xy")
    for one, other in ((x, y), (y, x)):
        builder.append(Output(builder.append(PairedBootstrap(one, 1, 4, other))))
    with pytest.raises(ArithmeticError) as caught:
        run(builder.finish(), Broken(), [ClearVector(X, 1), ClearVector(Y, 1)])
    [note] = caught.value.__notes__
    assert note.startswith("in model, operation %2 = paired_bootstrap %0 %1")
    assert note.endswith("and 1 more done with it")


def chains(count: int, length: int) -> SlotProgram:
    """Chains of negations that do not wait for each other."""
    builder = Builder("chains", SLOTS)
    ends = [builder.append(Input("x", 3))] * count
    for _ in range(length):
        ends = [builder.append(Neg(end)) for end in ends]
    for end in ends:
        builder.append(Output(end))
    return builder.finish()


def threads_left() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("cloakwork-run")]


@settings(deadline=None)
@given(programs(slots=SLOTS, level=3), st.integers(2, 6))
def test_threads_change_no_result(program: SlotProgram, threads: int) -> None:
    inputs = [ClearVector(X, 3), ClearVector(Y, 3)]
    in_order = run(program, ClearBackend(), inputs, threads=1)
    at_once = run(program, ClearBackend(), inputs, threads=threads)
    assert [value.level for value in at_once] == [value.level for value in in_order]
    for found, expected in zip(at_once, in_order, strict=True):
        assert np.array_equal(found.slots, expected.slots)
    assert not threads_left()


def test_operations_that_do_not_wait_for_each_other_run_at_once() -> None:
    together = threading.Barrier(3, timeout=60)

    class Meeting(ClearBackend):
        def negate(self, value: ClearVector) -> ClearVector:
            together.wait()
            return super().negate(value)

    run(chains(3, length=5), Meeting(), [ClearVector(X, 3)], threads=3)


def test_by_default_as_many_operations_run_at_once_as_the_engine_has_threads() -> None:
    before = _native.threads()
    try:
        _native.set_threads(3)
        profile = Profile()
        together = threading.Barrier(3, timeout=60)

        class Meeting(ClearBackend):
            def negate(self, value: ClearVector) -> ClearVector:
                together.wait()
                return super().negate(value)

        run(chains(3, length=1), Meeting(), [ClearVector(X, 3)], profile=profile)
        assert {operation.thread for operation in profile.operations} == {0, 1, 2}
    finally:
        _native.set_threads(before)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2", 10**6])
def test_numbers_of_threads_that_are_refused(threads: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot run chains: expected threads"):
        run(chains(1, 1), ClearBackend(), [ClearVector(X, 3)], threads=threads)


class Tracked(ClearVector):
    """A value that can be watched as it dies."""

    __slots__ = ("__weakref__",)


class Watching(ClearBackend):
    """Counts the values that live, at the start of every negation."""

    def __init__(self) -> None:
        self.living: weakref.WeakSet[ClearVector] = weakref.WeakSet()
        self.most = 0
        self._lock = threading.Lock()

    def negate(self, value: ClearVector) -> ClearVector:
        made = Tracked(-value.slots, value.level)
        with self._lock:
            self.living.add(made)
            self.most = max(self.most, len(self.living))
        return made


def test_values_are_freed_at_their_last_use() -> None:
    backend = Watching()
    run(chains(3, length=40), backend, [ClearVector(X, 3)], threads=1)
    assert backend.most == 4


def test_threads_do_not_run_far_ahead() -> None:
    backend = Watching()
    builder = Builder("", SLOTS)
    x = builder.append(Input("x", 3))
    # Sums of pairs, all of whose first operands could be made at the start.
    total = builder.append(Neg(x))
    for _ in range(500):
        total = builder.append(Add(total, builder.append(Neg(x))))
    builder.append(Output(total))
    run(builder.finish(), backend, [ClearVector(X, 3)], threads=3)
    assert backend.most <= 3 * 4 + 3


@pytest.mark.parametrize("threads", [1, 4])
def test_a_kept_failure_keeps_no_values(threads: int) -> None:
    class Breaking(Watching):
        def add(self, left: ClearVector, right: ClearVector) -> ClearVector:
            raise ArithmeticError("no")

    builder = Builder("", SLOTS)
    values = [builder.append(Input("x", 3))]
    for _ in range(20):
        values.append(builder.append(Neg(values[-1])))
    builder.append(Add(values[-1], values[-1]))
    for value in values:
        builder.append(Output(value))
    backend = Breaking()
    with pytest.raises(ArithmeticError) as caught:
        run(builder.finish(), backend, [ClearVector(X, 3)], threads=threads)
    assert caught.value
    assert backend.most == 20
    # The operands of the operation that failed.
    assert len(backend.living) <= 1
    assert not threads_left()


def test_one_failure_of_several_is_raised_after_all_threads_have_ended() -> None:
    class Broken(ClearBackend):
        def negate(self, value: ClearVector) -> ClearVector:
            together.wait()
            raise ArithmeticError("no")

    together = threading.Barrier(3, timeout=60)
    with pytest.raises(ArithmeticError, match="no") as caught:
        run(chains(9, length=2), Broken(), [ClearVector(X, 3)], threads=3)
    assert len(caught.value.__notes__) == 1
    assert not threads_left()


class Counting(ClearBackend):
    """Does something at its tenth negation."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def negate(self, value: ClearVector) -> ClearVector:
        with self._lock:
            self.count += 1
            if self.count == 10:
                self.act()
        return super().negate(value)

    def act(self) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("threads", [1, 4])
def test_a_run_is_cancelled_after_the_operations_under_way(threads: int) -> None:
    cancel = threading.Event()

    class Cancelling(Counting):
        def act(self) -> None:
            cancel.set()

    backend, profile = Cancelling(), Profile()
    with pytest.raises(RunCancelledError, match="cannot finish chains: it was cancelled after"):
        run(
            chains(8, length=100),
            backend,
            [ClearVector(X, 3)],
            threads=threads,
            profile=profile,
            cancel=cancel,
        )
    assert 10 <= backend.count < 10 + threads
    assert len(profile.operations) <= backend.count
    assert not threads_left()


def test_what_is_no_profile_and_no_event_is_refused_by_name() -> None:
    program = chains(2, length=2)
    for wrong in ({"profile": 3}, {"cancel": True}):
        with pytest.raises(InvalidArgumentError, match=r"cannot run chains: expected .* or None"):
            run(program, ClearBackend(), [ClearVector(X, 3)], **wrong)


def test_a_run_that_is_cancelled_before_it_starts_does_nothing() -> None:
    cancel = threading.Event()
    cancel.set()
    backend = Watching()
    with pytest.raises(RunCancelledError, match="after 0 operations"):
        run(chains(2, length=2), backend, [ClearVector(X, 3)], cancel=cancel)
    assert backend.most == 0


@pytest.mark.parametrize("threads", [1, 4])
def test_an_interrupt_from_the_keyboard_stops_the_run(threads: int) -> None:
    main = threading.get_ident()
    total = 1600

    class Interrupting(Counting):
        def negate(self, value: ClearVector) -> ClearVector:
            time.sleep(0.005)
            return super().negate(value)

        def act(self) -> None:
            signal.pthread_kill(main, signal.SIGINT)

    backend = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        run(chains(8, length=total // 8), backend, [ClearVector(X, 3)], threads=threads)
    assert backend.count < total
    assert not threads_left()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_profile_tells_of_every_operation(threads: int) -> None:
    builder = Builder("", SLOTS)
    x, c = builder.append(Input("x", 3)), builder.append(Constant(C))
    turned = [builder.append(Rotate(x, steps)) for steps in (1, 2, 3)]
    total = builder.append(Add(builder.append(Add(turned[0], turned[1])), turned[2]))
    builder.append(Output(builder.append(Rescale(builder.append(Mul(total, c))))))
    profile = Profile()
    for _ in range(2):
        run(builder.finish(), ClearBackend(), [ClearVector(X, 3)], threads=threads, profile=profile)
    assert sorted((o.number, o.kind) for o in profile.operations) == [
        (2, "rotate"),
        (3, "rotate"),
        (4, "rotate"),
        (5, "add"),
        (6, "add"),
        (7, "mul"),
        (8, "rescale"),
    ]
    for operation in profile.operations:
        assert operation.nbytes == X.nbytes
        assert 0 <= operation.start <= operation.start + operation.seconds <= profile.seconds
        assert 0 <= operation.thread < threads
    assert profile.peak_bytes == 5 * X.nbytes


def test_outputs_may_be_inputs_and_repeat() -> None:
    builder = Builder("", SLOTS)
    x = builder.append(Input("x", 3))
    y = builder.append(Neg(x))
    for value in (y, x, y):
        builder.append(Output(value))
    found = run(builder.finish(), ClearBackend(), [ClearVector(X, 3)])
    for made, expected in zip(found, (-X, X, -X), strict=True):
        assert np.array_equal(made.slots, expected)


class _Told(ClearBackend):
    """Keeps the bounds that it is told."""

    def __init__(self) -> None:
        self.told: list[float] = []

    def bounded(self, value: ClearVector, bound: float) -> ClearVector:
        self.told.append(bound)
        return value


def test_the_backend_is_told_the_bounds_that_are_known() -> None:
    operations = (Input("x", 3), Neg(0), Neg(1), Neg(2), Output(3))
    program = SlotProgram("", SLOTS, operations, (None,) * 5)
    backend = _Told()
    run(program, backend, [ClearVector(X, 3)], threads=1, bounds=[1.0, 2.0, None, 4.0, 4.0])
    assert backend.told == [2.0, 4.0]


def test_bounds_of_other_values_are_refused() -> None:
    program = SlotProgram("negation", SLOTS, (Input("x", 3), Neg(0)), (None,) * 2)
    with pytest.raises(InvalidArgumentError, match="cannot run negation: expected bounds of its 2"):
        run(program, ClearBackend(), [ClearVector(X, 3)], bounds=[1.0])


def test_a_bar_follows_the_work_and_names_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(progress, "_PATIENCE", 1e-9)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    builder = Builder("the network", SLOTS)
    x = builder.append(Input("x", 3))
    for stage in ("conv1 | rows of 4", "conv2 | rows of 4"):
        builder.stage = stage
        # A bar is drawn ten times a second.
        x = builder.append(Add(x, x))
    builder.append(Output(x))

    class Slow(ClearBackend):
        def add(self, left: ClearVector, right: ClearVector) -> ClearVector:
            time.sleep(0.15)
            return super().add(left, right)

    run(builder.finish(), Slow(), [ClearVector(X, 3)], work=[0.0, 0.75, 0.25, 0.0])
    assert re.search(r"the network:  75%.*conv1", terminal.getvalue())
    assert "100%" in terminal.getvalue()
    assert "rows of 4" not in terminal.getvalue()


def test_results_are_bounded_by_the_bounds_of_inputs() -> None:
    program = SlotProgram("x+x", 512, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
    scheme = Ckks(Parameters(levels=0, log_n=10, insecure=True))
    assert estimated_results(scheme, program, [1.0])[0][0].bound == 2.0

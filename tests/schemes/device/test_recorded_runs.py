"""Programs that a device has run before are launched there as a whole, with the same results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Never

import numpy as np
import pytest

import cloakwork as cw
from cloakwork._native import DeviceRecording
from cloakwork.errors import DeviceOperationError, InvalidArgumentError, MemoryBudgetError
from cloakwork.programs.slots import Add, Input, Output, SlotProgram
from cloakwork.runtime import on_device
from cloakwork.runtime.executor import run
from cloakwork.schemes.device import recorded_runs
from cloakwork.schemes.device.staying import on_host
from tests.devices import needs_software
from tests.families import NETWORKS, TENSORS, Family

pytestmark = needs_software
RNG = np.random.default_rng(20)


@pytest.fixture(name="steps")
def _steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The titles of the programs that run step by step on a device."""
    ran: list[str] = []

    def noted(program: SlotProgram, *arguments: Any, **options: Any) -> list[Any]:
        ran.append(program.title)
        return run(program, *arguments, **options)

    monkeypatch.setattr(on_device, "run", noted)
    return ran


@pytest.mark.parametrize("family", [TENSORS, NETWORKS], ids=str)
def test_the_third_run_of_an_evaluator_is_launched_as_a_whole(
    family: Family, steps: list[str]
) -> None:
    client, evaluator = family.program.keygen()
    encrypted = [client.encrypt(**family.arguments) for _ in range(4)]
    expected = [evaluator.run(each).to_bytes() for each in encrypted]
    evaluator.device = "software"
    for number, (inputs, on_cpu) in enumerate(zip(encrypted, expected, strict=True), 1):
        made = evaluator.run(inputs)
        assert made.to_bytes() == on_cpu
        assert family.is_right(client.decrypt(made))
        assert len(steps) == min(number, 2)


def _session() -> cw.Session:
    return cw.Session(depth=2, backend="software", log_n=10, insecure=True)


def _repeated(session: cw.Session, of: cw.Tensor, *operands: cw.Tensor) -> cw.Tensor:
    """What the program that made a tensor makes of other operands."""
    assert of.program is not None
    inputs = [value for operand in operands for value in operand.values]
    return replace(of, values=tuple(session.run(of.program, inputs)))


def test_a_session_launches_the_third_run_of_a_program_as_a_whole(steps: list[str]) -> None:
    session = _session()

    def matrices() -> tuple[Any, list[cw.Tensor]]:
        arrays = RNG.uniform(-1, 1, (2, 4, 4))
        return arrays[0] @ arrays[1], [session.encrypt(each, bound=1.0) for each in arrays]

    product = cw.einsum("ij,jk->ik", *matrices()[1])
    made = []
    # The first has no bounds of its values, as those that follow; the second is recorded.
    for number in range(1, 6):
        expected, operands = matrices()
        made.append((expected, _repeated(session, product, *operands)))
        assert len(steps) == 1 + min(number, 2)
    # What they made stays as it was when the next ones ran.
    for expected, found in made:
        assert np.abs(session.decrypt(found) - expected).max() < 2**-12


def test_what_a_program_made_goes_into_its_next_run(steps: list[str]) -> None:
    session, x = _session(), RNG.uniform(-1, 1, 8)
    tensor = session.encrypt(x, bound=1.0)
    total = tensor + tensor
    # Recorded with an operand whose bound grows each time, it does not fit the next.
    for doublings in range(2, 7):
        total = _repeated(session, total, total)
        assert np.abs(session.decrypt(total) - 2**doublings * x).max() < 2**-9
    assert len(steps) == 6
    assert total.program is not None
    known = session._backend.recorded._known[total.program]
    assert (known.attempts, known.recorded) == (3, None), "it is not recorded for ever"


def test_what_is_to_be_measured_goes_step_by_step(steps: list[str]) -> None:
    client, evaluator = TENSORS.program.keygen()
    evaluator.device = "software"
    inputs = client.encrypt(**TENSORS.arguments)
    for number in range(1, 4):
        profile = cw.Profile()
        evaluator.run(inputs, profile=profile)
        assert profile.operations
        assert len(steps) == number


def test_recordings_give_way_to_programs_that_lack_the_memory(steps: list[str]) -> None:
    session, x = _session(), RNG.uniform(-1, 1, 8)
    tensor = session.encrypt(x, bound=1.0)
    square, total = tensor * tensor, tensor + tensor
    for _ in range(3):
        _repeated(session, square, tensor)
    assert len(steps) == 4
    backend = session._backend
    native = backend.device.native
    free = native.budget - native.used
    assert total.program is not None
    # The recording is in the way of what takes all the rest and a little more; no key is.
    backend._totals[total.program] = free + 1
    backend.require(total.program, 0)
    assert native.budget - native.used > free
    for _ in range(2):
        square = _repeated(session, square, tensor)
    assert len(steps) == 5, "recorded anew, then launched"
    assert np.abs(session.decrypt(square) - x**2).max() < 2**-12


def test_what_fits_step_by_step_runs_though_a_recording_does_not(
    monkeypatch: pytest.MonkeyPatch, steps: list[str]
) -> None:
    session, x = _session(), RNG.uniform(-1, 1, 8)
    tensor = session.encrypt(x, bound=1.0)
    square = tensor * tensor

    def lacking(*_: object) -> Never:
        raise MemoryBudgetError("no memory")

    monkeypatch.setattr(DeviceRecording, "begin", lacking)
    for number in range(1, 6):
        found = _repeated(session, square, tensor)
        assert np.abs(session.decrypt(found) - x**2).max() < 2**-12
        assert len(steps) == 1 + number


def test_the_recordings_of_all_programs_have_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    session, x = _session(), RNG.uniform(-1, 1, 8)
    tensor = session.encrypt(x, bound=1.0)
    made = [tensor * tensor, tensor + tensor, tensor - 0.5]
    for each in made:
        for _ in range(2):
            _repeated(session, each, tensor)
    device = session._backend.device
    kept = [each().recorded for each in device.recorded]
    assert len(kept) >= 3
    assert all(kept[-3:])
    last = kept[-1].nbytes
    part = last / device.native.budget
    monkeypatch.setattr(recorded_runs, "_PART_OF_MEMORY", part)
    session._backend.recorded._keep_within_memory()
    assert [each().recorded is not None for each in device.recorded[-3:]] == [False, False, True]
    for each, factor in zip(made, (x * x, 2 * x, x - 0.5), strict=True):
        found = _repeated(session, each, tensor)
        assert np.abs(session.decrypt(found) - factor).max() < 2**-12


def test_a_recording_whose_constants_have_left_is_made_anew(steps: list[str]) -> None:
    session, x, weights = _session(), RNG.uniform(-1, 1, 8), np.arange(8.0) / 8
    tensor = session.encrypt(x, bound=1.0)
    scaled = tensor * weights
    for _ in range(3):
        _repeated(session, scaled, tensor)
    assert len(steps) == 3
    session._backend._cache.clear()
    # What is encoded again is sent, which cannot be recorded; from then on it is there.
    for expected in (4, 5, 5):
        found = _repeated(session, scaled, tensor)
        assert len(steps) == expected
        assert np.abs(session.decrypt(found) - x * weights).max() < 2**-12


def test_what_cannot_be_recorded_is_not_tried_for_ever(
    monkeypatch: pytest.MonkeyPatch, steps: list[str]
) -> None:
    session, x, weights = _session(), RNG.uniform(-1, 1, 8), np.arange(8.0) / 8
    tensor = session.encrypt(x, bound=1.0)
    scaled = tensor * weights
    # Nothing fits beside the program, so that constants are sent each time.
    monkeypatch.setattr(session._backend, "_fits", lambda nbytes: False)
    session._backend._cache.clear()
    for number in range(1, 8):
        found = _repeated(session, scaled, tensor)
        assert len(steps) == 1 + number
        assert np.abs(session.decrypt(found) - x * weights).max() < 2**-12
    (known,) = [each for each in session._backend.recorded._known.values() if each.attempts]
    assert known.attempts == 3


def test_a_run_that_fails_on_the_way_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    session, x = _session(), RNG.uniform(-1, 1, 8)
    tensor = session.encrypt(x, bound=1.0)
    square = tensor * tensor
    _repeated(session, square, tensor)

    def fails(*_: object) -> Never:
        raise DeviceOperationError("failed")

    with monkeypatch.context() as patched:
        patched.setattr(session._backend, "multiply", fails)
        patched.setattr(session._backend, "multiply_lazily", fails)
        with pytest.raises(DeviceOperationError):
            _repeated(session, square, tensor)
    # Nothing is recorded any more, so that this is, and the next is launched.
    for _ in range(3):
        found = _repeated(session, square, tensor)
        assert np.abs(session.decrypt(found) - x**2).max() < 2**-12
    assert any(each.recorded for each in session._backend.recorded._known.values())


def test_a_recording_that_is_over_is_refused() -> None:
    session = _session()
    tensor = session.encrypt(RNG.uniform(-1, 1, 8), bound=1.0)
    _ = tensor + tensor
    native, send = session._backend.device.native, session._backend.send
    there = [send(on_host(value)) for value in tensor.values]
    recording = DeviceRecording.begin(native, there, 1 << 20)
    assert recording is not None
    assert DeviceRecording.begin(native, there, 1 << 20) is None
    recording.abandon()
    for use in (lambda: recording.inputs, lambda: recording.keep_results([]), recording.finish):
        with pytest.raises(InvalidArgumentError, match="begin another"):
            use()
    again = DeviceRecording.begin(native, there, 1 << 20)
    assert again is not None
    again.abandon()


def test_a_program_that_returns_its_input_goes_step_by_step(steps: list[str]) -> None:
    session = _session()
    (value,) = session.encrypt(RNG.uniform(-1, 1, 8), bound=1.0).values
    operations = (Input("x", value.level), Add(0, 0), Output(0), Output(1))
    program = SlotProgram("x, 2x", session.parameters.slots, operations, (None,) * 4)
    for number in range(1, 5):
        same, _ = session.run(program, [value])
        assert same is value
        assert len(steps) == number

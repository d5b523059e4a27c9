"""State that stays with the evaluator: sums over many steps, restarts, what is refused by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    InputNameError,
    InvalidArgumentError,
    InvalidProgramError,
    KeyMismatchError,
    MalformedBytesError,
    NoiseBudgetError,
    ProgramMismatchError,
    StepMismatchError,
    StepsSpentError,
)
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.programs.bootstraps import HALF, BootstrapBuilder
from cloakwork.programs.gates import GateBuilder, GateKind
from cloakwork.programs.kept_bits import bits_are_renewed, with_kept_bits
from cloakwork.programs.packing.bits import BitPacking
from cloakwork.programs.port import Port
from cloakwork.runtime import container
from cloakwork.runtime.state import Kept
from cloakwork.schemes.tfhe import Tfhe

STEPS = 50
RING: dict[str, Any] = {"log_n": 10, "insecure": True}


def step(total: Any, x: Any) -> Any:
    return total + x, 2 * total - x


def sums(steps: int = STEPS, **options: Any) -> cw.Program:
    return cw.compile(step, cw.state((4,), 0.5, bound=steps + 1, steps=steps), (4,), **options)


def run(
    program: cw.Program, client: cw.Client, evaluator: cw.Evaluator, folder: Path, steps: int
) -> None:
    rng = np.random.default_rng(0)
    total = np.full(4, 0.5)
    state = client.start()
    for day in range(steps):
        x = rng.uniform(-1, 1, 4)
        made = evaluator.run(client.encrypt(x=x), state=state, step=day)
        expected = total + x, 2 * total - x
        total = total + x
        if day in (0, steps // 2, steps - 1):
            for found, each in zip(client.decrypt(made), expected, strict=True):
                assert np.abs(found - each).max() < 2.0**-20
        if day == steps // 2:
            state.save(folder / "state")
            evaluator.save(folder / "evaluator")
            state = cw.load(folder / "state", cw.EncryptedState)
            evaluator = cw.load(folder / "evaluator", cw.Evaluator, insecure=True)
    assert state.step == steps == program.steps
    with pytest.raises(StepsSpentError, match=f"got one of {steps}"):
        evaluator.run(client.encrypt(x=x), state=state)


def test_a_counter_over_50_runs_and_a_restart(tmp_path: Path) -> None:
    program = sums(**RING)
    run(program, *program.keygen(), tmp_path, STEPS)


@pytest.mark.slow
def test_a_counter_at_128_bits(tmp_path: Path) -> None:
    program = sums()
    assert not program.warning
    run(program, *program.keygen(), tmp_path, STEPS)


def test_programs_with_state_have_files_and_interfaces(tmp_path: Path) -> None:
    program = sums(3, **RING)
    program.save(tmp_path / "program")
    loaded = cw.load(tmp_path / "program", cw.Program, insecure=True)
    assert (loaded.fingerprint, loaded.kept) == (program.fingerprint, program.kept)
    assert sums(4, **RING).fingerprint != program.fingerprint
    client = cw.Interface.of(loaded).client()
    run(loaded, client, loaded.evaluator(client.evaluation_keys()), tmp_path, 3)
    one = program.run(x=np.full(4, 0.25))
    for found, expected in zip(one, (np.full(4, 0.75), np.full(4, 0.75)), strict=True):
        assert np.abs(found - expected).max() < 2.0**-20
    in_clear = program.run_clear(total=np.ones(4), x=np.full(4, 0.25))
    assert in_clear[0].tolist() == [1.25] * 4


def test_a_step_is_simulated_from_any_state() -> None:
    program = sums(3, **RING)
    total, x = np.array([0.5, 1, -2, 4]), np.array([0.25, -1, 0, 1])
    found = program.simulate(total, x)
    assert found.outside == ()
    for made, expected in zip(found.outputs, step(total, x), strict=True):
        assert 0 < np.abs(made - expected).max() < 2.0**-15
    assert len(program.simulate(2 * total, x).outside) == 1
    switch = counter(2).compile(threads=1, state={"count": "next"})
    assert switch.simulate(count=2, x=1).outputs == {"next": 3}


def test_a_state_of_another_key_program_or_step_is_refused(tmp_path: Path) -> None:
    program, other = sums(3, **RING), sums(4, **RING)
    client, evaluator = program.keygen()
    stranger, strangers = other.keygen()
    sent, state = client.encrypt(x=np.ones(4)), client.start()
    with pytest.raises(ProgramMismatchError):
        evaluator.run(sent, state=stranger.start())
    with pytest.raises(KeyMismatchError):
        evaluator.run(sent, state=program.keygen()[0].start())
    with pytest.raises(StepMismatchError, match="expected the state of step 1, got that of step 0"):
        evaluator.run(sent, state=state, step=1)
    with pytest.raises(InvalidArgumentError, match="start"):
        evaluator.run(sent)
    with pytest.raises(InputNameError, match="other than its state"):
        evaluator.run([sent, state], state=state)
    with pytest.raises(InputNameError, match="stays with the evaluator"):
        client.encrypt(total=np.ones(4), x=np.ones(4))
    plain, server = cw.compile(lambda x: x, (4,), **RING).keygen()
    with pytest.raises(InvalidArgumentError, match="expected no state, as the program keeps none"):
        server.run(plain.encrypt(x=np.ones(4)), state=state)
    with pytest.raises(InvalidArgumentError, match="keeps none, got a step, 1; leave it out"):
        server.run(plain.encrypt(x=np.ones(4)), step=1)
    with pytest.raises(InvalidArgumentError, match="keeps state"):
        plain.start()
    assert state.step == 0
    assert strangers.program.steps == 4
    evaluator.run(sent, state=state)
    state.save(tmp_path / "state")
    with pytest.raises(MalformedBytesError):
        cw.load(tmp_path / "state", cw.Encrypted)
    record = dict(state._record())
    for name, entry in (("step", -1), ("step", "1"), ("role", "outputs"), ("runs", [])):
        container.write(tmp_path / "state", "state file", {**record, name: entry})
        with pytest.raises(MalformedBytesError):
            cw.load(tmp_path / "state", cw.EncryptedState)


def test_a_run_that_fails_leaves_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    program = sums(3, **RING)
    client, evaluator = program.keygen()
    state = client.start()
    before = state.to_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("cloakwork.runtime.evaluator.next_run", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            evaluator.run(client.encrypt(x=np.ones(4)), state=state)
    assert (state.to_bytes(), state.step) == (before, 0)


def test_steps_that_leave_range_level_or_errors_are_refused() -> None:
    def add(total: Any, x: Any) -> Any:
        return total + x

    with pytest.raises(InvalidProgramError, match="may come to 6 after 1 step"):
        cw.compile(add, cw.state((4,), bound=5), (4,), **RING)
    with pytest.raises(InvalidProgramError, match="after 6 step"):
        cw.compile(add, cw.state((4,), bound=5, steps=9), (4,), **RING)
    with pytest.raises(InvalidProgramError, match="1 levels below"):
        cw.compile(lambda mean, x: 0.5 * mean + 0.5 * x, cw.state((4,)), (4,), **RING)
    with pytest.raises(InvalidProgramError, match="functions"):
        cw.compile(lambda y, x: cw.sigmoid(x) + 0 * y, cw.state((4,)), (4,), **RING)
    states = cw.state((4,), bound=50, steps=5), cw.state((4,), bound=50, steps=5)
    with pytest.raises(InvalidProgramError, match="whole numbers other than 0"):
        cw.compile(lambda y, x: 0 * y + x, states[0], (4,), **RING)
    with pytest.raises(InvalidProgramError, match="no step reads its state 'y'; leave that"):
        cw.compile(lambda y, x: x, states[0], (4,), **RING)
    with pytest.raises(InvalidProgramError, match="no step reads its state 'b'; leave that"):
        cw.compile(lambda a, b, x: (a + x, a), *states, (4,), **RING)
    before = cw.compile(lambda x: 1 * x, (4,), **RING)
    with pytest.raises(InvalidProgramError, match="results of other programs, x, beside"):
        cw.compile(add, states[0], cw.result(before), **RING)
    with pytest.raises(InvalidArgumentError, match="the next states first"):
        cw.compile(lambda total, x: (total + x).sum(), cw.state((4,), bound=5), (4,), **RING)
    for initial in (2.0, np.nan, "x", None, [0.5]):
        with pytest.raises(InvalidArgumentError, match="a number from -1 to 1, got"):
            cw.state((4,), initial)  # type: ignore[arg-type]
    for steps in (0, 1 << 13, 2.5):
        with pytest.raises(InvalidArgumentError):
            cw.state((4,), steps=steps)  # type: ignore[arg-type]


def test_errors_that_grow_ask_for_a_number_of_steps() -> None:
    with pytest.raises(NoiseBudgetError, match="grow with every step"):
        cw.compile(lambda y, x: y + x, cw.state((4,)), cw.Spec((4,), 2.0**-45), **RING)
    program = cw.compile(lambda y: -y, cw.state((4,)), **RING)
    assert program.steps is None


def counter(bits: int) -> Circuit:
    """One more where x is 1, as so many bits hold it."""
    builder = GateBuilder("counter", (Port("count", "unsigned", bits), Port("x", "unsigned", 1)))
    carry, following = bits, []
    for bit in range(bits):
        following.append(builder.append(GateKind.XOR, bit, carry))
        carry = builder.append(GateKind.AND, bit, carry)
    builder.output(Port("next", "unsigned", bits), following)
    return Circuit(builder.finish())


@pytest.mark.parametrize(
    ("bits", "steps"), [(2, 5), pytest.param(6, STEPS, marks=pytest.mark.slow)]
)
def test_a_counter_of_bits_and_a_restart(bits: int, steps: int, tmp_path: Path) -> None:
    program = counter(bits).compile(threads=1, state={"count": "next"})
    assert program.steps is None
    client, evaluator = program.keygen()
    state = client.start()
    for step in range(steps):
        made = evaluator.run(client.encrypt(x=1), state=state, step=step)
        if step in (steps // 2, steps - 1):
            assert client.decrypt(made) == {"next": (step + 1) % (1 << bits)}
            state.save(tmp_path / "state")
            program.save(tmp_path / "program")
            state = cw.load(tmp_path / "state", cw.EncryptedState)
    loaded = cw.load(tmp_path / "program", cw.Program)
    assert (loaded.kept, loaded.fingerprint) == (program.kept, program.fingerprint)
    with pytest.raises(KeyMismatchError):
        evaluator.run(client.encrypt(x=1), state=program.keygen()[0].start())


def test_a_state_may_be_all_that_is_encrypted() -> None:
    program = cw.compile(lambda count: count + 1, cw.state((2,), bound=9, steps=8), **RING)
    client, evaluator = program.keygen()
    state = client.start()
    given: list[Any] = [[], client.encrypt(), []]
    for day, sent in enumerate(given):
        made = evaluator.run(sent, state=state, step=day)
        assert np.abs(client.decrypt(made) - (day + 1)).max() < 2.0**-20
    assert np.abs(program.run() - 1).max() < 2.0**-20
    for refused in ([], [None]):
        with pytest.raises(InvalidArgumentError):
            evaluator.run(refused)  # type: ignore[arg-type]
    of_bits, server = counter(2).compile(threads=1, state={"count": "next"}).keygen()
    state = of_bits.start()
    for count in (1, 2, 3, 0):
        assert of_bits.decrypt(server.run([], {"x": 1}, state=state)) == {"next": count}
    with pytest.raises(InputNameError, match="got none for x"):
        server.run([], state=state)
    with pytest.raises(InputNameError, match="expected one or more of the inputs x, got none"):
        of_bits.encrypt()


def test_bits_that_are_not_renewed_are_no_state() -> None:
    circuit = counter(2)
    for state in ({"count": "no"}, {"no": "next"}, {"x": "next"}):
        with pytest.raises(InvalidProgramError):
            circuit.compile(threads=1, state=state)
    with pytest.raises(InvalidArgumentError, match="outputs by the names of inputs"):
        circuit.compile(threads=1, state=["count"])  # type: ignore[arg-type]
    plain = circuit.compile(threads=1)
    with pytest.raises(InvalidProgramError, match="not encoded as the result"):
        replace(plain, kept=(Kept("count", "next", 0),))
    noisy = counter(2).compile(threads=1, state={"count": "next"})
    assert noisy.log2_failure < -120


def test_bits_that_no_bootstrap_renews_are_no_state() -> None:
    builder = BootstrapBuilder("same", (Port("a", "bits", 1), Port("x", "bits", 1)))
    total = builder.linear([(builder.input(0, HALF), 1), (builder.input(1, HALF), 1)], 0)
    builder.output(Port("next", "bits", 1), [total], [HALF])
    body = builder.finish()
    plain = cw.Program(Tfhe("space4"), body, BitPacking(body.inputs, body.outputs))
    with pytest.raises(InvalidProgramError, match="not renewed"):
        replace(plain, kept=(Kept("a", "next", 0),))
    renewed = with_kept_bits(body, {"a": "next"})
    assert (renewed.bootstrap_count, bits_are_renewed(renewed, [(0, 0)])) == (2, True)

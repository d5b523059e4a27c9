"""The native module on bits: conversions, errors, callbacks and the interpreter lock."""

import math
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloakwork import _native, errors
from cloakwork._native import (
    BooleanCiphertexts,
    BooleanEvaluationKey,
    BooleanParameters,
    BooleanPublicKey,
    BooleanSecretKey,
    BootstrapProgram,
)

HALF, QUARTER, EIGHTH = 1 << 31, 1 << 30, 1 << 29
TURN = 1 << 32
SECRET = BooleanSecretKey.generate(BooleanParameters("space4"))
KEY = SECRET.evaluation_key()


def words(*numbers: int) -> NDArray[np.uint32]:
    return np.array(numbers, dtype=np.uint32)


def encrypt(bits: list[int], encoding: int = QUARTER) -> BooleanCiphertexts:
    return SECRET.encrypt(np.array(bits, np.uint8), np.full(len(bits), encoding, np.uint32))


def decrypt(ciphertexts: BooleanCiphertexts, encoding: int = QUARTER) -> list[int]:
    encodings = np.full(len(ciphertexts), encoding, np.uint32)
    return [int(bit) for bit in SECRET.decrypt(ciphertexts, encodings)]


def gates(pairs: list[tuple[int, int]], inputs: int, outputs: list[int]) -> BootstrapProgram:
    """The AND of each pair of signals, quarter bits, as a quarter bit."""
    n = len(pairs)
    return BootstrapProgram(
        inputs=inputs,
        kinds=np.ones(n, np.uint8),
        term_starts=np.arange(0, 2 * n + 1, 2, dtype=np.uint32),
        term_signals=np.array(pairs, np.uint32).reshape(-1),
        term_weights=np.ones(2 * n, np.int32),
        constants=np.zeros(n, np.uint32),
        message_bits=np.full(n, 2, np.uint8),
        output_starts=np.arange(n + 1, dtype=np.uint32),
        tables=np.full(2 * n, TURN - EIGHTH, np.uint32),
        output_constants=np.full(n, EIGHTH, np.uint32),
        output_signals=np.array(outputs, np.uint32),
    )


def chain(length: int) -> BootstrapProgram:
    """The AND of a bit with itself, again and again."""
    return gates([(n, n) for n in range(length)], 1, [length])


def exclusive_or() -> dict[str, NDArray[np.generic]]:
    return {
        "kinds": np.zeros(1, np.uint8),
        "term_starts": words(0, 2),
        "term_signals": words(0, 1),
        "term_weights": np.ones(2, np.int32),
        "constants": words(0),
        "message_bits": np.zeros(1, np.uint8),
        "output_starts": words(0, 1),
        "tables": words(),
        "output_constants": words(0),
        "output_signals": words(2),
    }


@pytest.mark.parametrize("threads", [1, 2, None])
def test_gates_compute(threads: int | None) -> None:
    pairs = [(a, b) for a in range(2) for b in range(2)]
    program = gates([*pairs, (2, 3), (5, 5)], 2, list(range(2, 8)))
    outputs = KEY.run(program, encrypt([0, 1]), threads=threads)
    assert decrypt(outputs) == [0, 0, 0, 1, 0, 1]
    assert (program.inputs, program.outputs, program.bootstraps, program.depth) == (2, 6, 6, 2)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=8))
def test_sums_of_half_bits_are_exclusive_ors(pairs: list[tuple[int, int]]) -> None:
    program = BootstrapProgram(inputs=2, **exclusive_or())  # type: ignore[arg-type]
    for pair in pairs:
        outputs = KEY.run(program, encrypt(list(pair), HALF), threads=1)
        assert decrypt(outputs, HALF) == [pair[0] ^ pair[1]]


def test_everything_comes_back_from_bytes() -> None:
    secret = BooleanSecretKey.from_bytes(SECRET.to_bytes())
    key = BooleanEvaluationKey.from_bytes(KEY.to_bytes())
    inputs = BooleanCiphertexts.from_bytes(encrypt([1, 1]).to_bytes())
    outputs = key.run(gates([(0, 1)], 2, [2, 0]), inputs, threads=1)
    assert secret.decrypt(outputs, words(QUARTER, QUARTER)).tolist() == [1, 1]
    assert secret.parameters.name == key.parameters.name == outputs.parameters.name == "space4"
    assert len(KEY.to_bytes()) < KEY.nbytes / 5
    assert outputs.nbytes == 2 * outputs.parameters.lwe_bytes


@pytest.mark.parametrize("kind", [BooleanSecretKey, BooleanEvaluationKey, BooleanCiphertexts])
def test_damaged_bytes_are_refused(
    kind: type[BooleanSecretKey | BooleanEvaluationKey | BooleanCiphertexts],
) -> None:
    objects: Any = {
        BooleanSecretKey: SECRET,
        BooleanEvaluationKey: KEY,
        BooleanCiphertexts: encrypt([1]),
    }
    read: Any = kind.from_bytes
    data = objects[kind].to_bytes()
    of_another = encrypt([1]) if kind is not BooleanCiphertexts else KEY
    other = of_another.to_bytes()
    for bad in (b"", data[:40], data[:-1], data + b"\0", other, data[:60] + b"?" + data[61:]):
        with pytest.raises(errors.MalformedBytesError, match="cannot read"):
            read(type(data)(bad))


def test_lists_are_joined_and_chosen_from() -> None:
    bits = encrypt([1, 0]).concatenate([encrypt([1]), encrypt([])])
    assert decrypt(bits) == [1, 0, 1]
    assert decrypt(bits.select([2, 1, 1])) == [1, 0, 0]
    with pytest.raises(errors.InvalidArgumentError, match="expected places below 3"):
        bits.select([3])
    with pytest.raises(errors.InvalidArgumentError):
        bits.select([-1])


def test_noise_is_as_stated() -> None:
    count = 200
    noise = SECRET.noise(encrypt([1, 0] * count), np.full(2 * count, QUARTER, np.uint32))
    stated = _native.boolean_noise("space4")["fresh_variance"]
    assert 0.5 * stated < float(np.mean(noise**2)) < 2 * stated


def test_every_set_is_described() -> None:
    names = _native.boolean_parameter_sets()
    assert len(names) == len(set(names)) > 1
    for name in names:
        parameters, noise = BooleanParameters(name), _native.boolean_noise(name)
        margin = 0.5 / 2**parameters.max_message_bits
        variance = 2 * noise["bootstrap_variance"] + noise["switch_variance"][0]
        assert math.erfc(margin / math.sqrt(2 * variance)) < 2**-64
        assert noise["switch_variance"] == sorted(noise["switch_variance"])
        assert noise["fresh_variance"] < noise["bootstrap_variance"]
    seconds = _native.boolean_seconds(names[0], 1)
    assert len(seconds["bootstrap"]) == len(seconds["lone_bootstrap"]) == 3
    assert 0 < seconds["linear"] < seconds["gate"]


def test_a_public_key_encrypts_and_does_nothing_else() -> None:
    public = SECRET.public_key()
    assert (public.label, public.parameters.name) == (SECRET.label, "space4")
    sent = BooleanPublicKey.from_bytes(public.to_bytes())
    assert sent.to_bytes() == public.to_bytes()
    bits = np.array([1, 0, 1], np.uint8)
    encrypted = sent.encrypt(bits, np.full(3, QUARTER, np.uint32))
    assert decrypt(encrypted) == [1, 0, 1]
    assert decrypt(KEY.run(gates([(0, 2), (0, 1)], 3, [3, 4]), encrypted)) == [1, 0]
    assert not hasattr(public, "decrypt")
    with pytest.raises(errors.MalformedBytesError):
        BooleanSecretKey.from_bytes(bytearray(public.to_bytes()))
    with pytest.raises(errors.InvalidArgumentError):
        public.encrypt(bits, words(QUARTER))
    noise = _native.boolean_noise("space4")
    measured = sent.encrypt(np.zeros(200, np.uint8), np.full(200, HALF, np.uint32))
    variance = float(np.mean(SECRET.noise(measured, np.full(200, HALF, np.uint32)) ** 2))
    assert 0.5 < variance / noise["public_variance"] < 2
    assert noise["fresh_variance"] < noise["public_variance"]


def test_a_run_reports_when_bootstraps_were_made() -> None:
    pairs = [(0, 1)] * 6
    program, inputs = gates(pairs, 2, list(range(2, 8))), encrypt([1, 1])
    outputs, (nodes, starts, seconds, threads) = KEY.run_timed(program, inputs, threads=2)
    assert decrypt(outputs) == [1] * 6
    assert sorted(nodes.tolist()) == list(range(6))
    assert (starts >= 0).all()
    assert (seconds > 0).all()
    assert set(threads.tolist()) <= {0, 1}
    for thread in (0, 1):
        own = np.flatnonzero(threads == thread)
        ends = starts[own] + seconds[own]
        assert (ends[:-1] <= starts[own][1:] + 1e-6).all()


def test_failures_are_stated_and_inverted() -> None:
    assert _native.boolean_log2_failure(1.0, 1.0) == pytest.approx(math.log2(math.erfc(0.5**0.5)))
    for log2 in (-40.0, -64.0, -128.0, -500.0):
        largest = _native.boolean_largest_variance(0.125, log2)
        assert _native.boolean_log2_failure(0.125, largest) == pytest.approx(log2)
    with pytest.raises(errors.InvalidArgumentError):
        _native.boolean_largest_variance(0.0, -64.0)
    program = gates([(0, 1)], 2, [2])
    worst, total = program.log2_failure(
        words(QUARTER),
        input_variance=1e-5,
        bootstrap_variance=1e-6,
        switch_variance=[2e-5],
    )
    assert worst == pytest.approx(_native.boolean_log2_failure(0.125, 4e-5))
    assert worst <= total < worst + 0.01


def test_keys_and_parameters_are_not_mixed() -> None:
    program, inputs = chain(1), encrypt([1])
    other = BooleanSecretKey.generate(BooleanParameters("space4"))
    with pytest.raises(errors.KeyMismatchError):
        other.decrypt(inputs, words(QUARTER))
    with pytest.raises(errors.KeyMismatchError):
        KEY.run(program, other.encrypt(np.ones(1, np.uint8), words(QUARTER)))
    wider = BooleanSecretKey.generate(BooleanParameters("space8"))
    with pytest.raises(errors.ParametersMismatchError, match="expected parameters space8"):
        wider.decrypt(inputs, words(QUARTER))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: BooleanParameters("space5"), errors.InvalidArgumentError),
        (lambda: _native.boolean_noise(""), errors.InvalidArgumentError),
        (lambda: _native.boolean_seconds("space4", 0), errors.InvalidArgumentError),
        (lambda: encrypt([2]), errors.InvalidArgumentError),
        (lambda: SECRET.encrypt(np.ones(2, np.uint8), words(1)), errors.InvalidArgumentError),
        (lambda: SECRET.encrypt(np.ones(2), words(1, 1)), TypeError),  # type: ignore[arg-type]
        (lambda: SECRET.encrypt([1], words(1)), TypeError),  # type: ignore[arg-type]
        (lambda: KEY.run(chain(1), encrypt([1, 1])), errors.InvalidArgumentError),
        (lambda: KEY.run(chain(1), encrypt([1]), threads=0), errors.InvalidArgumentError),
        (lambda: KEY.run(chain(1), encrypt([1]), threads=-1), errors.InvalidArgumentError),
        (lambda: gates([(0, 2)], 2, [2]), errors.InvalidProgramError),
        (lambda: gates([(0, 1)], 2, [3]), errors.InvalidProgramError),
        (lambda: gates([], 2**32 - 1, []), errors.InvalidProgramError),
        (lambda: gates([], 2**60, []), errors.InvalidProgramError),
    ],
)
def test_refusals(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("array", sorted(exclusive_or()))
def test_programs_with_an_array_too_long_are_refused(array: str) -> None:
    arrays = exclusive_or()
    arrays[array] = np.append(arrays[array], arrays[array].dtype.type(9))
    with pytest.raises(errors.InvalidProgramError, match="cannot take a bootstrap program"):
        BootstrapProgram(inputs=2, **arrays)  # type: ignore[arg-type]


def test_arrays_may_be_strided_and_are_copied() -> None:
    bits = np.array([1, 9, 0, 9], np.uint8)
    encrypted = SECRET.encrypt(bits[::2], np.full(4, QUARTER, np.uint32)[::2])
    bits[:] = 0
    assert decrypt(encrypted) == [1, 0]


def test_progress_ends_with_everything() -> None:
    heard: list[tuple[int, int]] = []
    KEY.run(chain(12), encrypt([1]), threads=2, progress=lambda *counts: heard.append(counts))
    assert heard[0] == (0, 12)
    assert heard[-1] == (12, 12)
    assert heard == sorted(heard)


def test_a_run_is_cancelled_from_another_thread() -> None:
    cancel = threading.Event()
    timer = threading.Timer(0.3, cancel.set)
    timer.start()
    with pytest.raises(errors.RunCancelledError, match="of 100000 bootstraps"):
        KEY.run(chain(100_000), encrypt([1]), cancel=cancel)
    timer.join()
    with pytest.raises(errors.RunCancelledError, match="after 0 of"):
        KEY.run(chain(1), encrypt([1]), cancel=cancel)


def test_an_exception_of_progress_stops_the_run() -> None:
    def fail(*counts: int) -> None:
        if counts[0]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        KEY.run(chain(100_000), encrypt([1]), progress=fail)


def test_a_run_leaves_the_interpreter_to_others() -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.wait(0.001):
            counted += 1

    counter = threading.Thread(target=count)
    counter.start()
    KEY.run(chain(30), encrypt([1]), threads=1)
    done.set()
    counter.join()
    assert counted > 5


@pytest.mark.slow
def test_an_interrupt_from_the_keyboard_stops_a_run() -> None:
    script = """
import signal, threading
import numpy as np
from tests.native.test_boolean_native import KEY, chain, encrypt

threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
try:
    KEY.run(chain(1_000_000), encrypt([1]))
except KeyboardInterrupt:
    print("interrupted")
"""
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert ran.stdout.strip() == b"interrupted", ran.stderr


def test_nothing_prints_a_secret() -> None:
    assert repr(SECRET) == "BooleanSecretKey(space4)"
    assert repr(encrypt([1, 0])) == "BooleanCiphertexts(space4, 2 LWE ciphertexts)"
    assert "bytes" in repr(KEY)
    assert repr(chain(2)) == "BootstrapProgram(1 inputs, 2 nodes, 1 outputs)"
    assert repr(SECRET.parameters) == "BooleanParameters(space4)"

"""Client and evaluator of bits: results as in the clear, and what they refuse."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork.plan.cost.measured_tfhe import measured_target, measured_targets
from cloakwork.runtime.boolean_roles import BooleanClient, BooleanEvaluator, EncryptedBits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cloakwork._native import BooleanEvaluationKey, BooleanParameters, BooleanSecretKey
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    KeyMismatchError,
    NotRealError,
    ParametersMismatchError,
    ProgramMismatchError,
    RunCancelledError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.boolean.circuit import BooleanProgram
from cloakwork.plan.boolean.map import map_gates
from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder, BootstrapProgram
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.packing.bits import results_of_bits
from cloakwork.programs.port import Port
from tests.plan.boolean.circuits import rectifier
from tests.programs.random_gates import gate_programs


@cache
def keys(name: str) -> tuple[BooleanSecretKey, BooleanEvaluationKey]:
    secret = BooleanSecretKey.generate(BooleanParameters(name))
    return secret, secret.evaluation_key()


def roles(program: BootstrapProgram, name: str) -> tuple[BooleanClient, BooleanEvaluator]:
    """Both parties, with the same keys for all programs."""
    secret, key = keys(name)
    return BooleanClient(secret, program), BooleanEvaluator(key, program)


def mapped_roles(program: GateProgram) -> tuple[BooleanClient, BooleanEvaluator]:
    mapped = map_gates(program, MAPPED.target, 1)
    return roles(mapped.program, mapped.target.name)


def greater(bits: int, title: str = "greater") -> GateProgram:
    """Whether a is above b, and the bits in which they differ."""
    builder = GateBuilder(title, (Port("a", "unsigned", bits), Port("b", "unsigned", bits)))
    differ = [builder.append(GateKind.XOR, bit, bits + bit) for bit in range(bits)]
    above = builder.append(GateKind.ZERO)
    for bit in range(bits):
        above = builder.append(GateKind.MUX, differ[bit], bit, above)
    builder.output(Port("above", "unsigned", 1), [above])
    builder.output(Port("differ", "bits", bits), differ)
    return builder.finish()


PROGRAM = BooleanProgram(greater(3))
MAPPED = map_gates(PROGRAM.gates, measured_target("boxes4"), 1)
CLIENT, EVALUATOR = roles(MAPPED.program, MAPPED.target.name)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=gate_programs(), data=st.data())
def test_random_programs_do_on_ciphertexts_what_they_do_in_the_clear(
    program: GateProgram, data: st.DataObject
) -> None:
    count = sum(port.bits for port in program.inputs)
    drawn = data.draw(st.lists(st.integers(0, 1), min_size=count, max_size=count))
    bits = np.array(drawn, np.uint8).reshape(1, count)
    values = results_of_bits(program.inputs, bits, many=False)
    clear = data.draw(st.sets(st.sampled_from([port.name for port in program.inputs] or [""])))
    threads = data.draw(st.sampled_from([1, 2, 1000]))
    mapped = map_gates(program, data.draw(st.sampled_from(measured_targets())), threads)
    client, evaluator = roles(mapped.program, mapped.target.name)
    hidden = {name: value for name, value in values.items() if name not in clear}
    known = {name: value for name, value in values.items() if name in clear}
    made = client.decrypt(evaluator.run(client.encrypt(**hidden), known, threads=2))
    expected = BooleanProgram(program).run_clear(**values)
    assert list(made) == list(expected)
    for name, value in expected.items():
        assert type(made[name]) is type(value)
        assert np.array_equal(made[name], value)


@pytest.mark.parametrize("name", ["boxes4", "boxes8", "boxes16"])
def test_every_parameter_set_runs_programs_mapped_for_it(name: str) -> None:
    mapped = map_gates(greater(4), measured_target(name), 1)
    client, evaluator = roles(mapped.program, name)
    for a, b in [(3, 12), (12, 3), (7, 7)]:
        made = client.decrypt(evaluator.run(client.encrypt(a=a, b=b)))
        assert made["above"] == int(a > b)
        assert made["differ"].tolist() == [(a ^ b) >> bit & 1 for bit in range(4)]


@pytest.mark.parametrize(("name", "bootstraps"), [("boxes4", 7), ("boxes8", 4), ("boxes16", 3)])
def test_ands_that_share_an_operand_are_right_on_ciphertexts(name: str, bootstraps: int) -> None:
    mapped = map_gates(rectifier(1, 8), measured_target(name), 1)
    assert mapped.program.bootstrap_count == bootstraps
    client, evaluator = roles(mapped.program, name)
    for x in (-128, -1, 0, 85, 106, 127):
        assert client.decrypt(evaluator.run(client.encrypt(x=[x])))["y"].tolist() == [max(x, 0)]


@pytest.mark.parametrize("known", [(), ("a",), ("b",), ("a", "b")])
def test_inputs_in_the_clear_give_what_encrypted_ones_give(known: tuple[str, ...]) -> None:
    values = {"a": 5, "b": 3}
    hidden = {name: value for name, value in values.items() if name not in known}
    encrypted = CLIENT.encrypt(**hidden)
    assert [port.name for port in encrypted.ports] == list(hidden)
    made = CLIENT.decrypt(EVALUATOR.run(encrypted, {name: values[name] for name in known}))
    assert made["above"] == 1
    assert made["differ"].tolist() == [0, 1, 1]


def test_inputs_are_named_in_any_order() -> None:
    made = CLIENT.decrypt(EVALUATOR.run(CLIENT.encrypt(b=6, a=1)))
    assert made["above"] == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: CLIENT.encrypt(c=1), InvalidArgumentError, "no input 'c'; expected a, b"),
        (lambda: CLIENT.encrypt(a=8), ValueOutOfRangeError, "expected 0 to 7, got 8"),
        (lambda: CLIENT.encrypt(a=-1), ValueOutOfRangeError, "got -1"),
        (lambda: CLIENT.encrypt(a=0.5), NotRealError, "'a'"),
        (lambda: CLIENT.encrypt(a="1"), NotRealError, "'a'"),
        (lambda: CLIENT.encrypt(a=[[1]]), ShapeMismatchError, "'a'"),
        (lambda: CLIENT.encrypt(a=[1, 2]), ShapeMismatchError, "one run, got 2 runs"),
        (lambda: CLIENT.encrypt(a=[1]), ShapeMismatchError, "one run, got 1 runs"),
        (lambda: run(CLIENT.encrypt()), InvalidArgumentError, "got none encrypted and none in"),
        (lambda: run(CLIENT.encrypt(a=1)), InvalidArgumentError, "a encrypted and none in"),
        (lambda: run(CLIENT.encrypt(a=1, b=1), {"a": 1}), InvalidArgumentError, "once"),
        (lambda: run(CLIENT.encrypt(a=1), {"c": 1}), InvalidArgumentError, "no input 'c'"),
        (lambda: run(CLIENT.encrypt(a=1), {3: 1}), InvalidArgumentError, "no input 3"),
        (lambda: run(CLIENT.encrypt(a=1), ["b"]), InvalidArgumentError, "by name, got"),
        (lambda: run(CLIENT.encrypt(a=1), {"b": 8}), ValueOutOfRangeError, "got 8"),
        (lambda: run(CLIENT.encrypt(a=1), {"b": None}), NotRealError, "'b'"),
        (lambda: run(CLIENT.encrypt(a=1), {"b": [1, 2]}), ShapeMismatchError, "got 2 runs"),
        (lambda: run(both(), threads=0), InvalidArgumentError, "from 1 up to 1024, got 0"),
        (lambda: run(both(), threads=1025), InvalidArgumentError, "threads"),
        (lambda: run(both(), threads=True), InvalidArgumentError, "threads"),
        (lambda: run(both(), threads=1.0), InvalidArgumentError, "threads"),
        (
            lambda: run(both(), cancel=True),
            InvalidArgumentError,
            "expected cancel to be a Event or None, got True",
        ),
        (lambda: run(both().ciphertexts), InvalidArgumentError, "expected encrypted bits, got"),
        (lambda: run(run(both())), InvalidArgumentError, "encrypted inputs, got the outputs"),
        (lambda: CLIENT.decrypt(both()), InvalidArgumentError, "encrypted outputs, got the inputs"),
        (lambda: decrypt(None), InvalidArgumentError, "cannot decrypt: expected encrypted bits"),
        (lambda: PROGRAM.keygen(threads=0), InvalidArgumentError, "threads"),
        (lambda: PROGRAM.mapped(threads=2000), InvalidArgumentError, "threads"),
    ],
)
def test_refusals(call: Callable[[], Any], error: type[CloakworkError], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def run(encrypted: Any, clear: Any = None, **settings: Any) -> EncryptedBits:
    return EVALUATOR.run(encrypted, clear, **settings)


def decrypt(encrypted: Any) -> dict[str, Any]:
    return CLIENT.decrypt(encrypted)


def both() -> EncryptedBits:
    return CLIENT.encrypt(a=1, b=2)


def test_bits_of_another_program_are_refused() -> None:
    """Its ports are the same, and so are the keys; its encodings need not be."""
    builder = GateBuilder("xor", PROGRAM.gates.inputs)
    differ = [builder.append(GateKind.XOR, bit, 3 + bit) for bit in range(3)]
    builder.output(Port("above", "unsigned", 1), differ[:1])
    builder.output(Port("differ", "bits", 3), differ)
    other = map_gates(builder.finish(), MAPPED.target, 1)
    assert (other.program.inputs, other.program.outputs) == (
        MAPPED.program.inputs,
        MAPPED.program.outputs,
    )
    client, evaluator = roles(other.program, MAPPED.target.name)
    with pytest.raises(ProgramMismatchError, match="cannot run: the inputs a, b belong to another"):
        EVALUATOR.run(client.encrypt(a=1, b=2))
    with pytest.raises(ProgramMismatchError, match="cannot decrypt: the outputs above, differ"):
        CLIENT.decrypt(evaluator.run(client.encrypt(a=1, b=2)))


def test_a_fingerprint_tells_programs_apart_and_not_their_titles() -> None:
    prints = {
        map_gates(program, MAPPED.target, 1).program.fingerprint
        for program in (greater(2), greater(3), greater(3, "again"))
    }
    assert len(prints) == 2


def test_bits_of_another_key_are_refused() -> None:
    client, evaluator = MAPPED.keygen()
    with pytest.raises(KeyMismatchError):
        EVALUATOR.run(client.encrypt(a=1, b=2))
    with pytest.raises(KeyMismatchError):
        CLIENT.decrypt(evaluator.run(client.encrypt(a=1, b=2)))


def test_bits_of_other_parameters_are_refused() -> None:
    client, evaluator = roles(MAPPED.program, "boxes16")
    with pytest.raises(ParametersMismatchError):
        EVALUATOR.run(client.encrypt(a=1, b=2))
    with pytest.raises(ParametersMismatchError):
        CLIENT.decrypt(evaluator.run(client.encrypt(a=1, b=2)))


def test_a_program_that_the_parameters_are_too_few_for_is_refused() -> None:
    builder = BootstrapBuilder("fine", (Port("a", "bits", 1),))
    terms = [(builder.input(0, QUARTER), 1)]
    made = builder.bootstrap(terms, 0, 3, [(-EIGHTH,) * 4], [EIGHTH])
    builder.output(Port("y", "bits", 1), made, [QUARTER])
    program = builder.finish()
    with pytest.raises(ParametersMismatchError, match=r"make a client.*2\^3 boxes.*boxes4 2\^2"):
        BooleanClient(keys("boxes4")[0], program)
    with pytest.raises(ParametersMismatchError, match="make an evaluator"):
        BooleanEvaluator(keys("boxes4")[1], program)
    roles(program, "boxes8")


def test_a_program_without_inputs() -> None:
    builder = GateBuilder("one", ())
    builder.output(Port("y", "unsigned", 1), [builder.append(GateKind.ONE)])
    client, evaluator = mapped_roles(builder.finish())
    assert client.decrypt(evaluator.run(client.encrypt())) == {"y": 1}


def test_an_input_may_have_any_name() -> None:
    builder = GateBuilder("not", (Port("self", "bits", 1), Port("in 0", "bytes", 8)))
    builder.output(Port("y", "bits", 1), [builder.append(GateKind.NOT, 0)])
    client, evaluator = mapped_roles(builder.finish())
    encrypted = client.encrypt(**{"self": [0], "in 0": b"x"})
    assert client.decrypt(evaluator.run(encrypted))["y"].tolist() == [1]


def test_a_run_is_cancelled() -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(RunCancelledError):
        EVALUATOR.run(both(), cancel=cancel)
    assert CLIENT.decrypt(EVALUATOR.run(both(), cancel=threading.Event()))["above"] == 0


def test_an_interrupt_from_the_keyboard_stops_a_run() -> None:
    script = f"""
import signal, threading
from tests.runtime.test_boolean_roles import greater, mapped_roles

client, evaluator = mapped_roles(greater(400))
encrypted = client.encrypt(a=1, b=2)
threading.Timer(0.3, signal.raise_signal, [{int(signal.SIGINT)}]).start()
try:
    evaluator.run(encrypted)
except KeyboardInterrupt:
    print("interrupted")
"""
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        check=False,
        capture_output=True,
        timeout=120,
    )
    assert ran.stdout.strip() == b"interrupted", ran.stderr


def test_what_is_printed_has_no_bits() -> None:
    assert repr(CLIENT) == f"BooleanClient('greater', {MAPPED.target.name})"
    assert repr(EVALUATOR) == f"BooleanEvaluator('greater', {MAPPED.target.name})"
    encrypted = both()
    assert repr(encrypted) == f"EncryptedBits(inputs a, b; {encrypted.ciphertexts.nbytes} bytes)"

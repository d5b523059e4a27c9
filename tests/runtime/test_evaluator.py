"""Evaluators of every family: results, threads, profiles, limits, and what they refuse."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork._native import BooleanParameters, BooleanSecretKey
from cloakwork.errors import (
    CloakworkError,
    InputNameError,
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    MemoryBudgetError,
    NoiseExhaustedError,
    NotIntegerError,
    ProgramMismatchError,
    RunCancelledError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.plan.boolean.map import map_gates
from cloakwork.plan.cost.tfhe import BitCosts
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.packing.bits import BitPacking, results_of_bits
from cloakwork.programs.port import Port
from cloakwork.programs.slots import Input, SlotProgram
from cloakwork.runtime import container
from cloakwork.runtime.held_memory import matrix_memory
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.schemes.tfhe import Tfhe
from cloakwork.schemes.tfhe_noise import noise_of
from tests.families import (
    BITS,
    CIRCUITS,
    ENCRYPTED,
    FAMILIES,
    NETWORKS,
    SECONDS,
    TENSORS,
    Family,
    greater,
    mapped,
    same,
)
from tests.plan.boolean.circuits import rectifier
from tests.programs.random_gates import gate_programs
from tests.thoroughness import part

every_family = pytest.mark.parametrize("family", FAMILIES, ids=str)
every_encrypted = pytest.mark.parametrize("family", ENCRYPTED, ids=str)
SLOTS = [each for each in FAMILIES if each.name != "bits"]
KEY_ID = bytes(16)


@every_family
@pytest.mark.parametrize("threads", [1, 2, 1000, None])
def test_results_are_right_on_any_number_of_threads(family: Family, threads: int | None) -> None:
    client, evaluator = family.keys()
    made = evaluator.run(family.encrypted(), threads=threads)
    assert made.role == "outputs"
    assert made.ports == tuple(port.name for port in family.program.outputs)
    assert (made.program, made.key_id) == (family.program.fingerprint, family.encrypted().key_id)
    assert family.is_right(client.decrypt(made))


@every_encrypted
def test_threads_change_no_bit(family: Family) -> None:
    _, evaluator = family.keys()
    first, second = (evaluator.run(family.encrypted(), threads=count) for count in (1, 2))
    assert first.to_bytes() == second.to_bytes()


@every_family
def test_an_evaluator_back_from_its_file_is_the_same(family: Family, tmp_path: Path) -> None:
    client, evaluator = family.keys()
    evaluator.save(tmp_path / "evaluator")
    assert stat.S_IMODE((tmp_path / "evaluator").stat().st_mode) == 0o600
    again = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    assert again.program.fingerprint == evaluator.program.fingerprint
    assert family.is_right(client.decrypt(again.run(family.encrypted())))
    assert again.key_bytes == evaluator.key_bytes
    assert repr(again) == repr(evaluator) == f"Evaluator({evaluator.program!r})"


@pytest.mark.parametrize("family", [TENSORS, NETWORKS], ids=str)
def test_many_keys_are_made_as_seeds_and_run_the_same(
    family: Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, evaluator = family.keys()
    whole = evaluator.program.key_bytes
    monkeypatch.setattr("cloakwork.schemes.ckks._WHOLE_KEY_BYTES", whole - 1)
    monkeypatch.setattr("cloakwork.schemes.ckks._KEYS_AT_ONCE", 2)
    made = client.evaluator()
    assert made.key_bytes == evaluator.program.scheme.generated_key_bytes(made.program.body)
    assert made.key_bytes == whole // 2
    made.save(tmp_path / "evaluator")
    again = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    assert again.key_bytes == whole // 2
    for each in (made, again):
        assert family.is_right(client.decrypt(each.run(family.encrypted())))
    monkeypatch.setattr("cloakwork.runtime.client.physical_bytes", lambda: whole // 2 - 1)
    with pytest.raises(MemoryBudgetError, match=f"and they take {whole // 2}; compile it with"):
        client.evaluator()


def test_keys_of_a_file_are_keys_of_one_secret(tmp_path: Path) -> None:
    (_, first), (_, second) = TENSORS.keys(), TENSORS.program.keygen()
    entries: dict[str, Any] = {**first._record()}
    own, foreign = ([*each._record()["evaluation_keys"]["keys"]] for each in (first, second))
    assert len(own) > 2
    wrong: list[Any] = [None, {}, b"", [], [b""], [None], [own[0], "x"], [own[0][:-1]], own[0]]
    for keys in wrong:
        entries["evaluation_keys"] = {"keys": keys}
        container.write(tmp_path / "evaluator", "evaluator file", entries)
        with pytest.raises(MalformedBytesError):
            cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    entries["evaluation_keys"] = {"keys": [*own, foreign[0]]}
    container.write(tmp_path / "evaluator", "evaluator file", entries)
    with pytest.raises(KeyMismatchError):
        cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)


@every_family
def test_what_passes_between_the_parties_may_be_bytes(family: Family) -> None:
    client, evaluator = family.keys()
    sent = cw.Encrypted.from_bytes(family.encrypted().to_bytes())
    made = cw.Encrypted.from_bytes(evaluator.run(sent).to_bytes())
    assert family.is_right(client.decrypt(made))


@every_family
def test_an_evaluator_holds_no_secret(family: Family) -> None:
    _, evaluator = family.keys()
    names = [name for name in dir(evaluator) if not name.startswith("_")]
    assert names == [
        "cache_bytes",
        "device",
        "key_bytes",
        "memory_limit",
        "program",
        "run",
        "save",
        "saved_by",
        "serving",
        "total",
    ]


@every_family
def test_only_inputs_of_this_program_and_key_are_run(family: Family) -> None:
    client, evaluator = family.keys()
    for other in FAMILIES:
        if other is not family:
            with pytest.raises(ProgramMismatchError, match="the inputs belong to another program"):
                evaluator.run(other.encrypted())
    stranger, _ = family.program.keygen()
    with pytest.raises(KeyMismatchError, match="keygen makes client and evaluator as a pair"):
        evaluator.run(stranger.encrypt(**family.arguments))
    made = evaluator.run(family.encrypted())
    with pytest.raises(InvalidArgumentError, match="expected inputs, got outputs"):
        evaluator.run(made)
    wrongs: tuple[Any, ...] = (None, 3, [], [1, 2, 3], "text", np.ones(3), [made, 3])
    for wrong in wrongs:
        with pytest.raises(InvalidArgumentError, match="expected what encrypt gave, or a list"):
            evaluator.run(wrong)
    with pytest.raises(InvalidArgumentError, match="got an empty list"):
        evaluator.run([])
    assert family.is_right(client.decrypt(made))


@every_encrypted
def test_a_forged_key_id_does_not_make_another_key_fit(family: Family) -> None:
    _, evaluator = family.keys()
    stranger, _ = family.program.keygen()
    forged = cw.Encrypted.from_bytes(stranger.encrypt(**family.arguments).to_bytes())
    forged.key_id = evaluator._key_id
    with pytest.raises(KeyMismatchError):
        evaluator.run(forged)


def test_a_key_for_one_program_runs_no_other() -> None:
    """Its ports are the same, and so are the keys; its encodings need not be."""
    builder = GateBuilder("xor", greater(3).inputs)
    differ = [builder.append(GateKind.XOR, bit, 3 + bit) for bit in range(3)]
    builder.output(Port("above", "unsigned", 1), differ[:1])
    builder.output(Port("differ", "bits", 3), differ)
    other = mapped(builder.finish())
    client, evaluator = BITS.keys()
    assert (other.inputs, other.outputs) == (BITS.program.inputs, BITS.program.outputs)
    theirs = cw.Client(other, client._key, client._key_id)
    with pytest.raises(ProgramMismatchError, match="cannot run greater: the inputs belong"):
        evaluator.run(theirs.encrypt(a=1, b=2))
    made = cw.Evaluator(other, evaluator._key, evaluator._key_id).run(theirs.encrypt(a=1, b=2))
    with pytest.raises(ProgramMismatchError, match="cannot decrypt for greater: the outputs"):
        client.decrypt(made)
    assert theirs.decrypt(made)["differ"].tolist() == [1, 1, 0]


@every_family
def test_every_input_comes_once(family: Family) -> None:
    client, evaluator = family.keys()
    whole = family.encrypted()
    names = ", ".join(family.arguments)
    with pytest.raises(InputNameError, match=f"of the inputs {names} once, got {names} twice"):
        evaluator.run([whole, whole])
    if family.name in {"tensors", "bits"}:
        (first, value), *_ = family.arguments.items()
        part = client.encrypt(**{first: value})
        with pytest.raises(InputNameError, match=r"inputs a, b once, got none for b; encrypt it"):
            evaluator.run(part)
        with pytest.raises(
            ShapeMismatchError, match="of every input, got 2 of a, 3 of b; encrypt as many"
        ):
            evaluator.run(
                [
                    client.encrypt(**{name: [each] * count})
                    for count, (name, each) in zip((2, 3), family.arguments.items(), strict=True)
                ]
            )


@every_family
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads to be an integer from 1 up to 1024, got 0"),
        ({"threads": 1025}, "threads"),
        ({"threads": True}, "threads"),
        ({"threads": 1.0}, "threads"),
        ({"cancel": True}, "expected cancel to be an Event or None, got True"),
        ({"profile": {}}, "expected profile to be a Profile or None"),
        ({"clear": ["b"]}, "by name, got"),
        ({"clear": 3}, "by name, got"),
        ({"on": "files"}, "expected on to be cloakwork.cluster.Files or .*, got 'files'"),
        ({"on": cw.cluster.Files}, "expected on to be cloakwork.cluster.Files or"),
        ({"on": cw.cluster}, "expected on to be cloakwork.cluster.Files or"),
    ],
    ids=lambda each: f"{each!s:.30}",
)
def test_wrong_options_are_refused(family: Family, options: dict[str, Any], message: str) -> None:
    _, evaluator = family.keys()
    with pytest.raises(
        InvalidArgumentError, match=f"cannot run {family.program.name}: .*{message}"
    ):
        evaluator.run(family.encrypted(), **options)


@pytest.mark.parametrize("family", SLOTS, ids=str)
def test_inputs_in_the_clear_are_for_bits_alone(family: Family) -> None:
    _, evaluator = family.keys()
    with pytest.raises(InvalidArgumentError, match="programs over bits alone take inputs in the"):
        evaluator.run(family.encrypted(), family.arguments)
    assert evaluator.run(family.encrypted(), {}).role == "outputs"


@pytest.mark.parametrize("family", [each for each in FAMILIES if each.name == "bits"], ids=str)
@pytest.mark.parametrize("known", [(), ("a",), ("b",)])
def test_inputs_in_the_clear_give_what_encrypted_ones_give(
    family: Family, known: tuple[str, ...]
) -> None:
    client, evaluator = family.keys()
    hidden = {name: value for name, value in family.arguments.items() if name not in known}
    encrypted = client.encrypt(**hidden)
    assert encrypted.ports == tuple(hidden)
    made = evaluator.run(encrypted, {name: family.arguments[name] for name in known})
    assert family.is_right(client.decrypt(made))
    if known == ("b",):
        several = evaluator.run(client.encrypt(a=[5, 2, 3]), {"b": 3})
        assert client.decrypt(several)["above"].tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("hidden", "clear", "error", "message"),
    [
        ({"a": 1}, {}, InputNameError, "each of the inputs a, b once"),
        ({"a": 1}, {"a": 1}, InputNameError, "each of the inputs a, b once"),
        ({"a": 1, "b": 1}, {"a": 1}, InputNameError, "each of the inputs a, b once"),
        ({"a": 1}, {"c": 1}, InputNameError, "no input 'c'; expected a, b"),
        ({"a": 1}, {3: 1}, InputNameError, "no input 3"),
        ({"a": 1}, {"b": 8}, ValueOutOfRangeError, "got 8"),
        ({"a": 1}, {"b": None}, NotIntegerError, "'b'"),
        ({"a": 1}, {"b": [1, 2]}, ShapeMismatchError, "serve all evaluations, got 2"),
        ({"a": 1}, {"b": [[1]]}, ShapeMismatchError, "'b'"),
    ],
)
def test_clear_inputs_that_are_refused(
    hidden: dict[str, Any], clear: dict[Any, Any], error: type[CloakworkError], message: str
) -> None:
    client, evaluator = BITS.keys()
    with pytest.raises(error, match=message):
        evaluator.run(client.encrypt(**hidden), clear)


def test_a_run_with_nothing_encrypted_says_what_to_do() -> None:
    _, evaluator = BITS.keys()
    given = BITS.encrypted()
    nothing = cw.Encrypted(given.program, "inputs", (), [{}], None, given.key_id)
    with pytest.raises(InvalidArgumentError, match="no input is encrypted; run_clear computes"):
        evaluator.run(nothing, BITS.arguments)


@every_family
def test_a_run_is_measured(family: Family) -> None:
    _, evaluator = family.keys()
    profile = cw.Profile()
    evaluator.run(family.encrypted(), threads=1, profile=profile)
    assert profile.seconds > 0
    first = profile.seconds, len(profile.operations)
    evaluator.run(family.encrypted(), threads=1, profile=profile)
    assert len(profile.operations) == first[1]
    if family.name == "bits":
        return
    assert profile.totals()["mul"].operations >= 1
    body = family.program.body
    assert isinstance(body, SlotProgram)
    if family.hides:
        assert profile.peak_bytes == predicted_peak_bytes(body, family.program.scheme.bytes_at)
    assert "measured" in cw.explain(family.program, profile)


@every_family
def test_a_run_is_cancelled(family: Family) -> None:
    client, evaluator = family.keys()
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(RunCancelledError):
        evaluator.run(family.encrypted(), cancel=cancel)
    made = evaluator.run(family.encrypted(), cancel=threading.Event())
    assert family.is_right(client.decrypt(made))


def test_an_interrupt_from_the_keyboard_stops_a_run() -> None:
    script = f"""
import signal, threading
from tests.families import greater, mapped

program = mapped(greater(150))
client, evaluator = program.keygen()
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


@every_encrypted
def test_a_run_takes_no_more_memory_than_it_may(family: Family) -> None:
    client, _ = family.keys()
    evaluator = client.evaluator()
    body, scheme = family.program.body, family.program.scheme
    if isinstance(body, SlotProgram):
        peak = predicted_peak_bytes(body, scheme.bytes_at)
    else:
        peak = body.native.peak_signals() * scheme.value_bytes
    # Of networks keys and layers count, too.
    least = peak
    if family is NETWORKS:
        assert isinstance(body, SlotProgram)
        least += matrix_memory(body, scheme.parameters).least
    evaluator.memory_limit = least - 1
    expected = f"cannot run {family.program.name}: .* up to {least - 1} bytes.*limit={least}"
    with pytest.raises(MemoryBudgetError, match=expected):
        evaluator.run(family.encrypted())
    evaluator.memory_limit = least
    assert evaluator.memory_limit == least
    profile = cw.Profile()
    made = evaluator.run(family.encrypted(), profile=profile)
    assert profile.peak_bytes <= peak
    assert family.is_right(client.decrypt(made))


def test_results_are_the_same_whatever_stays_encoded() -> None:
    for family in (TENSORS, NETWORKS, CIRCUITS):
        client, _ = family.keys()
        evaluator = client.evaluator()
        for cache_bytes in (0, 100_000, 1 << 30):
            evaluator.cache_bytes = cache_bytes
            assert evaluator.cache_bytes == cache_bytes
            for _ in range(2):
                assert family.is_right(client.decrypt(evaluator.run(family.encrypted())))


@every_encrypted
@pytest.mark.parametrize("name", ["memory_limit", "cache_bytes"])
@pytest.mark.parametrize("value", [-1, 1.5, True, "1", 1 << 64])
def test_limits_are_bytes(family: Family, name: str, value: Any) -> None:
    _, evaluator = family.keys()
    before = getattr(evaluator, name)
    with pytest.raises(InvalidArgumentError, match=f"{name} to be an integer from 0"):
        setattr(evaluator, name, value)
    assert getattr(evaluator, name) == before > 0


@every_family
def test_the_limit_of_memory_is_restored_by_none(family: Family) -> None:
    _, evaluator = family.keys()
    before = evaluator.memory_limit
    evaluator.memory_limit = 1
    evaluator.memory_limit = None
    assert evaluator.memory_limit == before > 1


def test_numbers_larger_than_the_program_was_planned_for_are_refused() -> None:
    program = cw.compile(lambda x: (x * x, x + 2.0**20), (8,), log_n=10, insecure=True)
    client, evaluator = program.keygen()
    scheme, body = program.scheme, program.body
    assert isinstance(body, SlotProgram)
    (level,) = (each.level for each in body.operations if isinstance(each, Input))
    large = scheme.encrypt_vector(
        client._key, np.full(body.slots, 1000.0), level=level, bound=1000.0
    )
    sent = client.encrypt(np.zeros(8))
    forged = cw.Encrypted(
        sent.program, "inputs", sent.ports, [{0: large}], None, sent.key_id, scheme.dump
    )
    with pytest.raises(ValueOutOfRangeError, match="ciphertext 0 to hold numbers of absolute"):
        evaluator.run(forged)
    with pytest.raises(ValueOutOfRangeError, match="ciphertext 0 to hold numbers of absolute"):
        evaluator.run(cw.Encrypted.from_bytes(forged.to_bytes()))


def test_ciphertexts_at_another_level_are_refused() -> None:
    for family in (TENSORS, CIRCUITS):
        client, evaluator = family.keys()
        sent = client.encrypt(**family.arguments)
        made = evaluator.run(sent)
        (values,) = made.values(family.program.scheme, family.program.body)
        (inputs,) = sent.values(family.program.scheme, family.program.body)
        low = next(iter(values.values()))
        if low.level == inputs[0].level:
            continue
        forged = cw.Encrypted(
            sent.program,
            "inputs",
            sent.ports,
            [dict.fromkeys(inputs, low)],
            None,
            sent.key_id,
            family.program.scheme.dump,
        )
        with pytest.raises(MalformedBytesError, match="at level"):
            evaluator.run(cw.Encrypted.from_bytes(forged.to_bytes()))


def test_exhausted_noise_is_refused_before_a_number_is_wrong() -> None:
    program = cw.circuit(x=cw.scalar(bits=2))(lambda x: x**4).compile(bits=16, effort=0.1)
    client, evaluator = program.keygen()
    (run,) = client.encrypt(x=1).values(program.scheme, program.body)
    backend = program.scheme.backend(evaluator._key, cache_bytes=0)

    def multiply(times: int) -> None:
        product = run[0]
        for _ in range(times):
            product = backend.multiply(product, product)

    multiply(1)
    with pytest.raises(NoiseExhaustedError, match="noise may reach"):
        multiply(9)


_secrets: dict[str, tuple[Any, Any]] = {}


def roles(gates: GateProgram, name: str, threads: int = 1) -> tuple[cw.Client, cw.Evaluator]:
    """Client and evaluator of gates mapped for a parameter set, with one key for all programs."""
    costs = BitCosts.from_seconds(
        noise_of(name), {"bootstrap": [SECONDS[name]] * 3, "linear": 2e-7}
    )
    body = map_gates(gates, costs, threads).program
    if name not in _secrets:
        secret = BooleanSecretKey.generate(BooleanParameters(name))
        _secrets[name] = secret, secret.evaluation_key()
    secret, key = _secrets[name]
    program = cw.Program(Tfhe(name), body, BitPacking(body.inputs, body.outputs))
    return cw.Client(program, secret, KEY_ID), cw.Evaluator(program, key, KEY_ID)


@settings(max_examples=part(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(program=gate_programs(), data=st.data())
def test_random_programs_do_on_ciphertexts_what_they_do_in_the_clear(
    program: GateProgram, data: st.DataObject
) -> None:
    count = sum(port.bits for port in program.inputs)
    drawn = data.draw(st.lists(st.integers(0, 1), min_size=count, max_size=count))
    bits = np.array(drawn, np.uint8).reshape(1, count)
    values = results_of_bits(program.inputs, bits, many=False)
    names = [port.name for port in program.inputs]
    clear = data.draw(st.sets(st.sampled_from(names or [""]), max_size=max(0, len(names) - 1)))
    threads = data.draw(st.sampled_from([1, 2, 1000]))
    client, evaluator = roles(program, data.draw(st.sampled_from(sorted(SECONDS))), threads)
    hidden = {name: value for name, value in values.items() if name not in clear}
    known = {name: value for name, value in values.items() if name in clear}
    if not hidden:
        return
    made = client.decrypt(evaluator.run(client.encrypt(**hidden), known, threads=2))
    assert same(made, Circuit(program).run_clear(**values), 0.0)
    assert same(made, evaluator.program.run_clear(**values), 0.0)


@pytest.mark.parametrize("name", sorted(SECONDS))
def test_every_parameter_set_runs_programs_mapped_for_it(name: str) -> None:
    client, evaluator = roles(greater(4), name)
    for a, b in [(3, 12), (12, 3), (7, 7)]:
        made = client.decrypt(evaluator.run(client.encrypt(a=a, b=b)))
        assert made["above"] == int(a > b)
        assert made["differ"].tolist() == [(a ^ b) >> bit & 1 for bit in range(4)]


@pytest.mark.parametrize(
    ("name", "bootstraps"), [("space4", 7), ("space4x2", 7), ("space8", 4), ("space16", 3)]
)
def test_ands_that_share_an_operand_are_right_on_ciphertexts(name: str, bootstraps: int) -> None:
    client, evaluator = roles(rectifier(1, 8), name)
    body = client.program.body
    assert not isinstance(body, SlotProgram)
    assert body.bootstrap_count == bootstraps
    for x in (-128, -1, 0, 85, 106, 127):
        assert client.decrypt(evaluator.run(client.encrypt(x=[x])))["y"].tolist() == [max(x, 0)]


def test_bits_of_other_parameters_are_refused() -> None:
    client, evaluator = BITS.keys()
    other, _ = roles(greater(3), "space8")
    with pytest.raises(ProgramMismatchError):
        evaluator.run(other.encrypt(a=1, b=2))
    forged = cw.Encrypted.from_bytes(other.encrypt(a=1, b=2).to_bytes())
    forged.program, forged.key_id = BITS.program.fingerprint, client._key_id
    with pytest.raises(MalformedBytesError, match="expected the parameters space16, got space8"):
        evaluator.run(forged)


def test_a_program_without_inputs() -> None:
    builder = GateBuilder("one", ())
    builder.output(Port("y", "unsigned", 1), [builder.append(GateKind.ONE)])
    program = mapped(builder.finish())
    assert program.run_clear() == program.in_clear().run() == {"y": 1}
    with pytest.raises(InvalidArgumentError, match="no input is encrypted; run_clear computes"):
        program.run()


@pytest.mark.parametrize("clear", [False, True])
def test_an_input_may_have_any_name(clear: bool) -> None:
    builder = GateBuilder("not", (Port("self", "bits", 1), Port("in 0", "bytes", 8)))
    builder.output(Port("y", "bits", 1), [builder.append(GateKind.NOT, 0)])
    program = mapped(builder.finish())
    client, evaluator = (program.in_clear() if clear else program).keygen()
    encrypted = client.encrypt(**{"self": [0], "in 0": b"x"})
    assert client.decrypt(evaluator.run(encrypted))["y"].tolist() == [1]


@pytest.mark.parametrize("act", ["run", "run_clear", "simulate"])
def test_inputs_named_as_what_takes_them(act: str) -> None:
    ports = tuple(Port(name, "bits", 1) for name in ("self", "inputs", "seed", "args"))
    builder = GateBuilder("and", ports)
    value = builder.append(GateKind.AND, 0, 1)
    builder.output(Port("y", "bits", 1), [builder.append(GateKind.AND, value, 2)])
    program = mapped(builder.finish())
    given_: Callable[..., Any] = getattr(program.in_clear(), act)
    made = given_([1], [1], [1], [0])
    found = made.outputs if act == "simulate" else made
    assert found["y"].tolist() == [1]

"""Clients and encryptors of every family: what they encrypt, decrypt, save, and refuse."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    InputNameError,
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    MemoryBudgetError,
    NoiseBudgetError,
    NotFiniteError,
    NotIntegerError,
    NotRealError,
    PrecisionLostError,
    ProgramMismatchError,
    ResultOverflowError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.programs.slots import Input, SlotProgram
from tests.families import (
    ADDEND,
    BITS,
    CIRCUITS,
    ENCRYPTED,
    FAMILIES,
    GRAPH,
    IMAGE,
    MATRIX,
    NETWORKS,
    SAMPLES,
    TENSORS,
    A,
    B,
    Family,
    same,
    some,
)

every_family = pytest.mark.parametrize("family", FAMILIES, ids=str)
every_encrypted = pytest.mark.parametrize("family", ENCRYPTED, ids=str)


def computed(family: Family, **arguments: Any) -> Any:
    client, evaluator = family.keys()
    return client.decrypt(evaluator.run(client.encrypt(**arguments)))


@every_family
def test_encrypts_by_place_and_by_name(family: Family) -> None:
    client, evaluator = family.keys()
    (name, value), *others = family.arguments.items()
    for encrypted in (
        client.encrypt(*family.arguments.values()),
        client.encrypt(value, **dict(others)),
        client.encrypt(**{name: value, **dict(reversed(others))}),
    ):
        assert encrypted.ports == tuple(family.arguments)
        assert encrypted.role == "inputs"
        assert family.is_right(client.decrypt(evaluator.run(encrypted)))


def stacked(family: Family, count: int) -> dict[str, Any]:
    """As many evaluations of the arguments, along a first axis."""
    return {
        name: np.stack([value] * count) if isinstance(value, np.ndarray) else [value] * count
        for name, value in family.arguments.items()
    }


def of_several(found: Any, number: int) -> Any:
    """One of several evaluations of results."""
    match found:
        case dict():
            return {name: each[number] for name, each in found.items()}
        case tuple():
            return tuple(each[number] for each in found)
        case _:
            return found[number]


@every_family
@pytest.mark.parametrize("count", [1, 3])
def test_any_number_of_evaluations_comes_along_a_first_axis(family: Family, count: int) -> None:
    found = computed(family, **stacked(family, count))
    for number in range(count):
        one = of_several(found, number)
        if family.name == "bits":
            assert (int(one["above"]), one["differ"].tolist()) == (1, [0, 1, 1])
        else:
            assert family.is_right(one)


@pytest.mark.parametrize("family", [TENSORS, BITS, CIRCUITS], ids=str)
def test_an_input_without_the_axis_serves_all_evaluations(family: Family) -> None:
    (first, value), *others = family.arguments.items()
    several = computed(family, **{first: [value, value]}, **dict(others))
    alone = computed(family, **family.arguments)
    for number in (0, 1):
        one = of_several(several, number)
        if family is BITS:
            assert one["differ"].tolist() == alone["differ"].tolist()
        else:
            assert same(one, alone, 2.0**-14)


@every_family
def test_evaluations_are_as_many_of_every_input(family: Family) -> None:
    if len(family.arguments) < 2:
        return
    (first, value), (second, other), *_ = family.arguments.items()
    client, _ = family.keys()
    with pytest.raises(ShapeMismatchError, match=f"got 2 of {first}, 3 of {second}"):
        client.encrypt(**{first: [value] * 2, second: [other] * 3})


REFUSALS: list[tuple[Family, dict[str, Any], type[CloakworkError], str]] = [
    (TENSORS, {"a": A * 1.5}, ValueOutOfRangeError, "'a'"),
    (TENSORS, {"b": B * 1.5}, ValueOutOfRangeError, "'b'"),
    (TENSORS, {"a": A * np.nan}, NotFiniteError, "'a'"),
    (TENSORS, {"a": A * 1j}, NotRealError, "'a'"),
    (TENSORS, {"a": A[1:]}, ShapeMismatchError, r"expected 'a' of shape \(4, 8\)"),
    (TENSORS, {"a": A[None, None]}, ShapeMismatchError, r"expected 'a' of shape \(4, 8\)"),
    (TENSORS, {"a": "text"}, NotRealError, "'a'"),
    (TENSORS, {"a": [[1.0], [1.0, 0.5]]}, ShapeMismatchError, r"'a' of shape \(4, 8\).* list of 1"),
    (TENSORS, {"a": [[None] * 8] * 4}, NotRealError, "'a': expected real numbers, got None"),
    (TENSORS, {"a": [[1 << 70] * 8] * 4}, NotRealError, r"'a'.* objects; give .*dtype=float"),
    (NETWORKS, {"input": IMAGE * 9}, ValueOutOfRangeError, "input 'input'"),
    (NETWORKS, {"input": IMAGE[1:]}, ShapeMismatchError, "'input'"),
    (NETWORKS, {"input": IMAGE * np.inf}, NotFiniteError, "input 'input'"),
    (NETWORKS, {"input": ["x"] * 5}, NotRealError, "input 'input'"),
    (CIRCUITS, {"x": [[1, 2]]}, ShapeMismatchError, r"expected 'x' of shape \(2, 2\)"),
    (CIRCUITS, {"x": 1}, ShapeMismatchError, "'x'"),
    (CIRCUITS, {"x": [[[1], [2]], [[3], [4]]]}, ShapeMismatchError, "'x'"),
    (CIRCUITS, {"x": [[1, 2], [3, 2.5]]}, NotIntegerError, "'x' to hold integers, got 2.5"),
    (CIRCUITS, {"x": [[1, 2], [3, "4"]]}, NotIntegerError, "'x' to hold integers"),
    (CIRCUITS, {"x": [[1, 2], [3, 10]]}, ValueOutOfRangeError, "integers from -9 to 9, got 10"),
    (CIRCUITS, {"s": {10**5000}}, NotIntegerError, "got a set"),
    (CIRCUITS, {"s": np.ma.masked}, NotIntegerError, "got an array with a mask"),
    (BITS, {"a": 8}, ValueOutOfRangeError, "expected 0 to 7, got 8"),
    (BITS, {"a": -1}, ValueOutOfRangeError, "got -1"),
    (BITS, {"a": 0.5}, NotIntegerError, "'a'.* expected integers"),
    (BITS, {"a": "1"}, NotIntegerError, "'a'.* expected integers"),
    (BITS, {"a": None}, NotIntegerError, "'a'.* expected integers"),
    (BITS, {"a": [[1]]}, ShapeMismatchError, "'a'"),
]


@pytest.mark.parametrize(
    ("family", "wrong", "error", "message"),
    REFUSALS,
    ids=[
        f"{family} {next(iter(wrong))}-{number}"
        for number, (family, wrong, *_) in enumerate(REFUSALS)
    ],
)
def test_wrong_arguments_are_refused_alike_by_all(
    family: Family, wrong: dict[str, Any], error: type[CloakworkError], message: str
) -> None:
    program, (client, _) = family.program, family.keys()
    for act in (
        client.encrypt,
        program.run,
        program.run_clear,
        program.in_clear().keygen()[0].encrypt,
    ):
        with pytest.raises(error, match=message) as refusal:
            act(**{**family.arguments, **wrong})
        assert str(refusal.value).startswith("cannot ")


@every_family
def test_something_is_encrypted(family: Family) -> None:
    client, _ = family.keys()
    names = ", ".join(family.arguments)
    with pytest.raises(InputNameError, match=f"one or more of the inputs {names}, got none"):
        client.encrypt()


@every_family
def test_names_of_inputs_are_the_programs(family: Family) -> None:
    client, _ = family.keys()
    with pytest.raises(InputNameError, match="there is no input 'nobody'; expected"):
        client.encrypt(**family.arguments, nobody=1)
    with pytest.raises(InvalidArgumentError, match=r"expected \d argument"):
        client.encrypt(*family.arguments.values(), 1)


def test_inputs_that_lie_in_ciphertexts_of_their_own_may_be_encrypted_alone() -> None:
    client, evaluator = TENSORS.keys()
    parts = [client.encrypt(a=A), client.encrypt(b=B)]
    assert [part.ports for part in parts] == [("a",), ("b",)]
    assert TENSORS.is_right(client.decrypt(evaluator.run(parts)))
    assert TENSORS.is_right(client.decrypt(evaluator.run(parts[::-1])))
    client, evaluator = BITS.keys()
    assert BITS.is_right(client.decrypt(evaluator.run([client.encrypt(b=3), client.encrypt(a=5)])))


def test_inputs_that_share_ciphertexts_are_encrypted_together() -> None:
    @cw.circuit(a=cw.scalar(bits=4), b=cw.scalar(bits=4))
    def total(a: Any, b: Any) -> Any:
        return [a + b, a * b]

    program = total.compile(bits=12, effort=0.05, log_n=11, insecure=True)
    client, _ = program.keygen()
    packed = program.packing
    if len({*packed.vectors_of(("a",)), *packed.vectors_of(("b",))}) < packed.vector_counts[0]:
        with pytest.raises(InputNameError, match="which share ciphertexts or are checked together"):
            client.encrypt(a=1)
    else:
        assert client.encrypt(a=1).ports == ("a",)


@every_family
def test_others_encrypt_by_the_public_key_and_can_do_nothing_else(
    family: Family, tmp_path: Path
) -> None:
    client, evaluator = family.keys()
    client.public_key().save(tmp_path / "public")
    for other in (
        client.public_key(),
        cw.load(tmp_path / "public", cw.Encryptor, insecure=True),
    ):
        assert [name for name in dir(other) if not name.startswith("_")] == [
            "encrypt",
            "encrypt_into",
            "maker",
            "program",
            "save",
            "saved_by",
        ]
        encrypted = other.encrypt(**family.arguments)
        assert family.is_right(client.decrypt(evaluator.run(encrypted)))
        assert repr(other) == f"Encryptor({other.program!r})"
    name, value = next(iter(family.arguments.items()))
    with pytest.raises(ValueOutOfRangeError):
        other.encrypt(**{**family.arguments, name: np.full(np.shape(value), 99)})


PRIVATE = {
    "tensors": lambda: cw.compile(lambda x: x.sum(), (4,), log_n=10, insecure=True),
    "networks": lambda: compile_graph(GRAPH, SAMPLES, NetworkOptions(log_n=9, insecure=True)),
    "circuits": lambda: some.compile(bits=36, effort=0.1, log_n=11, insecure=True),
}


@pytest.mark.parametrize("make", PRIVATE.values(), ids=PRIVATE)
def test_a_public_key_is_refused_where_none_was_asked_for(
    make: Callable[[], cw.Program], tmp_path: Path
) -> None:
    program = make()
    client, _ = program.keygen()
    client.save(tmp_path / "client")
    for each in (
        client,
        cw.load(tmp_path / "client", cw.Client, insecure=True),
        program.in_clear().keygen()[0],
    ):
        with pytest.raises(NoiseBudgetError, match="compile with public_inputs=True"):
            each.public_key()


@every_family
def test_inputs_of_several_parties_meet_in_a_run(family: Family) -> None:
    if family.name not in {"tensors", "bits"}:
        return
    client, evaluator = family.keys()
    first, second = family.arguments
    parts = [
        client.public_key().encrypt(**{first: family.arguments[first]}),
        client.public_key().encrypt(**{second: family.arguments[second]}),
    ]
    assert family.is_right(client.decrypt(evaluator.run(parts)))


@every_family
def test_a_client_back_from_its_file_is_the_same(family: Family, tmp_path: Path) -> None:
    client, evaluator = family.keys()
    client.save(tmp_path / "client")
    assert stat.S_IMODE((tmp_path / "client").stat().st_mode) == 0o600
    again = cw.load(tmp_path / "client", cw.Client, insecure=True)
    assert again.program.fingerprint == client.program.fingerprint
    assert family.is_right(again.decrypt(evaluator.run(client.encrypt(**family.arguments))))
    assert family.is_right(client.decrypt(again.evaluator().run(again.encrypt(**family.arguments))))
    assert repr(again) == repr(client) == f"Client({client.program!r})"


@every_family
def test_only_results_of_this_program_and_key_are_decrypted(family: Family) -> None:
    client, evaluator = family.keys()
    results = evaluator.run(family.encrypted())
    for other in FAMILIES:
        if other is not family:
            with pytest.raises(ProgramMismatchError, match="belong to another program"):
                other.keys()[0].decrypt(results)
    stranger, _ = family.program.keygen()
    with pytest.raises(KeyMismatchError, match="were encrypted for another client"):
        stranger.decrypt(results)
    with pytest.raises(InvalidArgumentError, match="expected outputs, got inputs"):
        client.decrypt(family.encrypted())
    nothing: tuple[Any, ...] = (None, 3, [results], "text", np.ones(3))
    for wrong in nothing:
        with pytest.raises(InvalidArgumentError, match="expected what an evaluator's run gave"):
            client.decrypt(wrong)


@every_encrypted
def test_a_forged_key_id_does_not_make_another_key_fit(family: Family) -> None:
    client, evaluator = family.keys()
    stranger, _ = family.program.keygen()
    results = evaluator.run(family.encrypted())
    forged = cw.Encrypted.from_bytes(results.to_bytes())
    forged.key_id = stranger._key_id
    with pytest.raises((KeyMismatchError, CloakworkError)):
        stranger.decrypt(forged)
    assert family.is_right(client.decrypt(results))


def test_a_result_beyond_its_bound_is_refused() -> None:
    program = cw.compile(lambda x: x * 2, (8,), log_n=10, insecure=True)
    client, evaluator = program.keygen()
    scheme, body = program.scheme, program.body
    assert isinstance(body, SlotProgram)
    (level,) = (each.level for each in body.operations if isinstance(each, Input))
    vector = np.zeros(body.slots)
    vector[:8] = 3.0
    value = scheme.encrypt_vector(client._key, vector, level=level, bound=3.0).with_bound(1.0)
    sent = client.encrypt(np.zeros(8))
    forged = cw.Encrypted(
        sent.program, "inputs", sent.ports, [{0: value}], None, sent.key_id, scheme.dump
    )
    with pytest.raises(ValueOutOfRangeError, match="a result of 6 exceeds 2, the most that"):
        client.decrypt(evaluator.run(forged))


def test_an_error_that_a_program_states_switches_no_check_off() -> None:
    program = cw.compile(lambda x: x * 2.0, cw.Spec((4,), bound=1.0), log_n=10, insecure=True)
    client, evaluator = program.keygen()
    outputs = evaluator.run(client.encrypt([0.5] * 4))
    (run,) = outputs.values(program.scheme, program.body)
    backend = program.scheme.backend(evaluator._key, cache_bytes=0)
    doubled = run[0]
    for _ in range(3):
        doubled = backend.add(doubled, doubled)

    def decrypted(error: float, value: Any) -> Any:
        stating = replace(program, error=error)
        forged = cw.Encrypted(
            stating.fingerprint,
            "outputs",
            outputs.ports,
            [{0: value}],
            None,
            outputs.key_id,
            program.scheme.dump,
        )
        return cw.Client(stating, client._key, client._key_id).decrypt(forged)

    for error in (1e300, 3e3):
        with pytest.raises(PrecisionLostError, match="none of its results exceeds 2, so that"):
            decrypted(error, run[0])
    with pytest.raises(ValueOutOfRangeError, match="a result of 8 exceeds 2"):
        decrypted(1e-3, doubled)
    assert np.abs(decrypted(1e-300, run[0]) - 1.0).max() < 2**-15


def test_too_few_right_bits_are_refused_with_what_to_do() -> None:
    client, evaluator = TENSORS.keys()
    outputs = evaluator.run(TENSORS.encrypted())
    with pytest.raises(PrecisionLostError, match=r"compile with more precision .* fewer statist"):
        client.decrypt_for_others(outputs, statistical_bits=60, decryptions=1)


def test_a_result_seen_to_overflow_is_refused() -> None:
    program = cw.circuit(x=cw.scalar(bits=17))(lambda x: x).compile(
        bits=16, wrapping=True, log_n=11, insecure=True
    )
    client, evaluator = program.keygen()
    encrypted = client.encrypt(x=32768)
    with pytest.raises(ResultOverflowError, match="more bits"):
        client.decrypt(evaluator.run(encrypted))


@pytest.mark.parametrize("family", [TENSORS, NETWORKS, CIRCUITS], ids=str)
def test_what_the_machine_cannot_hold_is_not_encrypted(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = family.keys()
    monkeypatch.setattr("cloakwork.runtime.client.physical_bytes", lambda: 1000)
    with pytest.raises(MemoryBudgetError, match=r"up to 1000 bytes .*; encrypt fewer evaluations"):
        client.encrypt(**family.arguments)


@every_encrypted
def test_no_key_of_the_client_is_in_what_others_get(family: Family, tmp_path: Path) -> None:
    client, evaluator = family.keys()
    evaluator.save(tmp_path / "evaluator")
    with pytest.raises(MalformedBytesError, match="expected a client file, got an evaluator file"):
        cw.load(tmp_path / "evaluator", cw.Client, insecure=True)
    secret = secret_bytes(client)
    assert len({secret[at : at + 16] for at in range(len(secret) - 15)}) > 40
    for data in (
        (tmp_path / "evaluator").read_bytes(),
        family.encrypted().to_bytes(),
        evaluator.run(family.encrypted()).to_bytes(),
    ):
        assert not share_16_bytes(data, secret)


def share_16_bytes(data: bytes, secret: bytes) -> bool:
    """Whether 16 bytes in a row are the same."""
    # Wherever they stand in the data, one of its words is among them.
    words = np.frombuffer(data, dtype=np.uint64, count=len(data) // 8)
    parts = [np.frombuffer(secret[at:], np.uint64, (len(secret) - at) // 8) for at in range(8)]
    windows = {secret[at : at + 16] for at in range(len(secret) - 15)}
    return any(
        data[at : at + 16] in windows
        for word in np.flatnonzero(np.isin(words, np.concatenate(parts))).tolist()
        for at in range(max(0, 8 * word - 8), 8 * word + 1)
    )


def test_bytes_that_are_shared_are_found() -> None:
    secret, noise = bytes(range(100)), bytes(1000)
    for start in range(100, 108):
        for length, found in ((16, True), (15, False)):
            data = noise[:start] + secret[37 : 37 + length] + noise
            assert share_16_bytes(data, secret) is found


def secret_bytes(client: cw.Client) -> bytes:
    """Numbers of a secret key as files hold them; what comes before is public."""
    several = getattr(client._key, "by_prime", (client._key,))
    return b"".join(data[len(data) // 2 :] for data in (each.to_bytes() for each in several))


@pytest.mark.parametrize("make", [lambda: None, lambda: 3, lambda: "x"])
def test_arguments_may_be_any_array_like(make: Callable[[], Any]) -> None:
    client, evaluator = TENSORS.keys()
    nested = [row.tolist() for row in A]
    assert TENSORS.is_right(client.decrypt(evaluator.run(client.encrypt(nested, B.tolist()))))
    with pytest.raises(CloakworkError, match="cannot"):
        client.encrypt(make(), B)
    client, evaluator = CIRCUITS.keys()
    encrypted = client.encrypt(x=np.array(MATRIX), s=np.int8(ADDEND))
    assert CIRCUITS.is_right(client.decrypt(evaluator.run(encrypted)))

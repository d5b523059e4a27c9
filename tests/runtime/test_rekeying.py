"""Stored ciphertexts taken to a new key: right under it alone, with the noise that is stated."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    ParametersMismatchError,
    UntrustedInputsError,
)
from cloakwork.programs.keys import KeyRequirements
from cloakwork.runtime import container
from tests.families import BITS, CIRCUITS, ENCRYPTED, NETWORKS, TENSORS, Family

BY_FAMILY = pytest.mark.parametrize("family", ENCRYPTED[:3], ids=str)


def as_of(given: cw.Encrypted, key_id: bytes) -> cw.Encrypted:
    """What says that it is of another key than it is."""
    made = cw.Encrypted.from_bytes(given.to_bytes())
    made.key_id = key_id
    return made


@BY_FAMILY
def test_inputs_and_results_open_under_the_new_key_alone(family: Family, tmp_path: Path) -> None:
    program = family.program
    (old, evaluator), (new, server) = program.keygen(), program.keygen()
    old.rekeying_key(new).save(tmp_path / "key")
    key = cw.load(tmp_path / "key", cw.RekeyingKey, insecure=True)
    assert key.nbytes > 0
    sent = old.encrypt(**family.arguments)
    stored = cw.Encrypted.from_bytes(evaluator.run(sent).to_bytes())
    moved = key.rekey(stored)
    assert family.is_right(new.decrypt(cw.Encrypted.from_bytes(moved.to_bytes())))
    assert family.is_right(old.decrypt(stored))
    inputs = key.rekey(sent)
    assert (inputs.rekeyed, inputs.maker) == (1, None)
    assert family.is_right(new.decrypt(server.run(inputs)))
    with pytest.raises(KeyMismatchError):
        old.decrypt(moved)
    with pytest.raises(KeyMismatchError):
        key.rekey(moved)
    # What is said of the key aside, the other key finds noise.
    for wrong, client in ((as_of(moved, old._key_id), old), (as_of(stored, new._key_id), new)):
        try:
            found = client.decrypt(wrong)
        except CloakworkError:
            continue
        assert not family.is_right(found)


def test_the_noise_is_counted() -> None:
    program = TENSORS.program
    clients = [program.keygen()[0] for _ in range(4)]
    evaluator = clients[0].evaluator()
    moved = evaluator.run(clients[0].encrypt(**TENSORS.arguments))
    for old, new in pairwise(clients):
        moved = old.rekeying_key(new).rekey(moved)
    assert moved.rekeyed == 3
    assert cw.Encrypted.from_bytes(moved.to_bytes()).rekeyed == 3
    assert TENSORS.is_right(clients[-1].decrypt(moved))
    assert program.estimated_results is not None
    for number, value in moved.values(program.scheme, program.body)[0].items():
        counted = program.estimated_results[number]
        for _ in range(3):
            counted = counted.rekeyed()
        assert program.estimated_results[number].deviation < counted.deviation
        assert value.estimate.deviation <= counted.deviation * (1 + 2.0**-20)


def test_the_noise_of_inputs_is_counted() -> None:
    program = TENSORS.program
    (old, _), (new, server) = program.keygen(), program.keygen()
    moved = old.rekeying_key(new).rekey(old.encrypt(**TENSORS.arguments))
    made = cw.Encrypted.from_bytes(server.run(moved).to_bytes())
    assert (made.rekeyed, made.rekeyed_inputs) == (0, 1)
    counted, usual = program.results_of_rekeyed(1), program.estimated_results
    assert counted is not None
    assert usual is not None
    for number, value in made.values(program.scheme, program.body)[0].items():
        assert usual[number].deviation < counted[number].deviation
        assert value.estimate.deviation <= counted[number].deviation * (1 + 2.0**-20)
    of_interface = cw.Interface.of(program).client()
    other = new.rekeying_key(of_interface).rekey(made)
    with pytest.raises(InvalidArgumentError, match="by a client of the whole program"):
        of_interface.decrypt(other)


def test_a_state_goes_on_under_a_new_key() -> None:
    program = cw.compile(
        lambda total, x: total + x,
        cw.state((4,), bound=9, steps=9),
        (4,),
        log_n=10,
        insecure=True,
        public_inputs=True,
    )
    (old, evaluator), (new, server) = program.keygen(), program.keygen()
    state = old.start()
    evaluator.run(old.encrypt(x=np.full(4, 0.5)), state=state)
    moved = old.rekeying_key(new).rekey(state)
    assert isinstance(moved, cw.EncryptedState)
    moved = cw.EncryptedState.from_bytes(moved.to_bytes())
    made = server.run(new.encrypt(x=np.full(4, 0.25)), state=moved)
    assert np.abs(new.decrypt(made) - 0.75).max() < 2.0**-20
    assert (state.step, moved.step) == (1, 2)


def test_the_new_client_counts_who_may_have_encrypted() -> None:
    program = TENSORS.program
    (old, evaluator), (new, _) = program.keygen(), program.keygen()
    stranger = old.public_key()
    moved = old.rekeying_key(new).rekey(evaluator.run(old.encrypt(**TENSORS.arguments)))
    assert {old.maker, stranger.maker} <= set(new.makers)
    with pytest.raises(UntrustedInputsError):
        new.decrypt_for_others(moved, statistical_bits=4, decryptions=4)


def test_other_keys_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    (old, evaluator), (new, _) = TENSORS.program.keygen(), TENSORS.program.keygen()
    other, _ = NETWORKS.program.keygen()
    with pytest.raises(ParametersMismatchError):
        old.rekeying_key(other)
    for given in (old, "client", evaluator):
        with pytest.raises(InvalidArgumentError, match="expected another client"):
            old.rekeying_key(given)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="reals or integers"):
        BITS.program.keygen()[0].rekeying_key(BITS.program.keygen()[0])
    key = old.rekeying_key(new)
    with pytest.raises(InvalidArgumentError, match="cannot rekey"):
        key.rekey("values")  # type: ignore[type-var]
    with pytest.raises(KeyMismatchError):
        key.rekey(TENSORS.encrypted())
    record = dict(key._record())
    bytes_of_others = CIRCUITS.program.scheme.dump(CIRCUITS.program.keygen()[1]._key)
    for name, entry in (
        ("from_id", b"1"),
        ("rekeying_key", {"data": b"CLWK"}),
        ("rekeying_key", bytes_of_others),
        ("scheme", BITS.program.scheme.to_record()),
    ):
        container.write(tmp_path / "key", "rekeying key file", {**record, name: entry})
        with pytest.raises((MalformedBytesError, ParametersMismatchError)):
            cw.load(tmp_path / "key", cw.RekeyingKey, insecure=True)
    no_key = old.evaluation_keys(TENSORS.program)
    empty = TENSORS.program.scheme.keys_for(old._key, KeyRequirements())
    assert no_key.nbytes == 0
    nothing = empty.to_bytes()
    data = {"data": len(nothing).to_bytes(8, "little") + 2 * nothing}
    container.write(tmp_path / "key", "rekeying key file", {**record, "rekeying_key": data})
    with pytest.raises(CloakworkError, match="relinearisation key"):
        cw.load(tmp_path / "key", cw.RekeyingKey, insecure=True)


def test_slots_beside_bits_are_taken_over(tmp_path: Path) -> None:
    ring: dict[str, Any] = {"log_n": 12, "insecure": True}
    first = cw.boolean.above(cw.Port("v", "signed", 4, shape=(3,)), 1).compile()
    second = cw.compile(lambda y, x: y * x, cw.result(first), (3,), precision=8, **ring)
    program = cw.in_a_row(first, second)
    (old, evaluator), (new, _) = program.keygen(), program.keygen()
    stored = evaluator.run(old.encrypt(v=[1, 2, 3], x=[0.5, 0.25, -0.75]))
    old.rekeying_key(new).save(tmp_path / "key")
    moved = cw.load(tmp_path / "key", cw.RekeyingKey, insecure=True).rekey(stored)
    assert np.abs(new.decrypt(moved) - [0, 0.25, -0.75]).max() < 2.0**-8
    with pytest.raises(KeyMismatchError):
        old.decrypt(moved)


def test_integers_beside_bits_are_taken_over() -> None:
    @cw.circuit(a=cw.vector(2, bits=3))
    def products(a: Any) -> Any:
        return [a[0] * a[1], a[0]]

    first = products.compile(bits=12, log_n=11, insecure=True)
    port = cw.Port("v", "signed", 6, shape=(2,))
    second = cw.boolean.argmax(port).compile(after={"v": cw.result(first)}, insecure=True)
    first, second = cw.together(first, second)
    (old, evaluator), (new, server) = first.keygen(), first.keygen()
    moved = old.rekeying_key(new).rekey(evaluator.run(old.encrypt(a=[-3, 2])))
    assert new.decrypt(moved) == [-6, -3]
    last = new.serving(second)
    index = server.serving(second, last.evaluation_keys(first)).run(moved)
    assert last.decrypt(index)["index"] == 1
    with pytest.raises(InvalidArgumentError, match="reals or integers"):
        old.serving(second).rekeying_key(last)

"""What clients give out, counted in memory and in their files."""

import os
import stat
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    DecryptionsSpentError,
    FileMissingError,
    InvalidArgumentError,
    KeyMismatchError,
    PrecisionLostError,
    UntrustedInputsError,
)
from cloakwork.runtime.ledger import Given
from cloakwork.schemes.base import Flooding
from tests.families import BITS, CIRCUITS, ENCRYPTED, NETWORKS, TENSORS, Family

ASKED: dict[str, Any] = {"statistical_bits": 10, "decryptions": 5}
# Of the small network floods leave nothing.
BY_FAMILY = pytest.mark.parametrize(
    "family", [each for each in ENCRYPTED if each is not NETWORKS], ids=str
)


def pair(slots: int = 1500) -> tuple[cw.Client, cw.Evaluator]:
    """Keys of a program whose result is several ciphertexts of 512 slots."""
    return cw.compile(
        lambda x: x * 1.0, cw.Spec((slots,)), precision=40, log_n=10, insecure=True
    ).keygen()


def count(client: cw.Client) -> int:
    """How many ciphertexts were decrypted for others."""
    return sum(map(len, client._ledger._given._digits)) // 64


def test_a_call_counts_every_ciphertext_of_its_results() -> None:
    client, evaluator = pair(5 * 512)
    outputs = evaluator.run(client.encrypt(np.full(5 * 512, 0.5)))
    assert len(outputs.numbers()) == 5
    with pytest.raises(DecryptionsSpentError, match="5 more ciphertexts after 0"):
        client.decrypt_for_others(outputs, statistical_bits=10, decryptions=1)
    client.decrypt_for_others(outputs, statistical_bits=10, decryptions=5)
    assert count(client) == 5


def test_forty_calls_of_one_result_give_the_same_noise() -> None:
    client, evaluator = pair()
    outputs = evaluator.run(client.encrypt(np.full(1500, 0.5)))
    first = client.decrypt_for_others(outputs, **ASKED)
    again = [client.decrypt_for_others(outputs, **ASKED) for _ in range(39)]
    assert all((each == first).all() for each in again)
    assert np.abs(first - client.decrypt(outputs)).max() > 1e-12
    assert count(client) == 3


@BY_FAMILY
def test_results_beyond_what_was_said_are_refused(family: Family, tmp_path: Path) -> None:
    client, evaluator = family.program.keygen()
    outputs = [evaluator.run(client.encrypt(**family.arguments)) for _ in range(2)]
    each = outputs[0].runs * len(outputs[0].numbers())
    asked: dict[str, Any] = {"statistical_bits": 10, "decryptions": each}
    for _ in range(2):
        assert_close(client.decrypt_for_others(outputs[0], **asked), family)
    for path in (None, tmp_path / "client"):
        if path is not None:
            client.save(path)
            client = cw.load(path, cw.Client, insecure=True)
        assert_close(client.decrypt_for_others(outputs[0], **asked), family)
        with pytest.raises(DecryptionsSpentError, match="make new keys"):
            client.decrypt_for_others(outputs[1], **asked)
    assert family.is_right(client.decrypt(outputs[1]))


def assert_close(found: Any, family: Family) -> None:
    """Refuse results that are others than of the family; floods take some of their bits."""
    if family in (CIRCUITS, BITS):
        assert family.is_right(found)


def test_no_later_call_breaks_an_earlier_promise() -> None:
    client, evaluator = pair(500)
    outputs = [evaluator.run(client.encrypt(np.full(500, 0.5))) for _ in range(3)]
    client.decrypt_for_others(outputs[0], statistical_bits=12, decryptions=2)
    with pytest.raises(DecryptionsSpentError, match="statistical_bits=12"):
        client.decrypt_for_others(outputs[1], statistical_bits=10, decryptions=1)
    with pytest.raises(DecryptionsSpentError, match="statistical_bits=14"):
        client.decrypt_for_others(outputs[1], statistical_bits=14, decryptions=100)
    client.decrypt_for_others(outputs[1], statistical_bits=12, decryptions=4)
    client.decrypt_for_others(outputs[2], statistical_bits=12, decryptions=4)
    # A half and two quarters are spent: the same results still come out, and no others.
    client.decrypt_for_others(outputs[0], statistical_bits=12, decryptions=2)
    with pytest.raises(DecryptionsSpentError):
        client.decrypt_for_others(outputs[0], statistical_bits=12, decryptions=1000)


def test_what_is_refused_is_not_counted() -> None:
    client, evaluator = pair(500)
    outputs = evaluator.run(client.encrypt(np.full(500, 0.5)))
    with pytest.raises(PrecisionLostError):
        client.decrypt_for_others(outputs, statistical_bits=60, decryptions=10**4)
    assert client._ledger._given.releases == ()
    client.decrypt_for_others(outputs, statistical_bits=10, decryptions=1)


def test_spending_adds_up_exactly() -> None:
    given, asked = Given("key"), Flooding(10, 3)
    for number in range(3):
        given = given.with_release([f"{number:064x}"], asked, "decrypt")
    with pytest.raises(DecryptionsSpentError):
        given.with_release([f"{3:064x}"], asked, "decrypt")
    assert given.with_release([f"{1:064x}"], asked, "decrypt") == given


def test_a_session_counts_what_it_decrypts_for_others(tmp_path: Path) -> None:
    session = cw.Session(depth=0, precision=30, log_n=10, insecure=True)
    x = [session.encrypt([0.5, 0.25], bound=1) for _ in range(2)]
    asked: dict[str, Any] = {"statistical_bits": 4, "decryptions": 1}
    first = session.decrypt_for_others(x[0], **asked)
    assert (session.decrypt_for_others(x[0], **asked) == first).all()
    with pytest.raises(DecryptionsSpentError):
        session.decrypt_for_others(x[1], **asked)
    session.save(tmp_path / "session")
    again = cw.load(tmp_path / "session", cw.Session, insecure=True)
    with pytest.raises(DecryptionsSpentError):
        again.decrypt_for_others(again.encrypt([0.5]), **asked)


@BY_FAMILY
def test_a_public_key_makes_every_result_one_of_strangers(family: Family, tmp_path: Path) -> None:
    client, evaluator = family.program.keygen()
    outputs = evaluator.run(client.encrypt(**family.arguments))
    asked: dict[str, Any] = {"statistical_bits": 10, "decryptions": 50}
    client.decrypt_for_others(outputs, **asked)
    client.save(tmp_path / "client")
    client.public_key()
    for each in (client, cw.load(tmp_path / "client", cw.Client, insecure=True)):
        with pytest.raises(UntrustedInputsError, match="honest_inputs=True"):
            each.decrypt_for_others(outputs, **asked)
        each.decrypt_for_others(outputs, honest_inputs=True, **asked)
        assert family.is_right(each.decrypt(outputs))
    wrong: Any = 1
    with pytest.raises(InvalidArgumentError, match="honest_inputs"):
        client.decrypt_for_others(outputs, honest_inputs=wrong, **asked)


def test_a_public_key_that_another_process_gave_counts(tmp_path: Path) -> None:
    client, evaluator = TENSORS.program.keygen()
    client.save(tmp_path / "client")
    outputs = evaluator.run(client.encrypt(**TENSORS.arguments))
    cw.load(tmp_path / "client", cw.Client, insecure=True).public_key()
    # This client learns of it when it writes its file.
    with pytest.raises(UntrustedInputsError):
        client.decrypt_for_others(outputs, statistical_bits=10, decryptions=50)
    assert len(client.makers) == 1
    with pytest.raises(UntrustedInputsError):
        client.decrypt_for_others(outputs, statistical_bits=10, decryptions=50)


def test_two_clients_of_one_file_spend_one_budget(tmp_path: Path) -> None:
    client, evaluator = pair(500)
    client.save(tmp_path / "client")
    clients = [cw.load(tmp_path / "client", cw.Client, insecure=True) for _ in range(2)]
    results = [evaluator.run(client.encrypt(np.full(500, 0.5))) for _ in range(8)]
    refused: list[CloakworkError] = []

    def share(client: cw.Client, results: list[cw.Encrypted]) -> None:
        for each in results:
            try:
                client.decrypt_for_others(each, statistical_bits=10, decryptions=5)
            except DecryptionsSpentError as error:
                refused.append(error)

    threads = [
        threading.Thread(target=share, args=(each, results[at::2]))
        for at, each in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3
    assert count(cw.load(tmp_path / "client", cw.Client, insecure=True)) == 5


def test_the_file_keeps_all_else_as_it_is(tmp_path: Path) -> None:
    client, evaluator = pair(500)
    path = tmp_path / "client"
    client.save(path)
    with zipfile.ZipFile(path) as archive:
        before = {name: archive.read(name) for name in archive.namelist()}
    client.decrypt_for_others(evaluator.run(client.encrypt(np.full(500, 0.5))), **ASKED)
    with zipfile.ZipFile(path) as archive:
        after = {name: archive.read(name) for name in archive.namelist()}
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] != after[name]] == ["header.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["client"]
    client.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_file_that_is_gone_or_of_another_is_named(tmp_path: Path) -> None:
    client, evaluator = pair(500)
    outputs = evaluator.run(client.encrypt(np.full(500, 0.5)))
    path = tmp_path / "client"
    client.save(path)
    path.unlink()
    with pytest.raises(FileMissingError, match="save it again"):
        client.decrypt_for_others(outputs, **ASKED)
    pair(500)[0].save(tmp_path / "other")
    (tmp_path / "other").rename(path)
    with pytest.raises(KeyMismatchError, match="of another key now"):
        client.decrypt_for_others(outputs, **ASKED)
    client.save(tmp_path / "elsewhere")
    client.decrypt_for_others(outputs, **ASKED)


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    client, evaluator = pair(500)
    client.save(tmp_path / "client")
    (tmp_path / "link").symlink_to(tmp_path / "client")
    again = cw.load(tmp_path / "link", cw.Client, insecure=True)
    again.decrypt_for_others(evaluator.run(client.encrypt(np.full(500, 0.5))), **ASKED)
    assert (tmp_path / "link").is_symlink()
    assert count(cw.load(tmp_path / "client", cw.Client, insecure=True)) == 1


def test_a_stale_client_that_is_saved_loses_nothing_of_the_record(tmp_path: Path) -> None:
    client, evaluator = TENSORS.program.keygen()
    outputs = evaluator.run(client.encrypt(**TENSORS.arguments))
    path = tmp_path / "k"
    client.save(path)
    other = cw.load(path, cw.Client, insecure=True)
    public = other.public_key()
    other.decrypt_for_others(outputs, honest_inputs=True, **ASKED)
    # Over the file itself, and beside it.
    for again in (path, tmp_path / "k2", path):
        client.save(again)
        loaded = cw.load(again, cw.Client, insecure=True)
        assert loaded.makers == client.makers == (client.maker, public.maker)
        assert count(loaded) == count(other) > 0
        with pytest.raises(UntrustedInputsError):
            loaded.decrypt_for_others(outputs, **ASKED)


def test_a_copy_that_replaces_another_file_of_its_key_takes_its_record_in(tmp_path: Path) -> None:
    client, evaluator = pair(500)
    first, second = tmp_path / "first", tmp_path / "second"
    client.save(first)
    client.save(second)
    results = [evaluator.run(client.encrypt(np.full(500, 0.5))) for _ in range(3)]
    copies = [cw.load(each, cw.Client, insecure=True) for each in (first, second)]
    for copy, each in zip(copies, results[:2], strict=True):
        copy.decrypt_for_others(results[2], statistical_bits=10, decryptions=3)
        copy.decrypt_for_others(each, statistical_bits=10, decryptions=3)
    copies[0].save(second)
    # The result that both gave counts once.
    assert count(copies[0]) == 3
    with pytest.raises(DecryptionsSpentError, match="after 3"):
        cw.load(second, cw.Client, insecure=True).decrypt_for_others(
            evaluator.run(client.encrypt(np.full(500, 0.25))), statistical_bits=10, decryptions=3
        )


def test_a_stale_session_that_is_saved_loses_nothing_of_the_record(tmp_path: Path) -> None:
    session = cw.Session(depth=0, precision=30, log_n=10, insecure=True)
    path = tmp_path / "session"
    session.save(path)
    other = cw.load(path, cw.Session, insecure=True)
    asked: dict[str, Any] = {"statistical_bits": 4, "decryptions": 1}
    other.decrypt_for_others(other.encrypt([0.5], bound=1), **asked)
    session.save(path)
    again = cw.load(path, cw.Session, insecure=True)
    with pytest.raises(DecryptionsSpentError):
        again.decrypt_for_others(again.encrypt([0.5], bound=1), **asked)


def test_saves_and_decryptions_at_once_lose_none(tmp_path: Path) -> None:
    client, evaluator = pair(500)
    path = tmp_path / "client"
    client.save(path)
    giving = cw.load(path, cw.Client, insecure=True)
    results = [evaluator.run(client.encrypt(np.full(500, 0.5))) for _ in range(10)]
    done = threading.Event()

    def save() -> None:
        while not done.is_set():
            client.save(path)

    saving = threading.Thread(target=save)
    saving.start()
    try:
        for each in results:
            giving.decrypt_for_others(each, statistical_bits=10, decryptions=10)
    finally:
        done.set()
        saving.join()
    assert count(cw.load(path, cw.Client, insecure=True)) == 10

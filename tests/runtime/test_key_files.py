"""Files with secret keys: who may read them, passphrases, what stays in memory."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.base.secret_bytes import SecretBytes
from cloakwork.errors import (
    InvalidArgumentError,
    KeyExposedError,
    MalformedBytesError,
    NotReplaceableError,
    PassphraseError,
)
from cloakwork.runtime import container
from cloakwork.runtime.saved import save_all, save_new
from tests.families import ENCRYPTED, Family
from tests.runtime.test_client import secret_bytes, share_16_bytes

BY_FAMILY = pytest.mark.parametrize("family", ENCRYPTED, ids=str)
PASSPHRASE = "correct horse battery staple"


@BY_FAMILY
def test_a_passphrase_hides_the_key_and_gives_it_back(family: Family, tmp_path: Path) -> None:
    client, evaluator = family.program.keygen()
    path = tmp_path / "client"
    client.save(path, passphrase=PASSPHRASE)
    assert container.is_sealed(path)
    assert not share_16_bytes(path.read_bytes(), secret_bytes(client))
    for given in (PASSPHRASE, PASSPHRASE.encode(), bytearray(PASSPHRASE.encode())):
        again = cw.load(path, cw.Client, insecure=True, passphrase=given)
        assert again.maker == client.maker
    assert family.is_right(again.decrypt(evaluator.run(client.encrypt(**family.arguments))))
    client.save(path)
    assert not container.is_sealed(path)
    assert share_16_bytes(path.read_bytes(), secret_bytes(client))


def test_another_passphrase_or_none_opens_nothing(tmp_path: Path) -> None:
    client, _ = small()
    path = tmp_path / "client"
    client.save(path, passphrase=PASSPHRASE)
    with pytest.raises(PassphraseError, match="give passphrase="):
        cw.load(path, cw.Client, insecure=True)
    with pytest.raises(PassphraseError, match="expected the passphrase that it was sealed with"):
        cw.load(path, cw.Client, insecure=True, passphrase="Correct horse battery staple")
    data = bytearray(path.read_bytes())
    for wrong in ("", b""):
        with pytest.raises(PassphraseError, match="empty"):
            client.save(path, passphrase=wrong)
    with pytest.raises(PassphraseError, match="half of a surrogate pair") as refusal:
        client.save(path, passphrase="\ud800")
    assert refusal.value.__cause__ is None
    with pytest.raises(PassphraseError, match="half of a surrogate pair"):
        cw.load(path, cw.Client, insecure=True, passphrase="\ud800")
    number: Any = 3
    with pytest.raises(InvalidArgumentError, match="got int"):
        client.save(path, passphrase=number)
    assert path.read_bytes() == data


def test_a_session_is_sealed_as_well(tmp_path: Path) -> None:
    session = cw.Session(depth=0, log_n=9, insecure=True)
    session.save(tmp_path / "session", passphrase=PASSPHRASE)
    with pytest.raises(PassphraseError):
        cw.load(tmp_path / "session", cw.Session, insecure=True)
    again = cw.load(tmp_path / "session", cw.Session, insecure=True, passphrase=PASSPHRASE)
    assert np.abs(again.decrypt(again.encrypt([0.5])) - 0.5).max() < 1e-5


def test_a_sealed_file_keeps_its_ledger_without_the_passphrase(tmp_path: Path) -> None:
    client, evaluator = small()
    path = tmp_path / "client"
    client.save(path, passphrase=PASSPHRASE)
    outputs = evaluator.run(client.encrypt(np.full(4, 0.5)))
    client.decrypt_for_others(outputs, statistical_bits=4, decryptions=1)
    again = cw.load(path, cw.Client, insecure=True, passphrase=PASSPHRASE)
    assert again._ledger._given == client._ledger._given
    assert len(again._ledger._given.releases) == 1


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o601])
def test_files_with_secrets_that_others_may_read_are_refused(mode: int, tmp_path: Path) -> None:
    client, evaluator = small()
    session = cw.Session(depth=0, log_n=9, insecure=True)
    things: list[tuple[Any, type[Any]]] = [
        (client, cw.Client),
        (client.public_key(), cw.Encryptor),
        (session, cw.Session),
    ]
    for thing, kind in things:
        path = tmp_path / kind.__name__
        thing.save(path)
        path.chmod(mode)
        with pytest.raises(KeyExposedError, match=f"mode {mode:04o}.*chmod 600"):
            cw.load(path, kind, insecure=True)
        path.chmod(0o400)
        cw.load(path, kind, insecure=True)
    for thing, kind in ((evaluator, cw.Evaluator), (client.program, cw.Program)):
        path = tmp_path / kind.__name__
        thing.save(path)
        path.chmod(0o644)
        cw.load(path, kind, insecure=True)


def test_no_mask_of_modes_and_no_link_opens_a_file(tmp_path: Path) -> None:
    client, _ = small()
    before = os.umask(0)
    try:
        client.save(tmp_path / "client")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "client").stat().st_mode) == 0o600
    (tmp_path / "victim").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    client.save(tmp_path / "link")
    assert (tmp_path / "victim").read_text() == "kept"
    assert not (tmp_path / "link").is_symlink()


def test_secret_bytes_are_read_from_files_alone(tmp_path: Path) -> None:
    record = {"key": SecretBytes(b"secret"), "rest": 1}
    container.write(tmp_path / "file", "note", record)
    assert container.read(tmp_path / "file", "note").secret("key") == b"secret"
    kind, fields = container.read_any(tmp_path / "file")
    assert (kind, fields.raw("key"), fields.raw("rest")) == ("note", None, 1)
    plain = container.read_bytes(container.to_bytes("note", {"key": b"secret"}), "note")
    with pytest.raises(MalformedBytesError, match="expected key to be secret bytes"):
        plain.secret("key")


def test_secret_bytes_are_wiped_and_not_shown() -> None:
    given = bytearray(b"secret")
    taken = SecretBytes.taken(given)
    assert (bytes(given), bytes(taken)) == (bytes(6), b"secret")
    assert "secret" not in f"{taken} {taken!r}"
    taken.__del__()
    assert bytes(taken) == bytes(6)


@pytest.mark.parametrize("how", ["save", "load", "sealed"])
def test_no_packed_key_stays_in_memory(how: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCAN, how, tmp_path / "client"],
        capture_output=True,
        text=True,
        check=True,
    )
    # The copy that is there on purpose is found, and no other.
    assert done.stdout.split() == ["0", "1"]


# Saves or loads a client, drops it, and prints how often 32 bytes of its packed key are in the
# process's memory; then the same with a copy that is held.
_SCAN = """
import gc, os, subprocess, sys, zipfile
import cloakwork as cw
how, path = sys.argv[1:]
make = "import cloakwork as cw; cw.compile(lambda x: x.sum(), (4,)).keygen()[0]"
if how == "save":
    client, evaluator = cw.compile(lambda x: x.sum(), (4,)).keygen()
    client.save(path)
    del client, evaluator
else:
    subprocess.run([sys.executable, "-c", f"{make}.save({path!r})"], check=True)
    client = cw.load(path, cw.Client)
    if how == "sealed":
        client.save(path + "-sealed", passphrase="secret")
        client = cw.load(path + "-sealed", cw.Client, passphrase="secret")
    del client
gc.collect()

# Of the file come 32 bytes, in two halves that do not lie beside each other.
with zipfile.ZipFile(path) as archive:
    members = [each for each in archive.infolist() if each.filename.isdigit()]
# The key packs two bits a coefficient: its member has N / 4 bytes and a head.
n = cw.compile(lambda x: x.sum(), (4,)).scheme.parameters.slots * 2
(member,) = (each for each in members if n // 4 <= each.file_size < n // 4 + 200)
descriptor = os.open(path, os.O_RDONLY)
at = member.header_offset + 30 + len(member.filename) + member.file_size - 300
first, second = os.pread(descriptor, 16, at), os.pread(descriptor, 16, at + 16)

def copies():
    count = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps:
            span, mode = line.split()[:2]
            if not mode.startswith("rw") or "[v" in line:
                continue
            low, high = (int(each, 16) for each in span.split("-"))
            memory.seek(low)
            data = memory.read(high - low)
            place = data.find(first)
            while place >= 0:
                count += data[place + 16 : place + 32] == second
                place = data.find(first, place + 1)
            del data
    return count

print(copies())
held = bytearray(32)
held[:16], held[16:] = first, second
print(copies())
"""


def small() -> tuple[cw.Client, cw.Evaluator]:
    """Keys of a small program."""
    return cw.compile(
        lambda x: x.sum(), (4,), precision=30, public_inputs=True, log_n=10, insecure=True
    ).keygen()


def test_nothing_replaces_the_file_of_another_key(tmp_path: Path) -> None:
    client, evaluator = small()
    session, other = (cw.Session(depth=0, log_n=9, insecure=True) for _ in range(2))
    inputs = client.encrypt(np.full(4, 0.5))
    without: list[Any] = [
        client.program,
        evaluator,
        client.public_key(),
        inputs,
        session.encrypt([0.5]),
    ]
    owners: list[Any] = [client, session]
    for number, owner in enumerate(owners):
        path = tmp_path / f"{number}.key"
        owner.save(path, passphrase=PASSPHRASE)
        before = path.read_bytes()
        strangers: list[Any] = [*without, session.evaluator(), small()[0], other]
        for thing in strangers:
            with pytest.raises(NotReplaceableError, match="a key that is replaced is lost"):
                thing.save(path)
        assert path.read_bytes() == before
        owner.save(path)
    for thing in without:
        thing.save(tmp_path / "file")
    client.save(tmp_path / "file")
    assert sorted(os.listdir(tmp_path)) == ["0.key", "1.key", "file"]


def test_nothing_replaces_what_is_no_file(tmp_path: Path) -> None:
    client, evaluator = small()
    session = cw.Session(depth=0, log_n=9, insecure=True)
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    things: tuple[Any, ...] = (client, evaluator, client.program, session, session.encrypt([0.5]))
    for thing in things:
        for path in (pipe, link):
            with pytest.raises(NotReplaceableError, match="got a device, a pipe or a socket"):
                thing.save(path)
    for save in (save_all, save_new):
        with pytest.raises(NotReplaceableError):
            save({pipe: client}, {})
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]

"""Containers: round trips and damaged files."""

import json
import random
import stat
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cloakwork.errors import MalformedBytesError
from cloakwork.runtime.container import read, write


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "note"
    write(path, "note", {"pages": 2}, {"text": b"words", "empty": b""})
    return path


def test_round_trip(saved: Path) -> None:
    assert read(saved, "note") == ({"pages": 2}, {"text": b"words", "empty": b""})


def test_only_the_owner_may_read(saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def test_writing_again_replaces(saved: Path) -> None:
    write(saved, "note", {}, {})
    assert read(saved, "note") == ({}, {})
    assert list(saved.parent.iterdir()) == [saved]


def test_many_may_write_to_one_path_at_once(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: write(path, "note", {"writer": n}, {}), range(64)))
    facts, _ = read(path, "note")
    assert facts["writer"] in range(64)
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_nothing_behind(saved: Path) -> None:
    before = saved.read_bytes()
    with pytest.raises(TypeError, match="JSON"):
        write(saved, "note", {"pages": object()}, {})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_another_kind(saved: Path) -> None:
    with pytest.raises(MalformedBytesError, match="expected kind client, got note"):
        read(saved, "client")


def test_truncated(saved: Path) -> None:
    data = saved.read_bytes()
    for length in range(len(data)):
        saved.write_bytes(data[:length])
        with pytest.raises(MalformedBytesError):
            read(saved, "note")


@pytest.mark.parametrize(("before", "after"), [(b"", b"\0"), (b"x", b""), (b"", b"more" * 9)])
def test_bytes_before_and_after_are_refused(saved: Path, before: bytes, after: bytes) -> None:
    saved.write_bytes(before + saved.read_bytes() + after)
    with pytest.raises(MalformedBytesError, match="other bytes before or after"):
        read(saved, "note")


def test_damaged(saved: Path) -> None:
    data = saved.read_bytes()
    rng = random.Random(11)
    for _ in range(1000):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        saved.write_bytes(damaged)
        try:
            read(saved, "note")
        except MalformedBytesError:
            continue


def test_a_compressed_part_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"version": 1, "kind": "note", "facts": {}}))
        archive.writestr("text", b"0" * 10_000_000)
    with pytest.raises(MalformedBytesError, match="compressed"):
        read(path, "note")


@pytest.mark.parametrize(
    "header",
    [
        "[]",
        "{}",
        '{"version": 2}',
        '{"version": 1, "kind": "note"}',
        '{"version": true, "kind": "note", "facts": {}}',
        "nonsense",
    ],
)
def test_a_strange_header(tmp_path: Path, header: str) -> None:
    path = tmp_path / "strange"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", header)
    with pytest.raises(MalformedBytesError):
        read(path, "note")

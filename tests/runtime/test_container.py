"""Containers: round trips and damaged files."""

import errno
import json
import os
import random
import stat
import struct
import tracemalloc
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.base.record import Fields, Record
from cloakwork.errors import (
    FileAccessError,
    FileMissingError,
    InvalidArgumentError,
    MalformedBytesError,
    MemoryBudgetError,
    NewerFormatError,
    NotReplaceableError,
)
from cloakwork.runtime import container
from cloakwork.runtime.container import (
    VERSION,
    Content,
    read,
    read_bytes,
    to_bytes,
    write,
    write_all,
    write_new,
)

NOTE: Record = {
    "pages": 2,
    "text": b"words",
    "empty": b"",
    "numbers": np.arange(6, dtype=np.int64).reshape(2, 3),
    "chapters": [{"title": "one", "marks": np.ones(2)}, {"title": "two", "marks": None}],
}


def require_note(fields: Fields) -> None:
    """Refuse what is not the note."""
    assert fields.integer("pages", least=0, most=9) == 2
    assert (fields.data("text"), fields.data("empty")) == (b"words", b"")
    assert fields.array("numbers", "int64", ndim=2).tolist() == [[0, 1, 2], [3, 4, 5]]
    one, two = fields.several("chapters", most=2)
    assert (one.text("title"), two.text("title")) == ("one", "two")
    assert one.array("marks", "float64").tolist() == [1.0, 1.0]
    assert two.raw("marks") is None


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "note"
    write(path, "note", NOTE)
    return path


def test_round_trip(saved: Path) -> None:
    require_note(read(saved, "note"))
    require_note(read_bytes(to_bytes("note", NOTE), "note"))
    assert to_bytes("note", NOTE) == to_bytes("note", NOTE)


def test_bytes_do_not_depend_on_when_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    first = to_bytes("note", NOTE)
    monkeypatch.setattr("time.localtime", lambda *_: (2030, 1, 2, 3, 4, 5, 0, 1, 0))
    assert to_bytes("note", NOTE) == first


@pytest.mark.parametrize("data", [None, "PK", bytearray(b"PK"), 3])
def test_what_is_no_bytes(data: object) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot read bytes: got"):
        read_bytes(data, "note")


def test_only_the_owner_may_read(saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MalformedBytesError, match="expected a file, got a device, a pipe"):
        read(tmp_path / "pipe", "note")


def test_writing_again_replaces(saved: Path) -> None:
    write(saved, "note", {"pages": 3})
    assert read(saved, "note").integer("pages", least=0, most=9) == 3
    assert list(saved.parent.iterdir()) == [saved]


def test_many_may_write_to_one_path_at_once(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: write(path, "note", {"writer": n}), range(64)))
    assert read(path, "note").integer("writer", least=0, most=63) in range(64)
    assert list(tmp_path.iterdir()) == [path]


def test_of_several_who_write_new_files_one_does(tmp_path: Path) -> None:
    paths = [tmp_path / "client", tmp_path / "evaluator"]

    def written(writer: int) -> bool:
        started.wait()
        try:
            write_new({path: Content("note", {"writer": writer}) for path in paths})
        except NotReplaceableError:
            return False
        return True

    for _ in range(20):
        started = Barrier(6)
        with ThreadPoolExecutor(6) as pool:
            succeeded = list(pool.map(written, range(6)))
        assert succeeded.count(True) == 1
        found = {read(path, "note").integer("writer", least=0, most=5) for path in paths}
        assert found == {succeeded.index(True)}
        assert sorted(tmp_path.iterdir()) == paths
        for path in paths:
            path.unlink()


def test_several_are_written_or_none(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, other = saved.read_bytes(), saved.with_name("other")
    right = Content("note", {"pages": 3})
    for write_them in (write_all, write_new):
        with pytest.raises(TypeError, match="JSON"):
            write_them({other: right, saved: Content("note", {"pages": object()})})
        with pytest.raises(FileMissingError):
            write_them({other: right, saved.parent / "none" / "file": right})
        assert [*saved.parent.iterdir()] == [saved]
    with pytest.raises(NotReplaceableError, match="and what is replaced is lost"):
        write_new({other: right, saved: right})
    assert saved.read_bytes() == before
    assert [*saved.parent.iterdir()] == [saved]

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    for write_them in (write_all, write_new):
        with pytest.raises(OSError, match="No space left"):
            write_them({other: right, saved: right})
        assert [*saved.parent.iterdir()] == [saved]
    assert saved.read_bytes() == before


def test_bytes_are_on_the_disk_before_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, done = tmp_path / "note", list[str]()

    def synced(descriptor: int) -> None:
        place = os.readlink(f"/proc/self/fd/{descriptor}")
        done.append(f"{'folder' if place == str(tmp_path) else 'file'}, {path.exists()}")

    monkeypatch.setattr("os.fsync", synced)
    write(path, "note", {"pages": 3})
    assert done == ["file, False", "folder, True"]


def test_a_write_that_fails_leaves_nothing_behind(saved: Path) -> None:
    before = saved.read_bytes()
    with pytest.raises(TypeError, match="JSON"):
        write(saved, "note", {"pages": object()})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for path, kind, words in (
        (tmp_path / "none" / "file", FileMissingError, "there is no folder"),
        (tmp_path, FileAccessError, "got: Is a directory"),
        (tmp_path / ("x" * 300), FileAccessError, "got: File name too long"),
    ):
        with pytest.raises(kind, match=words) as refusal:
            write(path, "note", {"pages": 3})
        assert str(path) in str(refusal.value)
        assert "partial" not in str(refusal.value)
    assert not list(tmp_path.iterdir())


def test_another_kind(saved: Path) -> None:
    with pytest.raises(MalformedBytesError, match="expected a client file, got a note"):
        read(saved, "client file")


def test_truncated(saved: Path) -> None:
    data = saved.read_bytes()
    for length in range(len(data)):
        saved.write_bytes(data[:length])
        with pytest.raises(MalformedBytesError, match=r"got one cut off, .*; copy it again"):
            read(saved, "note")


@pytest.mark.parametrize(("before", "after"), [(b"", b"\0"), (b"x", b""), (b"", b"more" * 9)])
def test_bytes_before_and_after_are_refused(saved: Path, before: bytes, after: bytes) -> None:
    saved.write_bytes(before + saved.read_bytes() + after)
    with pytest.raises(MalformedBytesError, match="other bytes before or after"):
        read(saved, "note")


def test_damaged_bytes_are_refused_or_say_the_same() -> None:
    data = to_bytes("note", NOTE)
    with pytest.raises(MalformedBytesError, match="got damaged ones; copy it again"):
        read_bytes(data.replace(b"words", b"wordt", 1), "note")
    # The name of a member stands before it as well as at the end.
    name = data.index(b"words") - 1
    assert data[name : name + 1] == b"0"
    with pytest.raises(MalformedBytesError, match="got damaged ones; copy it again"):
        read_bytes(data[:name] + b"9" + data[name + 1 :], "note")
    rng = random.Random(11)
    refused = 0
    for _ in range(1000):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            require_note(read_bytes(bytes(damaged), "note"))
        except MalformedBytesError:
            refused += 1
    # The others are times, versions and systems of zip members.
    assert refused > 500


def rewritten(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    """Write a file of members, whether they make a container or not."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def headed(content: object) -> bytes:
    """The header of a note of this content."""
    return json.dumps({"version": VERSION, "kind": "note", "content": content}).encode()


NUMBERS: Record = {"array": "0.array", "of": "<f8", "shape": [3]}


def test_a_compressed_part_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    for members in ({"text": b"0" * 100_000}, {}):
        rewritten(path, {"header.json": headed({}), **members}, zipfile.ZIP_DEFLATED)
        with pytest.raises(MalformedBytesError, match="is compressed"):
            read(path, "note")


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_arrays_compressed_otherwise_are_refused(tmp_path: Path, compression: int) -> None:
    path = tmp_path / "bomb"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("0.array", b"0" * 24, compression)
        archive.writestr("header.json", headed({"record": {"a": NUMBERS}}))
    with pytest.raises(MalformedBytesError, match=r"'0\.array' is compressed"):
        read(path, "note")


def test_an_array_that_unpacks_to_more_than_it_says_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    length = 100_000_000
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("0.array", bytes(length), zipfile.ZIP_DEFLATED)
        archive.writestr("header.json", headed({"record": {"a": NUMBERS}}))
    said = struct.pack("<I", length)
    assert path.read_bytes().count(said) == 2
    path.write_bytes(path.read_bytes().replace(said, struct.pack("<I", 24)))
    tracemalloc.start()
    fields = read(path, "note")
    with pytest.raises(MalformedBytesError, match="got damaged ones"):
        fields.array("a", "float64")
    assert tracemalloc.get_traced_memory()[1] < length / 10
    tracemalloc.stop()


def test_a_machine_without_memory_is_told(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(container, "_unpacked", full)
    fields = read(saved, "note")
    with pytest.raises(MemoryBudgetError, match="no memory for what it holds"):
        fields.array("numbers", "int64", ndim=2)


def test_a_shape_of_many_axes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "strange"
    shape = [10**17] * 200_000
    content = {"record": {"a": {**NUMBERS, "shape": shape}}}
    rewritten(path, {"0.array": bytes(24), "header.json": headed(content)})
    # Their product would take a minute.
    with pytest.raises(MalformedBytesError, match=r"an array of shape \[1000"):
        read(path, "note")


def test_arrays_that_unpack_to_more_than_is_allowed_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb"
    write(path, "note", {"zeros": np.zeros(1 << 20)})
    assert path.stat().st_size < 1 << 19
    assert read(path, "note").array("zeros", "float64").shape == (1 << 20,)
    monkeypatch.setattr(container, "ARRAY_BYTES", 1000)
    with pytest.raises(MalformedBytesError, match=r"its arrays take \d+ bytes, 1000 are allowed"):
        read(path, "note")


def test_no_file_is_written_that_would_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "ARRAY_BYTES", 1000)
    with pytest.raises(MemoryBudgetError, match="more than 1000 bytes"):
        write(tmp_path / "long", "note", {"zeros": np.zeros(1 << 20)})
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("changed", "length", "reason"),
    [
        ({}, 23, "has 23 bytes"),
        ({}, 25, "has 25 bytes"),
        ({}, 0, "has 0 bytes"),
        ({"of": "|O"}, 24, "an array is of"),
        ({"of": "<U1"}, 24, "an array is of"),
        ({"of": "<c16"}, 24, "an array is of"),
        ({"of": ">f8"}, 24, "an array is of"),
        ({"of": "\x1b[2J"}, 24, "an array is of"),
        ({"of": ["<f8"]}, 24, "an array is of"),
        ({"of": None}, 24, "an array is of"),
        ({"shape": [-3]}, 24, "has 24 bytes"),
        ({"shape": [-1, -3]}, 24, "has 24 bytes"),
        ({"shape": [3.0]}, 24, "has 24 bytes"),
        ({"shape": [True, 3]}, 24, "has 24 bytes"),
        ({"shape": ["\x1b[2J"]}, 24, "has 24 bytes"),
        ({"shape": [99999999999]}, 24, "has 24 bytes"),
        ({"shape": [10**30]}, 24, "has 24 bytes"),
        ({"shape": [0, 10**30]}, 0, "cannot read"),
        ({"shape": [1] * 99 + [3]}, 24, "cannot read"),
        ({"shape": 3}, 24, "an entry of an unknown kind"),
        ({"order": "F"}, 24, "an entry of an unknown kind"),
    ],
)
def test_strange_arrays_are_refused(
    tmp_path: Path, changed: Record, length: int, reason: str
) -> None:
    path = tmp_path / "strange"
    right = {"header.json": headed({"record": {"numbers": NUMBERS}})}
    rewritten(path, {**right, "0.array": np.ones(3).tobytes()})
    assert read(path, "note").array("numbers", "float64").tolist() == [1, 1, 1]
    header = headed({"record": {"numbers": {**NUMBERS, **changed}}})
    rewritten(path, {"header.json": header, "0.array": b"\0" * length})
    with pytest.raises(MalformedBytesError, match=reason) as refusal:
        read(path, "note").array("numbers", "float64", ndim=2)
    assert str(refusal.value).isprintable()


def piece(length: object, member: str = "0") -> Record:
    """Bytes as a header has them."""
    return {"bytes": member, "length": length}


def nested(depth: int) -> object:
    """Lists in one another."""
    return [nested(depth - 1)] if depth else []


def test_members_that_bytes_alternate_between_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "strange"
    pieces = [piece(2), piece(5, "1"), piece(3)]
    rewritten(
        path,
        {"header.json": headed({"record": {"a": pieces}}), "0": b"words", "1": b"other"},
    )
    with pytest.raises(MalformedBytesError, match="3 bytes of a member belong to nothing"):
        read(path, "note")


def test_short_bytes_share_members_and_long_ones_have_their_own(tmp_path: Path) -> None:
    path = tmp_path / "parts"
    lengths = [1, 400_000, 600_000, 500_000, 0, 3_000_000, 10, 1 << 20, 7]
    parts = [bytes([number]) * length for number, length in enumerate(lengths)]
    write(path, "note", {"parts": parts, "array": np.ones(2), "last": b"last"})
    with zipfile.ZipFile(path) as archive:
        sizes = [each.file_size for each in archive.infolist()[:-1]]
    # The array is written where it stands, before bytes that wait for more.
    assert sizes == [1_000_001, 500_000, 3_000_000, 10, 1 << 20, 16, 7 + len(b"last")]
    fields = read(path, "note")
    assert fields.items("parts", most=9) == parts
    assert (fields.data("last"), len(fields.array("array", "float64"))) == (b"last", 2)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"record": {}}, "1 members belong to nothing"),
        ({"record": {"a": piece(3)}}, "2 bytes of a member belong to nothing"),
        ({"record": {"a": piece(3), "b": piece(3)}}, "3 bytes are to be taken of 2"),
        ({"record": {"a": piece(6)}}, "6 bytes are to be taken of 5"),
        ({"record": {"a": piece(10**30)}}, "are to be taken of 5"),
        ({"record": {"a": piece(-1)}}, "-1 bytes are to be taken of 5"),
        ({"record": {"a": piece(True)}}, "True bytes are to be taken of 5"),
        ({"record": {"a": piece(5.0)}}, "an entry of an unknown kind"),
        ({"record": {"a": piece(None)}}, "an entry of an unknown kind"),
        ({"record": {"a": piece(5), "b": piece(0, "1")}}, "cannot read"),
        ({"record": {"a": piece(5, "1")}}, "cannot read"),
        ({"record": {"a": piece(5), "b": piece(5)}}, "5 bytes are to be taken of 0"),
        ({"record": {"a": piece(0, "0.array")}}, "is an array, not bytes"),
        ({"record": {"a": {"bytes": "0"}}}, "an entry of an unknown kind"),
        ({"record": {"a": {"bytes": 0, "length": 5}}}, "an entry of an unknown kind"),
        ({"record": {"a": piece(0, "header.json")}}, "cannot read"),
        ({"record": {"a": {}}}, "an entry of an unknown kind"),
        ({"record": {"a": {"bytes": "0", "array": "0"}}}, "an entry of an unknown kind"),
        ({"record": {"a": {"array": "0"}}}, "an entry of an unknown kind"),
        ({"record": {"a": {"array": "0", "of": "<f8", "shape": [3]}}}, "has 5 bytes"),
        ({"record": {"a": [piece(5)] * 2}}, "5 bytes are to be taken of 0"),
        (nested(150), "more than 100 entries deep"),
        ({"record": []}, "an entry of an unknown kind"),
    ],
)
def test_strange_contents_are_refused(tmp_path: Path, content: object, reason: str) -> None:
    path = tmp_path / "strange"
    right = {"a": piece(2), "b": piece(0), "c": [piece(3)]}
    rewritten(path, {"header.json": headed({"record": right}), "0": b"words"})
    fields = read(path, "note")
    assert [fields.data("a"), fields.data("b"), fields.raw("c")] == [b"wo", b"", [b"rds"]]
    rewritten(path, {"header.json": headed(content), "0": b"words"})
    with pytest.raises(MalformedBytesError, match=reason):
        read(path, "note")


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "strange"
    content = headed({"record": {"a": piece(5)}})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", content)
        archive.writestr("0", b"words")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("0", b"other")
    with pytest.raises(MalformedBytesError, match="two of its members have one name"):
        read(path, "note")


@pytest.mark.parametrize(
    "header",
    [
        "[]",
        "{}",
        f'{{"version": {VERSION}}}',
        f'{{"version": {VERSION}, "kind": "note"}}',
        f'{{"version": {VERSION}, "kind": "note", "content": []}}',
        f'{{"version": {VERSION}, "kind": "note", "content": 3}}',
        f'{{"version": {VERSION}, "kind": 3, "content": {{"record": {{}}}}}}',
        f'{{"version": {VERSION}, "kind": "no\\u001b[2Jte", "content": {{"record": {{}}}}}}',
        f'{{"version": {VERSION - 1}, "kind": "note", "content": {{"record": {{}}}}}}',
        f'{{"version": {VERSION}.0, "kind": "note", "content": {{"record": {{}}}}}}',
        '{"version": true, "kind": "note", "content": {"record": {}}}',
        f'{{"version": {VERSION}, "kind": "note", "content": ' + "[" * 100_000,
        "nonsense",
    ],
    ids=lambda header: header[:60],
)
def test_a_strange_header(tmp_path: Path, header: str) -> None:
    path = tmp_path / "strange"
    rewritten(path, {"header.json": header.encode()})
    with pytest.raises(MalformedBytesError) as refusal:
        read(path, "note")
    assert type(refusal.value) is MalformedBytesError
    assert str(refusal.value).isprintable()


def test_a_file_of_a_later_release_is_named_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "later"
    header = json.dumps({"version": VERSION + 1, "sort": "note"})
    rewritten(path, {"header.json": header.encode()})
    with pytest.raises(NewerFormatError, match=f"expected version {VERSION} .*, got {VERSION + 1}"):
        read(path, "note")
    client, _ = cw.compile(lambda x: x + x, (4,), log_n=6, insecure=True).keygen()
    for saved in (client, client.program):
        with pytest.raises(NewerFormatError):
            saved.save(path)

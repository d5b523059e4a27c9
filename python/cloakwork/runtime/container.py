"""The container that everything is saved in: a zip file of a header, arrays and bytes.

The header says the version, the kind and the record (see `base.record`). Bytes stand one after the
other in members of about a mebibyte, and the numbers of each array in a member of its own,
compressed. Where they stand the header names the member, and says how many bytes of it come next.
Secret bytes have members of their own, which no buffer and no immutable object holds; under a
passphrase they are sealed, and the header has the salt. The header is the last member.

Whoever sends a file of n bytes makes its reader take no more than 64 n bytes and a mebibyte of
memory: an array is made when it is asked for, and all arrays together have up to 16 times as many
bytes as the file beside its header. Files whose arrays would have more are filled up with zeros.
"""

from __future__ import annotations

import fcntl
import io
import json
import math
import os
import secrets
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import SALT_BYTES, SealingKey, crc32
from cloakwork.base.arguments import file_path, with_article
from cloakwork.base.record import Fields, PackedArray, Record
from cloakwork.base.secret_bytes import SecretBytes
from cloakwork.errors import (
    FileMissingError,
    InvalidArgumentError,
    KeyExposedError,
    MalformedBytesError,
    MemoryBudgetError,
    NewerFormatError,
    NotReplaceableError,
    PassphraseError,
)
from cloakwork.runtime.storage import DirectFile, named_reading, named_writing
from cloakwork.runtime.whole_files import name_for_good, require_regular, written_whole

VERSION = 8
_HEADER = "header.json"
# What the names of compressed members end with.
_ARRAY = ".array"
# Bytes of a member that several entries share. Longer ones have a member of their own, and are not
# copied; shorter ones share it, as a member by itself takes as long as copying 100 KB.
_SHARED_BYTES = 1 << 20
# Lists and records in one another; programs have fewer.
_MAX_DEPTH = 100
# Axes of an array, and characters of a kind; there are fewer.
_MAX_AXES = 32
_LONGEST_KIND = 100
# Bytes that the arrays of one file may take in memory, and by the bytes of the file beside its
# header: so many for each, as a reader makes up to three times that of them, and some in any case.
ARRAY_BYTES = 1 << 32
_ARRAY_RATIO = 16
_FREE_ARRAY_BYTES = 1 << 18
# The member that fills a file up.
_FILLING = "filling"
# Bytes that are written or unpacked at a time.
_PIECE_BYTES = 1 << 16
_DTYPES = ("|b1", "|u1", "<u2", "<u4", "<i4", "<i8", "<u8", "<f8")

# What a zip file of at least one member begins with, and its last record, which has no comment.
_START = b"PK\3\4"
_END = b"PK\5\6"
_END_BYTES = 22
# What stands before a member: its start, and how long its name and the fields after that are.
_LOCAL_HEADER = struct.Struct("<4s22xHH")

# What the zip and JSON readers raise on damaged bytes, the file itself being open.
_OF_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError)
_DAMAGE = (*_OF_ZIP, LookupError, OverflowError, TypeError, ValueError)
# What writes a file.
# What reads the secret bytes of a member, by the header.
_Secret: TypeAlias = Callable[[zipfile.ZipInfo, Mapping[str, Any]], SecretBytes | None]

_ADVICE = "copy it again from where it was saved, or save it anew"
_NEWER_ADVICE = "read it with a release of Cloakwork as new as the one that wrote it"


def write(
    path: str | os.PathLike[str], kind: str, record: Record, passphrase: bytearray | None = None
) -> None:
    """Write a container that only its owner may read; it appears at once or not at all.

    Args:
        path: The file.
        kind: What it holds.
        record: The record.
        passphrase: What its secret bytes are sealed by.

    Raises:
        InvalidArgumentError: The path is invalid.
        FileMissingError: There is no folder for it.
        FileAccessError: It cannot be made there.
        MemoryBudgetError: Its arrays take more than is read.
        OSError: The disk is full.
    """
    write_all({file_path(path, "write"): Content(kind, record, passphrase)})


class Content(NamedTuple):
    """What a container is to hold.

    Args:
        kind: What it says that it holds.
        record: The record.
        passphrase: What its secret bytes are sealed by.
    """

    kind: str
    record: Record
    passphrase: bytearray | None = None

    def write_into(self, file: BinaryIO) -> None:
        """Write it to an open file."""
        _write_members(file, *self)


def write_all(contents: Mapping[Path, Content]) -> None:
    """Write a container of a kind to each path: all of them, or none where one cannot be written.

    Raises:
        CloakworkError, OSError: What `write` raises.
    """
    with written_whole({path: each.write_into for path, each in contents.items()}) as partials:
        name_for_good(partials)


def write_new(contents: Mapping[Path, Content]) -> None:
    """Write as `write_all` does where no files are, whoever else writes there at the same time.

    Raises:
        NotReplaceableError: A file is there.
        CloakworkError, OSError: What `write` raises.
    """
    with written_whole({path: each.write_into for path, each in contents.items()}) as partials:
        taken: list[Path] = []
        try:
            for target in partials:
                _take_name(target)
                taken.append(target)
            name_for_good(partials)
        except BaseException:
            for target in taken:
                os.unlink(target)
            raise


def _take_name(target: Path) -> None:
    """Make an empty file that others who would write there are refused for."""
    with named_writing(target):
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError as error:
            raise NotReplaceableError(
                f"cannot write {target}: expected a new file, got one of this name, and what is "
                "replaced is lost; name another file, or remove this one"
            ) from error


def change_entries(
    path: str | os.PathLike[str], kind: str, change: Callable[[Fields], Record]
) -> None:
    """Replace entries of a container that hold no arrays and no bytes; all others stay.

    The file appears changed at once or not at all, and nobody else changes it meanwhile. The rest
    of it is copied by the system, so that no secret of it comes into memory.

    Args:
        path: The file.
        kind: What it has to hold.
        change: Gives the new entries for those that there are; where it raises, nothing changes.

    Raises:
        MalformedBytesError: The file is no container, is damaged, or holds another kind.
        FileMissingError: There is no such file.
        FileAccessError: It cannot be opened or replaced.
        OSError: The disk is full.
    """
    target = file_path(path, "write").resolve()
    with named_reading(target), _locked(target) as file, named_writing(target):
        with _archive_in(file, str(target)) as archive:
            head = _header(archive, file)
            members = [each for each in archive.infolist() if each.filename != _HEADER]
            length = archive.getinfo(_HEADER).header_offset
        record = _entries(head)
        if head["kind"] != kind or record is None:
            raise MalformedBytesError(f"cannot read {target}: expected {with_article(kind)}")
        record.update(change(Fields(record, str(target))))

        def copy(new: DirectFile) -> None:
            new.copy_from(file, length)
            with zipfile.ZipFile(new, "w") as archive:
                archive.filelist.extend(members)
                archive.writestr(_undated(_HEADER), json.dumps(head))

        with written_whole({target: copy}) as partials:
            name_for_good(partials)


@contextmanager
def _locked(path: Path) -> Iterator[DirectFile]:
    """A file that nobody else changes by `change_entries` meanwhile."""
    while True:
        with DirectFile(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever had the lock before may have put another file in its place.
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                yield file
                return


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Let nobody change the file at a path, where one is, until this has replaced it.

    Raises:
        NotReplaceableError: It is a device, a pipe or a socket.
        FileAccessError: It cannot be opened.
    """
    require_regular(path)
    with ExitStack() as lock:
        with suppress(FileMissingError), named_writing(path):
            lock.enter_context(_locked(path))
        yield


def entries_of(path: Path) -> Fields | None:
    """The entries of a container that hold no arrays and no bytes; None where no container is.

    Raises:
        FileAccessError: What is there cannot be opened.
        NewerFormatError: It is a container of a later release.
    """
    try:
        with _opened(path) as file, _archive_in(file, str(path)) as archive:
            entries = _entries(_header(archive, file))
    except NewerFormatError:
        raise
    except (FileMissingError, MalformedBytesError):
        return None
    return None if entries is None else Fields(entries, str(path))


def _entries(head: Mapping[str, Any]) -> dict[str, Any] | None:
    """The entries in a header, as it has them."""
    match head["content"]:
        case {"record": dict(entries)}:
            return entries
        case _:
            return None


def to_bytes(kind: str, record: Record) -> bytes:
    """A container as bytes."""
    file = io.BytesIO()
    _write_members(file, kind, record)
    return file.getvalue()


def read(path: str | os.PathLike[str], kind: str, passphrase: bytearray | None = None) -> Fields:
    """Read the record of a container of a kind.

    Args:
        path: The file.
        kind: What it has to hold.
        passphrase: What its secret bytes were sealed by.

    Raises:
        PassphraseError: They were sealed by another, or by one and none is given.
        KeyExposedError: It has secret bytes, and others than its owner may read or write it.
        MalformedBytesError: The file is no container, is damaged, or holds another kind.
        MemoryBudgetError: There is no memory for what it holds.
        InvalidArgumentError: The path is invalid.
        FileMissingError: There is no such file.
        FileAccessError: It cannot be opened.
    """
    source = file_path(path, "read")
    with _opened(source) as file:

        def secret(member: zipfile.ZipInfo, head: Mapping[str, Any]) -> SecretBytes:
            _require_private(file, source)
            data = _member_into(file, member, SecretBytes(member.file_size))
            if head["salt"] is None:
                return data
            key = sealing_key(head["salt"])
            return SecretBytes.taken(key.unseal(bytes(data), kind.encode()))

        @cache
        def sealing_key(salt: str) -> SealingKey:
            if passphrase is None:
                raise PassphraseError(
                    f"cannot read {source}: expected the passphrase that its secret key was sealed "
                    "by, got nothing; give passphrase="
                )
            return SealingKey.derive(passphrase, bytes.fromhex(salt))

        return _of_kind(kind, *_contents(file, str(source), secret))


def is_sealed(path: str | os.PathLike[str]) -> bool:
    """Whether a container needs a passphrase; it raises what `read` raises."""
    source = file_path(path, "read")
    with _opened(source) as file, _archive_in(file, str(source)) as archive:
        return _header(archive, file)["salt"] is not None


def read_bytes(data: object, kind: str) -> Fields:
    """Read the record of a container from its bytes, refusing what `read` refuses."""
    if not isinstance(data, bytes):
        raise InvalidArgumentError(f"cannot read bytes: got {type(data).__name__}")
    return _of_kind(kind, *_contents(io.BytesIO(data), "the bytes", _no_secret))


def read_open(file: BinaryIO, place: str, kind: str) -> Fields:
    """Read the record of a container from its open file, refusing what `read` refuses.

    Args:
        file: The file.
        place: What errors call it.
        kind: What it has to hold.
    """
    return _of_kind(kind, *_contents(file, place, _no_secret))


def read_any(path: str | os.PathLike[str]) -> tuple[str, Fields]:
    """The kind of a container and its record without secret bytes; it raises what `read` raises."""
    source = file_path(path, "read")
    with _opened(source) as file:
        return _contents(file, str(source), _no_secret)


def kind_of(path: str | os.PathLike[str]) -> str:
    """What a container holds, as its header says; it raises what `read` raises."""
    source = file_path(path, "read")
    with _opened(source) as file, _archive_in(file, str(source)) as archive:
        return str(_header(archive, file)["kind"])


def _opened(source: Path) -> DirectFile:
    """A file to be read; a pipe, of which nobody knows when it ends, is none."""
    with named_reading(source):
        mode = os.stat(source).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise MalformedBytesError(
                f"cannot read {source}: expected a file, got a device, a pipe or a socket; write "
                "what comes out of it to a file"
            )
        return DirectFile(source, "rb")


def _of_kind(kind: str, found: str, fields: Fields) -> Fields:
    if found != kind:
        raise MalformedBytesError(
            f"cannot read {fields.place}: expected {with_article(kind)}, got {with_article(found)}"
        )
    return fields


def _write_members(
    file: BinaryIO, kind: str, record: Record, passphrase: bytearray | None = None
) -> None:
    salt, seal = _sealing(kind, passphrase)
    with zipfile.ZipFile(file, "w") as archive:
        members = _WrittenMembers(archive)

        def plain(value: Any) -> Any:
            match value:
                case PackedArray():
                    return plain(value.unpacked())
                case np.ndarray():
                    little = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
                    name = members.array(little.tobytes())
                    return {"array": name, "of": little.dtype.str, "shape": list(value.shape)}
                case SecretBytes():
                    return {"secret": members.single(seal(value))}
                case bytes():
                    return {"bytes": members.shared(value), "length": len(value)}
                case Mapping():
                    return {"record": {name: plain(each) for name, each in value.items()}}
                # What an iterator gives is made one by one: all at once may not fit.
                case list() | tuple() | Iterator():
                    return [plain(each) for each in value]
                case _:
                    return value

        head = {
            "version": VERSION,
            "kind": kind,
            "salt": salt,
            "content": plain(record),
        }
        members.end()
        members.fill_up(file.tell())
        archive.writestr(_undated(_HEADER), json.dumps(head))


def _sealing(
    kind: str, passphrase: bytearray | None
) -> tuple[str | None, Callable[[SecretBytes], bytes | SecretBytes]]:
    """The salt in the header of a file of a kind, and how its secret bytes are to stand in it."""
    if passphrase is None:
        return None, lambda secret: secret
    salt = secrets.token_bytes(SALT_BYTES)
    key = SealingKey.derive(passphrase, salt)
    return salt.hex(), lambda secret: key.seal(secret, kind.encode())


class _WrittenMembers:
    """The members of an archive as they are written, beside its header."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._count = 0
        self._array_bytes = 0
        # Bytes that wait for others to share their member with, which has its name already.
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._shared_name = ""

    def array(self, data: bytes) -> str:
        """Write the numbers of an array, and give the name of their member."""
        self._array_bytes += len(data)
        if self._array_bytes > ARRAY_BYTES:
            raise MemoryBudgetError(
                f"cannot write a file whose arrays take more than {ARRAY_BYTES} bytes, as none is "
                "read: a program has fewer for a smaller batch"
            )
        name = self._next_name(_ARRAY)
        self._archive.writestr(_undated(name), data, zipfile.ZIP_DEFLATED)
        return name

    def single(self, data: bytes | bytearray) -> str:
        """Write bytes to a member of their own without a copy, and give its name."""
        name = self._next_name("")
        with self._archive.open(_undated(name), "w") as member:
            member.write(data)
        return name

    def shared(self, data: bytes) -> str:
        """Let bytes follow those before them, and give the name of the member they stand in."""
        if self._waiting_bytes + len(data) > _SHARED_BYTES:
            self.end()
        if not self._waiting:
            self._shared_name = self._next_name("")
        name = self._shared_name
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= _SHARED_BYTES:
            # Long bytes do not wait in memory for whatever is made next.
            self.end()
        return name

    def end(self) -> None:
        """Write the bytes that wait."""
        if self._waiting:
            self._archive.writestr(_undated(self._shared_name), b"".join(self._waiting))
            self._waiting, self._waiting_bytes = [], 0

    def fill_up(self, length: int) -> None:
        """Write as many zeros as a file of so many bytes lacks for what its arrays take."""
        left = -(-(self._array_bytes - _FREE_ARRAY_BYTES) // _ARRAY_RATIO) - length
        if left <= 0:
            return
        with self._archive.open(_undated(_FILLING), "w") as member:
            while left > 0:
                member.write(bytes(min(left, _PIECE_BYTES)))
                left -= _PIECE_BYTES

    def _next_name(self, ending: str) -> str:
        self._count += 1
        return f"{self._count - 1}{ending}"


def _undated(name: str) -> zipfile.ZipInfo:
    """A member whose bytes do not depend on when they are written."""
    return zipfile.ZipInfo(name)


@contextmanager
def _archive_in(file: BinaryIO, place: str) -> Iterator[zipfile.ZipFile]:
    """The archive that a file is, errors naming the place."""
    with _named_damage(place):
        first = file.read(len(_START))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END_BYTES))
        # Zip readers skip bytes before the archive, and after it.
        if (first, file.read(len(_END))) != (_START, _END):
            raise MalformedBytesError(
                "expected an archive as cloakwork saves it, got one cut off, one with other bytes "
                f"before or after it, or another file, of {size} bytes"
            )
        with zipfile.ZipFile(file) as archive:
            _require_sizes(archive, size)
            yield archive


@contextmanager
def _named_damage(place: str) -> Iterator[None]:
    """Name what damaged bytes make the readers of zip files and JSON raise."""
    try:
        yield
    except (KeyExposedError, PassphraseError):
        raise
    except NewerFormatError as error:
        raise NewerFormatError(f"cannot read {place}: {error}; {_NEWER_ADVICE}") from error
    except MalformedBytesError as error:
        raise MalformedBytesError(f"cannot read {place}: {error}; {_ADVICE}") from error
    except MemoryError as error:
        raise MemoryBudgetError(
            f"cannot read {place}: there is no memory for what it holds; read it where more is free"
        ) from error
    except _DAMAGE as error:
        reason = "expected the bytes that were saved, got damaged ones"
        raise MalformedBytesError(f"cannot read {place}: {reason}; {_ADVICE}") from error


def _contents(file: BinaryIO, place: str, secret: _Secret) -> tuple[str, Fields]:
    """The kind of a container and its record, with what stands for secret bytes."""
    with _archive_in(file, place) as archive:
        head = _header(archive, file)
        members = _ReadMembers(archive, file, place)

        def restored(value: Any, depth: int) -> Any:
            if depth > _MAX_DEPTH:
                raise MalformedBytesError(f"its header is more than {_MAX_DEPTH} entries deep")
            match value:
                case {"array": str(name), "of": dtype, "shape": list(shape), **rest} if not rest:
                    return members.array(name, dtype, shape)
                case {"bytes": str(name), "length": int(length), **rest} if not rest:
                    return members.next_of(name, length)
                case {"secret": str(name), **rest} if not rest:
                    return secret(members.named(name), head)
                # What the header is made of is made into the record: there is no second of it.
                case {"record": dict(entries), **rest} if not rest:
                    for name, each in entries.items():
                        entries[name] = restored(each, depth + 1)
                    return entries
                case list():
                    for number, each in enumerate(value):
                        value[number] = restored(each, depth + 1)
                    return value
                case dict():
                    raise MalformedBytesError("its header has an entry of an unknown kind")
                case _:
                    return value

        record = restored(head["content"], 0)
        members.require_used()
    return head["kind"], Fields(record, place)


def _no_secret(_member: zipfile.ZipInfo, _head: Mapping[str, Any]) -> None:
    """What stands for secret bytes where they are not read."""


def _require_private(file: DirectFile, source: Path) -> None:
    """Refuse a file with a secret that others than its owner may read or write."""
    mode = os.fstat(file.fileno()).st_mode
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KeyExposedError(
            f"cannot read {source}: expected a secret key that its owner alone may read, got a "
            f"file of mode {stat.S_IMODE(mode):04o}; make it private by chmod 600, and where "
            "others may have read it, make new keys"
        )


class _ReadMembers:
    """The members of an archive as its header asks for them, each once."""

    def __init__(self, archive: zipfile.ZipFile, file: BinaryIO, place: str) -> None:
        self._archive = archive
        self._file = file
        self._place = place
        self._left = {each.filename for each in archive.infolist()} - {_HEADER, _FILLING}
        # The member that bytes are taken from, and how many of it were: no other is in memory.
        self._shared_name: str | None = None
        self._shared = b""
        self._used = 0

    def array(self, name: str, dtype: Any, shape: list[Any]) -> PackedArray:
        """The array that a member is, made once it is asked for."""
        self._left.remove(name)
        member = self._archive.getinfo(name)
        if dtype not in _DTYPES:
            raise MalformedBytesError(f"an array is of {dtype!r:.20}")
        few = len(shape) <= _MAX_AXES
        sizes = few and all(type(length) is int and length >= 0 for length in shape)
        if not sizes or math.prod(shape) * np.dtype(dtype).itemsize != member.file_size:
            raise MalformedBytesError(
                f"an array of shape {shape!r:.60} has {member.file_size} bytes"
            )
        held = _held(self._file, member)

        def unpacked() -> NDArray[Any]:
            with _named_damage(self._place):
                stored = member.compress_type == zipfile.ZIP_STORED
                data = held if stored else _unpacked(held, member.file_size)
                octets = np.frombuffer(data, dtype=np.uint8)
                if zlib.crc32(octets.data) != member.CRC:
                    raise zipfile.BadZipFile(f"the array {member.filename!r:.20} is damaged")
                array: NDArray[Any] = octets.view(dtype).reshape(shape)
                array.flags.writeable = False
                made: NDArray[Any] = array.astype(array.dtype.newbyteorder("="), copy=False)
                return made

        return PackedArray(np.dtype(dtype).newbyteorder("="), tuple(shape), unpacked)

    def named(self, name: str) -> zipfile.ZipInfo:
        """Where a member is, which is asked for once."""
        self._left.remove(name)
        return self._archive.getinfo(name)

    def next_of(self, name: str, length: int) -> bytes:
        """The next bytes of a member, which a reader uses up before it takes another.

        Raises:
            MalformedBytesError: There are fewer, or those of another member are left.
        """
        if name != self._shared_name:
            self._require_end()
            if name.endswith(_ARRAY):
                raise MalformedBytesError(f"the member {name!r:.20} is an array, not bytes")
            self._left.remove(name)
            self._shared_name, self._used = name, 0
            self._shared = _member(self._file, self._archive.getinfo(name))
        left = len(self._shared) - self._used
        # True is equal to 1.
        if type(length) is not int or not 0 <= length <= left:
            raise MalformedBytesError(f"{length!r:.20} bytes are to be taken of {left}")
        start, self._used = self._used, self._used + length
        # All of a member are the member itself, no copy.
        return self._shared[start : self._used]

    def require_used(self) -> None:
        """Refuse bytes and members that belong to nothing, and a filling of anything but zeros."""
        self._require_end()
        if self._left:
            raise MalformedBytesError(f"{len(self._left)} members belong to nothing")
        if _FILLING in self._archive.namelist():
            with self._archive.open(_FILLING) as filling:
                while piece := filling.read(_PIECE_BYTES):
                    if any(piece):
                        raise MalformedBytesError("it is filled up with other bytes than zeros")

    def _require_end(self) -> None:
        left = len(self._shared) - self._used
        if left:
            raise MalformedBytesError(f"{left} bytes of a member belong to nothing")


def _member(file: BinaryIO, member: zipfile.ZipInfo) -> bytes:
    """The bytes of a member that is not compressed.

    The library's own reader takes 0.3 s longer for a gigabyte, as it copies them and has a slower
    checksum.
    """
    data = _held(file, member)
    if len(data) != member.file_size or crc32(data) != member.CRC:
        raise _damaged(member)
    return data


def _member_into(file: DirectFile, member: zipfile.ZipInfo, into: SecretBytes) -> SecretBytes:
    """The bytes of a member that is secret, read to where they are wiped."""
    _seek_member(file, member)
    stored = member.compress_type == zipfile.ZIP_STORED
    if not stored or file.readinto(into) != len(into) or zlib.crc32(into) != member.CRC:
        raise _damaged(member)
    return into


def _held(file: BinaryIO, member: zipfile.ZipInfo) -> bytes:
    """What a file holds of a member."""
    _seek_member(file, member)
    return file.read(member.compress_size)


def _seek_member(file: BinaryIO, member: zipfile.ZipInfo) -> None:
    """Go to the first byte of a member."""
    file.seek(member.header_offset)
    start, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    name = file.read(name_bytes)
    if (start, name) != (_START, member.filename.encode()):
        raise zipfile.BadZipFile(f"there is no member {member.filename!r:.20} where it should be")
    file.seek(extra_bytes, os.SEEK_CUR)


def _damaged(member: zipfile.ZipInfo) -> zipfile.BadZipFile:
    return zipfile.BadZipFile(f"the member {member.filename!r:.20} is damaged")


def _unpacked(packed: bytes, length: int) -> NDArray[np.uint8]:
    """The bytes that packed ones unpack to, which must be so many; no more are made."""
    made = np.empty(length, dtype=np.uint8)
    unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
    end = 0
    for start in range(0, len(packed), _PIECE_BYTES):
        piece, left = b"", packed[start : start + _PIECE_BYTES]
        while left or len(piece) == _PIECE_BYTES:
            piece = unpacking.decompress(left, _PIECE_BYTES)
            left = unpacking.unconsumed_tail
            made[end : end + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
            end += len(piece)
    if end != length or not unpacking.eof:
        raise zipfile.BadZipFile(f"{length} bytes are packed otherwise")
    return made


def _require_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse members that would take more memory than the file has bytes and arrays may take."""
    members = archive.infolist()
    packed = [each for each in members if each.compress_type != zipfile.ZIP_STORED]
    if members[0].header_offset != 0:
        raise MalformedBytesError("there are other bytes before it")
    if len({each.filename for each in members}) != len(members):
        raise MalformedBytesError("two of its members have one name")
    unpacked = sum(each.file_size for each in packed)
    stored = sum(each.file_size for each in members) - unpacked
    if stored + sum(each.compress_size for each in packed) > size:
        raise MalformedBytesError("its members are longer than the file")
    beside = size - archive.getinfo(_HEADER).file_size
    most = min(ARRAY_BYTES, _FREE_ARRAY_BYTES + _ARRAY_RATIO * beside)
    if unpacked > most:
        raise MalformedBytesError(f"its arrays take {unpacked} bytes, {most} are allowed")
    for each in packed:
        if not each.filename.endswith(_ARRAY) or each.compress_type != zipfile.ZIP_DEFLATED:
            raise MalformedBytesError(f"the member {each.filename!r:.20} is compressed")


def _header(archive: zipfile.ZipFile, file: BinaryIO) -> dict[str, Any]:
    """The header: the kind of a container, the salt of its passphrase, its record."""
    head = json.loads(_member(file, archive.getinfo(_HEADER)))
    # True is equal to 1.
    version = head.get("version") if isinstance(head, dict) else None
    if type(version) is not int or version < VERSION:
        raise MalformedBytesError(f"expected version {VERSION}, got {version!r:.20}")
    if version > VERSION:
        raise NewerFormatError(f"expected version {VERSION} of the format, got {version!r:.20}")
    kind = head.get("kind")
    if not (isinstance(kind, str) and len(kind) <= _LONGEST_KIND and kind.isprintable()):
        raise MalformedBytesError("it does not say what it holds")
    salt = head.get("salt")
    if salt is not None and (not isinstance(salt, str) or len(bytes.fromhex(salt)) != SALT_BYTES):
        raise MalformedBytesError(f"expected a salt of {SALT_BYTES} bytes")
    return {"version": version, "kind": kind, "salt": salt, "content": head.get("content")}

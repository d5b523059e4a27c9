"""Files without buffers, and the refusals of the system, which tells them by numbers, named."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cloakwork.errors import CloakworkError, FileAccessError, FileMissingError, StorageFullError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class DirectFile(io.FileIO):
    """A file of which nothing stays in a buffer; it reads and writes all that it is asked to.

    Example:
        >>> import tempfile
        >>> with DirectFile(tempfile.mkstemp()[0], "rb+") as file:
        ...     file.write(b"secret")
        ...     file.seek(0)
        ...     file.read(4)
        6
        0
        b'secr'
    """

    def write(self, data: Any) -> int:
        """Write all of some bytes."""
        left = memoryview(data).cast("B")
        length = len(left)
        while left:
            left = left[super().write(left) :]
        return length

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as far as there is something."""
        left = memoryview(buffer).cast("B")
        length = len(left)
        while left and (count := super().readinto(left)):
            left = left[count:]
        return length - len(left)

    def read(self, size: int | None = -1) -> bytes:
        """So many bytes, or all that there are; of several reads where the system gives fewer."""
        if size is None or size < 0:
            return self.readall()
        found = super().read(size)
        while len(found) < size and (more := super().read(size - len(found))):
            found += more
        return found

    def copy_from(self, source: io.FileIO, length: int) -> None:
        """Write the first bytes of another file, which the system copies.

        Raises:
            OSError: There are fewer, or no space is left.
        """
        copied = 0
        while copied < length:
            count = os.sendfile(self.fileno(), source.fileno(), copied, length - copied)
            if not count:
                raise EOFError
            copied += count


@contextmanager
def named_full_disk(place: str, advice: str) -> Iterator[None]:
    """Name what the system raises where a disk, or what one may have of it, is full.

    Args:
        place: What is written.
        advice: Where else it may go.

    Raises:
        StorageFullError: There is no space left.

    Example:
        >>> with named_full_disk("notes", "give another path"):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
        cloakwork.errors.StorageFullError: cannot write notes: there is no space left ...
    """
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise StorageFullError(
            f"cannot write {place}: there is no space left ({error.strerror}); free space or "
            f"{advice}"
        ) from error


@contextmanager
def named_reading(path: Path, advice: str = "give the path of a file") -> Iterator[None]:
    """Name what the system raises where a file cannot be read.

    Raises:
        FileMissingError: There is no such file.
        FileAccessError: It cannot be opened.

    Example:
        >>> with named_reading(Path("none")):
        ...     Path("none").read_bytes()
        Traceback (most recent call last):
        cloakwork.errors.FileMissingError: cannot read none: expected a file, but nothing is ...
    """
    try:
        yield
    except CloakworkError:
        raise
    except FileNotFoundError as error:
        raise FileMissingError(
            f"cannot read {path}: expected a file, but nothing is there; {advice}"
        ) from error
    except OSError as error:
        raise FileAccessError(
            f"cannot read {path}: expected a file, got: {error.strerror}; give the path of a file "
            "that may be read"
        ) from error


@contextmanager
def named_writing(path: Path) -> Iterator[None]:
    """Name what the system raises where a file cannot be written.

    A full disk is left to `named_full_disk`, which knows what else to write to.

    Raises:
        FileMissingError: There is no folder for it.
        FileAccessError: It cannot be made there.

    Example:
        >>> with named_writing(Path("nowhere/notes")):
        ...     Path("nowhere/notes").write_text("hello")
        Traceback (most recent call last):
        cloakwork.errors.FileMissingError: cannot write nowhere/notes: there is no folder nowhere...
    """
    try:
        yield
    except CloakworkError:
        raise
    except FileNotFoundError as error:
        raise FileMissingError(
            f"cannot write {path}: there is no folder {path.parent}; make it first"
        ) from error
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        raise FileAccessError(
            f"cannot write {path}: expected the path of a file that may be written, got: "
            f"{error.strerror}; give another path"
        ) from error


def sync_folder(folder: Path) -> None:
    """Let the names of a folder's files outlast a loss of power, where the system can."""
    # Some file systems do not, and a folder that may be written need not be readable.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

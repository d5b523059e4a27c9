"""Files that are written whole and are on the disk, or are not there at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from cloakwork.errors import NotReplaceableError
from cloakwork.runtime.storage import DirectFile, named_writing, sync_folder


def write_whole(path: Path, data: bytes | bytearray) -> None:
    """Write bytes to a file that only its owner may read; one that is there is replaced.

    Raises:
        NotReplaceableError: A device, a pipe or a socket is there.
        FileMissingError: There is no folder for it.
        FileAccessError: It cannot be made there.
        OSError: The disk is full.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "notes"
        >>> write_whole(path, b"first")
        >>> write_whole(path, b"second")
        >>> path.read_bytes(), len(list(path.parent.iterdir()))
        (b'second', 1)
    """
    with written_whole({path: lambda file: file.write(data)}) as partials:
        name_for_good(partials)


@contextmanager
def written_whole(
    contents: Mapping[Path, Callable[[DirectFile], object]],
) -> Iterator[dict[Path, str]]:
    """Files whole and on the disk, beside their places under names that no others have.

    What is not given another name is removed.
    """
    partials: dict[Path, str] = {}
    try:
        for target, write_into in contents.items():
            require_regular(target)
            with named_writing(target):
                # Its mode is 0600.
                descriptor, partials[target] = tempfile.mkstemp(".partial", dir=target.parent)
                with DirectFile(descriptor, "wb") as file:
                    write_into(file)
                    # A name may outlast a loss of power that the bytes it names do not.
                    os.fsync(file.fileno())
        yield partials
    finally:
        for partial in partials.values():
            with suppress(FileNotFoundError):
                os.unlink(partial)


def name_for_good(partials: Mapping[Path, str]) -> None:
    """Give files of `written_whole` their names, which outlast a loss of power."""
    for target, partial in partials.items():
        with named_writing(target):
            os.replace(partial, target)
    for folder in {target.parent for target in partials}:
        sync_folder(folder)


def require_regular(path: Path) -> None:
    """Refuse to replace what is no file of bytes, such as a device or a pipe.

    Raises:
        NotReplaceableError: Such is there.
        FileAccessError: A folder is there, or the path cannot be looked up.
    """
    with named_writing(path):
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            return
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise NotReplaceableError(
            f"cannot write {path}: expected a new file, or one to replace, got a device, a pipe or "
            "a socket; name a file"
        )

"""The user's cache folder: what is kept there can be made anew.

It is the user's alone. What others may have written decides nothing: it is not read.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import platformdirs

from cloakwork.errors import FileAccessError

# What lets others write.
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def folder() -> Path:
    """The folder `cloakwork` in the user's cache; it need not be there yet."""
    try:
        return platformdirs.user_cache_path("cloakwork", appauthor=False)
    except RuntimeError:
        # A user without a home has no cache: nothing can be read or written below a device.
        return Path(os.devnull) / "cloakwork"


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file to be read, which nobody but this user may have written."""
    place = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _require_own(os.fstat(place), path.parent)
        # A pipe would be waited for.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path.name, flags, dir_fd=place)
    finally:
        os.close(place)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _require_own(status, path)
        if not stat.S_ISREG(status.st_mode):
            raise FileAccessError(f"cannot read {path}: expected a file, got another thing")
        yield file


def read(path: Path) -> bytes | None:
    """The bytes of a file that nobody but this user may have written; None where there is none."""
    try:
        with opened(path) as file:
            return file.read()
    except OSError:
        return None


def keep(path: Path, data: bytes) -> None:
    """Write a file at once or not at all; where it cannot be written, nothing is kept."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.parent.stat().st_uid != os.geteuid():
            return
        path.parent.chmod(0o700)
        descriptor, partial = tempfile.mkstemp(suffix=".partial", dir=path.parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            os.replace(partial, path)
        except OSError:
            # A folder in the place of the file, for one.
            os.unlink(partial)


def _require_own(status: os.stat_result, path: Path) -> None:
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
        raise FileAccessError(
            f"cannot read {path}: expected what no other user may write, got one of user "
            f"{status.st_uid} with mode {stat.S_IMODE(status.st_mode):o}; let this user alone "
            "write there, or give another folder"
        )

"""The lock of a server's folder, which one server at a time has."""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path

from cloakwork.errors import FolderInUseError
from cloakwork.runtime.storage import named_writing

_NAME = "lock"


class FolderLock:
    """Keeps other servers off a folder until it is released, or the process ends in any way.

    Args:
        folder: The folder, which is made where there is none.

    Raises:
        FolderInUseError: Another server has it.
        FileAccessError: It cannot be made or written.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> lock = FolderLock(folder)
        >>> FolderLock(folder)
        Traceback (most recent call last):
        cloakwork.errors.FolderInUseError: cannot serve ...: expected a folder that no other ...
        >>> lock.release()
        >>> FolderLock(folder).release()
    """

    def __init__(self, folder: Path) -> None:
        path = folder / _NAME
        with named_writing(path):
            folder.mkdir(parents=True, exist_ok=True)
            # The processes of runs, which may outlive the server, do not inherit it.
            descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        self.release = weakref.finalize(self, os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise FolderInUseError(
                f"cannot serve {folder}: expected a folder that no other server has, got one that "
                "is served now; end that server first, or give another folder"
            ) from None

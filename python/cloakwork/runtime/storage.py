"""Names full disks, which the system tells by numbers."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from cloakwork.errors import StorageFullError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


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

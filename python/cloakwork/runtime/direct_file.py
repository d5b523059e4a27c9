"""Files without buffers of Python's, in which copies of secrets would stay."""

from __future__ import annotations

import io
import os
from typing import Any


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

"""The user's cache folder: what is kept there can be made anew."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import platformdirs


def folder() -> Path:
    """The folder `cloakwork` in the user's cache; it need not be there yet."""
    try:
        return platformdirs.user_cache_path("cloakwork", appauthor=False)
    except RuntimeError:
        # A user without a home has no cache: nothing can be read or written below a device.
        return Path(os.devnull) / "cloakwork"


def keep(path: Path, data: bytes) -> None:
    """Write a file at once or not at all; where it cannot be written, nothing is kept.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as made:
        ...     keep(Path(made) / "new" / "file", b"abc")
        ...     (Path(made) / "new" / "file").read_bytes()
        b'abc'
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(path)
    except OSError:
        # A folder in the place of the file, for one.
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)

"""Costs of this machine, kept in the user's cache folder until the engine is built anew."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cloakwork import _native


def identity(of: Mapping[str, Any]) -> dict[str, Any]:
    """What costs belong to: the facts given, the engine's build and the processor.

    Example:
        >>> identity({"threads": 2})["threads"]
        2
    """
    return {**of, "engine": _engine(), "processor": _processor()}


def folder() -> Path:
    """The folder `cloakwork` in the user's cache; it need not be there yet."""
    # The specification has a relative path ignored as an empty one is.
    given = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):
        return Path(given) / "cloakwork"
    # Where nobody has a home the path stays as it is, and is refused when it is used.
    return Path(os.path.expanduser("~/.cache")) / "cloakwork"


def cache_path(of: Mapping[str, Any]) -> Path:
    """Where the costs of an identity are kept."""
    digest = hashlib.sha256(json.dumps(of).encode()).hexdigest()
    return folder() / f"costs-{digest[:32]}.json"


def read(of: Mapping[str, Any]) -> Any:
    """The costs kept of an identity, as JSON has them; None where there are none.

    Example:
        >>> import tempfile
        >>> from unittest import mock
        >>> with (
        ...     tempfile.TemporaryDirectory() as folder,
        ...     mock.patch.dict(os.environ, XDG_CACHE_HOME=folder),
        ... ):
        ...     write({"of": "me"}, [1, 2])
        ...     read({"of": "me"}), read({"of": "you"})
        ([1, 2], None)
    """
    try:
        data = json.loads(cache_path(of).read_text())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.get("of") != of:
        return None
    return data.get("costs")


def write(of: Mapping[str, Any], costs: Any) -> None:
    """Keep costs; where they cannot be written they are measured again next time."""
    path = cache_path(of)
    text = json.dumps({"of": of, "costs": costs})
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text)
        partial.replace(path)
    except OSError:
        # A folder in the place of the file, for one.
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _engine() -> list[int]:
    file = Path(_native.__file__).stat()
    return [file.st_size, file.st_mtime_ns]


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    told = ("vendor_id", "cpu family", "model", "model name")
    facts = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    named = [f"{name.strip()}={fact.strip()}" for name, _, fact in facts if name.strip() in told]
    return " ".join(named) or platform.machine()

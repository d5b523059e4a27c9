"""Costs of this machine, kept in the user's cache folder until the engine is built anew."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cloakwork import _native
from cloakwork.base import cache as cache_folder


def identity(of: Mapping[str, Any]) -> dict[str, Any]:
    """What costs belong to: the facts given, the engine's build and the processor.

    Example:
        >>> identity({"threads": 2})["threads"]
        2
    """
    return {**of, "engine": _engine(), "processor": _processor()}


def cache_path(of: Mapping[str, Any]) -> Path:
    """Where the costs of an identity are kept."""
    digest = hashlib.sha256(json.dumps(of).encode()).hexdigest()
    return cache_folder.folder() / f"costs-{digest[:32]}.json"


def read(of: Mapping[str, Any]) -> Any:
    """The costs kept of an identity, as JSON has them; None where there are none.

    Example:
        >>> import os
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
    text = json.dumps({"of": of, "costs": costs})
    cache_folder.keep(cache_path(of), text.encode())


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

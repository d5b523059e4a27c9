"""Costs of this machine, cached until the engine is built anew."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cloakwork import _native
from cloakwork.base import cache as cache_folder


def cache_path(of: Mapping[str, Any]) -> Path:
    """Where costs that depend on these facts are kept on this machine."""
    digest = hashlib.sha256(json.dumps(_identity(of)).encode()).hexdigest()
    return cache_folder.folder() / f"costs-{digest[:32]}.json"


def kept_costs(of: Mapping[str, Any]) -> Any:
    """The costs that depend on these facts, as JSON has them; None where there are none."""
    try:
        data = json.loads(cache_folder.read(cache_path(of)) or b"null")
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.get("of") != _identity(of):
        return None
    return data.get("costs")


def keep_costs(of: Mapping[str, Any], costs: Any) -> None:
    """Keep costs; where they cannot be written they are measured again next time."""
    text = json.dumps({"of": _identity(of), "costs": costs})
    cache_folder.keep(cache_path(of), text.encode())


def _identity(of: Mapping[str, Any]) -> dict[str, Any]:
    """What costs belong to: the facts, the engine's build and the processor."""
    built = Path(_native.__file__).stat()
    return {**of, "engine": [built.st_size, built.st_mtime_ns], "processor": _processor()}


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    told = ("vendor_id", "cpu family", "model", "model name")
    facts = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    named = [f"{name.strip()}={fact.strip()}" for name, _, fact in facts if name.strip() in told]
    return " ".join(named) or platform.machine()

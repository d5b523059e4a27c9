"""Costs measured on this machine, once for each parameter set, and kept in the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from cloakwork import _native
from cloakwork._native import Parameters, threads
from cloakwork.backends.timing import operation_seconds, run_seconds
from cloakwork.errors import MalformedBytesError
from cloakwork.plan.cost import Costs, LevelCosts, modelled

_VERSION = 2


def modelled_for(parameters: Parameters) -> Costs:
    """Costs in units of one transform by the limbs of a parameter set; see `plan.cost.modelled`.

    Example:
        >>> p = Parameters(levels=2, log_n=10, insecure=True)
        >>> modelled_for(p).rotation(2) == 10 * p.key_prime_count
        True
    """
    limbs = [parameters.prime_count(level) for level in range(parameters.levels + 1)]
    return modelled(limbs, parameters.key_prime_count - limbs[-1])


def comparable(parameters: Parameters) -> Costs:
    """Modelled costs in a unit that is the same for every ring.

    Example:
        >>> small, large = (Parameters(levels=1, log_n=n, insecure=True) for n in (10, 11))
        >>> comparable(small).rotation(1) < comparable(large).rotation(1)
        True
    """
    return modelled_for(parameters).scaled(parameters.n * parameters.log_n)


def measured(parameters: Parameters) -> Costs:
    """Costs in CPU seconds on this machine, at the engine's present number of threads.

    CPU seconds are added up over threads; see `backends.timing`. Measured at up to four levels
    where the cache has no such table yet, which takes about two seconds at N = 2^14; the
    model, corrected by what was measured, fills the others. The table is kept in the folder
    `cloakwork` of XDG_CACHE_HOME or ~/.cache, where that can be written, until the engine is
    built or installed anew.

    Example:
        >>> import tempfile
        >>> from unittest import mock
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> with (
        ...     tempfile.TemporaryDirectory() as folder,
        ...     mock.patch.dict(os.environ, XDG_CACHE_HOME=folder),
        ... ):
        ...     measured(p) == measured(p)
        True
    """
    path = cache_path(parameters)
    kept = _read(path, parameters)
    if kept is not None:
        return kept
    costs = _measure(parameters)
    _write(path, parameters, costs)
    return costs


def cache_path(parameters: Parameters) -> Path:
    """Where the costs of a parameter set on this machine are kept."""
    # The specification has a relative path ignored as an empty one is.
    given = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(given) if os.path.isabs(given) else Path("~/.cache").expanduser()
    digest = hashlib.sha256(json.dumps(_identity(parameters)).encode()).hexdigest()
    return root / "cloakwork" / f"costs-{digest[:32]}.json"


def _identity(parameters: Parameters) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "engine": _engine(),
        "parameters": parameters.fingerprint,
        "processor": _processor(),
        "threads": threads(),
    }


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


def _read(path: Path, parameters: Parameters) -> Costs | None:
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.get("of") != _identity(parameters):
        return None
    try:
        costs = Costs.from_dict(data.get("costs"))
    except MalformedBytesError:
        return None
    return costs if len(costs.levels) == parameters.levels + 1 else None


def _write(path: Path, parameters: Parameters, costs: Costs) -> None:
    text = json.dumps({"of": _identity(parameters), "costs": costs.to_dict()})
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text)
        partial.replace(path)
    except OSError:
        # Measured again next time.
        return


def _measure(parameters: Parameters) -> Costs:
    model = modelled_for(parameters)
    top = parameters.levels
    corrections: dict[str, dict[int, float]] = {}
    for level in sorted({0, min(1, top), (top + 1) // 2, top}):
        for kind, seconds in operation_seconds(parameters, level).items():
            correction = seconds / getattr(model.at(level), kind)
            corrections.setdefault(kind, {})[level] = correction
    # A chain without levels has no products and no transforms: their prices are not asked for.
    others = corrections["rotation"]
    levels = [
        {
            kind: cost * _between(corrections.get(kind, others), level)
            for kind, cost in asdict(costs).items()
        }
        for level, costs in enumerate(model.levels)
    ]
    return Costs(tuple(LevelCosts(**costs) for costs in levels), run_seconds(parameters))


def _between(measured_levels: Mapping[int, float], level: int) -> float:
    return float(np.interp(level, list(measured_levels), list(measured_levels.values())))

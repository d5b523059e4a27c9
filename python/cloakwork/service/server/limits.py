"""The limits of a server as its operator writes them: sizes such as 2GB, times such as 30d."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cloakwork.errors import InvalidArgumentError

_BYTES = {"": 1, "B": 1} | {
    f"{letter}{unit}": base**power
    for power, letter in enumerate(("k", "M", "G", "T"), 1)
    for unit, base in (("B", 1000), ("iB", 1024))
}
# With none of these nobody can have anything run.
_NEEDED = {"memory", "seconds", "key-bytes", "input-bytes", "jobs"}
_SECONDS = {"": 1, "s": 1, "min": 60, "h": 3600, "d": 24 * 3600}


def bytes_of(text: str) -> int:
    """A size as people write it.

    Raises:
        ValueError: It is something else.

    Example:
        >>> bytes_of("2GB"), bytes_of("1.5 MiB")
        (2000000000, 1572864)
    """
    return int(_in_units(text, _BYTES))


def seconds_said(text: str) -> float:
    """A time as people write it.

    Raises:
        ValueError: It is something else.

    Example:
        >>> seconds_said("30d"), seconds_said("90"), seconds_said("1.5min")
        (2592000.0, 90.0, 90.0)
    """
    return _in_units(text, _SECONDS)


def count_of(text: str) -> int:
    """A number of things.

    Raises:
        ValueError: It is something else.

    Example:
        >>> count_of("100")
        100
    """
    return int(text)


# By the name that an operator writes: that of `Settings`, and what reads it.
LIMITS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "memory": ("most_memory_bytes", bytes_of),
    "seconds": ("most_seconds", seconds_said),
    "key-bytes": ("most_key_bytes", bytes_of),
    "input-bytes": ("most_input_bytes", bytes_of),
    "state-bytes": ("most_state_bytes", bytes_of),
    "programs": ("most_programs", count_of),
    "program-bytes": ("most_program_bytes", bytes_of),
    "jobs": ("most_jobs", count_of),
    "attempts": ("attempts", count_of),
    "kept": ("kept_seconds", seconds_said),
    "keys-unused": ("kept_key_seconds", seconds_said),
}


def limits_of(texts: Sequence[str], file: Path | None) -> dict[str, Any]:
    """Fields of `Settings`, of a file of TOML and what is said beside it.

    Args:
        texts: Such as `memory=2GB`; these count where the file says another.
        file: The file, whose names are the same.

    Raises:
        InvalidArgumentError: One is not a limit, or not of its kind, or lets nothing run.

    Example:
        >>> limits_of(["memory=2GB", "kept=1h"], None)
        {'most_memory_bytes': 2000000000, 'kept_seconds': 3600.0}
    """
    said = {} if file is None else _of_file(file)
    said |= {name.strip(): value for name, _, value in (each.partition("=") for each in texts)}
    return dict(_field(name, value) for name, value in said.items())


def _of_file(file: Path) -> dict[str, str]:
    try:
        found = tomllib.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(
            f"cannot read limits of {file}: expected a file of TOML, got: {error}"
        ) from None
    return {name: str(value) for name, value in found.items()}


def _field(name: str, value: str) -> tuple[str, Any]:
    field, read = LIMITS.get(name, ("", str))
    if not field:
        raise InvalidArgumentError(
            f"cannot set a limit: expected one of {', '.join(LIMITS)}, got {name!r}"
        )
    try:
        most = read(value)
    except ValueError:
        raise InvalidArgumentError(
            f"cannot set the limit {name}: expected a number from 0 up, with a unit such as in "
            f"2GB, 512MiB, 90s, 10min, 24h or 30d where it has one, got {value!r:.40}"
        ) from None
    if name in _NEEDED and not most:
        raise InvalidArgumentError(
            f"cannot set the limit {name}: expected more than 0, got {value!r:.40}, by which the "
            "server could run nothing; give more"
        )
    return field, most


def _in_units(text: str, units: Mapping[str, int]) -> float:
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*)\s*", text)
    if found is None or found[2] not in units:
        raise ValueError(text)
    return float(found[1]) * units[found[2]]

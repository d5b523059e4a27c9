"""The memory that a container, or a unit of systemd, is held to by its control group."""

from __future__ import annotations

import math
from pathlib import Path, PurePosixPath

_OWN, _ALL = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
# What a line of version 2 begins with; there is one at the most.
_START = "0::/"


def most_bytes(own: Path = _OWN, groups: Path = _ALL) -> float:
    """Bytes that this process's control group, or one above it, may take: the fewest of them.

    Args:
        own: The file that says which group it is.
        groups: The folder of the groups, of version 2.

    Returns:
        The bytes; infinity where nothing limits them.

    Example:
        >>> most_bytes(Path("none")), most_bytes() > 0
        (inf, True)
    """
    lines = _text(own).splitlines()
    places = [PurePosixPath(line.removeprefix(_START)) for line in lines if line.startswith(_START)]
    limits = [
        _text(groups / each / "memory.max").strip()
        for place in places
        for each in (place, *place.parents)
    ]
    return min((float(limit) for limit in limits if limit.isdigit()), default=math.inf)


def _text(path: Path) -> str:
    """What is in a file; nothing where there is none."""
    try:
        return path.read_text()
    except OSError:
        return ""

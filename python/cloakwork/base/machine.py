"""What the machine has."""

from __future__ import annotations

import os
from functools import cache


@cache
def physical_bytes() -> int:
    """Bytes of memory that the machine has.

    Example:
        >>> physical_bytes() > 10**8
        True
    """
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

"""What the machine has, and what a process gives back to it."""

import os
import platform
import subprocess
import sys
import textwrap

import pytest

# Blocks of 8 MiB, with smaller ones in between that stay in use and fit no hole of the heap.
_FREED = textwrap.dedent(
    """
    import resource
    import sys
    from pathlib import Path
    import numpy as np
    from cloakwork.base.system_memory import return_large_blocks

    def resident():
        pages = Path("/proc/self/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    if sys.argv[1] == "returns":
        return_large_blocks()
    np.ones(31 << 17)  # Freed, and from now on what is smaller comes from the heap.
    large, small = [], []
    for _ in range(32):
        large.append(np.ones(1 << 20))
        small.append(np.ones(1 << 15))
    before = resident()
    large.clear()
    print(before - resident())
    """
)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others have no mallopt")
def test_large_blocks_go_back_to_the_system() -> None:
    def freed(how: str) -> int:
        command = [sys.executable, "-c", _FREED, how]
        # Nothing else sets what glibc keeps.
        own = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
        own.pop("GLIBC_TUNABLES", None)
        ran = subprocess.run(command, check=True, capture_output=True, text=True, env=own)
        return int(ran.stdout)

    assert freed("returns") > 31 * (8 << 20)
    assert freed("keeps") < 31 * (8 << 20)

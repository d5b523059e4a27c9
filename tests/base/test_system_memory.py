"""What the system refuses memory for is named."""

import errno
import os
import platform
import subprocess
import sys
import textwrap

import pytest

from cloakwork.base.system_memory import names_memory
from cloakwork.errors import MemoryBudgetError, ProgramTooLargeError

REFUSALS = (
    MemoryError(),
    OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
    RuntimeError("can't start new thread"),
    ImportError("libx.so: failed to map segment from shared object"),
)
OTHERS = (
    ProgramTooLargeError("cannot pad: too large"),
    OSError(errno.ENOENT, os.strerror(errno.ENOENT)),
    RuntimeError("cannot schedule new futures after shutdown"),
    ImportError("no module"),
    KeyError("a"),
)
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


@names_memory("count")
def raising(error: Exception) -> None:
    """Count nothing."""
    raise error


@pytest.mark.parametrize("error", REFUSALS, ids=repr)
def test_a_refusal_of_the_system_is_named(error: Exception) -> None:
    with pytest.raises(MemoryBudgetError, match=r"cannot count: .*; free memory, .*") as raised:
        raising(error)
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("error", OTHERS, ids=repr)
def test_other_errors_stay_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        raising(error)
    assert raised.value is error


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

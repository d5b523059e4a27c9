"""What the system refuses memory for is named."""

import errno
import os

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

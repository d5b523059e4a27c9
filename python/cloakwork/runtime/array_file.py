"""Arrays in files of numpy's (.npy) that appear when they are whole, and may exceed memory."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import MAGIC_PREFIX, open_memmap
from numpy.typing import NDArray

from cloakwork.base.arguments import file_path, shown
from cloakwork.errors import InvalidArgumentError, NotReplaceableError, StorageFullError
from cloakwork.programs.packing import Allocate
from cloakwork.runtime.storage import NO_ROOM, named_reading, named_writing, sync_folder

_ACTION = "write an array"


def write_array(path: str | os.PathLike[str], make: Callable[[Allocate], Any]) -> NDArray[Any]:
    """Write an array to a file that only its owner may read.

    Args:
        path: The file; an array's file that is there is replaced, any other is kept.
        make: Makes the array in what it allocates, which is in the file, or elsewhere.

    Returns:
        The array, which stays in the file and cannot be changed.

    Raises:
        InvalidArgumentError: There is no array of numbers, or the path is invalid.
        NotReplaceableError: A file is there that is not an array's.
        FileMissingError: There is no folder for it.
        FileAccessError: It cannot be made there.
        StorageFullError: There is no space left for it.

    Example:
        >>> write_array(f"{tempfile.mkdtemp()}/ones.npy", lambda allocate: np.ones(3)).tolist()
        [1.0, 1.0, 1.0]
    """
    target = file_path(path, "write")
    if target.is_dir():
        raise InvalidArgumentError(
            f"cannot {_ACTION} to {target}: expected the path of a file, got a folder"
        )
    with named_writing(target):
        if not is_replaceable(target):
            raise NotReplaceableError(
                f"cannot {_ACTION} to {target}: expected a new file, or an array's (.npy) to "
                "replace, got another file; name another, or remove this one"
            )
        descriptor, beside = tempfile.mkstemp(suffix=".partial", dir=target.parent)
    os.close(descriptor)
    try:
        made = make(partial(_allocated, target, Path(beside)))
        if not isinstance(made, np.ndarray) or made.dtype.hasobject:
            raise InvalidArgumentError(
                f"cannot {_ACTION} to {target}: expected one array of numbers, got {shown(made)}"
            )
        if not isinstance(made, np.memmap):
            held = _allocated(target, Path(beside), made.shape, made.dtype)
            held[...] = made
            made = held
        made.flush()
        os.replace(beside, target)
        sync_folder(target.parent)
    except BaseException:
        os.unlink(beside)
        raise
    found: NDArray[Any] = made
    found.flags.writeable = False
    return found


def is_replaceable(path: Path) -> bool:
    """Whether an array may be written to a path: nothing is there to lose but an array.

    Raises:
        FileAccessError: What is there cannot be opened.

    Example:
        >>> is_replaceable(Path(__file__)), is_replaceable(Path("nothing.npy"))
        (False, True)
    """
    # A device or a pipe is nobody's earlier result, and reading from one may wait for ever.
    if not path.is_file():
        return not path.exists()
    with named_reading(path), open(path, "rb") as file:
        first = file.read(len(MAGIC_PREFIX))
    return first in (b"", MAGIC_PREFIX)


def _allocated(target: Path, beside: Path, shape: tuple[int, ...], kind: Any) -> Any:
    """An array that is a file, for which there is space."""
    if np.dtype(kind).hasobject:
        raise InvalidArgumentError(
            f"cannot {_ACTION} to {target}: expected numbers of up to 64 bits, results may have "
            "more; use decrypt"
        )
    try:
        made = open_memmap(beside, mode="w+", dtype=kind, shape=shape)
        # Where there is no space for a page that is written, the process would be killed.
        with open(beside, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        nbytes = math.prod(shape) * np.dtype(kind).itemsize
        raise StorageFullError(
            f"cannot {_ACTION} to {target}: it takes {nbytes} bytes, and there is no space "
            f"left ({error.strerror}); free space or give another path"
        ) from error
    return made

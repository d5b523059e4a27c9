"""Arrays in files: whole or not there, for their owner, and refused by name."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloakwork.errors import (
    FileAccessError,
    FileMissingError,
    InvalidArgumentError,
    NotReplaceableError,
    StorageFullError,
)
from cloakwork.programs.packing import Allocate
from cloakwork.runtime.array_file import write_array
from tests.families import TENSORS


def filled(allocate: Allocate) -> Any:
    """An array made in the file itself."""
    array = allocate((2, 3), np.float64)
    array[...] = 7.0
    return array


@pytest.mark.parametrize("make", [filled, lambda _: np.full((2, 3), 7.0)])
def test_an_array_is_written(make: Any, tmp_path: Path) -> None:
    made = write_array(tmp_path / "array", make)
    assert made.tolist() == np.load(tmp_path / "array").tolist() == [[7.0] * 3] * 2
    assert not made.flags.writeable
    assert [each.name for each in tmp_path.iterdir()] == ["array"]
    assert (tmp_path / "array").stat().st_mode & 0o777 == 0o600


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    write_array(tmp_path / "array", filled)

    def failing(allocate: Allocate) -> Any:
        filled(allocate)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_array(tmp_path / "array", failing)
    assert np.load(tmp_path / "array").max() == 7.0
    assert [each.name for each in tmp_path.iterdir()] == ["array"]


@pytest.mark.parametrize("made", [3, [np.ones(2)], np.array([1 << 70], dtype=object)])
def test_what_is_no_array_of_numbers_is_refused(made: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="expected one array of numbers"):
        write_array(tmp_path / "array", lambda _: made)
    with pytest.raises(InvalidArgumentError, match="results may have more; use decrypt"):
        write_array(tmp_path / "array", lambda allocate: allocate((2,), object))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StorageFullError, match="it takes 48 bytes, and there is no space left"):
        write_array(tmp_path / "array", filled)
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileMissingError, match=r"nowhere/array: there is no folder .*/nowhere;"):
        write_array(tmp_path / "nowhere" / "array", filled)


def test_arrays_and_empty_files_alone_are_replaced(tmp_path: Path) -> None:
    client, _ = TENSORS.keys()
    client.save(tmp_path / "key")
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    os.mkfifo(tmp_path / "pipe")
    before = (tmp_path / "key").read_bytes()
    for name in ("key", "notes", "link", "pipe"):
        with pytest.raises(NotReplaceableError, match=rf"{name}: expected a new file, or an array"):
            write_array(tmp_path / name, filled)
    assert (tmp_path / "key").read_bytes() == before
    (tmp_path / "empty").touch()
    for name in ("empty", "empty", "new"):
        write_array(tmp_path / name, filled)
        assert np.load(tmp_path / name).max() == 7.0


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileAccessError, match=r"file/array: .*got: Not a directory"):
        write_array(tmp_path / "file" / "array", filled)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="expected the path of a file, got a folder"):
        write_array(tmp_path, lambda allocate: np.ones(3))
    assert not list(tmp_path.iterdir())

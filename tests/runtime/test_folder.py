"""Folders: files that appear at once, local or by URL, and what is refused by name."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cloakwork.errors import (
    ClusterFolderError,
    FileAccessError,
    InvalidArgumentError,
    MalformedBytesError,
    StorageFullError,
)
from cloakwork.runtime import container
from cloakwork.runtime.folder import Folder

KIND = "note file"


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """A new folder of a file system."""
    places: dict[str, Any] = {
        "local": tmp_path / "notes",
        "memory": f"memory://{tmp_path.name}/notes",
    }
    return Folder.made(places[request.param], "take notes")


def test_what_is_written_is_read(folder: Folder) -> None:
    assert folder.names() == set()
    folder.write("first", KIND, {"data": b"12", "text": "hello"})
    folder.write("second", KIND, {"data": b""})
    assert folder.names() == {"first", "second"}
    assert folder.has("first")
    assert not folder.has("third")
    assert folder.read("first", KIND).data("data") == b"12"
    with pytest.raises(MalformedBytesError, match="expected an other file, got a note file"):
        folder.read("first", "other file")


def test_files_are_removed_by_what_their_names_begin_with(folder: Folder) -> None:
    for name in ("input-1", "values-2", "results-3"):
        folder.write(name, KIND, {})
    folder.remove(("input-", "values-"))
    assert folder.names() == {"results-3"}


def test_folders_are_in_folders(folder: Folder) -> None:
    inner = folder.within("job")
    assert inner.names() == set()
    inner.make()
    inner.make()
    inner.write("first", KIND, {})
    assert inner.names() == {"first"}
    assert folder.names() == {"job"}
    inner.remove_all()
    inner.remove_all()
    assert folder.names() == set()


def test_a_file_that_is_not_seen_is_named(folder: Folder) -> None:
    with pytest.raises(
        ClusterFolderError, match=r"no such file is seen from .*; give .* make again what"
    ):
        folder.read("nothing", KIND)


def test_a_relative_path_is_the_same_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Folder.at("notes", "take notes").url == str(tmp_path / "notes")


@pytest.mark.parametrize("place", [3, None, "", b"notes", "nothing://notes", "/tmp/a\0b"])
def test_what_is_no_place_is_refused(place: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"cannot take notes: .*folder"):
        Folder.at(place, "take notes")


@pytest.mark.parametrize("place", ["nothing://notes", "http://localhost/notes"])
def test_what_cannot_be_written_is_refused_with_what_can(place: str) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"folder .*; give the path of a folder, or a URL"
    ):
        Folder.made(place, "take notes")


def test_what_is_only_looked_at_is_not_made(tmp_path: Path) -> None:
    folder = Folder.at(tmp_path / "notes", "take notes")
    assert not folder.has("first")
    assert not [*tmp_path.iterdir()]
    assert Folder.made(tmp_path / "notes", "take notes") == folder
    assert [each.name for each in tmp_path.iterdir()] == ["notes"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for place in (tmp_path / "file", tmp_path / "file" / "notes"):
        with pytest.raises(ClusterFolderError, match=r"cannot take notes: expected a folder at"):
            Folder.made(place, "take notes")
        with pytest.raises(ClusterFolderError, match=r"cannot read .*/first: expected a file, got"):
            Folder.at(place, "take notes").read("first", KIND)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    Folder(str(tmp_path)).within("first").make()
    with pytest.raises(ClusterFolderError, match=r"/first: expected a file, got: Is a directory"):
        Folder(str(tmp_path)).read("first", KIND)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(container, "_write_members", full)
    with pytest.raises(
        StorageFullError, match=r"first: there is no space left \(.*free space or give"
    ):
        Folder(str(tmp_path)).write("first", KIND, {})
    assert list(tmp_path.iterdir()) == []


def test_other_failures_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(FileAccessError, match="Not a directory"):
        Folder(f"{tmp_path}/file").write("first", KIND, {})


def test_room_is_asked_for_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10**7))
    Folder(str(tmp_path)).require_space(10**7, "run")
    with pytest.raises(
        StorageFullError, match=r"cannot run: its files take 11000000 bytes, .* has 10000000 free;"
    ):
        Folder(str(tmp_path)).require_space(11 * 10**6, "run")
    # Nobody knows how much an object store holds.
    Folder("memory://notes").require_space(10**20, "run")

"""The user's cache folder: only this user's files are read, and it is closed to others."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cloakwork.base import cache


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "cloakwork" / "note"
    before = os.umask(0)
    try:
        cache.keep(path, b"words")
    finally:
        os.umask(before)
    return path


def test_what_is_kept_is_the_users_alone(kept: Path) -> None:
    assert cache.read(kept) == b"words"
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    cache.keep(kept, b"other words")
    assert cache.read(kept) == b"other words"
    assert [*kept.parent.iterdir()] == [kept]


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_may_write_is_not_read_until_it_is_closed(
    kept: Path, mode: int
) -> None:
    kept.parent.chmod(mode)
    assert cache.read(kept) is None
    cache.keep(kept, b"made anew")
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert cache.read(kept) == b"made anew"


def test_a_file_that_others_may_write_is_not_read(kept: Path) -> None:
    kept.chmod(0o620)
    assert cache.read(kept) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_file_of_others_is_not_read(kept: Path, place: str) -> None:
    os.chown(kept if place == "file" else kept.parent, 1234, 1234)
    assert cache.read(kept) is None
    cache.keep(kept, b"made anew")
    # A file is replaced; in a folder of others nothing is kept.
    assert cache.read(kept) == (b"made anew" if place == "file" else None)
    os.chown(kept.parent, os.geteuid(), os.getegid())
    assert kept.read_bytes() == (b"made anew" if place == "file" else b"words")


def test_links_pipes_and_folders_are_not_read(kept: Path, tmp_path: Path) -> None:
    kept.rename(tmp_path / "elsewhere")
    kept.symlink_to(tmp_path / "elsewhere")
    assert cache.read(kept) is None
    kept.unlink()
    os.mkfifo(kept)
    assert cache.read(kept) is None
    kept.unlink()
    kept.mkdir()
    assert cache.read(kept) is None
    cache.keep(kept, b"words")
    assert [*kept.parent.iterdir()] == [kept]


def test_a_cache_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    cache.keep(tmp_path / "file" / "note", b"words")
    assert cache.read(tmp_path / "file" / "note") is None
    assert cache.read(tmp_path / "none") is None

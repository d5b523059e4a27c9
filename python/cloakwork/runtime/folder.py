"""A folder that all machines of a cluster see: local, or anything that fsspec has a URL for."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from cloakwork.base.record import Fields, Record
from cloakwork.errors import ClusterFolderError, InvalidArgumentError, StorageFullError
from cloakwork.runtime import container
from cloakwork.runtime.storage import named_full_disk

_ADVICE = "give another folder"
_ANOTHER_PLACE = (
    "give the path of a folder, or a URL of fsspec's whose file system is installed and can be "
    "written, such as s3://bucket/jobs"
)
_ONLY_READ = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder by its URL.

    Args:
        url: The URL, or the path of a local folder.

    Example:
        >>> import tempfile
        >>> folder = Folder(tempfile.mkdtemp())
        >>> folder.write("notes", "note file", {"text": "hello"})
        >>> folder.read("notes", "note file").text("text"), folder.names()
        ('hello', {'notes'})
    """

    url: str

    @classmethod
    def at(cls, place: str | os.PathLike[str], action: str) -> Folder:
        """The folder at a URL or a path, whether it is there or not.

        Raises:
            InvalidArgumentError: Nothing can be kept at such a place.
        """
        text = os.fspath(place) if isinstance(place, str | os.PathLike) else place
        if not isinstance(text, str) or not text or "\0" in text:
            raise InvalidArgumentError(
                f"cannot {action}: expected folder to be a path or a URL, got {place!r:.60}"
            )
        # What workers see does not depend on where this process was started.
        folder = cls(text if "://" in text else str(Path(text).absolute()))
        try:
            _place(folder.url)
        except (ImportError, ValueError) as error:
            raise InvalidArgumentError(
                f"cannot {action}: folder {text!r:.60}: {error}; {_ANOTHER_PLACE}"
            ) from error
        return folder

    @classmethod
    def made(cls, place: str | os.PathLike[str], action: str) -> Folder:
        """The folder at a URL or a path, made where it is not there.

        Raises:
            InvalidArgumentError: Nothing can be kept at such a place.
            ClusterFolderError: It cannot be made.
            StorageFullError: There is no space left for it.
        """
        folder = cls.at(place, action)
        if folder.url.startswith(_ONLY_READ):
            raise InvalidArgumentError(
                f"cannot {action}: folder {folder.url!r:.60}: nothing can be written there; "
                f"{_ANOTHER_PLACE}"
            )
        try:
            folder.make()
        except ValueError as error:
            raise InvalidArgumentError(
                f"cannot {action}: folder {folder.url!r:.60}: {error}; {_ANOTHER_PLACE}"
            ) from error
        except StorageFullError:
            raise
        except OSError as error:
            raise ClusterFolderError(
                f"cannot {action}: expected a folder at {folder.url}, or a place for one, got: "
                f"{error.strerror or error}; give another folder"
            ) from error
        return folder

    def within(self, name: str) -> Folder:
        """A folder in it."""
        return Folder(f"{self.url.rstrip('/')}/{name}")

    def make(self) -> None:
        """Make the folder where it is not there."""
        files, path = _place(self.url)
        with named_full_disk(self.url, _ADVICE):
            files.makedirs(path, exist_ok=True)

    def write(self, name: str, kind: str, record: Record) -> None:
        """Write a file, which appears at once or not at all.

        Raises:
            StorageFullError: There is no space left for it.
        """
        files, path = _place(self.url)
        with named_full_disk(f"{self.url}/{name}", _ADVICE):
            if isinstance(files, LocalFileSystem):
                container.write(f"{path}/{name}", kind, record)
            else:
                files.pipe_file(f"{path}/{name}", container.to_bytes(kind, record))

    def read(self, name: str, kind: str) -> Fields:
        """The record of a file.

        Raises:
            ClusterFolderError: There is no such file to be seen from here.
            MalformedBytesError: The file is damaged or holds something else.
        """
        files, path = _place(self.url)
        try:
            if isinstance(files, LocalFileSystem):
                with open(f"{path}/{name}", "rb") as file:
                    return container.read_open(file, f"{path}/{name}", kind)
            return container.read_bytes(files.cat_file(f"{path}/{name}"), kind)
        except FileNotFoundError as error:
            raise ClusterFolderError(
                f"cannot read {self.url}/{name}: no such file is seen from {os.uname().nodename}; "
                "give a folder that all machines of the run see, or make again what was removed"
            ) from error
        except (IsADirectoryError, NotADirectoryError, PermissionError) as error:
            raise ClusterFolderError(
                f"cannot read {self.url}/{name}: expected a file, got: {error.strerror}; remove "
                "what is there, or give another folder"
            ) from error

    def has(self, name: str) -> bool:
        """Whether there is a file of a name."""
        files, path = _place(self.url)
        files.invalidate_cache()
        return bool(files.exists(f"{path}/{name}"))

    def names(self) -> set[str]:
        """The names of its files."""
        files, path = _place(self.url)
        files.invalidate_cache()
        try:
            return {str(each).rstrip("/").rpartition("/")[2] for each in files.ls(path, False)}
        except FileNotFoundError:
            return set()

    def remove(self, beginnings: tuple[str, ...]) -> None:
        """Remove the files whose names begin so."""
        files, path = _place(self.url)
        for name in self.names():
            if name.startswith(beginnings):
                # Another run of the same inputs may have removed it meanwhile.
                with suppress(FileNotFoundError):
                    files.rm(f"{path}/{name}")

    def remove_all(self) -> None:
        """Remove the folder with all that is in it, where it is there."""
        files, path = _place(self.url)
        if files.exists(path):
            files.rm(path, recursive=True)

    def require_space(self, nbytes: int, action: str) -> None:
        """Refuse what a local folder has no space for; of others nobody knows.

        Raises:
            StorageFullError: There is less space.
        """
        files, path = _place(self.url)
        if not isinstance(files, LocalFileSystem):
            return
        free = shutil.disk_usage(path).free
        if nbytes > free:
            raise StorageFullError(
                f"cannot {action}: its files take {nbytes} bytes, {self.url} has {free} "
                "free; free space or give another folder"
            )


@cache
def _place(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    files, path = fsspec.core.url_to_fs(url)
    return files, str(path)

"""Where commands may write: not over what they read, a key, or a file of another kind."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path

from cloakwork.errors import (
    FileAccessError,
    FileMissingError,
    InvalidArgumentError,
    MalformedBytesError,
    NotReplaceableError,
)
from cloakwork.runtime import container
from cloakwork.runtime.saved import Saved
from cloakwork.runtime.storage import named_writing


def require_separate(outputs: Mapping[str, Path], inputs: Iterable[Path]) -> None:
    """Refuse outputs that are inputs, or one another.

    Example:
        >>> require_separate({"--client": Path("k"), "--evaluator": Path("./k")}, [])
        Traceback (most recent call last):
        cloakwork.errors.InvalidArgumentError: ... --client and --evaluator name one file; ...
    """
    read = list(inputs)
    for option, path in outputs.items():
        if any(_same(path, each) for each in read):
            raise InvalidArgumentError(
                f"cannot write {path}: {option} names a file that the command reads; name another"
            )
    for (option, path), (other, its_path) in itertools.combinations(outputs.items(), 2):
        if _same(path, its_path):
            raise InvalidArgumentError(
                f"cannot write {path}: {option} and {other} name one file; give each its own"
            )


def require_replaceable(path: Path, kind: type[Saved]) -> None:
    """Refuse to write one of Cloakwork's files over a file of another kind.

    Example:
        >>> import cloakwork as cw
        >>> require_replaceable(Path(__file__), cw.Client)
        Traceback (most recent call last):
        cloakwork.errors.NotReplaceableError: ... client file to replace, got a file that is ...
    """
    _require_place(path)
    if _is_empty(path):
        return
    found = _kind(path)
    if found != kind._kind:
        raise NotReplaceableError(
            f"cannot write {path}: expected a new file, or an earlier {kind._kind} to replace, got "
            f"{_described(found)}; name another file, or remove this one"
        )


def require_new_key(path: Path) -> None:
    """Refuse to write a key where a file is.

    Example:
        >>> require_new_key(Path(__file__))
        Traceback (most recent call last):
        cloakwork.errors.NotReplaceableError: ... and a key that is replaced is lost; ...
    """
    if path.exists():
        raise NotReplaceableError(
            f"cannot write {path}: expected a new file, got {_described(_kind(path))}, and a key "
            "that is replaced is lost; name another file, or give --overwrite"
        )


def require_new_state(path: Path) -> None:
    """Refuse to write the first state where a file is, such as a later one.

    Example:
        >>> require_new_state(Path(__file__))
        Traceback (most recent call last):
        cloakwork.errors.NotReplaceableError: ... and a state that is replaced is lost; ...
    """
    _require_place(path)
    if not _is_empty(path):
        raise NotReplaceableError(
            f"cannot write {path}: expected a new file, got {_described(_kind(path))}, and a state "
            "that is replaced is lost; name another file, or remove this one"
        )


def require_not_of_cloakwork(path: Path) -> None:
    """Refuse to write results or a picture over a program, a key or ciphertexts."""
    _require_place(path)
    found = None if _is_empty(path) else _kind(path)
    if found is not None:
        raise NotReplaceableError(
            f"cannot write {path}: expected a new file, or an earlier one of the same use, got "
            f"{_described(found)}; name another file, or remove this one"
        )


def _require_place(path: Path) -> None:
    with named_writing(path):
        there = path.exists()
    if path.parent.is_file():
        raise FileAccessError(
            f"cannot write {path}: expected a path in a folder, and {path.parent} is a file; give "
            "another path"
        )
    if not path.parent.is_dir():
        raise FileMissingError(
            f"cannot write {path}: there is no folder {path.parent}; make it first"
        )
    if there and not path.is_file():
        raise InvalidArgumentError(
            f"cannot write {path}: expected the name of a file, got a folder or a device; name a "
            "file"
        )


def _is_empty(path: Path) -> bool:
    """Whether nothing is there to lose; `mktemp` makes empty files."""
    return not path.exists() or path.stat().st_size == 0


def _kind(path: Path) -> str | None:
    """What a file of Cloakwork's holds; None for other files."""
    try:
        return container.kind_of(path)
    except MalformedBytesError:
        return None


def _described(kind: str | None) -> str:
    return "a file that is not of Cloakwork" if kind is None else f"the {kind} of this name"


def _same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        # One of them is not there, or cannot be.
        return path.resolve() == other.resolve()

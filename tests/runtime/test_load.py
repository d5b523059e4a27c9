"""Loading: what is asked for and nothing else, on this machine's terms."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cloakwork as cw
from cloakwork.errors import (
    FileAccessError,
    FileMissingError,
    InsecureParametersError,
    InvalidArgumentError,
    MalformedBytesError,
    StorageFullError,
)
from cloakwork.runtime import container
from tests.families import BITS, CIRCUITS, FAMILIES, NETWORKS, TENSORS, Family

every_family = pytest.mark.parametrize("family", FAMILIES, ids=str)

KINDS: dict[str, type] = {
    "program": cw.Program,
    "client": cw.Client,
    "evaluator": cw.Evaluator,
    "encrypted values": cw.Encrypted,
    "public key": cw.Encryptor,
    "session": cw.Session,
    "session evaluator": cw.SessionEvaluator,
}


def things(family: Family) -> dict[str, Any]:
    """All that is saved of a family, and of a session."""
    client, evaluator = family.keys()
    session = cw.Session(depth=1, insecure=True, log_n=10)
    found = {
        "program": family.program,
        "client": client,
        "evaluator": evaluator,
        "encrypted values": family.encrypted(),
        "session": session,
        "session evaluator": session.evaluator(),
        "tensor": session.encrypt([1.0]),
    }
    if family is not BITS:
        found["public key"] = client.public_key()
    return found


@every_family
def test_a_file_is_loaded_as_what_it_is_and_as_nothing_else(family: Family, tmp_path: Path) -> None:
    for name, thing in things(family).items():
        thing.save(tmp_path / name)
        for kind_name, kind in KINDS.items():
            if name == kind_name:
                loaded: Any = cw.load(tmp_path / name, kind, insecure=True)
                assert type(loaded) is kind
                continue
            article = "an" if name[0] in "aeiou" else "a"
            with pytest.raises(MalformedBytesError, match=f"expected an? {kind_name} file") as told:
                cw.load(tmp_path / name, kind, insecure=True)
            assert str(told.value).endswith(f"got {article} {name} file")


@pytest.mark.parametrize("family", [TENSORS, NETWORKS, CIRCUITS], ids=str)
@pytest.mark.parametrize("name", ["program", "client", "evaluator", "public key", "session"])
def test_insecure_parameters_are_the_callers_choice(
    family: Family, name: str, tmp_path: Path
) -> None:
    things(family)[name].save(tmp_path / "it")
    with pytest.raises(InsecureParametersError, match="read it with insecure=True"):
        cw.load(tmp_path / "it", KINDS[name])
    assert "INSECURE" in repr(cw.load(tmp_path / "it", KINDS[name], insecure=True))


@pytest.mark.parametrize("family", [family for family in FAMILIES if family.clear], ids=str)
@pytest.mark.parametrize("name", ["program", "client", "evaluator", "public key"])
def test_what_hides_nothing_is_the_callers_choice_too(
    family: Family, name: str, tmp_path: Path
) -> None:
    """A program's file makes nobody send numbers in the clear."""
    things(family)[name].save(tmp_path / "it")
    with pytest.raises(InsecureParametersError, match="read it with insecure=True"):
        cw.load(tmp_path / "it", KINDS[name])
    assert "hides nothing" in repr(cw.load(tmp_path / "it", KINDS[name], insecure=True))


def test_secure_parameters_need_no_choice(tmp_path: Path) -> None:
    BITS.program.save(tmp_path / "program")
    assert cw.load(tmp_path / "program", cw.Program).warning == ""
    secure = cw.compile(lambda x: x.sum(), (8,))
    secure.save(tmp_path / "program")
    assert cw.load(tmp_path / "program", cw.Program).warning == ""


@pytest.mark.parametrize("insecure", [1, None, "yes", 0])
def test_the_choice_is_true_or_false(insecure: Any, tmp_path: Path) -> None:
    TENSORS.program.save(tmp_path / "program")
    with pytest.raises(InvalidArgumentError, match="insecure to be True or False, got"):
        cw.load(tmp_path / "program", cw.Program, insecure=insecure)


@pytest.mark.parametrize(
    "kind", [None, str, dict, "Client", cw.Tensor, cw.Profile, TENSORS.program, cw.Port, object]
)
def test_kinds_are_what_can_be_saved(kind: Any, tmp_path: Path) -> None:
    TENSORS.program.save(tmp_path / "program")
    with pytest.raises(InvalidArgumentError, match=r"expected a kind such as cloakwork\.Evaluator"):
        cw.load(tmp_path / "program", kind, insecure=True)


class NoText:
    """A path that is bytes."""

    def __fspath__(self) -> bytes:
        return b"x"


PATHS: tuple[Any, ...] = (None, 3, 1.5, b"x", "", "a\0b", "\ud800", io.BytesIO(), NoText())


@pytest.mark.parametrize("path", PATHS)
def test_what_is_no_path_is_refused(path: Any) -> None:
    acts: list[Callable[[], Any]] = [
        lambda each=each: each.save(path)  # type: ignore[misc]
        for each in things(TENSORS).values()
    ]
    acts += [lambda kind=kind: cw.load(path, kind) for kind in KINDS.values()]  # type: ignore[misc]
    for act in acts:
        with pytest.raises(InvalidArgumentError, match=r"cannot (read|write) a file: .*path"):
            act()


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(container, "_write_members", full)
    for thing in things(TENSORS).values():
        with pytest.raises(StorageFullError, match=r"/kept: there is no space left .*other path"):
            thing.save(tmp_path / "kept")
    assert not list(tmp_path.iterdir())


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path, "x" * 5000):
        # Encrypted values are in folders, too.
        for kind in set(KINDS.values()) - ({cw.Encrypted} if path == tmp_path else set()):
            with pytest.raises(OSError, match=r"nothing is there|Is a directory|too long") as told:
                cw.load(path, kind)
            assert isinstance(told.value, FileMissingError | FileAccessError)
    for path in (tmp_path / "none" / "client", tmp_path, "x" * 5000):
        for thing in things(TENSORS).values():
            with pytest.raises(OSError, match=r"is no folder|Is a directory|too long") as told:
                thing.save(path)
            assert isinstance(told.value, FileMissingError | FileAccessError)
    assert not list(tmp_path.iterdir())


@every_family
def test_only_the_owner_may_read(family: Family, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        for name, thing in things(family).items():
            thing.save(tmp_path / name)
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


@pytest.mark.parametrize(("before", "after"), [(b"", b"\0"), (b"x", b""), (b"PK\3\4", b"")])
def test_bytes_before_and_after_are_refused(before: bytes, after: bytes, tmp_path: Path) -> None:
    for name, thing in things(TENSORS).items():
        if name not in KINDS:
            continue
        thing.save(tmp_path / name)
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(before + data + after)
        with pytest.raises(MalformedBytesError, match="cannot read"):
            cw.load(tmp_path / name, KINDS[name], insecure=True)

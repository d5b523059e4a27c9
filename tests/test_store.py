"""What saving and loading refuse; the round trips are in tests/system/test_roles.py."""

import io
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, MalformedBytesError, ParametersMismatchError

SESSION = cw.Session(depth=1, insecure=True, log_n=11)
CLEAR = cw.Session(depth=1, backend="clear", insecure=True, log_n=11)


@pytest.mark.parametrize("thing", [SESSION.evaluator, SESSION, None])
def test_a_client_is_saved_and_nothing_else(thing: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"session\.client, got"):
        cw.save_client(thing, tmp_path / "client")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("thing", [SESSION.client, SESSION, None])
def test_an_evaluator_is_saved_and_nothing_else(thing: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"session\.evaluator, got"):
        cw.save_evaluator(thing, tmp_path / "evaluator")
    assert not list(tmp_path.iterdir())


def test_a_tensor_is_saved_and_nothing_else(tmp_path: Path) -> None:
    things: tuple[Any, ...] = ([1], None)
    for thing in things:
        with pytest.raises(InvalidArgumentError, match="expected an encrypted tensor, got"):
            cw.save_tensor(thing, tmp_path / "x", SESSION.parameters)


def test_a_tensor_is_saved_with_its_own_parameters(tmp_path: Path) -> None:
    x = SESSION.encrypt([1.0])
    holders: tuple[Any, ...] = (SESSION, SESSION.client, None)
    for holder in holders:
        with pytest.raises(InvalidArgumentError, match=r"pass session\.parameters"):
            cw.save_tensor(x, tmp_path / "x", holder)
    other = cw.Session(depth=2, insecure=True, log_n=11)
    with pytest.raises(ParametersMismatchError, match="made under"):
        cw.save_tensor(x, tmp_path / "x", other.parameters)


def test_a_tensor_is_loaded_by_whoever_can_hold_it(tmp_path: Path) -> None:
    cw.save_tensor(SESSION.encrypt([1.0]), tmp_path / "x", SESSION.parameters)
    holders: tuple[Any, ...] = (SESSION, None)
    for holder in holders:
        with pytest.raises(InvalidArgumentError, match="expected a client or an evaluator"):
            cw.load_tensor(tmp_path / "x", holder)
    for clear in (CLEAR.client, CLEAR.evaluator):
        with pytest.raises(InvalidArgumentError, match="in the clear"):
            cw.load_tensor(tmp_path / "x", clear)


def set_fact(path: Path, name: str, fact: Any) -> None:
    """Change a saved file's header."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["header.json"])
    header["facts"][name] = fact
    parts["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for part, data in parts.items():
            archive.writestr(part, data)


@pytest.mark.parametrize("bound", [10**400, True, None, "1", 0, -1.0, math.nan, math.inf])
def test_hostile_bounds_are_refused(bound: Any, tmp_path: Path) -> None:
    path = tmp_path / "client"
    cw.save_client(SESSION.client, path)
    set_fact(path, "bound", bound)
    with pytest.raises(MalformedBytesError, match=r"cannot read .*: expected bound"):
        cw.load_client(path)
    set_fact(path, "bound", 2)
    assert cw.load_client(path).bound == 2.0


def test_tensors_of_many_axes_are_loaded(tmp_path: Path) -> None:
    # 32 is what numpy 1 has at most.
    most = 64 if int(np.__version__.split(".")[0]) >= 2 else 32
    data = np.ones((1,) * most)
    cw.save_tensor(SESSION.encrypt(data), tmp_path / "x", SESSION.parameters)
    loaded = cw.load_tensor(tmp_path / "x", SESSION.client)
    assert SESSION.client.decrypt(loaded).shape == data.shape


class NoText:
    """A path that is bytes."""

    def __fspath__(self) -> bytes:
        return b"x"


PATHS: tuple[Any, ...] = (None, 3, 1.5, b"x", "", "a\0b", "\ud800", io.BytesIO(), NoText())


@pytest.mark.parametrize("path", PATHS)
def test_what_is_no_path_is_refused(path: Any) -> None:
    for act in (
        lambda: cw.save_client(SESSION.client, path),
        lambda: cw.save_evaluator(SESSION.evaluator, path),
        lambda: cw.save_tensor(SESSION.encrypt([1.0]), path, SESSION.parameters),
        lambda: cw.load_client(path),
        lambda: cw.load_evaluator(path),
        lambda: cw.load_tensor(path, SESSION.client),
    ):
        with pytest.raises(InvalidArgumentError, match=r"cannot (read|write) a file: .*path"):
            act()


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path, "x" * 5000):
        with pytest.raises(OSError, match=r"No such|Is a directory|too long"):
            cw.load_client(path)
    for path in (tmp_path / "none" / "client", tmp_path, "x" * 5000):
        with pytest.raises(OSError, match=r"No such|Is a directory|too long"):
            cw.save_client(SESSION.client, path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "axes",
    [
        [[1, 0, ""]] * 65,
        [[True, 0, ""]],
        [[2, True, ""]],
        [[2, 1, "\x1b[2J"]],
        [[2, 1, "a\nb"]],
        [[0, 1, ""]],
        [[-2, 1, ""]],
        [[2000, 1, ""]],
        [[1, 10**30, ""]],
        [[10**30, 0, ""]],
        [[2, -1, ""]],
        [[2, 1.0, ""]],
        [[2, 0, ""]],
        [[2, 1]],
        [2],
    ],
)
def test_hostile_axes_are_refused(axes: Any, tmp_path: Path) -> None:
    path = tmp_path / "x"
    cw.save_tensor(SESSION.encrypt([1.0, 2.0]), path, SESSION.parameters)
    set_fact(path, "axes", axes)
    with pytest.raises(MalformedBytesError, match="cannot read") as refusal:
        cw.load_tensor(path, SESSION.client)
    assert str(refusal.value).isprintable()

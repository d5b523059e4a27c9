"""What saving and loading refuse; the round trips are in tests/system/test_roles.py."""

import json
import zipfile
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize(
    "axes",
    [
        [[1, 0, ""]] * 33,
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
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["header.json"])
    header["facts"]["axes"] = axes
    parts["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(MalformedBytesError, match="cannot read") as refusal:
        cw.load_tensor(path, SESSION.client)
    assert str(refusal.value).isprintable()

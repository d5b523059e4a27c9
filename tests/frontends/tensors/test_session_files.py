"""What saving and loading refuse; the round trips are in tests/system/test_roles.py."""

import io
import json
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    MalformedBytesError,
    ParametersMismatchError,
)
from cloakwork.programs.layout import Axis, Layout

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


def rewrite(path: Path, **facts: Any) -> None:
    """Put other facts into the header of a saved tensor."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["header.json"])
    header["facts"] |= facts
    header["facts"] = {name: fact for name, fact in header["facts"].items() if fact is not ...}
    parts["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


@pytest.mark.parametrize("bound", [10**400, True, None, "1", 0, -1.0, math.nan, math.inf])
def test_hostile_bounds_are_refused(bound: Any, tmp_path: Path) -> None:
    path = tmp_path / "client"
    cw.save_client(SESSION.client, path)
    rewrite(path, bound=bound)
    with pytest.raises(MalformedBytesError, match=r"cannot read .*: expected bound"):
        cw.load_client(path)
    rewrite(path, bound=2)
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
    "facts",
    [
        {"axes": [[1, 0, "", 0]] * 65},
        {"axes": [[True, 0, "", 0]]},
        {"axes": [[2, True, "", 0]]},
        {"axes": [[2, 1, "", True]]},
        {"axes": [[2, 1, "\x1b[2J", 0]]},
        {"axes": [[2, 1, "a\nb", 0]]},
        {"axes": [[0, 1, "", 0]]},
        {"axes": [[-2, 1, "", 0]]},
        {"axes": [[2000, 1, "", 0]]},
        {"axes": [[1, 10**30, "", 0]]},
        {"axes": [[10**30, 0, "", 0]]},
        {"axes": [[10**30, 0, "", 1]]},
        {"axes": [[2, -1, "", 0]], "offset": 0, "replicas": []},
        {"axes": [[2, 1.0, "", 0]]},
        {"axes": [[2, 0, "", 0]]},
        {"axes": [[2, 1, "", -1]]},
        {"axes": [[2, 1, "", 1.0]]},
        {"axes": [[2, 1, "", 2000]]},
        {"axes": [[2, 1, "", None]]},
        {"axes": [[2, 1, "", 1]]},
        {"axes": [[1 << 40, 0, "", 1]]},
        {"axes": [[1 << 40, 0, "", 1]] * 32},
        {"axes": [[2, 1, ""]]},
        {"axes": [[2, 1]]},
        {"axes": [2]},
        {"axes": "2"},
        {"axes": ...},
        {"replicas": [[1, 0, "", 0]] * 65},
        {"replicas": [[2, 1, "", 0]]},
        {"replicas": [[2000, 2, "", 0]]},
        {"replicas": [[1 << 40, 2, "", 0]]},
        {"replicas": [[4, 2, "", 2]]},
        {"replicas": [[1 << 40, 0, "", 1]]},
        {"replicas": [[True, 0, "", 0]]},
        {"replicas": [[2, 2, "\x1b[2J", 0]]},
        {"replicas": {}},
        {"replicas": ...},
        {"offset": -1},
        {"offset": 1023},
        {"offset": 10**30},
        {"offset": 0.0},
        {"offset": False},
        {"offset": None},
        {"offset": ...},
        {"dirty": 0},
        {"dirty": "no"},
        {"dirty": ...},
    ],
    ids=str,
)
def test_hostile_layouts_are_refused(facts: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "x"
    cw.save_tensor(SESSION.encrypt([1.0, 2.0]), path, SESSION.parameters)
    rewrite(path, axes=[[2, 1, "", 0]], offset=1000, replicas=[[4, 4, "k", 0]], dirty=True)
    assert cw.load_tensor(path, SESSION.client).layout == Layout(
        1024, (Axis(2, 1),), (Axis(4, 4),), dirty=True, offset=1000
    )
    rewrite(path, **facts)
    with pytest.raises(MalformedBytesError, match="cannot read") as refusal:
        cw.load_tensor(path, SESSION.client)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("change", ["one less", "one more", "another name", "a level below"])
def test_ciphertexts_are_those_of_the_layout(change: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    large = SESSION.encrypt(np.ones(3000))
    low: cw.Tensor = large * 0.5
    cw.save_tensor(large, path, SESSION.parameters)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    match change:
        case "one less":
            del parts["ciphertext2"]
        case "one more":
            parts["ciphertext3"] = parts["ciphertext2"]
        case "another name":
            parts["ciphertext7"] = parts.pop("ciphertext2")
        case _:
            parts["ciphertext1"] = low.values[1].to_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(MalformedBytesError, match=r"ciphertext"):
        cw.load_tensor(path, SESSION.client)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x.T,
        lambda x: x[3:, ::-2],
        lambda x: x[40],
        lambda x: x.sum(1),
        lambda x: x[:4, :4],
        lambda x: cw.einsum("ii->i", x[:50, :50]),
    ],
)
def test_tensors_over_many_ciphertexts_and_views_come_back(view: Any, tmp_path: Path) -> None:
    array = np.random.default_rng(0).uniform(-1, 1, (60, 70))
    x = SESSION.encrypt(array)
    assert len(x.values) > 1
    tensor = view(x)
    cw.save_tensor(tensor, tmp_path / "x", SESSION.parameters)
    loaded = cw.load_tensor(tmp_path / "x", SESSION.client)
    assert loaded.layout == tensor.layout
    assert loaded.level == tensor.level
    assert np.array_equal(SESSION.client.decrypt(loaded), SESSION.decrypt(tensor))
    again = cw.load_tensor(tmp_path / "x", SESSION.evaluator)
    doubled = SESSION.client.decrypt(again + again)
    assert np.abs(doubled - 2 * SESSION.decrypt(tensor)).max() < 1e-5


def test_tensors_of_one_evaluator_work_together_and_of_two_do_not(tmp_path: Path) -> None:
    array = np.random.default_rng(1).uniform(-1, 1, 3000)
    cw.save_tensor(SESSION.encrypt(array), tmp_path / "x", SESSION.parameters)
    x, y = (cw.load_tensor(tmp_path / "x", SESSION.evaluator) for _ in "xy")
    assert np.abs(SESSION.client.decrypt(x + y) - 2 * array).max() < 1e-5
    other = cw.load_tensor(tmp_path / "x", cw.Session(depth=1, insecure=True, log_n=11).evaluator)
    with pytest.raises(ParametersMismatchError, match="different sessions or evaluators"):
        x + other
    alone = cw.load_tensor(tmp_path / "x", SESSION.client)
    with pytest.raises(InvalidArgumentError, match="nobody to run on"):
        alone + alone


PROGRAM = cw.compile(lambda a, b: (a @ b, a), (8, 8), (8, 8), log_n=9, insecure=True)
LAYOUT = {"axes": [[8, 8, "", 0], [8, 1, "", 0]], "replicas": [], "dirty": True, "offset": 0}


def test_a_program_is_saved_and_nothing_else(tmp_path: Path) -> None:
    things: tuple[Any, ...] = (PROGRAM.program, SESSION, None)
    for thing in things:
        with pytest.raises(InvalidArgumentError, match="expected one that compile has made"):
            cw.save_program(thing, tmp_path / "program")
    assert not list(tmp_path.iterdir())


def test_a_loaded_program_is_the_one_saved(tmp_path: Path) -> None:
    cw.save_program(PROGRAM, tmp_path / "program")
    loaded = cw.load_program(tmp_path / "program")
    assert str(loaded.program) == str(PROGRAM.program)
    assert loaded.specs == PROGRAM.specs
    assert loaded.packings == PROGRAM.packings
    assert loaded.outputs == PROGRAM.outputs
    assert loaded.parameters.fingerprint == PROGRAM.parameters.fingerprint
    data = np.random.default_rng(6).uniform(-1, 1, (2, 8, 8))
    product, unchanged = loaded.run(*data)
    assert np.abs(product - data[0] @ data[1]).max() < 2**-20
    assert np.abs(unchanged - data[0]).max() < 2**-20


@pytest.mark.parametrize(
    "facts",
    [
        {"title": 3},
        {"title": ...},
        {"single": 1},
        {"single": True},
        {"single": ...},
        {"specs": []},
        {"specs": [[[8, 8], 1.0]]},
        {"specs": [[[8, 8], 1.0], [[8, 9], 1.0]]},
        {"specs": [[[8, 8], 1.0], [[8, 8], 0.0]]},
        {"specs": [[[8, 8], 1.0], [[8, 8], math.nan]]},
        {"specs": [[[8, 8], 1.0], [[8, 8], True]]},
        {"specs": [[[8, 8], 1.0], [[8, 8]]]},
        {"specs": [[[8, 8], 1.0], [[8, 8], 1.0], [[10**30], 1.0]]},
        {"specs": [[[8, 8], 1.0], [[8, 8], 1.0], [[1] * 65, 1.0]]},
        {"specs": [[[8, 8], 1.0], [[8, 8], 1.0], [[0], 1.0]]},
        {"specs": [[[8, 8], 1.0], [[8, 8], 1.0], [[1.5], 1.0]]},
        {"specs": [[[8, 8], 1.0], [[8, 8], 1.0], ["8", 1.0]]},
        {"specs": {}},
        {"packings": []},
        {"packings": [[0, 1, LAYOUT]]},
        {"packings": [[0, 1, LAYOUT]] * 9},
        {"packings": [[9, 1, LAYOUT]] * 2},
        {"packings": [[-1, 1, LAYOUT]] * 2},
        {"packings": [[0, 7, LAYOUT]] * 2},
        {"packings": [[0, -1, LAYOUT]] * 2},
        {"packings": [[0, True, LAYOUT]] * 2},
        {"packings": [[0, 1, {**LAYOUT, "axes": [[1 << 40, 0, "", 1]] * 32}]]},
        {"packings": [[0, 1, {**LAYOUT, "axes": [[512, 1, "", 0]]}]]},
        {"packings": [[0, 1, None]]},
        {"outputs": []},
        {"outputs": [LAYOUT]},
        {"outputs": [LAYOUT] * 9},
        {"outputs": [{**LAYOUT, "axes": [[1 << 40, 0, "", 1]] * 32}]},
        {"outputs": [{**LAYOUT, "offset": 500}] * 2},
        {"outputs": [LAYOUT, 3]},
    ],
    ids=str,
)
def test_hostile_programs_are_refused(facts: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "program"
    cw.save_program(PROGRAM, path)
    rewrite(path, **facts)
    with pytest.raises(MalformedBytesError, match="cannot read"):
        cw.load_program(path)


HOSTILE: list[Any] = [0, -1, 2, 257, 1 << 40, 10**30, 1.5, math.nan, math.inf]
HOSTILE += [True, None, "x", [], {}, [1, 1]]


def places(fact: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every way down into what JSON can hold."""
    inner = list(fact.items()) if isinstance(fact, dict) else []
    inner += list(enumerate(fact)) if isinstance(fact, list) else []
    for key, value in inner:
        yield (*place, key)
        yield from places(value, (*place, key))


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_any_change_to_a_header_is_refused_or_harmless(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("hostile") / "program"
    cw.save_program(PROGRAM, path)
    with zipfile.ZipFile(path) as archive:
        facts = json.loads(archive.read("header.json"))["facts"]
    *way, last = data.draw(st.sampled_from(list(places(facts))))
    holder = facts
    for step in way:
        holder = holder[step]
    holder[last] = data.draw(st.sampled_from(HOSTILE))
    rewrite(path, **facts)
    try:
        loaded = cw.load_program(path)
        loaded.run_clear(*[np.zeros(spec.shape) for spec in loaded.specs])
        cw.explain(loaded)
    except CloakworkError:
        return


@pytest.mark.parametrize("part", ["program", "parameters"])
def test_damaged_parts_of_a_program_are_refused(part: str, tmp_path: Path) -> None:
    path = tmp_path / "program"
    cw.save_program(PROGRAM, path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sound = parts[part]
    rng = np.random.default_rng(7)
    other = cw.compile(lambda a: a.sum(), (8,), log_n=10, insecure=True)
    cw.save_program(other, tmp_path / "other")
    with zipfile.ZipFile(tmp_path / "other") as archive:
        changed = [b"", sound[:-1], sound + b"\0", archive.read(part)]
    for _ in range(15):
        place = rng.integers(len(sound))
        changed.append(sound[:place] + bytes([sound[place] ^ 0x55]) + sound[place + 1 :])
    for data in changed:
        parts[part] = data
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, content)
        with pytest.raises(CloakworkError):
            cw.load_program(path)
    del parts[part]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(MalformedBytesError, match=f"it has no {part}"):
        cw.load_program(path)

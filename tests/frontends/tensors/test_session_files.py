"""Sessions, their evaluators and tensors in files: round trips, other processes, refusals."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork import _native
from cloakwork.base.record import Record
from cloakwork.errors import (
    CloakworkError,
    KeyMismatchError,
    MalformedBytesError,
    MissingKeyError,
    ParametersMismatchError,
)
from cloakwork.frontends.tensors.session import SESSION_KIND
from cloakwork.frontends.tensors.tensor import TENSOR_KIND
from cloakwork.programs.layout import Axis, Layout
from cloakwork.programs.slots import Input, Operation, Output, Rotate, SlotProgram
from cloakwork.runtime import container
from tests.runtime.records import at, changed, places, record_of

SESSION = cw.Session(depth=1, insecure=True, log_n=11)
TENSOR = ("scheme", "parameters", "key_id", "layout", "values")
OWN = ("scheme", "secret_key", "key_id", "precision", "bound", "ledger")


def tensor_record(tensor: cw.Tensor, path: Path) -> Record:
    tensor.save(path)
    return record_of(path, TENSOR_KIND, TENSOR)


def test_tensors_of_another_key_or_parameters_are_refused(tmp_path: Path) -> None:
    SESSION.encrypt([1.0]).save(tmp_path / "x")
    other = cw.Session(depth=1, insecure=True, log_n=11)
    for holder in (other, other.evaluator()):
        with pytest.raises(KeyMismatchError, match="it was encrypted with another key"):
            holder.load(tmp_path / "x")
    deeper = cw.Session(depth=2, insecure=True, log_n=11)
    for holder in (deeper, deeper.evaluator()):
        with pytest.raises(ParametersMismatchError, match="made under other parameters"):
            holder.load(tmp_path / "x")
    clear = cw.Session(depth=1, backend="clear", insecure=True, log_n=11)
    with pytest.raises(ParametersMismatchError, match="made under ckks, not under clear ckks"):
        clear.load(tmp_path / "x")


def test_a_session_comes_back_from_its_file(tmp_path: Path) -> None:
    session = cw.Session(depth=1, bound=3.0, insecure=True, log_n=11)
    session.encrypt([0.5, 2.5]).save(tmp_path / "x")
    session.save(tmp_path / "session")
    again = cw.load(tmp_path / "session", cw.Session, insecure=True)
    assert (again.bound, again.parameters.fingerprint) == (3.0, session.parameters.fingerprint)
    assert repr(again) == repr(session)
    x = again.load(tmp_path / "x")
    assert np.abs(again.decrypt(x) - [0.5, 2.5]).max() < 1e-5
    assert abs(again.decrypt(x.sum()) - 3.0) < 1e-5
    again.encrypt([0.5]).save(tmp_path / "y")
    assert abs(session.decrypt(session.load(tmp_path / "y"))[0] - 0.5) < 1e-5


@pytest.mark.parametrize("bound", [10**400, True, None, "1", 0, -1.0, math.nan, math.inf, ...])
def test_hostile_bounds_are_refused(bound: Any, tmp_path: Path) -> None:
    path = tmp_path / "session"
    SESSION.save(path)
    record = record_of(path, SESSION_KIND, OWN)
    container.write(path, SESSION_KIND, changed(record, ("bound",), bound))
    with pytest.raises(MalformedBytesError, match=r"cannot read .*bound"):
        cw.load(path, cw.Session, insecure=True)
    container.write(path, SESSION_KIND, {**record, "bound": 2})
    assert cw.load(path, cw.Session, insecure=True).bound == 2.0


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("scheme",), ...),
        (("scheme", "scheme"), "bgv"),
        (("scheme", "scheme"), "clear ckks"),
        (("scheme", "parameters"), b"x"),
        (("secret_key",), {}),
        (("secret_key", "data"), b""),
        (("key_id",), b"short"),
        (("key_id",), ...),
    ],
    ids=str,
)
def test_hostile_sessions_are_refused(place: Any, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "session"
    SESSION.save(path)
    record = record_of(path, SESSION_KIND, OWN)
    container.write(path, SESSION_KIND, changed(record, place, value))
    with pytest.raises(MalformedBytesError, match="cannot read"):
        cw.load(path, cw.Session, insecure=True)


def test_tensors_of_many_axes_are_loaded(tmp_path: Path) -> None:
    # 32 is what numpy 1 has at most.
    most = 64 if int(np.__version__.split(".")[0]) >= 2 else 32
    data = np.ones((1,) * most)
    SESSION.encrypt(data).save(tmp_path / "x")
    assert SESSION.decrypt(SESSION.load(tmp_path / "x")).shape == data.shape


def axes(rows: Any) -> Any:
    """Axes as records, where they are rows of four."""
    if not isinstance(rows, list):
        return rows
    names = ("size", "stride", "name", "tile")
    return [dict(zip(names, row, strict=False)) if isinstance(row, list) else row for row in rows]


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
        {"garbage": 0},
        {"garbage": "no"},
        {"garbage": ...},
        {"slots": 512},
        {"slots": 0},
        {"slots": 1 << 20},
    ],
    ids=str,
)
def test_hostile_layouts_are_refused(facts: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "x"
    record = tensor_record(SESSION.encrypt([1.0, 2.0]), path)
    layout = {
        "slots": 1024,
        "axes": axes([[2, 1, "", 0]]),
        "replicas": axes([[4, 4, "k", 0]]),
        "garbage": True,
        "offset": 1000,
    }
    container.write(path, TENSOR_KIND, {**record, "layout": layout})
    assert SESSION.load(path).layout == Layout(
        1024, (Axis(2, 1),), (Axis(4, 4),), garbage=True, offset=1000
    )
    for name, value in facts.items():
        layout = changed(layout, (name,), axes(value) if name in {"axes", "replicas"} else value)
    container.write(path, TENSOR_KIND, {**record, "layout": layout})
    with pytest.raises(MalformedBytesError, match="cannot read") as refusal:
        SESSION.load(path)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("change", ["one less", "one more", "a level below", "no bytes", "none"])
def test_ciphertexts_are_those_of_the_layout(change: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    large = SESSION.encrypt(np.ones(3000))
    low: cw.Tensor = large * 0.5
    record = tensor_record(large, path)
    values = list(record["values"])
    match change:
        case "one less":
            values.pop()
        case "one more":
            values.append(values[-1])
        case "a level below":
            values[1] = {"data": low.values[1].to_bytes()}
        case "no bytes":
            values[1] = {"data": b""}
        case _:
            values = []
    container.write(path, TENSOR_KIND, {**record, "values": values})
    with pytest.raises(MalformedBytesError, match="cannot read"):
        SESSION.load(path)


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
    tensor.save(tmp_path / "x")
    loaded = SESSION.load(tmp_path / "x")
    assert loaded.layout == tensor.layout
    assert loaded.level == tensor.level
    assert np.array_equal(SESSION.decrypt(loaded), SESSION.decrypt(tensor))
    again = SESSION.evaluator().load(tmp_path / "x")
    (again + again).save(tmp_path / "y")
    doubled = SESSION.decrypt(SESSION.load(tmp_path / "y"))
    assert np.abs(doubled - 2 * SESSION.decrypt(tensor)).max() < 1e-5


def test_tensors_of_one_evaluator_work_together_and_of_two_do_not(tmp_path: Path) -> None:
    array = np.random.default_rng(1).uniform(-1, 1, 3000)
    SESSION.encrypt(array).save(tmp_path / "x")
    evaluator = SESSION.evaluator()
    x, y = (evaluator.load(tmp_path / "x") for _ in "xy")
    (x + y).save(tmp_path / "y")
    assert np.abs(SESSION.decrypt(SESSION.load(tmp_path / "y")) - 2 * array).max() < 1e-5
    for other in (SESSION.evaluator().load(tmp_path / "x"), SESSION.load(tmp_path / "x")):
        with pytest.raises(ParametersMismatchError, match="different sessions or evaluators"):
            x + other
    with pytest.raises(ParametersMismatchError, match="the tensor is not of this session"):
        SESSION.decrypt(x + y)


def test_what_a_file_claims_of_precision_is_only_claimed(tmp_path: Path) -> None:
    x = SESSION.encrypt([1.0])
    x.save(tmp_path / "x")
    loaded = SESSION.load(tmp_path / "x")
    assert (x.claimed, loaded.claimed) == (False, True)
    computed: cw.Tensor = loaded + loaded
    assert computed.claimed


EVALUATOR = """
import sys
from pathlib import Path
import cloakwork as cw

folder = Path(sys.argv[1])
evaluator = cw.load(folder / "evaluator", cw.SessionEvaluator, insecure=True)
x = evaluator.load(folder / "x")
y = cw.einsum("ij,j->i", x, [1.0, 2.0, 3.0])
y.save(folder / "y")


def reachable(root):
    seen, waiting = {}, [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or type(thing).__module__.split(".")[0] != "cloakwork":
            continue
        seen[id(thing)] = thing
        # A transpose of a transpose of ... is no end of tensors, and vectors have none of matrices.
        transposes = "T", "mT"
        names = [each for each in dir(thing) if not each.startswith("__")]
        names = [each for each in names if each not in transposes]
        waiting += [getattr(thing, name, None) for name in names]
    return seen.values()


held = [*reachable(evaluator), *reachable(y)]
for thing in held:
    # A scheme is no key; whoever has it can do what anybody can.
    if type(thing).__name__ != "Ckks":
        for name in dir(thing):
            assert "decrypt" not in name and "secret" not in name, (thing, name)
print(*sorted({type(thing).__name__ for thing in held}))
try:
    cw.load(folder / "evaluator", cw.Session, insecure=True)
except cw.errors.MalformedBytesError:
    print("no session")
"""


@pytest.fixture
def session() -> cw.Session:
    return cw.Session(depth=1, insecure=True, log_n=11)


@pytest.fixture
def folder(tmp_path: Path, session: cw.Session) -> Path:
    """What the evaluator is given; the session's own file is elsewhere."""
    x = session.encrypt(np.arange(6.0).reshape(2, 3))
    cw.einsum("ij,j->i", x, [1.0, 2.0, 3.0])
    session.evaluator().save(tmp_path / "evaluator")
    x.save(tmp_path / "x")
    return tmp_path


def test_an_evaluator_process_computes_and_cannot_decrypt(
    session: cw.Session, folder: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EVALUATOR, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    held, no_session = done.stdout.splitlines()
    assert {"SessionEvaluator", "CkksBackend", "EvaluationKeys", "Parameters"} <= set(held.split())
    assert not {"SecretKey", "Session"} & set(held.split())
    assert no_session == "no session"

    session.save(folder / "session")
    again = cw.load(folder / "session", cw.Session, insecure=True)
    assert np.abs(again.decrypt(again.load(folder / "y")) - [8.0, 26.0]).max() < 1e-5


def test_the_evaluators_file_has_no_secret(session: cw.Session, folder: Path) -> None:
    # Two bits a coefficient; what comes before is public.
    secret = session._secret.to_bytes()
    coefficients = secret[-session.parameters.n // 4 :]
    windows = {bytes(coefficients[i : i + 16]) for i in range(len(coefficients) - 15)}
    assert len(windows) > len(coefficients) // 2
    for name, count in (("evaluator", 3), ("x", 2)):
        record = container.read_any(folder / name)[1]._entries
        entries = [at(record, place) for place in places(record)]
        held = [each for each in entries if isinstance(each, bytes)]
        assert len(held) == count
        for each in held:
            with pytest.raises(CloakworkError):
                _native.SecretKey.from_bytes(session.parameters, bytearray(each))
        with zipfile.ZipFile(folder / name) as archive:
            members = [archive.read(member) for member in archive.namelist()]
        for part in members:
            assert not any(part[i : i + 16] in windows for i in range(len(part) - 15))


def test_a_missing_key_is_named(folder: Path) -> None:
    evaluator = cw.load(folder / "evaluator", cw.SessionEvaluator, insecure=True)
    x = evaluator.load(folder / "x")
    with pytest.raises(
        MissingKeyError, match=r"key.*the session makes it by running einsum"
    ) as refusal:
        cw.einsum("ij,jk->ik", x, np.arange(15.0).reshape(3, 5))
    assert any("operation %" in note for note in refusal.value.__notes__)


def test_truncated_files_are_refused(session: cw.Session, folder: Path) -> None:
    session.save(folder / "session")
    loads: dict[str, Any] = {
        "evaluator": lambda path: cw.load(path, cw.SessionEvaluator, insecure=True),
        "session": lambda path: cw.load(path, cw.Session, insecure=True),
        "x": session.load,
    }
    for name, load in loads.items():
        data = (folder / name).read_bytes()
        for end in (0, 1, 30, len(data) // 2, len(data) - 1):
            (folder / name).write_bytes(data[:end])
            with pytest.raises(MalformedBytesError, match="cannot read"):
                load(folder / name)


def test_flipped_bits_are_refused_or_harmless(session: cw.Session, folder: Path) -> None:
    session.save(folder / "session")
    rng = random.Random(4)
    refused = 0
    for name in ("evaluator", "session", "x"):
        data = (folder / name).read_bytes()
        for _ in range(100):
            damaged = bytearray(data)
            damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            (folder / "damaged").touch(mode=0o600)
            (folder / "damaged").write_bytes(damaged)
            try:
                match name:
                    case "evaluator":
                        cw.load(folder / "damaged", cw.SessionEvaluator, insecure=True)
                    case "session":
                        cw.load(folder / "damaged", cw.Session, insecure=True)
                    case _:
                        x = session.load(folder / "damaged")
                        assert np.abs(session.decrypt(x).ravel() - np.arange(6.0)).max() < 1e-5
            except MalformedBytesError:
                refused += 1
    # The others are times, versions and systems of zip members.
    assert refused > 280


def test_an_evaluator_plans_with_the_few_keys_that_it_has(tmp_path: Path) -> None:
    budget = 2_150_000
    session = cw.Session(depth=1, insecure=True, log_n=11, bound=1, key_budget=budget)
    data = np.arange(1024.0).reshape(32, 32) / 1024
    x = session.encrypt(data)
    # Every rotation by a power of two, of which the transpose needs some.
    powers: list[Operation] = [
        Input("x", 1),
        *(Rotate(0, 1 << bit) for bit in range(10)),
        Output(10),
    ]
    session.run(SlotProgram("turns", 1024, tuple(powers), (None,) * len(powers)), list(x.values))
    before = session.key_bytes
    x.T.reshape(-1)
    assert before < session.key_bytes <= budget
    session.evaluator().save(tmp_path / "evaluator")
    x.save(tmp_path / "x")
    evaluator = cw.load(tmp_path / "evaluator", cw.SessionEvaluator, insecure=True)
    turned = evaluator.load(tmp_path / "x").T.reshape(-1)
    turned.save(tmp_path / "y")
    found = session.decrypt(session.load(tmp_path / "y"))
    assert np.abs(found - data.T.ravel()).max() < 2**-turned.precision

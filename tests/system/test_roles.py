"""Client and evaluator as two processes that share files."""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import cloakwork as cw
from cloakwork import _native
from cloakwork.errors import CloakworkError, MalformedBytesError, ParametersMismatchError

EVALUATOR = """
import sys
from pathlib import Path
import cloakwork as cw

folder = Path(sys.argv[1])
evaluator = cw.load_evaluator(folder / "evaluator")
x = cw.load_tensor(folder / "x", evaluator)
y = cw.einsum("ij,j->i", x, [1.0, 2.0, 3.0])
cw.save_tensor(y, folder / "y", evaluator.parameters)


def reachable(root):
    seen, waiting = {}, [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or type(thing).__module__.split(".")[0] != "cloakwork":
            continue
        seen[id(thing)] = thing
        # A transposed tensor has another transposed one, without end.
        names = [name for name in dir(thing) if not name.startswith("__") and name != "T"]
        waiting += [getattr(thing, name) for name in names]
    return seen.values()


held = [*reachable(evaluator), *reachable(y)]
for thing in held:
    for name in dir(thing):
        assert "decrypt" not in name and "secret" not in name, (thing, name)
print(*sorted({type(thing).__name__ for thing in held}))
try:
    cw.load_client(folder / "evaluator")
except cw.errors.MalformedBytesError:
    print("no client")
"""


@pytest.fixture
def session() -> cw.Session:
    return cw.Session(depth=1, insecure=True, log_n=11)


@pytest.fixture
def folder(tmp_path: Path, session: cw.Session) -> Path:
    """What the evaluator is given; the client's file is elsewhere."""
    x = session.encrypt(np.arange(6.0).reshape(2, 3))
    cw.einsum("ij,j->i", x, [1.0, 2.0, 3.0])
    cw.save_evaluator(session.evaluator, tmp_path / "evaluator")
    cw.save_tensor(x, tmp_path / "x", session.parameters)
    return tmp_path


def test_an_evaluator_process_computes_and_cannot_decrypt(
    session: cw.Session, folder: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EVALUATOR, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    held, no_client = done.stdout.splitlines()
    assert {"Evaluator", "CkksBackend", "EvaluationKeys", "Parameters"} <= set(held.split())
    assert not {"SecretKey", "CkksKey", "Client"} & set(held.split())
    assert no_client == "no client"

    cw.save_client(session.client, folder / "client")
    client = cw.load_client(folder / "client")
    result = client.decrypt(cw.load_tensor(folder / "y", client))
    assert np.abs(result - [8.0, 26.0]).max() < 1e-5


def test_the_evaluators_file_has_no_secret(session: cw.Session, folder: Path) -> None:
    secret = session.client.key
    with zipfile.ZipFile(folder / "evaluator") as archive:
        assert sorted(archive.namelist()) == ["evaluation_keys", "header.json", "parameters"]
        parts = [archive.read(name) for name in archive.namelist()]
    for part in parts:
        with pytest.raises(CloakworkError):
            _native.SecretKey.from_bytes(session.parameters, part)
        assert secret.to_bytes() not in part  # type: ignore[attr-defined]


def test_a_missing_key_is_named(folder: Path) -> None:
    evaluator = cw.load_evaluator(folder / "evaluator")
    x = cw.load_tensor(folder / "x", evaluator)
    with pytest.raises(
        cw.errors.MissingKeyError, match=r"key.*the client makes it by running einsum"
    ):
        cw.einsum("ij,jk->ik", x, np.arange(15.0).reshape(3, 5))


def test_a_tensor_of_other_parameters_is_refused(folder: Path) -> None:
    other = cw.Session(depth=2, insecure=True, log_n=11)
    with pytest.raises(ParametersMismatchError):
        cw.load_tensor(folder / "x", other.client)


def test_truncated_files_are_refused(session: cw.Session, folder: Path) -> None:
    for name in ("evaluator", "x"):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(MalformedBytesError):
        cw.load_evaluator(folder / "evaluator")
    with pytest.raises(MalformedBytesError):
        cw.load_tensor(folder / "x", session.client)

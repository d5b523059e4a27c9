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
from cloakwork.programs.slots import Input, Operation, Output, Rotate, SlotProgram

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
        # A transpose of a transpose of ... is no end of tensors.
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
        [sys.executable, "-c", EVALUATOR, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
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
    # Two bits a coefficient; what comes before is public.
    secret = session.client.key.to_bytes()  # type: ignore[attr-defined]
    coefficients = secret[-session.parameters.n // 4 :]
    windows = [coefficients[i : i + 16] for i in range(len(coefficients) - 15)]
    assert len(set(windows)) > len(windows) // 2
    with zipfile.ZipFile(folder / "evaluator") as archive:
        assert sorted(archive.namelist()) == ["evaluation_keys", "header.json", "parameters"]
        parts = [archive.read(name) for name in archive.namelist()]
    for part in parts:
        with pytest.raises(CloakworkError):
            _native.SecretKey.from_bytes(session.parameters, part)
        assert not any(window in part for window in windows)


def test_a_missing_key_is_named(folder: Path) -> None:
    evaluator = cw.load_evaluator(folder / "evaluator")
    x = cw.load_tensor(folder / "x", evaluator)
    with pytest.raises(
        cw.errors.MissingKeyError, match=r"key.*the client makes it by running einsum"
    ) as refusal:
        cw.einsum("ij,jk->ik", x, np.arange(15.0).reshape(3, 5))
    assert any("operation %" in note for note in refusal.value.__notes__)


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
    cw.save_evaluator(session.evaluator, tmp_path / "evaluator")
    cw.save_tensor(x, tmp_path / "x", session.parameters)
    evaluator = cw.load_evaluator(tmp_path / "evaluator")
    turned = cw.load_tensor(tmp_path / "x", evaluator).T.reshape(-1)
    assert np.abs(session.client.decrypt(turned) - data.T.ravel()).max() < 2**-turned.precision

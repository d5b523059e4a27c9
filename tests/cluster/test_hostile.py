"""Workers and schedulers that answer with whatever they like: nothing of it runs here."""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Callable, Iterator
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, core, worker
from distributed.protocol.serialize import to_serialize

import cloakwork as cw
from cloakwork.cluster import answers, grains, wire
from cloakwork.cluster.answers import Answer
from cloakwork.cluster.moved import Receipt
from cloakwork.errors import (
    CloakworkError,
    MalformedBytesError,
    ProgramMismatchError,
    WorkerFailedError,
    WorkerVersionError,
)
from cloakwork.runtime import container, stored
from cloakwork.runtime.profile import Measurement
from tests.cluster.local import local_cluster
from tests.families import TENSORS


class Evil:
    """What makes a file that is named by the process, wherever it is unpickled."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"import os; open(f'{self.folder}/{{os.getpid()}}', 'w').close()",)

    def encode(self) -> Evil:
        """Itself, in place of text."""
        return self


class EvilError(Exception):
    """An error that makes such a file."""

    def __init__(self, folder: str) -> None:
        super().__init__("evil")
        self.folder = folder

    def __reduce__(self) -> Any:
        return Evil(self.folder).__reduce__()


def change(place: Any, name: str, value: Any) -> None:
    """Give a module or a class something else."""
    setattr(place, name, value)


def honest(own: Answer, made: Any) -> bytes:
    """The answer of an honest worker."""
    return _CALL(own, made)


_CALL: Callable[[Answer, Any], bytes] = Answer.__call__


def of_version(data: bytes, version: int) -> bytes:
    """A container that says it is of another version."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            text = content.replace(b'"version": %d' % container.VERSION, b'"version": %d' % version)
            archive.writestr(zipfile.ZipInfo(name), text)
    return file.getvalue()


def failing(error: str, message: str = "wrong") -> Callable[[Answer, Any], bytes]:
    """An answer of a grain that has raised something."""
    return lambda own, _: honest(own, answers.Failure(error, message, ()))


def receipt(**of_measurement: Any) -> Callable[[Answer, Any], bytes]:
    """An answer with a measurement that is not one."""
    whole = Measurement(0, "add", 0.0, 0.0, 0, 0)._replace(**of_measurement)

    class Made:
        receipt = Receipt(0.0, (whole,), 0)

    return lambda own, _: honest(own, Made())


ANSWERS: dict[str, tuple[Callable[[Answer, Any], Any], type[CloakworkError], str]] = {
    "not bytes": (lambda own, made: 3, MalformedBytesError, "cannot read"),
    "nothing": (lambda own, made: b"", MalformedBytesError, "cut off"),
    "text": (lambda own, made: "text", MalformedBytesError, "cannot read"),
    "truncated": (lambda own, made: honest(own, made)[:-9], MalformedBytesError, "cut off"),
    "another kind": (
        lambda own, made: TENSORS.encrypted().to_bytes(),
        MalformedBytesError,
        "expected a grain answer, got ",
    ),
    "another version": (
        lambda own, made: of_version(honest(own, made), 99),
        MalformedBytesError,
        "got 99",
    ),
    "another program's": (
        lambda own, made: honest(Answer("f" * 32, own.grain), made),
        MalformedBytesError,
        "expected job and grain to be those that were asked for",
    ),
    "oversized": (lambda own, made: bytes(3 << 20), MalformedBytesError, "expected a message of"),
    "no operation of the program": (receipt(number=10**9), MalformedBytesError, "measurements of"),
    "a time that is not one": (
        receipt(seconds=float("nan")),
        MalformedBytesError,
        "measurements of",
    ),
    "another class": (failing("SystemExit"), WorkerFailedError, "wrong"),
    "a class that is not an error": (failing("__doc__"), WorkerFailedError, "wrong"),
    "a class of more arguments": (failing("KeyBudgetError"), WorkerFailedError, "wrong"),
    "a terminal's orders": (
        failing("ProgramMismatchError", "\x1b[2J"),
        ProgramMismatchError,
        "^.?",
    ),
}


def answer_so(kind: str) -> None:
    """Let a worker answer otherwise."""
    change(Answer, "__call__", ANSWERS[kind][0])


def answer_by_a_pickle(folder: str) -> None:
    """Let a worker answer by a pickle."""
    change(Answer, "__call__", lambda own, made: Evil(folder))


def raise_a_pickle(folder: str) -> None:
    """Let a worker raise what is a pickle."""

    def raised(*_: Any) -> bytes:
        raise EvilError(folder)

    change(Answer, "__call__", raised)


def trace_a_pickle(folder: str) -> None:
    """Let a worker's traceback be a pickle."""

    def told(*args: Any, **named: Any) -> Any:
        evil = pickle.dumps(Evil(folder))
        as_sent: Any = to_serialize
        found = _MESSAGE(*args, **named)
        return {**found, "exception": as_sent(evil), "traceback": as_sent(evil)}

    change(core, "error_message", told)
    change(worker, "error_message", told)
    raise_a_pickle(folder)


def name_a_pickle_as_version(folder: str) -> None:
    """Let a worker say that its version is a pickle."""
    change(metadata, "version", lambda name: Evil(folder))


def write_a_pickle(folder: str) -> None:
    """Let a worker write a pickle where results are to be."""

    def write(into: Any, name: str, *_: Any) -> None:
        Path(into.url, name).write_bytes(pickle.dumps(Evil(folder)))

    change(grains, "write_part", write)


def write_another_programs(_: str) -> None:
    """Let a worker write results of other parameters."""
    program = cw.compile(lambda x: x * x, (3,), log_n=12, insecure=True)
    client = program.keygen()[0]
    (other,) = client._values(client.encrypt([0.1, 0.2, 0.3]), "inputs", "test")
    data: Any = program.scheme.dump(other[0])

    def write(into: Any, name: str, mark: str, record: Any) -> None:
        count = len(list(record["numbers"]))
        stored.write_part(
            into, name, mark, {"numbers": record["numbers"], "values": [data] * count}
        )

    change(grains, "write_part", write)


PICKLES: dict[str, tuple[Callable[[str], None], type[CloakworkError]]] = {
    "an answer": (answer_by_a_pickle, MalformedBytesError),
    "an error": (raise_a_pickle, WorkerFailedError),
    "a traceback": (trace_a_pickle, WorkerFailedError),
    "a version": (name_a_pickle_as_version, WorkerVersionError),
    "a file": (write_a_pickle, MalformedBytesError),
    "another program's file": (write_another_programs, CloakworkError),
}


def heal() -> None:
    """Let a worker be honest again."""
    change(Answer, "__call__", _CALL)
    change(core, "error_message", _MESSAGE)
    change(worker, "error_message", _MESSAGE)
    change(metadata, "version", _VERSION)
    change(grains, "write_part", stored.write_part)


_MESSAGE: Any = core.error_message
_VERSION = metadata.version


@pytest.fixture(scope="module")
def hostile() -> Iterator[Client]:
    """The client of a worker that others control."""
    with local_cluster(1) as cluster:
        yield cluster


def address(cluster: Any) -> str:
    """Where its scheduler is."""
    return str(cluster.scheduler.address)


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_that_is_not_one_is_refused(
    kind: str, hostile: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, evaluator = TENSORS.keys()
    _, error, message = ANSWERS[kind]
    monkeypatch.setattr(wire, "_MOST_BYTES", 1 << 21)
    hostile.run(answer_so, kind)
    try:
        with pytest.raises(error, match=message) as raised:
            evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(address(hostile)))
        assert "\x1b" not in str(raised.value)
    finally:
        hostile.run(heal)
    made = evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(address(hostile)))
    assert made.to_bytes() == evaluator.run(TENSORS.encrypted()).to_bytes()


@pytest.mark.parametrize("kind", PICKLES)
def test_a_pickle_of_a_worker_is_not_run(kind: str, hostile: Client, tmp_path: Path) -> None:
    _, evaluator = TENSORS.keys()
    corrupt, error = PICKLES[kind]
    made, folder = tmp_path / "made", tmp_path / "jobs"
    made.mkdir()
    folder.mkdir()
    hostile.run(corrupt, str(made))
    try:
        with pytest.raises(error):
            evaluator.run(TENSORS.encrypted(), on=cw.cluster.Dask(address(hostile), folder))
    finally:
        hostile.run(heal)
    # The worker may have run it itself. The scheduler is in this process, and does not either.
    assert str(os.getpid()) not in os.listdir(made)


@pytest.mark.parametrize("evil", [Evil, EvilError])
def test_a_file_is_made_where_a_pickle_is_run(evil: Any, tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(evil(str(tmp_path))))
    assert os.listdir(tmp_path) == [str(os.getpid())]

"""What a server's operator allows: memory, seconds, and how long keys are kept."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    InvalidArgumentError,
    MemoryBudgetError,
    NotServedError,
    QuotaError,
    RunTooLongError,
    StorageFullError,
    UploadMismatchError,
)
from cloakwork.runtime.storage import DirectFile
from cloakwork.service.client.remote import Server
from cloakwork.service.hashes import hash_of
from cloakwork.service.run_inputs import RunInputs
from cloakwork.service.server.limits import limits_of
from cloakwork.service.server.memory import SharedMemory
from cloakwork.service.server.predicted import Prediction
from cloakwork.service.server.store import Store
from cloakwork.service.server.worker import Worker
from tests.service.serving import Serving, put

DATA = {hash_of([data]): data for data in (b"used", b"unused")}
NORM = cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path, norm=NORM)
    return tmp_path


@pytest.fixture
def serving(folder: Path, request: pytest.FixtureRequest) -> Iterator[Serving]:
    made = Serving(folder, *request.param)
    yield made
    made.stop()


def _norm(server: Server, value: float) -> float:
    client = server.interface("norm").client()
    evaluator = server.evaluator("norm", client)
    return float(client.decrypt(evaluator.run(client.encrypt(np.full(16, value)))))


def test_limits_are_read_as_people_write_them(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text('memory = "1.5GiB"\nkept = "10min"\njobs = 7\n')
    assert limits_of(["jobs=8", "key-bytes=2GB", "keys-unused=30d", "seconds=90"], file) == {
        "most_memory_bytes": 3 << 29,
        "kept_seconds": 600.0,
        "most_jobs": 8,
        "most_key_bytes": 2 * 10**9,
        "kept_key_seconds": 30 * 86400.0,
        "most_seconds": 90.0,
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("memori=2GB", "expected one of memory, seconds"),
        ("memory=2 gigabytes", "expected a number from 0 up"),
        ("memory=-1", "expected a number from 0 up"),
        ("kept=1GB", "expected a number from 0 up"),
        ("jobs=1.5", "expected a number from 0 up"),
        ("jobs", "expected a number from 0 up"),
        ("jobs=0", "limit jobs: expected more than 0"),
        ("memory=0.4B", "limit memory: expected more than 0"),
        ("key-bytes=0GB", "the server could run nothing"),
    ],
)
def test_what_is_not_a_limit_is_named(text: str, told: str) -> None:
    with pytest.raises(InvalidArgumentError, match=told):
        limits_of([text], None)


def test_a_file_that_is_not_of_limits_is_named(tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text("memory: 2GB")
    with pytest.raises(InvalidArgumentError, match="a file of TOML"):
        limits_of([], tmp_path / "limits.toml")


@pytest.mark.parametrize("serving", [["--limit", "memory=60MB"]], indirect=True)
def test_a_run_that_takes_too_much_memory_is_refused(serving: Serving) -> None:
    with pytest.raises(MemoryBudgetError, match=r"cannot run norm: expected up to 57.2 MiB"):
        _norm(serving.connect(), 0.5)
    assert not [*(serving.folder / "jobs").iterdir()]


@pytest.mark.parametrize("serving", [["--limit", "seconds=0.000001"]], indirect=True)
def test_a_run_that_takes_too_long_is_refused(serving: Serving) -> None:
    with pytest.raises(RunTooLongError, match="cannot run norm: expected up to 1e-06 s a run"):
        _norm(serving.connect(), 0.5)


@pytest.mark.parametrize(
    "serving",
    [["--workers", "2", "--limit", f"memory={Prediction.of(NORM).run_bytes}"]],
    indirect=True,
)
def test_runs_wait_for_the_memory_of_others(serving: Serving) -> None:
    server = serving.connect()
    values = [number / 8 for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        found = [*threads.map(lambda value: _norm(server, value), values)]
    assert found == pytest.approx([16 * value**2 for value in values], abs=2.0**-8)


@pytest.mark.parametrize("serving", [["--limit", "memory=400MB"]], indirect=True)
def test_the_process_of_a_run_is_held_to_its_memory(serving: Serving) -> None:
    assert abs(_norm(serving.connect(), 1.0) - 16) < 2.0**-8
    (worker,) = serving.children()
    place = Path(f"/proc/{worker}")
    assert (place / "oom_score_adj").read_text() == "1000\n"
    limits = re.search(r"Max data size +(\d+) +(\d+)", (place / "limits").read_text())
    assert limits is not None
    assert 400e6 < int(limits[1]) == int(limits[2]) < 1e9


def test_what_is_kept_by_one_process_gives_way_to_a_run_of_another() -> None:
    memory = SharedMemory(100, 2)
    assert memory.take(0, 80) == 80
    assert not memory.fits(1, 30)
    memory.keep(0, 40)
    assert not memory.fits(1, 70)
    assert memory.keeps(0)
    memory.keep(0, 0)
    assert memory.fits(1, 70)
    assert memory.fits(1, 1000)


def test_evaluators_are_kept_as_far_as_memory_goes(folder: Path) -> None:
    worker, expected = Worker(insecure=True), []
    for number in range(3):
        client = NORM.keygen()[0]
        client.evaluation_keys().save(folder / f"keys{number}")
        given = RunInputs.of(NORM, client.encrypt(np.ones(16)))
        (folder / f"inputs{number}").write_bytes(given.to_bytes())
    for number, most, kept in ((0, 350, 1), (1, 350, 2), (2, 350, 3), (0, 350, 3), (1, 110, 2)):
        worker.run(
            str(folder / "programs" / "norm.cw"),
            [str(folder / f"keys{number}")],
            str(folder / f"inputs{number}"),
            str(folder / "results"),
            takes=(10, 100),
            most=most,
            tell=lambda *_: None,
        ).written()
        expected.append((worker.kept_bytes, 10 * kept))
    assert all(found == kept for found, kept in expected), expected
    # Users of one program share it.
    assert len({id(each.program) for each, _ in worker._evaluators.values()}) == 1


def test_keys_that_are_not_used_are_removed(tmp_path: Path) -> None:
    store = Store(tmp_path, insecure=True, most_key_bytes=100, kept_key_seconds=3600.0)
    for digest, data in DATA.items():
        with store.appending("ada", digest, 0) as add:
            add(data)
        store.complete("ada", digest, {"key_id": "7", "program": "norm"})
    with store.appending("ada", "1" * 64, 0) as add:
        add(b"a part")
    used, unused = DATA
    for path in tmp_path.glob("keys/*/*"):
        os.utime(path, (1e9, 1e9))
    store.key_files("ada", used)
    told = {each["digest"]: each for each in store.key_sets("ada", "7")}
    assert told[unused]["since"] == told[used]["since"] == "2001-09-09T01:46:40+00:00"
    assert told[unused]["until"] == "2001-09-09T02:46:40+00:00"
    assert told[used]["until"] > "2026"
    store.remove_unused_keys()
    assert [each["digest"] for each in store.key_sets("ada", "7")] == [used]
    assert store.received("ada", "1" * 64) == (0, False)
    with pytest.raises(NotServedError, match="send them first"):
        store.keys("ada", unused)


def test_keys_that_are_checked_take_no_other_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path, insecure=True, most_key_bytes=100, kept_key_seconds=3600.0)
    digest, data = next(iter(DATA.items()))
    of = {"key_id": "7", "program": "norm"}

    def checked(blocks: Iterator[bytes]) -> str:
        assert store.received("ada", digest) == (len(data), False)
        with (
            pytest.raises(UploadMismatchError, match="one sender at a time"),
            store.appending("ada", digest, len(data)) as add,
        ):
            add(b"more")
        with pytest.raises(UploadMismatchError, match="one sender at a time"):
            store.complete("ada", digest, of)
        return hash_of(blocks)

    monkeypatch.setattr("cloakwork.service.server.store.hash_of", checked)
    with store.appending("ada", digest, 0) as add:
        add(data)
    store.complete("ada", digest, of)
    # The last byte of a part may be sent again by who did not hear that it came.
    store.complete("ada", digest, of)
    assert store.received("ada", digest) == (len(data), True)


def test_keys_that_go_while_they_are_listed_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path, insecure=True, most_key_bytes=100, kept_key_seconds=3600.0)
    first, second = DATA
    with store.appending("ada", first, 0) as add:
        add(DATA[first])
    (folder,) = (tmp_path / "keys").iterdir()
    listed = [*folder.iterdir(), folder / f"{'2' * 64}.part"]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", lambda _: iter(listed))
        patch.setattr(Path, "glob", lambda *_: iter(listed))
        with store.appending("ada", second, 0, coming=100 - len(DATA[first])):
            pass
        with pytest.raises(QuotaError), store.appending("ada", second, 0, coming=99):
            pass
        assert store.key_bytes == len(DATA[first])
        store.remove_unused_keys()
    assert store.received("ada", first) == (len(DATA[first]), False)


def test_no_part_of_inputs_stays_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = Store(tmp_path, insecure=True, most_key_bytes=0, kept_key_seconds=0.0)
    with monkeypatch.context() as patch:
        patch.setattr(DirectFile, "write", full)
        with pytest.raises(StorageFullError):
            store.keep_inputs("job", b"inputs")
    place = store.job_file("job", "inputs")
    assert not [*place.parent.iterdir()]
    store.keep_inputs("job", b"inputs")
    assert [each.read_bytes() for each in place.parent.iterdir()] == [b"inputs"]

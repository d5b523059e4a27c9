"""How far jobs are, as their users alone hear of it."""

from __future__ import annotations

import io
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import cloakwork as cw
from cloakwork.base import progress
from cloakwork.errors import NotServedError, StorageFullError
from cloakwork.runtime.interface import Interface
from cloakwork.service.client.answers import HttpAnswer
from cloakwork.service.client.job_bar import job_bar
from cloakwork.service.client.remote import RemoteJob, Server
from cloakwork.service.run_inputs import RunInputs
from cloakwork.service.server.access import new_token
from cloakwork.service.server.jobs import Jobs
from cloakwork.service.server.predicted import Prediction
from cloakwork.service.server.settings import Settings
from cloakwork.service.server.worker import Worker
from cloakwork.service.server.worker_answers import RunAnswers, WorkerResults
from tests.service.in_thread import pace_workers, served
from tests.service.paced_worker import STEPS
from tests.service.serving import put
from tests.service.test_service import FOREVER, SMALL


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_job_that_does_not_end_soon_is_told_of(address: str, tmp_path: Path) -> None:
    with _as(address, tmp_path, "ada") as server:
        client = server.interface("norm").client()
        evaluator = server.evaluator("norm", client)
        given = RunInputs.of(evaluator.interface, client.encrypt(np.ones(16))).to_bytes()
        asked: dict[str, Any] = {"params": {"keys": evaluator._evaluator.keys}, "content": given}
        path = "/v1/programs/norm/jobs"
        early = server._connection.post(path, headers={"wait-seconds": "1"}, **asked)
        assert (early.status_code, early.json()["state"]) == (202, "running")
        _go_on(tmp_path, 0, 1, 2)
        late = server._connection.post(path, headers={"wait-seconds": "20"}, **asked)
        assert late.status_code == 200
        assert late.content == server._connection.get(early.headers["location"]).content


def test_a_job_is_on_the_disk_before_its_user_knows_of_it(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, fsync = set[str](), os.fsync

    def noted(file: int) -> None:
        synced.add(Path(os.readlink(f"/proc/self/fd/{file}")).name)
        fsync(file)

    with _as(address, tmp_path, "ada") as server:
        client = server.interface("norm").client()
        evaluator = server.evaluator("norm", client)
        monkeypatch.setattr(os, "fsync", noted)
        job = evaluator.submit(client.encrypt(np.ones(16)))
        assert {"inputs", job.name, "jobs.sqlite-wal"} <= synced
        assert "results" not in synced
        _go_on(tmp_path, 0, 1, 2)
        job.results()
        assert "results" in synced
        synced.clear()
        # Whoever has the results need not come back to the inputs.
        evaluator.run(client.encrypt(np.zeros(16)))
        assert "results" in synced
        assert not {"inputs", "jobs.sqlite-wal"} & synced


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    put(tmp_path, norm=cw.compile(lambda x: x @ x, (16,), **SMALL))
    for user in ("ada", "bob"):
        (tmp_path / user).write_text(new_token(tmp_path / "tokens", user, FOREVER))
    pace_workers(tmp_path / "pace", monkeypatch)
    with served(Settings(tmp_path, tokens=tmp_path / "tokens", insecure=True)) as made:
        yield made


def _as(address: str, folder: Path, user: str) -> Server:
    return cw.connect(address, token=(folder / user).read_text(), insecure=True)


def _submitted(server: Server, *values: float) -> list[RemoteJob]:
    client = server.interface("norm").client()
    evaluator = server.evaluator("norm", client)
    return [evaluator.submit(client.encrypt(np.full(16, value))) for value in values]


def _go_on(folder: Path, *numbers: int) -> None:
    for number in numbers:
        (folder / "pace" / f"{number}").touch()


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith("data:"):
            yield json.loads(line.removeprefix("data:"))


def _until(events: Iterator[dict[str, Any]], **told: object) -> dict[str, Any]:
    return next(each for each in events if told.items() <= each.items())


def test_a_job_tells_how_far_it_is(address: str, tmp_path: Path) -> None:
    with _as(address, tmp_path, "ada") as server:
        first, second = _submitted(server, 1.0, 0.5)
        with server._connection.stream("GET", f"/v1/jobs/{first.name}/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            events = _events(answer.iter_lines())
            for number, step in enumerate(STEPS):
                found = _until(events, state="running", **step)
                assert found["predicted_seconds"] > 0
                assert found["job"] == first.name
                waiting = server._connection.get("/v1/jobs").json()["jobs"]
                assert [each["place"] for each in waiting] == [1, None]
                _go_on(tmp_path, number)
            last = _until(events, state="done")
            assert (last["done"], last["of"]) == (1.0, 1.0)
            assert last["peak_bytes"] > 1 << 20
            assert last["predicted_bytes"] > 1 << 20
            assert last["ended"] >= last["started"]
            assert not [*events]
        assert second.results().role == "outputs"


def test_a_user_hears_of_all_own_jobs_and_of_no_others(address: str, tmp_path: Path) -> None:
    with _as(address, tmp_path, "ada") as ada, _as(address, tmp_path, "bob") as bob:
        (theirs,) = _submitted(bob, 1.0)
        mine = {job.name for job in _submitted(ada, 1.0, 0.5)}
        assert {each["job"] for each in ada._connection.get("/v1/jobs").json()["jobs"]} == mine
        with ada._connection.stream("GET", "/v1/events") as answer:
            events = _events(answer.iter_lines())
            heard = [next(events) for _ in mine]
            _go_on(tmp_path, 0, 1, 2)
            while {each["job"] for each in heard if each["state"] == "done"} < mine:
                heard.append(next(events))
        assert {each["job"] for each in heard} == mine
        answer = ada._connection.get(f"/v1/jobs/{theirs.name}/events")
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:cloakwork:NotServedError")
        for path in ("/v1/jobs", "/v1/events", f"/v1/jobs/{theirs.name}/events"):
            assert httpx.get(f"{address}{path}").status_code == 401


def test_a_failed_job_says_why(address: str, tmp_path: Path) -> None:
    with _as(address, tmp_path, "ada") as server:
        (job,) = _submitted(server, 1.0)
        job.cancel()
        _go_on(tmp_path, 0, 1, 2)
        answer = server._connection.get(f"/v1/jobs/{job.name}/events")
        last = [*_events(answer.iter_lines())][-1]
        assert last["state"] == "failed"
        assert "the job was cancelled" in last["problem"]


def test_a_server_ends_while_someone_listens(tmp_path: Path) -> None:
    put(tmp_path, norm=cw.compile(lambda x: x @ x, (16,), **SMALL))
    with httpx.Client() as client:
        with served(Settings(tmp_path, insecure=True)) as address:
            request = client.build_request("GET", f"{address}/v1/events")
            answer = client.send(request, stream=True)
        assert not [*_events(answer.iter_lines())]


def test_a_terminal_shows_a_bar(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pacing(Terminal):
        def write(self, text: str, /) -> int:
            if "multiply x by constants" in text:
                _go_on(tmp_path, 1, 2)
            return super().write(text)

    monkeypatch.setattr(progress, "_PATIENCE", 1e-9)
    with _as(address, tmp_path, "ada") as server:
        (job,) = _submitted(server, 1.0)
        _go_on(tmp_path, 0)
        terminal = Pacing()
        monkeypatch.setattr(sys, "stderr", terminal)
        assert job.results().role == "outputs"
    assert "norm:  25%|" in terminal.getvalue()


def test_what_a_strange_server_tells_does_nothing_to_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 1e-9)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    told = {"program": "a\x1b[2Jb", "state": "running", "done": 7, "of": 2, "step": "\rc" * 99}
    with job_bar() as show:
        for strange in ("[]", "{", "{}", {**told, "of": 0}, {**told, "of": ""}, told):
            text = strange if isinstance(strange, str) else json.dumps(strange)
            time.sleep(0.2)
            show(HttpAnswer(202, {}, text.encode()))
    assert "a[2Jb: 100%|" in terminal.getvalue()
    assert "c" * 30 in terminal.getvalue()
    assert "\x1b[2J" not in terminal.getvalue()


def test_a_worker_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_TELLING", 1e-9)
    told = list[tuple[float, float, str]]()
    program = cw.compile(lambda x: x @ x, (16,), **SMALL)
    client, _ = program.keygen()
    put(tmp_path, norm=program)
    client.evaluation_keys().save(tmp_path / "keys")
    given = RunInputs.of(Interface.of(program), client.encrypt(np.ones(16)), None)
    (tmp_path / "inputs").write_bytes(given.to_bytes())
    made = Worker(insecure=True).run(
        f"{tmp_path}/programs/norm.cw",
        [f"{tmp_path}/keys"],
        f"{tmp_path}/inputs",
        f"{tmp_path}/results",
        takes=(0, 0),
        most=1 << 30,
        tell=lambda *each: told.append(each),
    )
    done = [each for each, _, _ in told]
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1.0)
    assert {of for _, of, _ in told} == {1.0}
    assert "multiply x by x" in {step for _, _, step in told}
    assert made.peak_bytes > 0


def test_answers_come_in_the_order_of_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client, _ = cw.compile(lambda x: x @ x, (16,), **SMALL).keygen()
    sent, written = client.encrypt(np.ones(16)), WorkerResults.written
    may_go_on = threading.Event()

    def slowly(results: WorkerResults) -> dict[str, Any]:
        may_go_on.wait()
        if results.place.endswith("third"):
            raise StorageFullError("cannot write")
        return written(results)

    monkeypatch.setattr(WorkerResults, "written", slowly)
    with RunAnswers() as answers:
        answers.give(WorkerResults(sent, f"{tmp_path}/first", 1), 5)
        # The next run is at work meanwhile.
        assert capsys.readouterr().out == ""
        may_go_on.set()
        answers.tell(0.5, 1.0, "step")
        answers.give(WorkerResults(sent, f"{tmp_path}/second", 2), 6)
        answers.give(WorkerResults(sent, f"{tmp_path}/third", 3), 7)
        answers.refuse(NotServedError("cannot run"), 8)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each.get("done", each.get("kept")) for each in told] == [5, 0.5, 6, 7, 8]
    assert (tmp_path / "first").read_bytes() == sent.to_bytes()


def test_a_worker_that_cannot_answer_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, _ = cw.compile(lambda x: x @ x, (16,), **SMALL).keygen()
    ended = queue.Queue[int]()
    monkeypatch.setattr("os._exit", ended.put)
    with RunAnswers() as answers:
        answers.give(WorkerResults(client.encrypt(np.ones(16)), f"{tmp_path}/none/results", 1), 5)
        # Nobody asks for anything else.
        assert ended.get(timeout=60) == 1


def test_users_take_turns_in_the_queue(tmp_path: Path) -> None:
    jobs, takes = Jobs(tmp_path / "jobs", most=9), Prediction(1.0, 1, 1)
    names = {
        jobs.accept(user, "norm", "k", request=f"{user}{number}", takes=takes).name: user
        for user, number in (("ada", 1), ("ada", 2), ("ada", 3), ("bob", 1), ("eve", 1))
    }
    places = jobs.places()
    order = sorted(names, key=places.__getitem__)
    assert [names[each] for each in order] == ["ada", "bob", "eve", "ada", "ada"]
    for name in order:
        found = jobs.first()
        assert found is not None
        assert found.name == name
        jobs.begun(jobs.take(found))
    assert not jobs.places()

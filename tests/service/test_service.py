"""A server in another process, reached over a connection: right results, and what it survives."""

from __future__ import annotations

import os
import random
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn

import cloakwork as cw
from cloakwork.errors import (
    AccessDeniedError,
    AnswerMismatchError,
    InvalidArgumentError,
    NewerFormatError,
    NotServedError,
    ProgramMismatchError,
    QuotaError,
    RunCancelledError,
    ServerUnreachableError,
)
from cloakwork.service.client.asynchronous import AsyncEvaluator, AsyncJob
from cloakwork.service.client.remote import RemoteEvaluator, RemoteJob, Server
from cloakwork.service.server.access import new_token
from cloakwork.service.server.app import app
from cloakwork.service.server.jobs import Jobs
from cloakwork.service.server.predicted import Prediction
from cloakwork.service.server.settings import Settings
from tests.service.serving import Serving, put
from tests.thoroughness import ALL

SMALL: dict[str, Any] = {"log_n": 9, "insecure": True}
FOREVER = datetime(2100, 1, 1, tzinfo=UTC)


@cw.circuit(a=cw.scalar(bits=8), b=cw.scalar(bits=8))
def multiplied(a: Any, b: Any) -> Any:
    return a * b


def _programs() -> dict[str, cw.Program]:
    norm, doubled = cw.together(
        cw.compile(lambda x: x @ x, (16,), **SMALL), cw.compile(lambda x: 2 * x, (16,), **SMALL)
    )
    port = cw.Port("v", "unsigned", 4)
    return {
        "norm": norm,
        "doubled": doubled,
        "multiplied": multiplied.compile(bits=16, **SMALL),
        "above": cw.boolean.above(port, 7).compile(insecure=True),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served")
    put(made, **_programs())
    for user in ("ada", "bob"):
        (made / user).write_text(new_token(made / "tokens", user, FOREVER))
    (made / "old").write_text(new_token(made / "tokens", "eve", datetime(2020, 1, 1, tzinfo=UTC)))
    return made


@pytest.fixture(scope="module")
def serving(folder: Path) -> Iterator[Serving]:
    made = Serving(folder, "--token-file", str(folder / "tokens"))
    yield made
    made.stop()


def _as(serving: Serving, user: str) -> Server:
    return serving.connect(token=(serving.folder / user).read_text())


def _with_keys(server: Server, evaluator: RemoteEvaluator, keys: str) -> RemoteEvaluator:
    """An evaluator of norm that names other keys, or is of another server."""
    return RemoteEvaluator(AsyncEvaluator(server._server, "norm", evaluator.interface, keys, ""))


def test_programs_of_all_kinds_run_elsewhere(serving: Serving) -> None:
    server = _as(serving, "ada")
    assert server.programs == ("above", "doubled", "multiplied", "norm")
    x = np.linspace(-1, 1, 16)
    for name, arguments, expected in (
        ("norm", (x,), x @ x),
        ("multiplied", (-7, 9), -63),
        ("above", (9,), 1),
    ):
        client = server.interface(name).client()
        evaluator = server.evaluator(name, client)
        found = client.decrypt(evaluator.run(client.encrypt(*arguments)))
        found = found["above"].item() if isinstance(found, dict) else found
        assert found == pytest.approx(expected, abs=2.0**-10)


def test_keys_are_sent_once_and_extended(serving: Serving) -> None:
    server = _as(serving, "ada")
    client = server.interface("doubled").client()
    assert server.evaluator("doubled", client)._evaluator.keys.count(",") == 0
    other = client.serving(server.interface("norm"))
    evaluator = server.evaluator("norm", other)
    assert evaluator._evaluator.keys.count(",") == 1
    again = server.evaluator("norm", other)
    assert again._evaluator.keys == evaluator._evaluator.keys
    x = np.linspace(0, 1, 16)
    assert abs(other.decrypt(again.run(other.encrypt(x))) - x @ x) < 2.0**-10


def test_the_same_inputs_are_one_job(serving: Serving) -> None:
    server = _as(serving, "ada")
    client = server.interface("norm").client()
    evaluator, sent = server.evaluator("norm", client), client.encrypt(np.ones(16))
    first, second = evaluator.submit(sent), evaluator.submit(sent)
    assert first.name == second.name
    assert first.results().to_bytes() == second.results().to_bytes()


def test_a_small_job_is_one_request(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    server = _as(serving, "bob")
    client = server.interface("norm").client()
    evaluator, sent = server.evaluator("norm", client), client.encrypt(np.ones(16))
    asked: list[str] = []
    handle = httpx.HTTPTransport.handle_request

    def noted(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        return handle(transport, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", noted)
    assert abs(client.decrypt(evaluator.run(sent)) - 16) < 2.0**-8
    assert asked == ["POST"]


def test_the_same_inputs_at_once_are_one_job(serving: Serving) -> None:
    server = _as(serving, "ada")
    client = server.interface("norm").client()
    evaluator, sent = server.evaluator("norm", client), client.encrypt(np.ones(16))
    with ThreadPoolExecutor(8) as threads:
        jobs = [*threads.map(evaluator.submit, [sent] * 8)]
    assert len({job.name for job in jobs}) == 1
    assert abs(client.decrypt(jobs[0].results()) - 16) < 2.0**-8


def test_nobody_sees_what_is_anothers(serving: Serving) -> None:
    ada, bob = _as(serving, "ada"), _as(serving, "bob")
    client = ada.interface("norm").client()
    evaluator = ada.evaluator("norm", client)
    job = evaluator.submit(client.encrypt(np.ones(16)))
    with pytest.raises(NotServedError, match="there is none of the name"):
        RemoteJob(AsyncJob(bob._server, job.name, "", 1000)).results()
    with pytest.raises(NotServedError, match="are not here"):
        _with_keys(bob, evaluator, evaluator._evaluator.keys).run(client.encrypt(np.ones(16)))
    assert job.results().role == "outputs"
    for token in (None, "guessed", (serving.folder / "old").read_text()):
        with pytest.raises(AccessDeniedError, match="has not expired"):
            serving.connect(token=token)


def test_tokens_are_added_and_revoked_while_a_server_runs(serving: Serving) -> None:
    tokens = serving.folder / "tokens"
    before = tokens.read_text()
    token = new_token(tokens, "dan", FOREVER)
    assert "norm" in serving.connect(token=token).programs
    tokens.write_text(before)
    with pytest.raises(AccessDeniedError, match="none that is known"):
        serving.connect(token=token)
    for damage in (lambda: tokens.write_text("ada\n"), tokens.unlink):
        damage()
        with pytest.raises(AccessDeniedError, match="the server's file of tokens"):
            _as(serving, "ada")
    tokens.write_text(before)
    assert "norm" in _as(serving, "ada").programs


def test_wrong_use_is_named(serving: Serving) -> None:
    server = _as(serving, "ada")
    client = server.interface("norm").client()
    evaluator = server.evaluator("norm", client)
    with pytest.raises(NotServedError, match="no such program"):
        server.interface("nothing")
    with pytest.raises(ProgramMismatchError, match="inputs encrypted for it"):
        evaluator.run(evaluator.run(client.encrypt(np.ones(16))))
    with pytest.raises(InvalidArgumentError, match="what encrypt gave, or a list"):
        evaluator.run(np.ones(16))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="a client of its interface"):
        server.evaluator("norm", evaluator)  # type: ignore[arg-type]


@pytest.mark.random
def test_jobs_outlive_a_server_that_is_killed(tmp_path: Path) -> None:
    put(tmp_path, norm=_programs()["norm"])
    serving = Serving(tmp_path)
    draw, jobs = random.Random(0), list[tuple[Any, float, RemoteJob]]()
    count, kills = (100, 50) if ALL else (12, 4)
    try:
        server = serving.connect()
        clients = [server.interface("norm").client() for _ in range(3)]
        evaluators = [server.evaluator("norm", client) for client in clients]
        moments = sorted(draw.sample(range(count), kills))
        for number in range(count):
            client, x = clients[number % 3], np.full(16, number / count)
            job = evaluators[number % 3].submit(client.encrypt(x))
            jobs.append((client, float(x @ x), job))
            if number in moments:
                time.sleep(draw.uniform(0, 0.3))
                serving.kill()
                serving.start()
        for client, expected, job in jobs:
            assert abs(client.decrypt(job.results()) - expected) < 2.0**-10
        assert len({job.name for _, _, job in jobs}) == count
    finally:
        serving.stop()


def test_a_run_that_is_killed_is_run_again(tmp_path: Path) -> None:
    put(tmp_path, norm=_programs()["norm"])
    serving = Serving(tmp_path)
    try:
        server = serving.connect()
        client = server.interface("norm").client()
        evaluator = server.evaluator("norm", client)
        _kill_children(serving)
        found = client.decrypt(evaluator.run(client.encrypt(np.ones(16))))
        assert abs(found - 16) < 2.0**-8
        _kill_children(serving)
        job = evaluator.submit(client.encrypt(np.zeros(16)))
        job.cancel()
        with pytest.raises(RunCancelledError):
            job.results()
    finally:
        serving.stop()


def _kill_children(serving: Serving) -> None:
    for process in serving.children():
        os.kill(process, signal.SIGKILL)


def test_uploads_go_on_where_they_ended(serving: Serving) -> None:
    server = _as(serving, "bob")
    data, digest = b"half of some keys", "ab" * 32
    connection = server._connection
    headers = {"upload-offset": "0", "upload-complete": "?0"}
    assert connection.patch(f"/v1/keys/{digest}", content=data, headers=headers).is_success
    here = connection.head(f"/v1/keys/{digest}").headers
    assert (here["upload-offset"], here["upload-complete"]) == (f"{len(data)}", "?0")
    refused = connection.patch(f"/v1/keys/{digest}", content=data, headers=headers)
    assert refused.status_code == 409
    headers = {"upload-offset": f"{len(data)}", "upload-complete": "?1"}
    refused = connection.patch(f"/v1/keys/{digest}", content=b"", headers=headers)
    assert refused.json()["type"] == "urn:cloakwork:UploadMismatchError"
    assert connection.head(f"/v1/keys/{digest}").headers["upload-offset"] == "0"


def test_keys_are_named_once(serving: Serving) -> None:
    server = _as(serving, "ada")
    client = server.interface("norm").client()
    evaluator, sent = server.evaluator("norm", client), client.encrypt(np.ones(16))
    own = evaluator._evaluator.keys
    for keys in (f"{own},{own}", ",".join(map(str, range(65)))):
        with pytest.raises(InvalidArgumentError, match="each once"):
            _with_keys(server, evaluator, keys).run(sent)


def test_an_answer_to_another_request_is_named(serving: Serving) -> None:
    server = _as(serving, "ada")
    client = server.interface("norm").client()
    evaluator = server.evaluator("norm", client)
    first = evaluator.submit(client.encrypt(np.ones(16)))
    second = evaluator.submit(client.encrypt(np.zeros(16)))
    with pytest.raises(AnswerMismatchError, match="expected one to the request"):
        RemoteJob(AsyncJob(server._server, second.name, first._job.request, 1 << 20)).results()


def test_nobody_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloakwork.service.client.asynchronous.PAUSES", (0.0, None))
    with pytest.raises(ServerUnreachableError, match="see whether it is there"):
        cw.connect("http://127.0.0.1:9")
    with pytest.raises(InvalidArgumentError, match="expected a URL"):
        cw.connect("127.0.0.1:9")


@pytest.mark.random
def test_whatever_is_asked_is_answered_by_a_refusal(serving: Serving) -> None:
    draw = random.Random(1)
    connection = _as(serving, "bob")._connection
    paths = ["/v1/programs", "/v1/programs/norm", "/v1/programs/norm/jobs", "/v1/jobs/a"]
    paths += ["/v1/keys", f"/v1/keys/{'0' * 64}", "/livez", "/metrics", "/%00", "/v1/keys/.."]
    for _ in range(10_000 if ALL else 300):
        headers = {
            draw.choice(["upload-offset", "upload-complete", "wait-seconds", "range", "x"]): (
                draw.choice(["0", "-1", "9" * 40, "?1", "\x01", "bytes=0-", "NaN"])
            )
        }
        found = connection.request(
            draw.choice(["GET", "POST", "PATCH", "DELETE", "HEAD", "PUT"]),
            draw.choice(paths)
            + draw.choice(["", "?keys=x", f"?keys={'0' * 64}", "/.", "?key_id=%"]),
            content=draw.randbytes(draw.choice([0, 1, 100, 5000])),
            headers=headers,
        )
        assert found.status_code < 500, (found.request.method, found.request.url, headers)


def test_a_job_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    put(tmp_path, norm=_programs()["norm"])
    # Nor does one that was being taken when a server ended, long ago.
    left = tmp_path / "jobs" / "left"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    settings = Settings(tmp_path, most_jobs=0, insecure=True)
    own = uvicorn.Server(uvicorn.Config(partial(app, settings), factory=True, log_level="warning"))
    bound = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=own.run, args=([bound],))
    thread.start()
    address = f"http://127.0.0.1:{bound.getsockname()[1]}"
    with cw.connect(address, insecure=True) as server:
        client = server.interface("norm").client()
        evaluator = server.evaluator("norm", client)
        with pytest.raises(QuotaError, match="at most 0 jobs"):
            evaluator.run(client.encrypt(np.ones(16)))
    own.should_exit = True
    thread.join()
    bound.close()
    assert not [*(tmp_path / "jobs").iterdir()]


def test_bodies_that_are_too_large_are_refused_before_they_come(serving: Serving) -> None:
    token = (serving.folder / "ada").read_text()
    said = {"content-length": "99999999999999", "upload-offset": "0"}
    said["authorization"] = f"Bearer {token}"
    with socket.create_connection(("127.0.0.1", serving.port), timeout=10) as connection:
        lines = [f"PATCH /v1/keys/{'1' * 64} HTTP/1.1", "host: here"]
        lines += [f"{name}: {value}" for name, value in said.items()]
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + bytes(100))
        assert connection.recv(100).startswith(b"HTTP/1.1 429 ")


def test_what_is_kept_of_jobs_is_the_servers_alone(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    Jobs(path, most=2)
    assert path.stat().st_mode & 0o077 == 0


def test_a_database_of_a_later_release_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    Jobs(path, most=2)
    Jobs(path, most=2)
    with closing(sqlite3.connect(path)) as base:
        ((written,),) = base.execute("pragma user_version")
        base.execute(f"pragma user_version={written + 1}")
    with pytest.raises(NewerFormatError, match=f"version {written} of .* got {written + 1}"):
        Jobs(path, most=2)


def test_a_user_has_so_many_jobs(tmp_path: Path) -> None:
    jobs, takes = Jobs(tmp_path / "jobs", most=2), Prediction(1.0, 1, 1)
    for request in ("a", "b"):
        jobs.accept("ada", "norm", "k", request=request, takes=takes)
    with pytest.raises(QuotaError, match="at most 2 jobs"):
        jobs.accept("ada", "norm", "k", request="c", takes=takes)
    jobs.accept("bob", "norm", "k", request="c", takes=takes)
    users = [jobs.take(found).user for _ in range(3) if (found := jobs.first())]
    assert users == ["ada", "bob", "ada"]

"""A fuzz target for a server: asks what nobody asks, and gives it files that nobody wrote.

    pip install atheris
    python -m tests.fuzz.served -rss_limit_mb=2048 -timeout=30 -runs=1000000

Requests are right ones that are changed: their paths, headers and bodies. Whatever comes is
answered by success or by a problem with a name. Files of tokens, receipts and the database of jobs
are changed, too, and either read or refused by the library's own errors.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from starlette.applications import Starlette

import cloakwork as cw
from cloakwork._native import SigningKey
from cloakwork.errors import CloakworkError
from cloakwork.service.hashes import hash_of
from cloakwork.service.problems import MEDIA_TYPE, told_error
from cloakwork.service.receipts import SignedReceipt
from cloakwork.service.run_inputs import RunInputs
from cloakwork.service.server.access import AccessTokens, new_token
from cloakwork.service.server.app import app
from cloakwork.service.server.jobs import Jobs, ServedJob
from cloakwork.service.server.predicted import Prediction
from cloakwork.service.server.settings import Settings
from cloakwork.service.server.states import Owner, StoredState
from tests.fuzz.choices import Choices, feed
from tests.fuzz.containers import ODD, changed

_FOREVER = datetime(2100, 1, 1, tzinfo=UTC)
# A request that takes longer is not answered.
_SECONDS = 20
_HEADERS = (
    *("upload-offset", "upload-complete", "wait-seconds", "range", "content-type", "key-id"),
    *("program", "cloakwork-origin", "if-none-match", "content-encoding", "transfer-encoding"),
    *("authorization", "accept", "content-length", "last-event-id", "cookie", "host"),
)
_VALUES = (
    *("0", "1", "-1", "9" * 40, "0x1", "\u0661", "1e3", " 1", "?1", "?0", "*", "NaN", "bytes=0-"),
    *(
        "bytes=5-1,,-3",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "a" * 64,
        "0" * 64,
        "gzip",
        "chunked",
        "",
    ),
)
_PIECES = (
    # Events go on for ever, as they should.
    *("programs", "norm", "jobs", "keys", "states", "v1", "v2", "models", "ready", ".."),
    *(
        ".",
        "%2e%2e",
        "%00",
        "%ff",
        "norm%2f",
        "sums",
        "a" * 300,
        "0" * 64,
        "a" * 32,
        "",
        "%0a",
        "~",
    ),
)


_COLUMNS: tuple[Any, ...] = (
    *(0, -1, 1e308, None, "", "a", b"\xff", 1 << 62, "queued", "running", "[", "5", "{}", "[1]"),
)
_OWNER = Owner("ada", "k", "p")


class Asked(NamedTuple):
    """A request that is right.

    Args:
        method: Its method.
        path: Where, with its query.
        headers: What it says.
        body: What it sends.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Served:
    """A server in a folder, which runs nothing, and right requests to it.

    Args:
        folder: The folder.
        app: The server.
        asked: The requests.
        token: Who asks.
    """

    folder: Path
    app: Starlette
    asked: Sequence[Asked]
    token: str


def served(folder: Path) -> Served:
    """Make a server in a folder."""
    norm = cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True)
    sums = cw.compile(
        lambda t, x: t + x, cw.state((4,), bound=9, steps=8), (4,), log_n=9, insecure=True
    )
    (folder / "programs").mkdir()
    norm.save(folder / "programs" / "norm.cw")
    sums.save(folder / "programs" / "sums.cw")
    token = new_token(folder / "tokens", "ada", _FOREVER)
    settings = Settings(folder, folder / "tokens", most_jobs=1 << 40, insecure=True)
    return Served(folder, app(settings), _asked(norm, sums), token)


def _asked(norm: cw.Program, sums: cw.Program) -> Sequence[Asked]:
    client, keeper = norm.keygen()[0], sums.keygen()[0]
    with tempfile.TemporaryDirectory() as folder:
        client.evaluation_keys().save(Path(folder) / "keys")
        keys = (Path(folder) / "keys").read_bytes()
    digest = hash_of([keys])
    inputs = RunInputs.of(norm, client.encrypt([0.5] * 16)).to_bytes()
    state = keeper.start().to_bytes()
    owner = f"key_id={keeper._key_id.hex()}"
    upload = {"upload-offset": "0", "upload-complete": "?1", "key-id": client._key_id.hex()}
    kept = {"cloakwork-origin": "a" * 64, "if-none-match": "*"}
    plain = [
        *("/v1/programs", "/v1/programs/norm", f"/v1/keys?key_id={client._key_id.hex()}", "/v2"),
        *("/v1/jobs", "/v1/jobs/a", "/v2/models/norm", "/openapi.json", "/metrics", "/livez"),
        f"/v1/programs/sums/states?{owner}",
    ]
    return [
        *(Asked("GET", path, {}, b"") for path in plain),
        # First the keys, which runs name.
        Asked("PATCH", f"/v1/keys/{digest}", upload, keys),
        Asked("HEAD", f"/v1/keys/{digest}", {}, b""),
        Asked("POST", f"/v1/programs/norm/jobs?keys={digest}", {}, inputs),
        Asked("PUT", f"/v1/programs/sums/states/meter?{owner}", kept, state),
        Asked("DELETE", f"/v1/programs/sums/states/other?{owner}", {}, b""),
        Asked("DELETE", f"/v1/keys/{'b' * 64}", {}, b""),
    ]


def ask(server: Served, requests: Sequence[Asked]) -> list[httpx.Response]:
    """Answers to some requests.

    Raises:
        Exception: What a server stumbles over.
    """

    async def answers() -> list[httpx.Response]:
        transport = httpx.ASGITransport(server.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [
                await client.request(
                    each.method,
                    each.path,
                    headers={"authorization": f"Bearer {server.token}", **each.headers},
                    content=each.body,
                )
                for each in requests
            ]

    return asyncio.run(asyncio.wait_for(answers(), _SECONDS))


def attempt_request(choices: Choices, server: Served) -> None:
    """Ask for something that is nearly right.

    Raises:
        Exception: What a server stumbles over.
        AssertionError: It answers without a name for what is wrong.
    """
    right = server.asked[choices.number(len(server.asked))]
    request = right
    for _ in range(1 + choices.number(2)):
        request = _changed(request, right.body, choices)
    try:
        (answer,) = ask(server, [request])
    except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeError):
        # It cannot be sent.
        return
    assert answer.status_code < 500, (request, answer.text)
    if answer.status_code >= 400 and request.method != "HEAD":
        assert answer.headers["content-type"] == MEDIA_TYPE
        assert told_error(answer.json()) is not None, (request, answer.text)


def _changed(request: Asked, container: bytes, choices: Choices) -> Asked:
    match choices.number(5):
        case 0:
            methods = "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"
            return request._replace(method=methods[choices.number(len(methods))])
        case 1:
            return request._replace(path=_path_changed(request.path, choices))
        case 2:
            name = _HEADERS[choices.number(len(_HEADERS))]
            return request._replace(headers={**request.headers, name: _value(choices)})
        case 3 if request.headers:
            names = [*request.headers]
            name = names[choices.number(len(names))]
            return request._replace(headers={**request.headers, name: _value(choices)})
        case _:
            body = _body_changed(request.body, container, choices)
            # What keys are known by follows from their bytes.
            is_keys = request.method == "PATCH" and choices.number(2)
            path = f"/v1/keys/{hash_of([body])}" if is_keys else request.path
            return request._replace(body=body, path=path)


def _body_changed(body: bytes, container: bytes, choices: Choices) -> bytes:
    if not body:
        return choices.octets(64)
    # One that was changed before may not be a container any more.
    return changed(body, choices) if body == container else _spliced(body, choices)


def _path_changed(path: str, choices: Choices) -> str:
    place, _, query = path.partition("?")
    pieces = place.split("/")[1:]
    pieces[choices.number(len(pieces))] = _PIECES[choices.number(len(_PIECES))]
    if choices.number(2):
        query = f"{query}{choices.octets(8).hex()},&keys={_PIECES[choices.number(len(_PIECES))]}"
    return f"/{'/'.join(pieces)}?{query}"


def _value(choices: Choices) -> str:
    if choices.number(4):
        return _VALUES[choices.number(len(_VALUES))]
    return choices.octets(12).decode("latin-1").replace("\r", "").replace("\n", "")


def attempt_tokens(choices: Choices, server: Served) -> None:
    """Read a changed file of tokens, and ask whose some are.

    Raises:
        Exception: Anything but the library's own errors.
    """
    path = server.folder / "changed tokens"
    path.write_bytes(_spliced((server.folder / "tokens").read_bytes(), choices))
    with suppress(CloakworkError):
        known = AccessTokens.read(path)
        for header in (f"Bearer {server.token}", _value(choices), None):
            with suppress(CloakworkError):
                assert known.user_of(header)


def attempt_receipt(choices: Choices) -> None:
    """Read a changed receipt, whose signature does not hold any more.

    Raises:
        Exception: Anything but the library's own errors.
    """
    made = SignedReceipt.signed(SigningKey.generate(), "a" * 64, "b" * 64, "1.0")
    told = json.loads(base64.b64decode(made.text()))
    match choices.number(3):
        case 0:
            text = _spliced(made.text().encode(), choices).decode("latin-1")
        case 1:
            data = _spliced(json.dumps(told).encode(), choices)
            text = base64.b64encode(data).decode()
        case _:
            name = [*told, "further"][choices.number(len(told) + 1)]
            told[name] = ODD[choices.number(len(ODD))]
            text = base64.b64encode(json.dumps(told).encode()).decode()
    with suppress(CloakworkError):
        assert SignedReceipt.read(text) == made


def attempt_database(choices: Choices, folder: Path) -> None:
    """Change a column of a database of jobs, or its bytes, and go on with it.

    Raises:
        Exception: Anything but the library's own errors.
    """
    path = folder / "jobs.sqlite"
    for each in folder.glob("jobs.sqlite*"):
        each.unlink()
    takes = Prediction(seconds=2.0, kept_bytes=100, run_bytes=1000)
    jobs = Jobs(path, most=100)
    for request in ("a", "b", "c"):
        jobs.accept("ada", "norm", "0" * 64, request=request, takes=takes)
    first, second = _begun(jobs), _begun(jobs)
    jobs.end(first, {"type": "urn:cloakwork:QuotaError"})
    jobs.end(second, results="0" * 64)
    kept = StoredState("meter", "0" * 64, 0, "a" * 64)
    jobs.states.put(_OWNER, kept, b"state", most=1 << 20)
    jobs._base.close()
    if choices.number(3):
        _row_changed(path, choices)
    else:
        path.write_bytes(_spliced(path.read_bytes(), choices))
    with suppress(CloakworkError):
        _go_on(path, takes)


def _begun(jobs: Jobs) -> ServedJob:
    first = jobs.first()
    assert first is not None
    jobs.begun(jobs.take(first))
    return first


def _go_on(path: Path, takes: Prediction) -> None:
    """Do with a database what a server does."""
    jobs = Jobs(path, most=100)
    try:
        jobs.accept("bob", "norm", "0" * 64, request="d", takes=takes)
        jobs.counts()
        jobs.places()
        jobs.expired(0.0)
        jobs.of_user("ada", 50)
        jobs.states.of(_OWNER)
        while (job := jobs.first()) is not None:
            jobs.seconds_left(job, 1)
            jobs.end(_begun(jobs), results="0" * 64)
    finally:
        jobs._base.close()


def _row_changed(path: Path, choices: Choices) -> None:
    table = ("jobs", "states", "runs")[choices.number(3)]
    value = _COLUMNS[choices.number(len(_COLUMNS))]
    with closing(sqlite3.connect(path)) as base:
        # As a disk does, that knows of none.
        base.execute("pragma ignore_check_constraints = on")
        columns = [row[1] for row in base.execute(f"pragma table_info({table})")]
        column = columns[choices.number(len(columns))]
        # Some columns may not be empty, and names are there once.
        with suppress(sqlite3.IntegrityError), base:
            base.execute(f"update {table} set {column} = ?", (value,))


def _spliced(data: bytes, choices: Choices) -> bytes:
    """Bytes in place of others, somewhere."""
    start = choices.number(len(data))
    return data[:start] + choices.octets(16) + data[start + choices.number(16) :]


def attempt(choices: Choices, server: Served) -> None:
    """One of all.

    Raises:
        Exception: Anything but the library's own errors.
    """
    match choices.number(8):
        case 0:
            attempt_tokens(choices, server)
        case 1:
            attempt_receipt(choices)
        case 2:
            attempt_database(choices, server.folder / "database")
        case _:
            attempt_request(choices, server)


def main() -> None:
    """Feed the target by atheris."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        server = served(Path(folder))
        (server.folder / "database").mkdir()
        feed(lambda choices: attempt(choices, server))


if __name__ == "__main__":
    main()

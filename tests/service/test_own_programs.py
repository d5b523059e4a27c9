"""Programs that users put: seen and run by them alone, and read within bounds."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    AccessDeniedError,
    CloakworkError,
    InsecureParametersError,
    InvalidArgumentError,
    InvalidProgramError,
    NotReplaceableError,
    NotServedError,
    ProgramMismatchError,
    QuotaError,
)
from cloakwork.runtime import container
from cloakwork.service.client.remote import Server
from cloakwork.service.server.access import new_token
from cloakwork.service.server.own_programs import OwnPrograms
from cloakwork.service.server.settings import Settings
from cloakwork.service.server.store import Store
from tests.service.serving import Serving, put

SMALL: dict[str, Any] = {"log_n": 9, "insecure": True}
NORM = cw.compile(lambda x: x @ x, (16,), **SMALL)
DOUBLED = cw.compile(lambda x: 2 * x, (16,), **SMALL)
SUMS = cw.compile(lambda t, x: t + x, cw.state((4,), bound=9, steps=9), (4,), **SMALL)
X = np.linspace(-1, 1, 16)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("own")
    put(folder, norm=NORM)
    for user in ("ada", "bob", ".."):
        token = new_token(folder / "tokens", user, datetime(2100, 1, 1, tzinfo=UTC))
        (folder / f"token of {user}").write_text(token)
    made = Serving(folder, "--token-file", str(folder / "tokens"), "--allow-upload")
    yield made
    made.stop()


def _as(serving: Serving, user: str) -> Server:
    return serving.connect(token=(serving.folder / f"token of {user}").read_text())


def _run(server: Server, name: str) -> Any:
    client = server.interface(name).client()
    return client.decrypt(server.evaluator(name, client).run(client.encrypt(X)))


def test_a_user_runs_what_the_user_put(serving: Serving) -> None:
    ada, bob = _as(serving, "ada"), _as(serving, "bob")
    ada.put(DOUBLED, name="mine")
    assert [*ada.programs] == ["mine", "norm"]
    assert bob.programs == ("norm",)
    assert np.abs(_run(ada, "mine") - 2 * X).max() < 2.0**-10
    with pytest.raises(NotServedError, match="there is no such program"):
        bob.interface("mine")
    with pytest.raises(NotServedError, match="none of the name that you put"):
        bob.remove("mine")
    # Another user has another of the name.
    bob.put(NORM, name="mine")
    assert abs(_run(bob, "mine") - X @ X) < 2.0**-8
    assert np.abs(_run(ada, "mine") - 2 * X).max() < 2.0**-10
    jobs = ada._connection.get("/v1/jobs").json()["jobs"]
    assert {each["program"] for each in jobs} == {"mine"}
    _as(serving, "..").put(NORM, name="mine")
    assert (serving.folder / "programs" / "~.." / "mine.cw").exists()
    # A program that is removed is followed by another of its name.
    ada.remove("mine")
    assert [*ada.programs] == ["norm"]
    ada.put(NORM, name="mine")
    assert abs(_run(ada, "mine") - X @ X) < 2.0**-8
    ada.remove("mine")
    bob.remove("mine")
    with pytest.raises(NotServedError):
        ada.remove("norm")


def test_nobody_elses_programs_are_models(serving: Serving) -> None:
    ada, bob = _as(serving, "ada"), _as(serving, "bob")
    ada.put(DOUBLED, name="hidden")
    shown = ada._connection.get("/v2/models/hidden").json()
    assert [each["shape"] for each in shown["outputs"]] == [[16]]
    for path in ("/v2/models/hidden", "/v2/models/hidden/ready"):
        refused, unknown = (
            bob._connection.get(each) for each in (path, path.replace("hidden", "absent"))
        )
        assert (refused.status_code, unknown.status_code) == (404, 404)
        assert refused.text.replace("hidden", "absent") == unknown.text
    ada.remove("hidden")


def test_programs_of_users_outlive_the_server(serving: Serving) -> None:
    ada = _as(serving, "ada")
    ada.put(SUMS, name="sums")
    client = ada.interface("sums").client()
    evaluator = ada.evaluator("sums", client)
    kept = evaluator.start("meter", client.start())
    evaluator.run(client.encrypt(x=np.ones(4)), state=kept)
    serving.kill()
    serving.start()
    assert _as(serving, "ada").programs == ("norm", "sums")
    found = client.decrypt(evaluator.run(client.encrypt(x=np.ones(4)), state=kept))
    assert np.abs(found - 2).max() < 2.0**-10
    ada.remove("sums")


def test_wrong_use_is_named(serving: Serving) -> None:
    ada = _as(serving, "ada")
    ada.put(DOUBLED, name="mine")
    ada.put(DOUBLED, name="mine")
    attempts: list[tuple[type[CloakworkError], Any, str]] = [
        (NotReplaceableError, lambda: ada.put(NORM, name="mine"), "remove it first"),
        (NotReplaceableError, lambda: ada.put(DOUBLED, name="norm"), "the operator has one"),
        (InvalidArgumentError, lambda: ada.put(NORM, name="a b"), "letters, digits"),
        (
            InvalidArgumentError,
            lambda: ada.put(cast("Any", 5), name="five"),
            "what compile returns",
        ),
        (InvalidArgumentError, lambda: ada.put(NORM.in_clear(), name="clear"), "encrypts|clear"),
    ]
    for error, attempt, words in attempts:
        with pytest.raises(error, match=words):
            attempt()
    client = cw.Interface.of(NORM).client()
    with pytest.raises(ProgramMismatchError):
        ada.evaluator("mine", ada.interface("mine").client()).run(client.encrypt(X))
    assert [*ada.programs] == ["mine", "norm"]
    ada.remove("mine")
    assert not [*(serving.folder / "programs" / "~ada").iterdir()]


def test_hostile_files_are_refused(serving: Serving) -> None:
    connection = _as(serving, "bob")._connection
    data = container.to_bytes(NORM._kind, NORM._record())
    draw = random.Random(0)
    for _ in range(6):
        wrong = bytearray(data)
        for _ in range(draw.choice([1, 9])):
            wrong[draw.randrange(len(wrong))] ^= draw.randrange(1, 256)
        found = connection.put("/v1/programs/wrong", content=bytes(wrong))
        assert found.status_code in range(400, 500), found.text
    for content in (b"", data[:-1], container.to_bytes("client file", {})):
        refused = connection.put("/v1/programs/wrong", content=content)
        assert refused.status_code == 422
        assert str(serving.folder) not in refused.text
    assert _as(serving, "bob").programs == ("norm",)
    assert not [*(serving.folder / "programs" / "~bob").iterdir()]


def _own(folder: Path, **said: Any) -> OwnPrograms:
    settings = replace(Settings(folder, uploads=True, insecure=True), **said)
    store = Store(folder, insecure=settings.insecure, most_key_bytes=1 << 20, kept_key_seconds=9.0)
    return OwnPrograms(store, settings)


def test_limits_hold(tmp_path: Path) -> None:
    data = container.to_bytes(NORM._kind, NORM._record())
    for error, words, said in (
        (AccessDeniedError, "takes none; ask the operator", {"uploads": False}),
        (QuotaError, "up to 0 of a user's", {"most_programs": 0}),
        (QuotaError, "at most 99 bytes", {"most_program_bytes": 99}),
        (InsecureParametersError, "128", {"insecure": False}),
        (InvalidProgramError, "within 0 seconds", {"check_seconds": 0}),
    ):
        own = _own(tmp_path, **cast("dict[str, Any]", said))
        with pytest.raises(error, match=words):
            asyncio.run(own.put("ada", "norm", data))
        assert not asyncio.run(own.seen("ada"))
    own = _own(tmp_path, most_programs=1)
    asyncio.run(own.put("ada", "norm", data))
    asyncio.run(own.put("bob", "norm", data))
    with pytest.raises(QuotaError, match="up to 1 of a user's"):
        asyncio.run(own.put("ada", "other", data))
    asyncio.run(own.put("ada", "norm", data))
    assert [*asyncio.run(own.seen("ada"))] == ["norm"]

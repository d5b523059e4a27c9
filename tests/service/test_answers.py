"""Whatever a server answers, a client names what is wrong with it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import CloakworkError
from cloakwork.runtime import container
from cloakwork.schemes.base import ReadLimits
from cloakwork.service.client.remote import Server
from tests.thoroughness import part

PROGRAM = cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True)
INTERFACE = cw.Interface.of(PROGRAM)
BYTES = container.to_bytes(INTERFACE._kind, INTERFACE._record())
CLIENT = INTERFACE.client()
SENT = CLIENT.encrypt(np.ones(16))
HASH = "0" * 64
OCTETS = {"content-type": "application/octet-stream"}


def _right(request: httpx.Request) -> httpx.Response:
    """What a server might say that has the keys, and the results of another request."""
    match request.url.path:
        case "/v1/programs":
            told = {"name": "norm", "fingerprint": PROGRAM.fingerprint}
            return httpx.Response(200, json={"programs": [told], "signer": HASH})
        case "/v1/programs/norm":
            return httpx.Response(200, content=BYTES, headers=OCTETS)
        case "/v1/keys":
            own = {"digest": HASH, "program": PROGRAM.fingerprint}
            return httpx.Response(200, json={"keys": [own]})
        case _:
            headers = {"cloakwork-request": HASH}
            return httpx.Response(202, json={"job": "a"}, headers=headers)


def _ask(answer: Callable[[httpx.Request], httpx.Response]) -> Any:
    transport = httpx.MockTransport(answer)
    connection = httpx.Client(base_url="http://localhost", transport=transport)
    with Server(connection, ReadLimits(True), None) as server:
        return server.evaluator("norm", CLIENT).run(SENT)


def test_what_is_damaged_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloakwork.service.client.asynchronous.PAUSES", (0.0, None))
    with pytest.raises(cw.errors.AnswerMismatchError, match="expected one to the request"):
        _ask(_right)
    for seed in range(part(600)):
        draw = random.Random(seed)
        wrong = draw.randrange(4)
        places = ["/v1/programs", "/v1/programs/norm", "/v1/keys", "/v1/programs/norm/jobs"]

        def answer(
            request: httpx.Request, draw: random.Random = draw, place: str = places[wrong]
        ) -> httpx.Response:
            right = _right(request)
            if request.url.path != place:
                return right
            data = bytearray(right.content)
            for _ in range(draw.choice([1, 3, 50])):
                data[draw.randrange(len(data))] = draw.randrange(256)
            status = draw.choice([200, 200, 202, 404, 500])
            told = bytes(data[: draw.choice([None, 0, 9])])
            kind = {"content-type": right.headers["content-type"]}
            return httpx.Response(status, content=told, headers=kind)

        with pytest.raises(CloakworkError):
            _ask(answer)


@pytest.mark.parametrize("body", [[], {}, 5, None, "a", {"programs": 3, "signer": 4}])
def test_what_is_something_else_is_named(body: Any) -> None:
    with pytest.raises(cw.errors.AnswerMismatchError, match="of a server of Cloakwork"):
        _ask(lambda _: httpx.Response(200, json=body))

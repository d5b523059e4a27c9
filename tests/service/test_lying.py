"""A client names what is wrong with a server that answers with something else than was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import repeat
from time import sleep
from typing import Any

import httpx
import numpy as np
import pytest

import cloakwork as cw
from cloakwork._native import SigningKey
from cloakwork.errors import (
    AnswerMismatchError,
    CloakworkError,
    KeyMismatchError,
    MalformedBytesError,
    ServerUnreachableError,
)
from cloakwork.schemes.base import ReadLimits
from cloakwork.service.client.remote import Server
from cloakwork.service.problems import told_error
from cloakwork.service.receipts import SignedReceipt
from tests.service.lying import OCTETS, Right, sending

PROGRAM = cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True)
CLIENT, EVALUATOR = PROGRAM.keygen()
OTHER, ITS_EVALUATOR = PROGRAM.keygen()
JSON = b"content-type: application/json\r\n"
TOLD = json.dumps({"programs": [], "signer": "0" * 64}).encode()


@pytest.fixture(autouse=True)
def _answers_as_described() -> None:
    """These differ from their description, unlike those of other tests."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloakwork.service.client.asynchronous.PAUSES", (0.0, None))


def _run(answer: Callable[[httpx.Request], httpx.Response], value: float = 1.0) -> Any:
    transport = httpx.MockTransport(answer)
    connection = httpx.Client(base_url="http://localhost", transport=transport)
    with Server(connection, ReadLimits(True), None) as server:
        found = server.evaluator("norm", CLIENT).run(CLIENT.encrypt(np.full(16, value)))
    return CLIENT.decrypt(found)


def _results_are(
    change: Callable[[httpx.Response, Right], httpx.Response],
) -> Callable[[httpx.Request], httpx.Response]:
    """A server that is right but for the results of a job."""
    right = Right(PROGRAM, EVALUATOR)

    def answer(request: httpx.Request) -> httpx.Response:
        found = right(request)
        return change(found, right) if request.url.path.startswith("/v1/jobs/") else found

    return answer


def _results_come_at_once(
    change: Callable[[httpx.Response, Right], httpx.Response],
) -> Callable[[httpx.Request], httpx.Response]:
    """The same of one whose jobs end while it is asked for them."""
    right = Right(PROGRAM, EVALUATOR)

    def answer(request: httpx.Request) -> httpx.Response:
        found = right(request)
        if request.method != "POST":
            return found
        return change(right(httpx.Request("GET", "http://localhost/v1/jobs/a")), right)

    return answer


EITHER_WAY = pytest.mark.parametrize("results_are", [_results_are, _results_come_at_once])


def _with(found: httpx.Response, content: bytes | None = None, **headers: str) -> httpx.Response:
    """An answer with other contents, or other headers."""
    told = {name.replace("_", "-"): text for name, text in headers.items()}
    kept = {**found.headers, **told}
    kept.pop("content-length", None)
    data = found.content if content is None else content
    return httpx.Response(found.status_code, content=data, headers=kept)


def _signed(right: Right, data: bytes, request: str | None = None) -> str:
    """The receipt of a server that signs what it should not."""
    own = Right(PROGRAM, EVALUATOR)
    own.signing, own.request, own.results = right.signing, request or right.request, data
    return own.receipt().text()


@EITHER_WAY
def test_a_right_server_is_believed(results_are: Any) -> None:
    assert abs(_run(results_are(lambda found, _: found)) - 16) < 2.0**-8


@EITHER_WAY
def test_results_of_another_request_are_named(results_are: Any) -> None:
    old = Right(PROGRAM, EVALUATOR)
    _run(old, 0.5)
    results, receipt = old.results, old.receipt()

    def replayed(found: httpx.Response, _: Right) -> httpx.Response:
        told = {"cloakwork_request": receipt.request, "cloakwork_receipt": receipt.text()}
        return _with(found, results, **told)

    def renamed(found: httpx.Response, right: Right) -> httpx.Response:
        return _with(found, results, cloakwork_receipt=_signed(right, results, receipt.request))

    def swapped(found: httpx.Response, _: Right) -> httpx.Response:
        return _with(found, results)

    with pytest.raises(AnswerMismatchError, match="expected one to the request"):
        _run(results_are(replayed))
    with pytest.raises(AnswerMismatchError, match="expected a receipt of the request"):
        _run(results_are(renamed))
    with pytest.raises(AnswerMismatchError, match="expected those of hash"):
        _run(results_are(swapped))


def test_results_of_another_user_are_named_even_if_they_are_signed() -> None:
    others = ITS_EVALUATOR.run(OTHER.encrypt(np.ones(16))).to_bytes()
    with pytest.raises(KeyMismatchError):
        _run(
            _results_are(
                lambda found, right: _with(found, others, cloakwork_receipt=_signed(right, others))
            )
        )


def test_inputs_in_place_of_results_are_named_even_if_they_are_signed() -> None:
    inputs = CLIENT.encrypt(np.ones(16)).to_bytes()
    with pytest.raises(CloakworkError, match="expected outputs, got inputs"):
        _run(
            _results_are(
                lambda found, right: _with(found, inputs, cloakwork_receipt=_signed(right, inputs))
            )
        )


def test_receipts_of_others_are_named() -> None:
    def of_another(found: httpx.Response, right: Right) -> httpx.Response:
        told = right.receipt()
        other = SignedReceipt.signed(SigningKey.generate(), told.request, told.results, "1.0")
        return _with(found, cloakwork_receipt=other.text())

    def of_other_results(found: httpx.Response, right: Right) -> httpx.Response:
        return _with(found, cloakwork_receipt=_signed(right, b"other results"))

    with pytest.raises(AnswerMismatchError, match="signed by"):
        _run(_results_are(of_another))
    with pytest.raises(AnswerMismatchError, match="as the receipt says"):
        _run(_results_are(of_other_results))
    for text in ("", "AAAA", "WwAA" * 9, "W1tb" * 40_000):

        def unread(found: httpx.Response, _: Right, text: str = text) -> httpx.Response:
            return _with(found, cloakwork_receipt=text)

        with pytest.raises(MalformedBytesError, match="cannot read a receipt"):
            _run(_results_are(unread))


def test_results_of_another_length_are_named_even_if_they_are_signed() -> None:
    for start, end, more in ((0, -7, 0), (0, None, 9), (0, 0, 0)):

        def signed(
            found: httpx.Response, right: Right, part: slice = slice(start, end), more: int = more
        ) -> httpx.Response:
            data = right.results[part] + bytes(more)
            return _with(found, data, cloakwork_receipt=_signed(right, data))

        with pytest.raises(CloakworkError):
            _run(_results_are(signed))


def test_results_larger_than_the_program_has_are_not_read_to_their_end() -> None:
    def long(found: httpx.Response, _: Right) -> httpx.Response:
        kept = {**found.headers}
        kept.pop("content-length")
        return httpx.Response(200, content=repeat(bytes(1 << 20)), headers=kept)

    with pytest.raises(AnswerMismatchError, match="expected at most"):
        _run(_results_are(long))


def test_another_media_type_is_named() -> None:
    with pytest.raises(AnswerMismatchError, match="got 'text/html'"):
        _run(_results_are(lambda found, _: _with(found, content_type="text/html")))
    page = httpx.Response(200, text="<html>", headers={"content-type": "text/html"})
    with pytest.raises(AnswerMismatchError, match="expected application/json"):
        _run(lambda _: page)
    told = httpx.Response(200, content=TOLD, headers=OCTETS)
    with pytest.raises(AnswerMismatchError, match="expected application/json"):
        _run(lambda _: told)


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"programs": [{"name": "\\ud800", "fingerprint": "a"}], "signer": "a"}',
        b'{"programs": [{"name": "a\\nb", "fingerprint": "a"}], "signer": "a"}',
        b'{"programs": [], "signer": "' + b"9" * 10 + b'\\u0000"}',
        b'{"programs": [], "signer": ' + b"9" * 5000 + b"}",
        b"\xff\xfe",
    ],
    ids=["deep", "half", "lines", "zero", "number", "encoding"],
)
def test_texts_that_nobody_means_are_named(content: bytes) -> None:
    headers = {"content-type": "application/json"}
    with pytest.raises(AnswerMismatchError, match="expected one of a server"):
        _run(lambda _: httpx.Response(200, content=content, headers=headers))


def _waiting(url: str) -> None:
    cw.connect(url, token="secret").close()


def _awaiting(url: str) -> None:
    async def connected() -> None:
        async with cw.aconnect(url, token="secret"):
            pass

    asyncio.run(connected())


@pytest.fixture(params=[_waiting, _awaiting], ids=["waiting", "awaiting"])
def connects(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Either way to connect."""
    found: Callable[[str], None] = request.param
    return found


def _head(length: int | None, *more: bytes) -> bytes:
    kind = b"transfer-encoding: chunked" if length is None else b"content-length: %d" % length
    return b"HTTP/1.1 200 OK\r\n" + JSON + b"".join(more) + kind + b"\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def test_a_whole_answer_is_taken(connects: Callable[[str], None]) -> None:
    with sending(lambda: iter([_head(len(TOLD)), TOLD])) as url:
        connects(url)


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        [b"nothing of HTTP\r\n\r\n"],
        [b"HTTP/1.1 200"],
        [_head(len(TOLD) + 1), TOLD],
        [_head(None), _chunk(TOLD)],
        [_head(None), b"zz\r\n" + TOLD],
        [_head(len(TOLD), b"x: " + b"a" * (1 << 20) + b"\r\n"), TOLD],
    ],
    ids=["silent", "strange", "half", "truncated", "unended", "miscounted", "endless head"],
)
def test_an_answer_that_ends_early_is_named(
    connects: Callable[[str], None], blocks: list[bytes]
) -> None:
    with (
        sending(lambda: iter(blocks)) as url,
        pytest.raises(ServerUnreachableError, match="cannot reach"),
    ):
        connects(url)


def test_an_answer_shorter_than_it_is_sent_is_named(connects: Callable[[str], None]) -> None:
    with (
        sending(lambda: iter([_head(len(TOLD) - 1), TOLD])) as url,
        pytest.raises(AnswerMismatchError, match="expected one of a server"),
    ):
        connects(url)


def test_an_answer_without_an_end_is_not_read_for_ever(connects: Callable[[str], None]) -> None:
    def blocks() -> Iterator[bytes]:
        yield _head(None)
        yield from repeat(_chunk(bytes(1 << 20)))

    with sending(blocks) as url, pytest.raises(AnswerMismatchError, match="expected at most"):
        connects(url)


def test_an_answer_that_unpacks_to_another_is_named(connects: Callable[[str], None]) -> None:
    head = _head(len(TOLD), b"content-encoding: gzip\r\n")
    with (
        sending(lambda: iter([head, TOLD])) as url,
        pytest.raises(AnswerMismatchError, match="compressed"),
    ):
        connects(url)


def test_an_answer_that_drips_is_given_up_on(
    connects: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloakwork.service.client.answers.SECONDS", 0.2)

    def blocks() -> Iterator[bytes]:
        yield _head(1000)
        for _ in range(1000):
            sleep(0.01)
            yield b" "

    with sending(blocks) as url, pytest.raises(ServerUnreachableError, match="bytes a second"):
        connects(url)


def test_a_server_that_says_nothing_is_given_up_on(
    connects: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloakwork.service.client.connecting._SECONDS", 0.1)

    def blocks() -> Iterator[bytes]:
        sleep(1)
        yield b""

    with sending(blocks) as url, pytest.raises(ServerUnreachableError, match="cannot reach"):
        connects(url)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nobody_else_is_asked(connects: Callable[[str], None], status: int) -> None:
    asked: list[int] = []

    def others() -> Iterator[bytes]:
        asked.append(1)
        yield from [_head(len(TOLD)), TOLD]

    with sending(others) as other:
        moved = f"HTTP/1.1 {status} Moved\r\nlocation: {other}/v1/programs\r\n"
        answer = f"{moved}content-length: 0\r\n\r\n".encode()
        with (
            sending(lambda: iter([answer])) as url,
            pytest.raises(AnswerMismatchError, match="which leads to"),
        ):
            connects(url)
    assert not asked


def test_text_of_a_server_is_one_line() -> None:
    told = {"type": "urn:cloakwork:NotServedError", "detail": "\x1b[31mred\nline"}
    assert str(told_error(told)) == "\\x1b[31mred\\nline"

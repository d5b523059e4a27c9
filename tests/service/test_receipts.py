"""What servers sign, what an audit finds, and what most of several servers say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import httpx
import numpy as np
import pytest

import cloakwork as cw
from cloakwork._native import SigningKey
from cloakwork.errors import (
    AccessDeniedError,
    AnswerMismatchError,
    InvalidArgumentError,
    MalformedBytesError,
    ProgramMismatchError,
    ServerUnreachableError,
)
from cloakwork.service.client.agreed import AgreedEvaluator
from cloakwork.service.receipts import SignedReceipt
from cloakwork.service.server.access import new_token
from tests.cli.command import Cloakwork
from tests.service.serving import Serving, put

NORM = cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True)


@pytest.fixture(scope="module")
def servings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Serving]]:
    made = []
    for name in ("a", "b", "c"):
        folder = tmp_path_factory.mktemp(name)
        put(folder, norm=NORM)
        made.append(Serving(folder))
    yield made
    for each in made:
        each.stop()


def test_an_audit_runs_again_and_compares(servings: list[Serving], tmp_path: Path) -> None:
    server = servings[0].connect()
    client = server.interface("norm").client()
    keys, sent = client.evaluation_keys(), client.encrypt(np.ones(16))
    job = server.evaluator("norm", keys).submit(sent)
    job.results()
    receipt = job.receipt
    assert receipt is not None
    assert receipt.signer == server.signer
    paths = {name: tmp_path / name for name in ("keys", "inputs", "program", "receipt")}
    keys.save(paths["keys"])
    sent.save(paths["inputs"])
    NORM.save(paths["program"])
    paths["receipt"].write_text(receipt.text())
    given = ["receipt", "program", "inputs", "--keys", "keys", "--insecure"]
    assert "the same results" in Cloakwork(tmp_path)("audit", *given)
    client.encrypt(np.zeros(16)).save(paths["inputs"])
    assert "expected the program, evaluation keys" in Cloakwork(tmp_path).refusal("audit", *given)
    lying = SignedReceipt.signed(SigningKey.generate(), receipt.request, "0" * 64, receipt.version)
    with pytest.raises(AnswerMismatchError, match="expected those of hash 000000000000"):
        lying.audit(NORM, [paths["keys"]], sent)


def test_a_receipt_is_its_signers() -> None:
    made = SignedReceipt.signed(SigningKey.generate(), "ab", "cd", "1")
    with pytest.raises(AnswerMismatchError, match="expected the signature"):
        SignedReceipt.read(replace(made, results="ce").text())
    for text in ("", "AAAA", "\u00e9", made.text()[:-8]):
        with pytest.raises(MalformedBytesError, match="expected one of a server"):
            SignedReceipt.read(text)


def test_a_server_that_signs_by_another_key_is_named(servings: list[Serving]) -> None:
    known = servings[0].connect().signer
    assert servings[0].connect(signer=known).signer == known
    with pytest.raises(AnswerMismatchError, match="expected a server that signs by"):
        servings[1].connect(signer=known)


def test_what_most_servers_agree_on_is_taken(servings: list[Serving]) -> None:
    signers = [str(each.connect().signer) for each in servings]
    with cw.connect([*map(_url, servings)], signer=signers, insecure=True) as servers:
        assert servers.programs == ("norm",)
        client = servers.interface("norm").client()
        evaluator = servers.evaluator("norm", client)
        sent = client.encrypt(np.ones(16))
        right = evaluator.run(sent)
        assert abs(client.decrypt(right) - 16) < 2.0**-8
        first, second, _ = evaluator._evaluators
        liar: Any = _Lying(client.encrypt(np.zeros(16)), first)
        assert AgreedEvaluator([first, liar, second], 3).run(sent).to_bytes() == right.to_bytes()
        with pytest.raises(AnswerMismatchError, match="more than half of 3 servers"):
            AgreedEvaluator([first, liar], 3).run(sent)


def test_two_of_three_servers_are_enough(
    servings: list[Serving], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloakwork.service.client.asynchronous.PAUSES", (0.0, None))
    here, gone = [*map(_url, servings[:2])], "http://127.0.0.1:9"
    with cw.connect([gone, *here], insecure=True) as servers:
        assert {url: type(why) for url, why in servers.absent.items()} == {
            gone: ServerUnreachableError
        }
        client = servers.interface("norm").client()
        evaluator = servers.evaluator("norm", client)
        assert abs(client.decrypt(evaluator.run(client.encrypt(np.ones(16)))) - 16) < 2.0**-8
    with pytest.raises(ServerUnreachableError, match="see whether it is there"):
        cw.connect([here[0], gone], insecure=True)


def test_a_server_that_ends_later_is_outvoted(
    servings: list[Serving], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloakwork.service.client.asynchronous.PAUSES", (0.0, None))
    put(tmp_path, norm=NORM)
    last = Serving(tmp_path)
    with cw.connect([*map(_url, servings[:2]), _url(last)], insecure=True) as servers:
        client = servers.interface("norm").client()
        last.stop()
        evaluator = servers.evaluator("norm", client)
        assert [*servers.absent] == [_url(last)]
        assert abs(client.decrypt(evaluator.run(client.encrypt(np.ones(16)))) - 16) < 2.0**-8


def test_one_server_is_not_several(servings: list[Serving]) -> None:
    here = f"http://localhost:{servings[0].port}"
    with pytest.raises(InvalidArgumentError, match="which sign by one key"):
        cw.connect([*map(_url, servings), here], insecure=True)


def test_keys_that_all_servers_have_are_not_sent_again(
    servings: list[Serving], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    handle = httpx.HTTPTransport.handle_request

    def noted(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        sent.append(request.method)
        return handle(transport, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", noted)
    with cw.connect([*map(_url, servings)], insecure=True) as servers:
        client = servers.interface("norm").client()
        first = servers.evaluator("norm", client)
        assert sent.count("PATCH") == 3
        again = servers.evaluator("norm", client)
        assert sent.count("PATCH") == 3
        given = client.encrypt(np.ones(16))
        assert again.run(given).to_bytes() == first.run(given).to_bytes()
        # One has others now, and the same are everywhere afterwards.
        digest = first._evaluators[0]._evaluator.keys
        httpx.delete(f"{_url(servings[0])}/v1/keys/{digest}").raise_for_status()
        anew = servers.evaluator("norm", client)
        assert sent.count("PATCH") == 6
        assert abs(client.decrypt(anew.run(client.encrypt(np.zeros(16))))) < 2.0**-8


def test_servers_of_other_programs_are_named(servings: list[Serving], tmp_path: Path) -> None:
    put(tmp_path, norm=cw.compile(lambda x: 2 * (x @ x), (16,), log_n=9, insecure=True))
    other = Serving(tmp_path)
    try:
        with (
            cw.connect((_url(servings[0]), _url(other)), insecure=True) as servers,
            pytest.raises(ProgramMismatchError, match="the same program on each"),
        ):
            servers.interface("norm")
    finally:
        other.stop()


def _url(serving: Serving) -> str:
    return f"http://127.0.0.1:{serving.port}"


def test_servers_have_one_token_or_one_each(tmp_path: Path) -> None:
    until = datetime(2100, 1, 1, tzinfo=UTC)
    tokens = [new_token(tmp_path / "tokens", user, until) for user in ("ada", "bob")]
    servings = []
    for name in ("a", "b"):
        put(tmp_path / name, norm=NORM)
        servings.append(Serving(tmp_path / name, "--token-file", str(tmp_path / "tokens")))
    try:
        urls = [*map(_url, servings)]
        for given in (tokens[0], tokens):
            with cw.connect(urls, token=given, insecure=True) as servers:
                assert servers.programs == ("norm",)
        with pytest.raises(AccessDeniedError):
            cw.connect(urls, token=[tokens[0], "guessed"], insecure=True)
        for wrong in ([tokens[0]], 5):
            with pytest.raises(InvalidArgumentError, match="tokens of 2 servers") as refusal:
                cw.connect(urls, token=cast("Any", wrong), insecure=True)
            assert tokens[0] not in str(refusal.value)
        with pytest.raises(InvalidArgumentError, match="signers of 2 servers"):
            cw.connect(urls, token=tokens[0], signer=["a"], insecure=True)
    finally:
        for each in servings:
            each.stop()


class _Lying:
    """Answers what was not asked."""

    def __init__(self, other: cw.Encrypted, evaluator: Any) -> None:
        self._other, self._evaluator = other, evaluator

    def submit(self, _: cw.Encrypted, _clear: object) -> Any:
        return self._evaluator.submit(self._other)

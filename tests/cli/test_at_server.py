"""`cloakwork interface` and `cloakwork run` at a server, as its user meets them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.service.client.connection import at_once
from cloakwork.service.server.access import new_token
from examples.server.certificate import write_certificate
from tests.cli.command import Cloakwork
from tests.families import BITS
from tests.service.serving import Serving, put


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("by_command")
    norm = cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True)
    doubled = cw.compile(lambda x: 2 * x, (16,), log_n=10, insecure=True)
    put(folder, norm=norm, doubled=doubled, bits=BITS.program)
    (folder / "token").write_text(
        new_token(folder / "tokens", "ada", datetime(2100, 1, 1, tzinfo=UTC)) + "\n"
    )
    certificate, key = write_certificate(folder)
    tls = ["--tls-cert", str(certificate), "--tls-key", str(key)]
    made = Serving(folder, "--token-file", str(folder / "tokens"), *tls)
    yield made
    made.stop()


def _at(serving: Serving) -> list[str]:
    """What reaches the server, but for a token."""
    url, authority = f"https://127.0.0.1:{serving.port}", serving.folder / "certificate.pem"
    return ["--server", url, "--ca", str(authority), "--insecure"]


@pytest.fixture
def own(serving: Serving, tmp_path: Path) -> Cloakwork:
    """A folder with the keys of norm, and inputs."""
    command = Cloakwork(tmp_path)
    token = ["--token-file", str(serving.folder / "token")]
    assert command("interface", *_at(serving), *token).split() == ["bits", "doubled", "norm"]
    printed = command("interface", "norm", *_at(serving), *token, "-o", "norm.cw")
    assert printed.startswith("Interface(")
    command("keygen", "norm.cw", "--client", "own.key", "--keys", "own.keys", "--insecure")
    (tmp_path / "x.json").write_text(json.dumps([0.5] * 16))
    command("encrypt", "own.key", "x.json", "-o", "sent.cw", "--insecure")
    return command


def test_a_program_of_a_server_is_run(
    serving: Serving, own: Cloakwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOAKWORK_TOKEN", (serving.folder / "token").read_text())
    own("run", "norm", "sent.cw", *_at(serving), "--keys", "own.keys", "-o", "results.cw")
    found = json.loads(own("decrypt", "own.key", "results.cw", "--insecure"))
    np.testing.assert_allclose(found, 4.0, atol=2.0**-8)


def test_keys_are_made_and_registered_at_once_and_a_run_is_audited(
    serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = (serving.folder / "token").read_text()
    monkeypatch.setenv("CLOAKWORK_TOKEN", token)
    command, at = Cloakwork(tmp_path), _at(serving)
    command("keygen", "norm", *at, "--client", "own.key", "--keys", "own.keys")
    digest = hashlib.sha256((tmp_path / "own.keys").read_bytes()).hexdigest()
    url, authority = at[1], at[3]
    with cw.connect(url, token=token.strip(), authority=authority, insecure=True) as server:
        client = cw.load(tmp_path / "own.key", cw.Client, insecure=True)
        assert [*at_once(server._server.registered(client))] == [digest]
    (tmp_path / "x.json").write_text(json.dumps([0.5] * 16))
    command("encrypt", "own.key", "x.json", "-o", "sent.cw", "--insecure")
    results = ["--keys", "own.keys", "-o", "results.cw"]
    command("run", "norm", "sent.cw", *at, *results, "--receipt", "receipt")
    program = str(serving.folder / "programs" / "norm.cw")
    audited = ["receipt", program, "sent.cw", "--keys", "own.keys", "--insecure"]
    assert "the same results; signed by" in command("audit", *audited)
    # A receipt replaces an earlier one, and no key.
    command("run", "norm", "sent.cw", *at, *results, "--receipt", "receipt")
    over = command.refusal("run", "norm", "sent.cw", *at, *results, "--receipt", "own.key")
    assert "got the client file of this name" in over
    without = command.refusal("run", "norm", "sent.cw", "-o", "r.cw", "--receipt", "receipt")
    assert "--receipt goes with --server" in without
    nothing = command.refusal("keygen", "norm", *at, "--client", "a.key", "--evaluator", "a.cw")
    assert "expected --keys with --server" in nothing
    assert not (tmp_path / "a.key").exists()


def test_inputs_in_the_clear_go_along(
    serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOAKWORK_TOKEN", (serving.folder / "token").read_text())
    command, at = Cloakwork(tmp_path), _at(serving)
    client, _ = BITS.keys()
    client.save(tmp_path / "own.key")
    client.evaluation_keys().save(tmp_path / "own.keys")
    client.encrypt(a=5).save(tmp_path / "sent.cw")
    (tmp_path / "clear.json").write_text('{"b": 3}')
    keys = ["--keys", "own.keys", "-o", "results.cw"]
    command("run", "bits", "sent.cw", "--clear", "clear.json", *at, *keys)
    found = client.decrypt(cw.load(tmp_path / "results.cw", cw.Encrypted))
    assert (found["above"], found["differ"].tolist()) == (1, [0, 1, 1])


def test_wrong_use_is_named(
    serving: Serving, own: Cloakwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, keys = _at(serving), ["--keys", "own.keys", "-o", "results.cw"]
    assert "expected the token of a user" in own.refusal("run", "norm", "sent.cw", *at, *keys)
    own.folder.joinpath("guessed").write_text("guessed")
    wrong = own.refusal("interface", *at, "--token-file", "guessed")
    assert "expected the token of a user" in wrong
    hashes = own.refusal("interface", *at, "--token-file", str(serving.folder / "tokens"))
    assert "expected a token as cloakwork token prints it" in hashes
    assert "nothing is there" in own.refusal("interface", *at, "--token-file", "none")

    monkeypatch.setenv("CLOAKWORK_TOKEN", (serving.folder / "token").read_text())
    unknown = own.refusal("run", "nothing", "sent.cw", *at, *keys)
    assert "there is no such program here; cloakwork interface --server URL lists" in unknown
    assert "what none there can have" in own.refusal("interface", "../norm", *at, "-o", "other.cw")
    others = own.refusal("run", "doubled", "sent.cw", *at, *keys)
    assert "expected evaluation keys of" in others
    swapped = ["--keys", "own.key", "-o", "results.cw"]
    assert "expected" in own.refusal("run", "norm", "sent.cw", *at, *swapped)
    assert "goes without --server" in own.refusal(
        "run", "norm", "sent.cw", *at, *keys, "--threads", "2"
    )
    assert "--keys goes with --server" in own.refusal("run", "norm", "sent.cw", *keys)
    assert "--keys and -o" in own.refusal("run", "norm", "sent.cw", *at, "-o", "results.cw")
    assert "names a file that the command reads" in own.refusal(
        "run", "norm", "sent.cw", *at, "--keys", "own.keys", "-o", "sent.cw"
    )
    assert not (own.folder / "results.cw").exists()


def test_a_server_that_is_not_the_right_one_is_named(
    serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, url = Cloakwork(tmp_path), f"https://127.0.0.1:{serving.port}"
    monkeypatch.setenv("CLOAKWORK_TOKEN", "guessed")
    untrusted = command.refusal("interface", "--server", url)
    assert "certificate verify failed: self-signed certificate; give a file" in untrusted
    assert "by --ca" in untrusted
    missing = command.refusal("interface", "--server", url, "--ca", "none.pem")
    assert "there is no file none.pem" in missing
    (tmp_path / "text").write_text("text")
    assert "expected certificates in PEM" in command.refusal(
        "interface", "--server", url, "--ca", "text"
    )
    assert "expected a URL" in command.refusal("interface", "--server", "127.0.0.1:8765")
    plain = command.refusal("interface", "--server", "http://compute.example")
    assert "expected https:// where a token is sent" in plain
    monkeypatch.delenv("CLOAKWORK_TOKEN")
    assert "cannot reach" in command.refusal("interface", "--server", "http://127.0.0.1:9")

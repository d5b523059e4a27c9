"""`cloakwork serve`, `token` and `audit`, as far as they refuse."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

import cloakwork as cw
from cloakwork.service.server.access import AccessTokens
from examples.server.certificate import write_certificate
from tests.cli.command import Cloakwork


def test_others_are_served_by_tokens_and_tls_alone(tmp_path: Path) -> None:
    told = Cloakwork(tmp_path).refusal("serve", str(tmp_path), "--host", "0.0.0.0")
    assert "expected --token-file, --tls-cert and --tls-key" in told


def test_a_token_is_of_a_user(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    token = Cloakwork(tmp_path)("token", "ada", "--token-file", str(tokens)).strip()
    assert token not in tokens.read_text()
    assert tokens.stat().st_mode & 0o077 == 0
    assert AccessTokens.read(tokens).user_of(f"Bearer {token}") == "ada"
    told = Cloakwork(tmp_path).refusal("token", "a b", "--token-file", str(tokens))
    assert "letters, digits" in told
    tokens.write_text("ada\n")
    with pytest.raises(cw.errors.InvalidArgumentError, match="in line 1"):
        AccessTokens.read(tokens)


def test_a_token_destroys_no_other_file(tmp_path: Path) -> None:
    cloakwork = Cloakwork(tmp_path)
    for data in (b"PK\x03\x04\xff\n\xfe", b"ada 12 2100-01-01\n", b"ada\n" * 5, b"\n"):
        (tmp_path / "other").write_bytes(data)
        (tmp_path / "other").chmod(0o644)
        told = cloakwork.refusal("token", "ada", "--token-file", "other")
        assert "name a file that cloakwork token made" in told
        assert (tmp_path / "other").read_bytes() == data
        assert (tmp_path / "other").stat().st_mode & 0o777 == 0o644
    told = cloakwork.refusal("token", "ada", "--token-file", "nowhere/tokens")
    assert "there is no folder" in told


def test_a_token_is_added_to_those_of_a_file(tmp_path: Path) -> None:
    tokens, link = tmp_path / "tokens", tmp_path / "link"
    tokens.touch()
    link.symlink_to(tokens)
    made = {
        user: Cloakwork(tmp_path)("token", user, "--token-file", "link").strip()
        for user in ("ada", "bob")
    }
    # One whose last line was written by hand.
    tokens.write_text(tokens.read_text().rstrip())
    made["eve"] = Cloakwork(tmp_path)("token", "eve", "--token-file", "link").strip()
    read = AccessTokens.read(tokens)
    assert {read.user_of(f"Bearer {token}"): token for token in made.values()} == made
    assert link.is_symlink()
    assert tokens.stat().st_mode & 0o777 == 0o600


def test_a_receipt_that_is_none_is_named(tmp_path: Path) -> None:
    arguments = ("audit", "receipt", "p.cw", "in.cw", "--keys", "k.cw")
    assert "give the file of a receipt" in Cloakwork(tmp_path).refusal(*arguments)
    (tmp_path / "receipt").write_bytes(b"\xff\xfe\x00")
    assert "cannot read a receipt" in Cloakwork(tmp_path).refusal(*arguments)


def test_an_address_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    cloakwork = Cloakwork(tmp_path)
    assert "65535" in cloakwork.refusal("serve", ".", "--port", "99999")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = f"{other.getsockname()[1]}"
        told = cloakwork.refusal("serve", ".", "--port", port)
    assert f"cannot serve at 127.0.0.1, port {port}" in told
    assert "give another --port" in told
    elsewhere = ("--host", "192.0.2.1", "--behind-tls", "--token-file", "tokens")
    told = cloakwork.refusal("serve", ".", *elsewhere)
    assert "cannot serve at 192.0.2.1, port 8765" in told
    assert not [*tmp_path.iterdir()]


def test_figures_of_a_user_need_tokens(tmp_path: Path) -> None:
    told = Cloakwork(tmp_path).refusal("serve", ".", "--port", "0", "--metrics-user", "meter")
    assert "expected --token-file with --metrics-user" in told


def test_a_certificate_that_is_none_is_named(tmp_path: Path) -> None:
    def told(*options: str) -> str:
        return Cloakwork(tmp_path).refusal("serve", ".", "--port", "0", *options)

    (tmp_path / "other").mkdir()
    certificate, key = (f"{each}" for each in write_certificate(tmp_path))
    _, another = (f"{each}" for each in write_certificate(tmp_path / "other"))
    assert "cannot read nope: expected a file" in told("--tls-cert", "nope")
    assert "give it by --tls-cert" in told("--tls-key", key)
    for pair in ((key, key), (certificate, another)):
        answer = told("--tls-cert", pair[0], "--tls-key", pair[1])
        assert f"the certificate {pair[0]} and the key {pair[1]}" in answer
    assert "and the key" in told("--tls-cert", certificate)

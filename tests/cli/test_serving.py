"""`cloakwork serve` and `cloakwork token`, as far as they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

import cloakwork as cw
from cloakwork.service.server.access import AccessTokens
from tests.cli.command import Cloakwork


def test_others_are_served_by_tokens_and_tls_alone(tmp_path: Path) -> None:
    told = Cloakwork(tmp_path).refusal("serve", str(tmp_path), "--host", "0.0.0.0")
    assert "expected --token-file, --tls-cert and --tls-key" in told


def test_a_program_without_an_interface_is_not_served(tmp_path: Path) -> None:
    @cw.circuit(a=cw.scalar())
    def square(a: int) -> int:
        return a * a

    (tmp_path / "programs").mkdir()
    square.compile(bits=16, insecure=True).save(tmp_path / "programs" / "square.cw")
    told = Cloakwork(tmp_path).refusal("serve", str(tmp_path), "--insecure")
    assert "cannot use the interface of square" in told


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

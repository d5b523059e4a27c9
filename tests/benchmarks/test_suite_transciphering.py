"""Stages of transciphering meet in the files of its harness, which is not here."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from benchmarks.suite.__main__ import lay_out
from benchmarks.suite.transciphering.cipher import (
    CIPHER,
    DECIPHER,
    Direction,
    added,
    round_keys,
)
from benchmarks.suite.transciphering.workload import Workload
from tests.benchmarks.stages import secret_kept_from_servers

STAGES = (
    "client_preprocess",
    "client_key_generation",
    "client_encode_encrypt",
    "server_preprocess_dataset",
    "server_encrypted_aes_decryption",
    "server_encrypted_compute",
    "client_decrypt_decode_aes_decryption",
    "client_postprocess_aes_decryption",
    "client_decrypt_decode",
    "client_postprocess",
)
KEY = bytes(range(16))
# The example of FIPS 197, appendix C.1.
PLAIN = bytes.fromhex("00112233445566778899aabbccddeeff")
ENCIPHERED = bytes.fromhex("69c4e0d86a7b0430d8cdb78070b4c55a")


def test_the_cipher_is_that_of_the_standard() -> None:
    assert by(CIPHER, PLAIN) == ENCIPHERED
    assert by(DECIPHER, ENCIPHERED) == PLAIN


def test_counters_wrap_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = Path("datasets", "small")
    data.mkdir(parents=True)
    (data / "db.hex").write_text(bytes(range(32)).hex())
    (data / "aes_iv.hex").write_text("ff" * 16)
    given = Workload("small").enciphered
    assert given.direction is CIPHER
    ends = [(bytes.fromhex("ff" * 16), bytes(range(16))), (bytes(16), bytes(range(16, 32)))]
    assert [*given.ends] == ends


@pytest.mark.slow
def test_stages_decipher_a_block_and_the_server_reads_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, place = tmp_path / "given", tmp_path / "place"
    (given / "harness").mkdir(parents=True)
    place.mkdir()
    lay_out(place, given, "transciphering")
    monkeypatch.chdir(place)
    data = Path("datasets", "toy")
    data.mkdir(parents=True)
    words = np.random.default_rng(0).integers(0, 1 << 16, 8).astype(">u2")
    (data / "aes_key.hex").write_text(KEY.hex())
    (data / "db.hex").write_text(by(CIPHER, words.tobytes()).hex())
    secret = Path("io", "toy", "secret_key")
    for stage in STAGES:
        monkeypatch.setattr("sys.argv", [stage, "0"])
        with secret_kept_from_servers(stage, secret):
            runpy.run_path(f"submission/{stage}.py", run_name="__main__")
    found = np.loadtxt(Path("io", "toy", "result_aes.txt"), dtype=int)
    assert (found == words).all()
    assert int(Path("io", "toy", "result.txt").read_text()) == words.max()


def by(direction: Direction, block: bytes) -> bytes:
    """A block that is enciphered or deciphered."""
    first, *middle, last = round_keys(direction, KEY)
    state = added(list(block), first)
    for key in middle:
        state = direction.round(state, key)
    return bytes(map(int, direction.last(state, last)))

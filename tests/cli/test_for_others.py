"""Results for others and passphrases on the command line."""

import json
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.runtime import container
from tests.cli.command import Cloakwork

VARIABLE = "CLOAKWORK_PASSPHRASE"
SHARE = ("--for-others", "--statistical-bits", "4", "--decryptions", "1", "--insecure")


@pytest.fixture
def cloakwork(tmp_path: Path) -> Cloakwork:
    """A folder with a program and inputs."""
    program = cw.compile(
        lambda x: x * 1.0, (4,), precision=30, public_inputs=True, log_n=10, insecure=True
    )
    program.save(tmp_path / "p.cw")
    (tmp_path / "in.json").write_text(json.dumps({"x": [0.5, 0.25, 0.0, -0.5]}))
    return Cloakwork(tmp_path)


def test_results_for_others_are_flooded_and_counted(cloakwork: Cloakwork) -> None:
    cloakwork("keygen", "p.cw", "--client", "c", "--evaluator", "e", "--insecure")
    for name in ("1", "2"):
        cloakwork("encrypt", "c", "in.json", "-o", f"in{name}", "--insecure")
        cloakwork("run", "e", f"in{name}", "-o", f"out{name}", "--insecure")
    own = np.array(json.loads(cloakwork("decrypt", "c", "out1", "--insecure")))
    shown = cloakwork("decrypt", "c", "out1", *SHARE)
    assert cloakwork("decrypt", "c", "out1", *SHARE) == shown
    assert 0 < np.abs(own - json.loads(shown)).max() < 0.01
    assert "make new keys" in cloakwork.refusal("decrypt", "c", "out2", *SHARE)


def test_results_of_strangers_need_a_voucher(cloakwork: Cloakwork) -> None:
    keys = ("--client", "c", "--evaluator", "e", "--public-key", "k")
    cloakwork("keygen", "p.cw", *keys, "--insecure")
    cloakwork("encrypt", "k", "in.json", "-o", "in", "--insecure")
    cloakwork("run", "e", "in", "-o", "out", "--insecure")
    assert "got 1 of them" in cloakwork.refusal("decrypt", "c", "out", *SHARE)
    cloakwork("decrypt", "c", "out", "--honest-inputs", *SHARE)
    for alone in ("--honest-inputs", "--decryptions=1", "--statistical-bits=1"):
        assert "go with --for-others" in cloakwork.refusal("decrypt", "c", "out", alone)
    for missing in ("--decryptions=1", "--statistical-bits=1"):
        refused = cloakwork.refusal("decrypt", "c", "out", "--for-others", missing)
        assert "takes --statistical-bits and --decryptions" in refused


def test_a_passphrase_comes_from_the_environment_or_a_descriptor(
    cloakwork: Cloakwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    keygen = ("keygen", "p.cw", "--client", "c", "--evaluator", "e", "--insecure")
    assert "--passphrase-fd, or set" in cloakwork.refusal(*keygen, "--passphrase")
    assert not (cloakwork.folder / "c").exists()
    monkeypatch.setenv(VARIABLE, "secret")
    cloakwork(*keygen, "--passphrase")
    assert container.is_sealed(cloakwork.folder / "c")
    cloakwork("encrypt", "c", "in.json", "-o", "in", "--insecure")
    cloakwork("run", "e", "in", "-o", "out", "--insecure")
    cloakwork("decrypt", "c", "out", *SHARE)
    monkeypatch.setenv(VARIABLE, "other")
    assert "got another" in cloakwork.refusal("decrypt", "c", "out", "--insecure")
    monkeypatch.delenv(VARIABLE)
    assert "--passphrase-fd, or set" in cloakwork.refusal("decrypt", "c", "out", "--insecure")
    assert "descriptor 77" in cloakwork.refusal(
        "decrypt", "c", "out", "--insecure", "--passphrase-fd", "77"
    )
    command = Path(sys.executable).with_name("cloakwork")
    done = subprocess.run(
        [command, "decrypt", "c", "out", "--insecure", "--passphrase-fd", "0"],
        cwd=cloakwork.folder,
        input="secret\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(json.loads(done.stdout)) == 4
    assert "secret" not in done.stderr


def test_no_key_is_sealed_by_an_empty_passphrase(
    cloakwork: Cloakwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    keygen = ("keygen", "p.cw", "--client", "c", "--evaluator", "e", "--insecure")
    before = sorted(cloakwork.folder.iterdir())
    monkeypatch.setenv(VARIABLE, "")
    assert "expected a passphrase, got an empty one" in cloakwork.refusal(*keygen, "--passphrase")
    (cloakwork.folder.parent / "line").write_bytes(b"\r\n")
    with open(cloakwork.folder.parent / "line", "rb") as empty:
        assert "got an empty one" in refused_from(cloakwork, empty, *keygen)
    assert sorted(cloakwork.folder.iterdir()) == before


def test_descriptors_without_a_passphrase_are_named(cloakwork: Cloakwork) -> None:
    keygen = ("keygen", "p.cw", "--client", "c", "--evaluator", "e", "--insecure")
    for number in ("-1", "99999999999999999999"):
        refusal = cloakwork.refusal(*keygen, "--passphrase-fd", number)
        assert "expected --passphrase-fd to be an integer from 0 up to 2147483647" in refusal
        assert number in refusal
    with open("/dev/zero", "rb") as endless:
        assert "of up to 1048576 bytes" in refused_from(cloakwork, endless, *keygen)
    assert not (cloakwork.folder / "c").exists()


def refused_from(cloakwork: Cloakwork, given: BinaryIO, *arguments: str) -> str:
    """What a command says that refuses the passphrase in a file."""
    done = subprocess.run(
        [Path(sys.executable).with_name("cloakwork"), *arguments, "--passphrase-fd", "0"],
        cwd=cloakwork.folder,
        stdin=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    return done.stderr

"""What commands write over, and what they keep."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

import cloakwork as cw
from cloakwork.cli.outputs import (
    require_new_key,
    require_not_of_cloakwork,
    require_replaceable,
    require_separate,
)
from cloakwork.errors import InvalidArgumentError
from tests.cli.command import Cloakwork
from tests.families import TENSORS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program, its keys, an empty file and one that is not of Cloakwork."""
    client, evaluator = TENSORS.keys()
    TENSORS.program.save(tmp_path / "p")
    client.save(tmp_path / "c")
    evaluator.save(tmp_path / "e")
    TENSORS.encrypted().save(tmp_path / "i")
    (tmp_path / "empty").touch()
    (tmp_path / "notes").write_text("mine")
    return tmp_path


def test_outputs_are_apart_from_inputs_and_one_another(folder: Path) -> None:
    require_separate({"--client": folder / "n", "--evaluator": folder / "m"}, [folder / "p"])
    (folder / "link").symlink_to(folder / "p")
    with pytest.raises(InvalidArgumentError, match="--client names a file that the command reads"):
        require_separate({"--client": folder / "link"}, [folder / "p"])
    (folder / "hard").hardlink_to(folder / "p")
    with pytest.raises(InvalidArgumentError, match="--client names a file that the command reads"):
        require_separate({"--client": folder / "hard"}, [folder / "p"])
    with pytest.raises(InvalidArgumentError, match="--client and --public-key name one file"):
        require_separate({"--client": folder / "n", "--public-key": folder / "." / "n"}, [])


def test_files_of_cloakwork_replace_their_own_kind_alone(folder: Path) -> None:
    for name in ("new", "empty", "i"):
        require_replaceable(folder / name, cw.Encrypted)
    for name, words in (
        ("c", "got the client file"),
        ("p", "got the program file"),
        ("notes", "got a file that is not of Cloakwork"),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            require_replaceable(folder / name, cw.Encrypted)
    with pytest.raises(InvalidArgumentError, match="got a folder or a device"):
        require_replaceable(Path("/dev/null"), cw.Encrypted)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        require_replaceable(folder / "nowhere" / "i", cw.Encrypted)


def test_results_replace_no_file_of_cloakwork(folder: Path) -> None:
    for name in ("new", "empty", "notes"):
        require_not_of_cloakwork(folder / name)
    with pytest.raises(InvalidArgumentError, match="got the client file of this name"):
        require_not_of_cloakwork(folder / "c")


def test_new_keys_replace_nothing(folder: Path) -> None:
    require_new_key(folder / "new")
    for name in ("c", "e", "notes", "empty"):
        with pytest.raises(InvalidArgumentError, match="a key that is replaced is lost"):
            require_new_key(folder / name)


def test_commands_run_again_and_keys_are_kept(folder: Path) -> None:
    command = Cloakwork(folder)
    secret = (folder / "c").read_bytes()
    for _ in range(2):
        command("run", "e", "i", "-o", "o", "--insecure")
        command("decrypt", "c", "o", "-o", "r.json", "--insecure")
    keygen = ("keygen", "p", "--client", "c", "--evaluator", "e", "--insecure")
    assert "--overwrite" in command.refusal(*keygen)
    assert (folder / "c").read_bytes() == secret
    command(*keygen, "--overwrite")
    assert (folder / "c").read_bytes() != secret


def test_keys_are_written_both_or_neither(folder: Path) -> None:
    command = Cloakwork(folder)
    before = sorted(path.name for path in folder.iterdir())
    sizes = [(folder / name).stat().st_size for name in ("c", "e")]
    limit = (min(sizes) + max(sizes)) // 2
    line = [sys.executable, "-m", "cloakwork", "keygen", "p", "--insecure", "--client", "c2"]
    done = subprocess.run(
        [*line, "--evaluator", "e2"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "e2: expected the path of a file that may be written, got: File too large" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before
    command("keygen", "p", "--insecure", "--client", "c2", "--evaluator", "e2")
    assert cw.load(folder / "c2", cw.Client, insecure=True).program.name

"""The command line by its real process: every family from source to results, and refusals."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import cloakwork as cw
from cloakwork.cli.main import cloakwork as group
from tests.cli.command import Cloakwork

EXAMPLES = Path(__file__).parents[2] / "examples" / "boolean"

SOURCE = """
import cloakwork as cw

def scores(x, w):
    return x @ w.T

@cw.circuit(a=cw.vector(3), b=cw.vector(3))
def distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))

ready = cw.compile(scores, (4, 8), (3, 8))
number = 3
"""

NETWORK = """
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.SiLU(), torch.nn.Linear(4, 2)).eval()
"""


@pytest.fixture
def command(tmp_path: Path) -> Cloakwork:
    (tmp_path / "score.py").write_text(SOURCE)
    return Cloakwork(tmp_path)


def keys(command: Cloakwork) -> None:
    command("keygen", "p.cw", "--client", "c", "--evaluator", "e", "--public-key", "k")


def test_tensors_from_source_to_result(command: Cloakwork) -> None:
    x, w = np.random.default_rng(0).uniform(-1, 1, (2, 4, 8))
    w = w[:3]
    np.savez(command.folder / "in.npz", x=x, w=w)
    printed = command(
        "compile", "score.py:scores", "--shape", "4x8", "--shape", "3x8", "-o", "p.cw"
    )
    assert printed.startswith("Program(scores: x, w -> result;")
    assert "1 plaintext" not in command("explain", "p.cw", "--plot", "p.png")
    assert (command.folder / "p.png").read_bytes().startswith(b"\x89PNG")
    keys(command)
    command("encrypt", "k", "in.npz", "-o", "i")
    profile = command("run", "e", "i", "-o", "o", "--threads", "1", "--profile")
    assert "measured" in profile
    command("decrypt", "c", "o", "-o", "r.npy")
    np.testing.assert_allclose(np.load(command.folder / "r.npy"), x @ w.T, atol=2**-20)
    np.testing.assert_allclose(json.loads(command("decrypt", "c", "o")), x @ w.T, atol=2**-20)
    assert "seconds" in command("estimate", "p.cw") or "ms" in command("estimate", "p.cw")
    assert "differs   by up to" in command("bench", "p.cw", "--runs", "1")


def test_integers_from_source_to_result(command: Cloakwork) -> None:
    (command.folder / "in.csv").write_text("a,b\n1,4\n2,6\n3,8\n")
    command("compile", "score.py:distance", "--bits", "24", "--public-inputs", "-o", "p.cw")
    keys(command)
    command("encrypt", "k", "in.csv", "-o", "i")
    command("run", "e", "i", "-o", "o")
    assert json.loads(command("decrypt", "c", "o")) == 50
    assert json.loads(command("simulate", "p.cw", "in.csv")) == 50
    command("decrypt", "c", "o", "-o", "r.json")
    assert json.loads((command.folder / "r.json").read_text()) == 50
    assert "differs   nowhere" in command("bench", "p.cw", "--runs", "1")


def test_bits_from_source_to_result(command: Cloakwork) -> None:
    shutil.copy(EXAMPLES / "adder.txt", command.folder)
    (command.folder / "x.json").write_text('{"x0": 20}')
    (command.folder / "y.json").write_text('{"x1": 22}')
    command("compile", "--bristol", "adder.txt", "--threads", "2", "-o", "p.cw")
    assert "bootstraps" in command("explain", "p.cw")
    keys(command)
    command("encrypt", "c", "x.json", "-o", "i")
    command("encrypt", "k", "y.json", "-o", "j")
    command("run", "e", "i", "j", "-o", "o")
    assert json.loads(command("decrypt", "c", "o")) == {"y0": 42}
    command("run", "e", "i", "--clear", "y.json", "-o", "o")
    assert json.loads(command("decrypt", "c", "o")) == {"y0": 42}


def test_networks_from_source_to_result(command: Cloakwork) -> None:
    (command.folder / "net.py").write_text(NETWORK)
    sample = np.random.default_rng(0).uniform(-1, 1, (5, 8))
    np.save(command.folder / "sample.npy", sample)
    np.save(command.folder / "one.npy", sample[0])
    command("compile", "net.py:net", "--sample", "sample.npy", "-o", "p.cw")
    keys(command)
    command("encrypt", "k", "one.npy", "-o", "i")
    command("run", "e", "i", "-o", "o", "--cache-bytes", "1000000")
    scores = json.loads(command("decrypt", "c", "o"))
    clear = json.loads(command("simulate", "p.cw", "one.npy"))
    np.testing.assert_allclose(scores, clear, atol=2**-10)
    assert "differs   by up to" in command("bench", "p.cw", "--runs", "1")


def test_inspect_says_what_each_file_is_and_no_secret(command: Cloakwork) -> None:
    command("compile", "score.py:ready", "-o", "p.cw")
    keys(command)
    np.savez(command.folder / "in.npz", x=np.ones((4, 8)), w=np.ones((3, 8)))
    command("encrypt", "c", "in.npz", "-o", "i")
    program = command("inspect", "p.cw")
    fingerprint = cw.load(command.folder / "p.cw", cw.Program).fingerprint
    for words in ("program file", fingerprint, "128-bit secure", "input     x", "output    result"):
        assert words in program
    assert "the secret key: keep it to yourself" in command("inspect", "c")
    assert "encrypts and does nothing else" in command("inspect", "k")
    assert "decrypt nothing" in command("inspect", "e")
    key = next(line for line in command("inspect", "e").splitlines() if line.startswith("key"))
    encrypted = command("inspect", "i").splitlines()
    assert key in encrypted
    assert f"program   {fingerprint}" in encrypted


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compile", "none.py:p", "-o", "p"), "there is no file none.py"),
        (("compile", "score.py:none", "-o", "p"), "score.py has no 'none'"),
        (("compile", "score.py", "-o", "p"), "a file and a name in it"),
        (("compile", "score.py:number", "-o", "p"), "expected a program, a circuit"),
        (("compile", "score.py:scores", "-o", "p"), "expected --shape"),
        (("compile", "score.py:distance", "-o", "p"), "expected --bits"),
        (
            ("compile", "broken.py:p", "-o", "p"),
            "ZeroDivisionError: division by zero (broken.py:2)",
        ),
        (("compile", "score.py:scores", "--shape", "4x8", "--shape", "3x7", "-o", "p"), "matmul"),
        (("explain", "none.cw"), "none.cw"),
        (("explain", "score.py"), "score.py"),
        (("encrypt", "c", "names.npz", "-o", "i"), "there is no port 'z'; expected x, w"),
        (("encrypt", "c", "shape.npz", "-o", "i"), "(4, 8)"),
        (("encrypt", "c", "large.npz", "-o", "i"), "bound"),
        (("encrypt", "c", "in.txt", "-o", "i"), ".npz, .npy, .json, .csv"),
        (("encrypt", "c", "bad.json", "-o", "i"), "bad.json"),
        (("encrypt", "e", "in.npz", "-o", "i"), "expected a client file"),
        (("run", "c", "i", "-o", "o"), "expected an evaluator"),
        (("run", "e", "p.cw", "-o", "o"), "expected an encrypted values file"),
        (("run", "e", "other", "-o", "o"), "key"),
        (("decrypt", "c", "i"), "inputs"),
        (("decrypt", "c", "cut"), "cut"),
        (("decrypt", "c", "o", "-o", "nowhere/r.npy"), "nowhere/r.npy"),
    ],
)
def test_every_refusal_is_one_line(made: Cloakwork, arguments: tuple[str, ...], words: str) -> None:
    assert words in made.refusal(*arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Cloakwork:
    """A folder with one of every file, and some that are damaged."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "score.py").write_text(SOURCE)
    (folder / "broken.py").write_text("\nhalf = 1 / 0\n")
    program = cw.compile(lambda x, w: x @ w.T, (4, 8), (3, 8))
    x, w = np.ones((4, 8)), np.ones((3, 8))
    client, evaluator = program.keygen()
    program.save(folder / "p.cw")
    client.save(folder / "c")
    evaluator.save(folder / "e")
    inputs = client.encrypt(x, w)
    inputs.save(folder / "i")
    evaluator.run(inputs).save(folder / "o")
    program.keygen()[0].encrypt(x, w).save(folder / "other")
    np.savez(folder / "in.npz", x=x, w=w)
    np.savez(folder / "names.npz", x=x, z=w)
    np.savez(folder / "shape.npz", x=x.T, w=w)
    np.savez(folder / "large.npz", x=2 * x, w=w)
    (folder / "in.txt").write_text("1")
    (folder / "bad.json").write_text('{"x": [')
    (folder / "cut").write_bytes((folder / "o").read_bytes()[:-100])
    return Cloakwork(folder)


@pytest.mark.parametrize("name", ["", *sorted(group.commands)])
def test_help_fits_a_screen(name: str) -> None:
    arguments = [name, "--help"] if name else ["--help"]
    printed = CliRunner().invoke(group, arguments, prog_name="cloakwork").output
    lines = printed.splitlines()
    assert lines[0].startswith(f"Usage: cloakwork {name}".rstrip())
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_shells_complete_commands(command: Cloakwork) -> None:
    printed = command("--help")
    assert "_CLOAKWORK_COMPLETE=bash_source" in printed

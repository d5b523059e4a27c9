"""The command line by its real process: every family from source to results."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.cli.commands import cloakwork as group
from tests.cli.command import Cloakwork
from tests.thoroughness import slow

EXAMPLES = Path(__file__).parents[2] / "examples" / "boolean"

SOURCE = """
import cloakwork as cw

def scores(x, w):
    return x @ w.T

@cw.circuit(a=cw.vector(3), b=cw.vector(3))
def distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))
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


# docs/command-line.md runs these commands too, and README.md those of programs over bits.
@pytest.mark.slow
def test_tensors_from_source_to_result(command: Cloakwork) -> None:
    x, w = np.random.default_rng(0).uniform(-1, 1, (2, 4, 8))
    w = w[:3]
    np.savez(command.folder / "in.npz", x=x, w=w)
    shapes = "--shape", "4x8", "--shape", "3x8"
    printed = command("compile", "score.py:scores", *shapes, "--public-inputs", "-o", "p.cw")
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
    estimate = command("estimate", "p.cw")
    assert "seconds" in estimate or "ms" in estimate
    assert "keys" in command("estimate", "p.cw", "--runs", "2", "--memory-limit", "100000000")
    assert "differs   by up to" in command("bench", "p.cw", "--runs", "1")


def test_precision_is_asked_for_in_parts_of_the_largest_result(command: Cloakwork) -> None:
    shapes = "--shape", "4x8", "--shape", "3x8", "--bound", "1000"
    command("compile", "score.py:scores", *shapes, "--relative", "12", "-o", "p.cw")
    asked = [cw.Spec(shape, bound=1000.0) for shape in ((4, 8), (3, 8))]
    expected = cw.compile(lambda x, w: x @ w.T, *asked, relative=12)
    assert cw.load(command.folder / "p.cw", cw.Program).fingerprint == expected.fingerprint
    twice = "--relative", "12", "--precision", "5"
    both = command.refusal("compile", "score.py:scores", *shapes, *twice, "-o", "n")
    assert "expected precision= or relative=" in both


@pytest.mark.slow
def test_keys_of_an_interface_from_source_to_result(command: Cloakwork) -> None:
    shapes = "--shape", "2x4", "--shape", "3x4"
    command("compile", "score.py:scores", *shapes, "-o", "p.cw")
    assert "clients check ranges of inputs alone" in command("interface", "p.cw", "-o", "p.if")
    assert command("inspect", "p.if").startswith("interface file")
    expected = "expected the whole program, got its interface"
    keygen = ("keygen", "p.if", "--client", "c")
    assert expected in command.refusal(*keygen, "--evaluator", "e")
    assert "one of --evaluator and --keys" in command.refusal(*keygen)
    command(*keygen, "--keys", "k")
    assert "holds     the secret key" in command("inspect", "c")
    assert "decrypt nothing" in command("inspect", "k")
    command("evaluator", "p.cw", "k", "-o", "e")
    x, w = np.random.default_rng(0).uniform(-1, 1, (2, 3, 4))
    np.savez(command.folder / "in.npz", x=x[:2], w=w)
    command("encrypt", "c", "in.npz", "-o", "i")
    command("run", "e", "i", "-o", "o")
    found = json.loads(command("decrypt", "c", "o"))
    np.testing.assert_allclose(found, x[:2] @ w.T, atol=2**-20)


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


@pytest.mark.slow
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
    command("compile", "net.py:net", "--sample", "sample.npy", "--public-inputs", "-o", "p.cw")
    keys(command)
    command("encrypt", "k", "one.npy", "-o", "i")
    command("run", "e", "i", "-o", "o", "--cache-bytes", "1000000")
    scores = json.loads(command("decrypt", "c", "o"))
    clear = json.loads(command("simulate", "p.cw", "one.npy"))
    np.testing.assert_allclose(scores, clear, atol=2**-10)
    assert "differs   by up to" in command("bench", "p.cw", "--runs", "1")


def test_inspect_says_what_each_file_is_and_no_secret(command: Cloakwork) -> None:
    program = cw.compile(lambda x, w: x @ w.T, (4, 8), (3, 8), public_inputs=True)
    client, evaluator = program.keygen()
    inputs = client.encrypt(np.ones((4, 8)), np.ones((3, 8)))
    for name, each in {
        "p.cw": program,
        "c": client,
        "e": evaluator,
        "k": client.public_key(),
        "i": inputs,
    }.items():
        each.save(command.folder / name)
    told = command("inspect", "p.cw")
    fingerprint = program.fingerprint
    for words in ("program file", fingerprint, "128-bit secure", "input     x", "output    result"):
        assert words in told
    assert "the secret key: keep it to yourself" in command("inspect", "c")
    assert "a public key, which encrypts, and a key that signs" in command("inspect", "k")
    of_evaluator = command("inspect", "e")
    assert "decrypt nothing" in of_evaluator
    key = next(line for line in of_evaluator.splitlines() if line.startswith("key"))
    encrypted = command("inspect", "i").splitlines()
    assert key in encrypted
    assert f"program   {fingerprint}" in encrypted


@pytest.mark.parametrize("module", ["cloakwork", *slow("cloakwork.cli.main")])
def test_modules_are_the_command_too(command: Cloakwork, module: str) -> None:
    def done(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", module, *arguments]
        return subprocess.run(
            line, cwd=command.folder, capture_output=True, text=True, check=False, timeout=300
        )

    assert done("--help").stdout == command("--help")
    refused = done("inspect", "none")
    assert (refused.returncode, refused.stderr) == (2, command.refusal("inspect", "none"))


@pytest.mark.parametrize("name", ["", *sorted(group.commands)])
def test_help_fits_a_screen(command: Cloakwork, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = command(*name.split(), "--help").splitlines()
    assert lines[0].startswith(f"Usage: cloakwork {name}".rstrip())
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_few_modules_are_loaded_before_an_interrupt_counts() -> None:
    code = "import sys; import cloakwork; print([*sys.modules])"
    printed = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={**os.environ, "PYTHONPATH": str(Path(cw.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout
    loaded = set(ast.literal_eval(printed))
    own = {name for name in loaded if name.startswith("cloakwork")}
    assert own == {"cloakwork", "cloakwork.errors", "cloakwork.explain"}
    assert not loaded & {"typing", "re", "importlib", "numpy", "click"}


# What takes long to load, and neither a client nor a server needs.
UNNEEDED = (
    *("numpy.ma", "tqdm", "scipy", "torch", "networkx", "rich", "importlib.metadata"),
    *("cloakwork.frontends", "cloakwork.plan", "cloakwork.explain.slots"),
)


@pytest.mark.parametrize(
    "line",
    [
        'cloakwork.cli.commands.status_of(["encrypt", "c", "x.json", "-o", "again"])',
        'cw.load("e", cw.Evaluator).run(cw.load("i", cw.Encrypted)).save("o")',
    ],
    ids=["encrypt", "run"],
)
def test_neither_side_loads_more_than_it_takes(command: Cloakwork, line: str) -> None:
    matrix = np.arange(64).reshape(8, 8) / 64
    client, evaluator = cw.compile(lambda x: (matrix @ x) * x, (8,)).keygen()
    client.save(command.folder / "c")
    evaluator.save(command.folder / "e")
    client.encrypt(np.ones(8) / 2).save(command.folder / "i")
    (command.folder / "x.json").write_text("[0, 0, 0, 0, 0, 0, 0.5, 0.25]")
    importing = "cloakwork.cli.commands" if "cli" in line else "cloakwork as cw"
    code = f"""
import sys, {importing}
{line}
print([name for name in {UNNEEDED} if name in sys.modules])
"""
    printed = subprocess.run(
        [sys.executable, "-c", code],
        cwd=command.folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout
    assert printed == "[]\n"


def test_shells_complete_commands(command: Cloakwork) -> None:
    printed = command("--help")
    assert "_CLOAKWORK_COMPLETE=bash_source" in printed


def test_an_interrupt_counts_before_there_is_a_command() -> None:
    code = """
import runpy, sys
from importlib.abc import MetaPathFinder
class Interrupting(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "cloakwork.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
runpy.run_module("cloakwork", run_name="__main__", alter_sys=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_an_interrupt_counts_while_commands_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    command = [str(Path(sys.executable).with_name("cloakwork")), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_network_in_a_file_by_itself_is_a_source(command: Cloakwork) -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(4, 2).eval()
    x = torch.rand(5, 4)
    torch.export.save(torch.export.export(module, (x,)), command.folder / "net.pt2")
    np.save(command.folder / "x.npy", x.numpy())
    said = command("compile", "net.pt2", "--sample", "x.npy", "-o", "net.cw")
    assert said.startswith("Program(net: ")
    assert "expected --sample" in command.refusal("compile", "net.pt2", "-o", "other.cw")
    assert "there is no file no.onnx" in command.refusal(
        "compile", "no.onnx", "--sample", "x.npy", "-o", "other.cw"
    )


def test_how_long_a_synthesis_may_take_is_said(
    command: Cloakwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = command.folder / "clash"
    slow.write_text("#!/bin/sh\nsleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setenv("CLASH", str(slow))
    (command.folder / "Slow.hs").write_text("module Slow where\nf = id\n")
    asked = ("compile", "--haskell", "Slow.hs:f", "--timeout", "0.5", "-o", "slow.cw")
    told = command.refusal(*asked)
    assert "Clash took more than 0.5 s for f; give it more by --timeout, or look" in told

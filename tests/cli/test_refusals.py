"""Every family's refusals on the command line, by its real process: one line, exit code 2."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cloakwork as cw
from cloakwork.cli.result_files import as_json
from tests.cli.command import Cloakwork
from tests.families import BITS, BY_NAME, CIRCUITS, ENCRYPTED, NETWORKS, TENSORS, Family
from tests.thoroughness import slow

ADDER = Path(__file__).parents[2] / "examples" / "boolean" / "adder.txt"

SOURCE = """
import cloakwork as cw
from beside import halved

def scores(x, w):
    return x @ w.T

def raises(x):
    return {}["missing"]

def raises_beside(x):
    return halved(x)

@cw.circuit(a=cw.vector(3), b=cw.vector(3))
def distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))

@cw.circuit(a=cw.scalar())
def raises_of_integers(a):
    return a / 0 if a is None else [][1]

ready = cw.compile(scores, (4, 8), (3, 8), log_n=10, insecure=True)
number = 3
"""
BESIDE = """
def halved(x):
    raise OverflowError("of x")
"""
NETWORK = """
import torch

net = torch.nn.Sequential(torch.nn.Linear(8, 4)).eval()
"""

# Of each family inputs that it refuses, and what is said of them.
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    TENSORS.name: ({**TENSORS.arguments, "a": 2 * TENSORS.arguments["a"]}, "bound"),
    NETWORKS.name: ({"input": NETWORKS.arguments["input"][:2]}, "(5,)"),
    CIRCUITS.name: ({**CIRCUITS.arguments, "s": 0.5}, "expected 's' to hold integers"),
    BITS.name: ({**BITS.arguments, "a": 8}, "expected 0 to 7, got 8"),
}

# Arguments, without --insecure, and words of the one line.
ALL = (
    ("keygen p.cw --client c --evaluator n", "or give --overwrite"),
    ("encrypt c wrong.json -o n", ""),
    ("encrypt c names.json -o n", "there is no port 'z'"),
    ("encrypt c nothing.json -o n", "got none"),
    ("encrypt e in.json -o n", "expected a client file or a public key file"),
    ("run c i -o n", "expected an evaluator file, got a client file"),
    ("run e other -o n", "key"),
    ("run e i -o c", "an earlier encrypted values file to replace, got the client file"),
    ("run e i i -o n", "twice"),
    ("run e i -o n --threads 0", "threads"),
    ("decrypt c i", "expected outputs, got inputs"),
    ("decrypt c cut", "cut"),
    ("decrypt none o", "cannot read none: expected a file, but nothing is there"),
    ("decrypt c none", "cannot read none: expected a file, but nothing is there"),
    ("run e none -o n", "cannot read none: expected a file, but nothing is there"),
    ("simulate p.cw deep.json", "lists that are nested too deeply"),
)
# What no family makes a difference to.
OF_FILES = (
    ("keygen p.cw --client n --evaluator n", "--client and --evaluator name one file"),
    ("keygen p.cw --client p.cw --evaluator n", "--client names a file that the command reads"),
    ("encrypt k deep.json -o n", "lists that are nested too deeply"),
    ("encrypt c in.json -o c", "--output names a file that the command reads"),
    ("run e p.cw -o n", "expected an encrypted values file, got a program file"),
    ("decrypt c o -o n.txt", "a name that ends in .npz, .npy, .json, .csv"),
    ("decrypt c o -o nowhere/n.npy", "there is no folder nowhere"),
    ("decrypt c o -o deep.json", "got a file that is not of the form of .json"),
    ("explain in.json", "in.json"),
    ("explain p.cw --plot c", "got the client file"),
    ("bench e", "expected a program file, got an evaluator file"),
)
INSECURE = (("run e i -o n", "128"),)
OF_BITS = (
    ("run e i -o n --cache-bytes 9", "leave --cache-bytes out"),
    ("run e i -o n --clear deep.json", "lists that are nested too deeply"),
)
OF_SLOTS = (("run e i -o n --clear in.json", "programs over bits alone"),)

COMPILE = (
    ("none.py:p", "there is no file none.py"),
    ("score.py:none", "score.py has no 'none'"),
    ("score.py", "a file and a name in it"),
    ("score.py:ready --bound 2", "expected no options"),
    ("broken.py:p", "ZeroDivisionError: division by zero (broken.py:2)"),
    ("score.py:scores", "expected --shape"),
    ("score.py:scores --shape a", "expected sizes such as 8x16, got 'a'; see cloakwork compile"),
    ("score.py:scores --shape 4x8 --sample s --threads 2", "leave --sample and --threads out"),
    ("score.py:raises_beside --shape 4", "OverflowError: of x (beside.py:3)"),
    ("score.py:distance", "expected bits= for the results"),
    ("net.py:net", "expected --sample"),
    ("--bristol adder.txt --bits 3", "leave --bits out"),
    ("--bristol adder.txt --timeout 3", "leave --timeout out"),
    ("--haskell F.hs:f --timeout 3 --bits 3", "expected --timeout, --threads, --failure-bits"),
    ("--bristol score.py", "score.py"),
)
# Processes take a second each, and those that load torch several.
COMPILE_MORE = (
    ("score.py:number", "expected a program, a circuit"),
    ("unclosed.py:p", "SyntaxError"),
    ("score.py:scores --shape 4x8 --bits 3", "leave --bits out"),
    ("score.py:scores --shape 4x8 --shape 3x7", "matmul"),
    ("score.py:raises --shape 4", "KeyError: 'missing' (score.py:9)"),
    ("score.py:distance --bits 8 --shape 3", "leave --shape out"),
    ("score.py:raises_of_integers --bits 8", "(score.py:20)"),
    ("net.py:net --sample s.npy --shape 8", "leave --shape out"),
    ("net.py:net --sample torn.npz", "damaged"),
    ("--bristol adder.txt --key-budget 3 --batch 2", "leave --batch and --key-budget out"),
    ("--bristol adder.txt --haskell", "got --haskell and --bristol"),
    ("--blif adder.txt --yosys-json", "got --yosys-json and --blif"),
    ("--blif adder.txt", "cannot read adder.txt: line 1: expected a command, got"),
    ("--yosys-json adder.txt:m", "cannot read adder.txt: expected JSON"),
    ("--yosys-json adder.txt", "expected a file and a name in it"),
)


# Those in the tables of a family, besides ALL; without --insecure, which bits have no use for.
MORE = {
    TENSORS.name: (*OF_SLOTS, *OF_FILES),
    NETWORKS.name: OF_SLOTS,
    CIRCUITS.name: OF_SLOTS,
    BITS.name: OF_BITS,
}


# Of every family its own refusals; of one family the others', and of those that are alike some.
OF_EVERY_FAMILY = {
    "encrypt c wrong.json -o n",
    *(line for line, _ in (*OF_BITS, *INSECURE)),
}
ALIKE = {
    "encrypt c nothing.json -o n",
    "run e i -o c",
    "run e i i -o n",
    "decrypt none o",
    "decrypt c none",
    "encrypt k deep.json -o n",
    "encrypt c in.json -o c",
    "decrypt c o -o nowhere/n.npy",
    "decrypt c o -o deep.json",
    "explain in.json",
}


def of_families() -> Iterator[Any]:
    for family in ENCRYPTED:
        small = "" if family is BITS else " --insecure"
        for line, words in (*ALL, *MORE[family.name]):
            is_first = family is TENSORS and line not in ALIKE
            marks = () if is_first or line in OF_EVERY_FAMILY else pytest.mark.slow
            yield pytest.param(family, line + small, words, id=f"{family}: {line}", marks=marks)
        for line, words in INSECURE if small else ():
            yield pytest.param(family, line, words, id=f"{family}: {line}, insecure")


@pytest.mark.parametrize(("family", "line", "words"), list(of_families()))
def test_a_family_refuses_in_one_line(
    made: Callable[[Family], Cloakwork], family: Family, line: str, words: str
) -> None:
    command = made(family)
    before = contents(command.folder)
    refusal = command.refusal(*line.split())
    assert (words or WRONG[family.name][1]) in refusal
    assert contents(command.folder) == before


@pytest.mark.parametrize(("line", "words"), [*COMPILE, *slow(*COMPILE_MORE)])
def test_compile_refuses_in_one_line(sources: Cloakwork, line: str, words: str) -> None:
    assert words in sources.refusal("compile", *line.split(), "-o", "n")
    assert not (sources.folder / "n").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("inspect none", "cannot read none: expected a file, but nothing is there"),
        ("explain none", "cannot read none: expected a file, but nothing is there"),
        ("compile none.py:p -o n", "there is no file none.py; give the path of a file"),
        ("compile --bristol none.txt -o n", "cannot read none.txt: expected a file, but nothing"),
    ],
)
def test_files_that_are_not_there_are_refused_in_one_line(
    tmp_path: Path, line: str, words: str
) -> None:
    assert words in Cloakwork(tmp_path).refusal(*line.split())


@pytest.mark.parametrize("line", ["", "none", "keygen", "explain p.cw more", "bench p --runs 0"])
def test_wrong_usage_is_refused(tmp_path: Path, line: str) -> None:
    done = Cloakwork(tmp_path).done(*line.split())
    assert done.returncode == 2
    assert "--help" in done.stderr
    assert (done.stderr.count("\n") == 1) is bool(line)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Family], Cloakwork]:
    """For each family a folder with one of every file, and some that are damaged."""

    @cache
    def of_family(name: str) -> Cloakwork:
        return filled(BY_NAME[name], tmp_path_factory.mktemp(name))

    return lambda family: of_family(family.name)


def filled(family: Family, folder: Path) -> Cloakwork:
    client, evaluator = family.keys()
    family.program.save(folder / "p.cw")
    client.save(folder / "c")
    evaluator.save(folder / "e")
    client.public_key().save(folder / "k")
    family.encrypted().save(folder / "i")
    evaluator.run(family.encrypted()).save(folder / "o")
    family.program.keygen()[0].encrypt(**family.arguments).save(folder / "other")
    (folder / "cut").write_bytes((folder / "o").read_bytes()[:-100])
    (folder / "in.json").write_text(as_json(family.arguments))
    (folder / "wrong.json").write_text(as_json(WRONG[family.name][0]))
    (folder / "names.json").write_text('{"z": 1}')
    (folder / "nothing.json").write_text("{}")
    (folder / "deep.json").write_text("[" * 100_000)
    return Cloakwork(folder)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Cloakwork:
    folder = tmp_path_factory.mktemp("sources")
    (folder / "score.py").write_text(SOURCE)
    (folder / "beside.py").write_text(BESIDE)
    (folder / "broken.py").write_text("\nhalf = 1 / 0\n")
    (folder / "unclosed.py").write_text("p = (")
    (folder / "net.py").write_text(NETWORK)
    (folder / "torn.npz").write_bytes(b"PK\x03\x04")
    shutil.copy(ADDER, folder)
    return Cloakwork(folder)


LONG = "n" * 300


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compile", "score.py:ready", "-o", LONG], "may be written, got: File name too long"),
        (["compile", "score.py:ready", "-o", "score.py/x"], "score.py is a file; give another"),
        (["keygen", "p.cw", "--client", LONG, "--evaluator", "e"], "File name too long"),
        (["keygen", "p.cw", "--client", "c", "--evaluator", "p.cw/e"], "p.cw is a file"),
        (["simulate", "p.cw", "in.json", "-o", f"{LONG}.json"], "File name too long"),
    ],
)
def test_where_no_file_can_be_written_is_said(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "score.py").write_text(SOURCE)
    (tmp_path / "beside.py").write_text(BESIDE)
    program = cw.compile(lambda x: x * 2, (2,))
    program.save(tmp_path / "p.cw")
    (tmp_path / "in.json").write_text("[0.5, 0.25]")
    assert said in Cloakwork(tmp_path).refusal(*arguments)
    assert {each.name for each in tmp_path.iterdir()} <= {
        "score.py",
        "beside.py",
        "p.cw",
        "in.json",
        "__pycache__",
    }


@pytest.mark.parametrize("arguments", [["explain", "p.cw"], ["--help"]])
def test_a_full_disk_behind_standard_output_is_named(tmp_path: Path, arguments: list[str]) -> None:
    cw.compile(lambda x: x * 2, (2,)).save(tmp_path / "p.cw")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [Path(sys.executable).with_name("cloakwork"), *arguments],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=300,
        )
    assert done.returncode == 2
    assert done.stderr == (
        "cloakwork: cannot write standard output: there is no space left (No space left on "
        "device); free space or send it elsewhere\n"
    )


def test_whole_numbers_of_json_are_told_as_json_has_them(tmp_path: Path) -> None:
    @cw.circuit(a=cw.vector(3))
    def total(a: Any) -> Any:
        return a[0] + a[1] + a[2]

    total.compile(bits=16).keygen()[0].save(tmp_path / "c")
    (tmp_path / "in.json").write_text('{"a": [1.0, 2, 3]}')
    told = Cloakwork(tmp_path).refusal("encrypt", "c", "in.json", "-o", "i")
    assert "got 1.0; give whole numbers as integers: 1 for 1.0" in told

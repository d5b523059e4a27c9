"""BLIF against the same designs as Verilog, and files that are refused."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork import Port, boolean
from cloakwork.errors import InvalidArgumentError, NetlistError, SequentialCircuitError
from cloakwork.frontends.boolean.blif import from_blif
from tests.frontends.boolean.netlists import random_inputs, written
from tests.programs.random_gates import evaluated
from tests.programs.random_programs import damage

INPUTS = [Port("a", "unsigned", 5), Port("b", "signed", 4), Port("c", "unsigned", 1)]
OUTPUTS = [
    Port("sum", "unsigned", 6),
    Port("scaled", "signed", 5),
    Port("less", "unsigned", 1),
    Port("constant", "unsigned", 2),
    Port("chosen", "unsigned", 5),
    Port("same", "unsigned", 1),
]
SMALL = """# two numbers of two bits
.model small
.inputs a[0] a[1] \\
        b[1] b[0] c
.outputs y wide none
.names a[0] b[0] t  # both
11 1
.names t c y
1- 1
-1 1
.names a[0] a[1] b[0] b[1] c t wide
1----- 1
-0-0-1 1
.names none
.end
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blif")


def file_of(folder: Path, text: str) -> Path:
    path = folder / "small.blif"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "commands",
    [
        "synth -flatten; abc -g gates; write_blif {out}",
        "synth -flatten; abc -g cmos4; opt_clean; write_blif -icells -conn {out}",
        "synth -flatten -lut 6; write_blif {out}",
        "synth -flatten; abc -g simple; write_blif -attr -cname {out}",
    ],
)
def test_what_yosys_writes(tmp_path: Path, commands: str) -> None:
    path = written(tmp_path, "mixed.blif", commands)
    read = boolean.from_blif(path, INPUTS, OUTPUTS)
    same = boolean.from_verilog(tmp_path / "design.v", top="mixed")
    np.testing.assert_equal(read.run_clear(**random_inputs()), same.run_clear(**random_inputs()))
    unnamed = boolean.from_blif(path)
    assert [str(port) for port in unnamed.gates.inputs] == [
        "a: unsigned, 5 bits",
        "b: unsigned, 4 bits",
        "c: unsigned, 1 bit",
    ]


def test_a_small_file(tmp_path: Path) -> None:
    read = boolean.from_blif(file_of(tmp_path, SMALL))
    assert [str(port) for port in read.gates.inputs] == [
        "a: unsigned, 2 bits",
        "b: unsigned, 2 bits",
        "c: unsigned, 1 bit",
    ]
    a, b, c = (each.ravel() for each in np.mgrid[0:4, 0:4, 0:2])
    found = read.run_clear(a=a, b=b, c=c)
    both = a & b & 1
    wide = (a & 1) | ((a < 2) & (b < 2) & both)
    np.testing.assert_equal(found, {"y": both | c, "wide": wide, "none": 0 * a})


@pytest.mark.parametrize("inputs", [1, 2, 3, 6, 7, 20])
@pytest.mark.parametrize("result", ["0", "1"])
def test_tables_of_many_inputs(tmp_path: Path, inputs: int, result: str) -> None:
    rng = random.Random(inputs)
    rows = ["".join(rng.choice("01--") for _ in range(inputs)) for _ in range(5)]
    nets = " ".join(f"x[{place}]" for place in range(inputs))
    table = "\n".join(f"{row} {result}" for row in rows)
    text = f".model m\n.inputs {nets}\n.outputs y\n.names {nets} y\n{table}\n"
    given = np.random.default_rng(0).integers(0, 1 << inputs, 300)
    bits = given[:, None] >> np.arange(inputs) & 1
    meant = np.array([[-1 if each == "-" else int(each) for each in row] for row in rows])
    holds = ((meant == -1) | (meant == bits[:, None, :])).all(axis=2).any(axis=1)
    found = boolean.from_blif(file_of(tmp_path, text)).run_clear(x=given)["y"]
    assert found.tolist() == (holds == (result == "1")).astype(int).tolist()


def test_nets_with_gaps_are_bits_of_their_own(tmp_path: Path) -> None:
    text = ".model m\n.inputs x[2] x[0] z[3] z[4]\n.outputs y\n.names x[2] z[4] y\n10 1\n"
    read = boolean.from_blif(file_of(tmp_path, text))
    assert [port.name for port in read.gates.inputs] == ["x[2]", "x[0]", "z"]
    assert read.run_clear(**{"x[2]": 1, "x[0]": 0, "z": [1, 2]})["y"].tolist() == [1, 0]


def test_a_file_runs_on_ciphertexts(tmp_path: Path) -> None:
    program = boolean.from_blif(file_of(tmp_path, SMALL)).compile(threads=1)
    client, evaluator = program.keygen()
    result = evaluator.run(client.encrypt(a=1, b=3, c=0))
    assert client.decrypt(result) == {"y": 1, "wide": 1, "none": 0}


def test_ports_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, SMALL)
    with pytest.raises(InvalidArgumentError, match="these inputs: expected 5 bits, got 4"):
        boolean.from_blif(path, [Port("a", "signed", 4)])
    with pytest.raises(InvalidArgumentError, match="these outputs: a name comes twice among"):
        boolean.from_blif(path, None, [Port("a", "signed", 1)] * 3)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (".names none\n", ".latch t none re c 0\n", r"line 14: it keeps state \(.latch\)"),
        (".names none\n", ".clock c\n", r"line 14: it keeps state \(.clock\)"),
        (
            ".names none\n",
            ".subckt $_DFF_P_ C=c D=t Q=none\n",
            r"line 14: it keeps state \(\$_DFF_P_\)",
        ),
    ],
)
def test_state_is_refused_by_name(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(SequentialCircuitError, match=f"cannot read small.blif: {reason}"):
        from_blif(file_of(tmp_path, SMALL.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("# two", "1 1\n#", "line 1: expected a command, got '1'"),
        (".model", ".kiss", "line 2: expected a command of BLIF, got '.kiss'"),
        (".end", ".model other", "line 15: expected one model, got another; flatten"),
        (".outputs y wide none", ".outputs", "it has no outputs"),
        ("c\n.outputs", "c c\n.outputs", "the net c is twice among the inputs"),
        ("y wide none", "y wide none y", "the net y is twice among the inputs or the outputs"),
        ("b[0] c\n", "b[0] c\n1 1\n", "line 5: expected a command, got '1'"),
        ("11 1", "111 1", "line 6: expected rows of 2 bits 0, 1 or - and a result, got '111 1'"),
        ("11 1", "1x 1", "line 6: expected rows of 2 bits"),
        ("11 1", "11 2", "line 6: expected rows of 2 bits"),
        ("11 1", "11", "line 6: expected rows of 2 bits"),
        ("11 1", "1 1 1", "line 6: expected rows of 2 bits"),
        ("-1 1", "-1 0", "line 8: expected rows of one result, got some of 0 and some of 1"),
        (".names none", ".names", "line 14: expected the names of nets, got none"),
        (".names none", ".names t", "line 14: the wire t is driven twice"),
        (".names none", ".names c", "line 14: the wire c is driven twice"),
        (".names none", ".names other", "nothing drives the wire none, which the output none"),
        ("b[0] t", "other t", "nothing drives the wire other, which line 6 uses"),
        ("b[0] t", "y t", "its gates form a loop: line"),
        (".names none", ".subckt adder A=t Y=none", "line 14: expected a gate of Yosys.*flatten"),
        (".names none", ".gate $_AND_ A=t Y=none", "line 14: expected a net at each of the pins A"),
        (".names none", ".gate", "line 14: expected a gate of Yosys, such as .*got ''"),
    ],
)
def test_hostile_files_are_refused_by_line(tmp_path: Path, old: str, new: str, reason: str) -> None:
    assert old in SMALL
    with pytest.raises(NetlistError, match=f"cannot read small.blif: {reason}"):
        from_blif(file_of(tmp_path, SMALL.replace(old, new, 1)))


def test_an_empty_file_is_no_circuit(tmp_path: Path) -> None:
    with pytest.raises(NetlistError, match="it has no outputs"):
        from_blif(file_of(tmp_path, "\n\n"))


@given(st.integers(0, 2**32))
@settings(deadline=None)
def test_damaged_files_are_refused_or_legal(folder: Path, seed: int) -> None:
    try:
        program = from_blif(file_of(folder, damage(SMALL, random.Random(seed))))
    except (NetlistError, SequentialCircuitError):
        return
    assert evaluated(program, [0] * program.input_bits) is not None

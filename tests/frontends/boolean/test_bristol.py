"""Circuits in the Bristol formats: what they compute, round trips, hostile files."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork import boolean
from cloakwork.errors import BristolSyntaxError, InvalidArgumentError
from cloakwork.frontends.boolean.bristol import from_bristol, to_bristol, to_old_bristol
from cloakwork.frontends.boolean.bristol_gates import in_bristol_gates
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port
from tests.frontends.boolean.circuits import adder, less
from tests.programs.random_gates import evaluated, gate_programs
from tests.programs.random_programs import damage
from tests.thoroughness import part

SMALL = """3 6
2 1 2
1 2

2 1 0 1 4 AND
1 1 1 3 EQ
2 1 2 3 5 XOR
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "circuit.txt"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bristol")


@pytest.mark.parametrize("width", [1, 2, 8, 70])
def test_adder(tmp_path: Path, width: int) -> None:
    program = boolean.from_bristol(written(tmp_path, adder(width)))
    rng = random.Random(width)
    a, b = ([rng.randrange(1 << width) for _ in range(100)] for _ in range(2))
    sums = program.run_clear(x0=a, x1=b)["y0"]
    assert sums.tolist() == [x + y for x, y in zip(a, b, strict=True)]


def test_comparator_in_the_old_format(tmp_path: Path) -> None:
    program = boolean.from_bristol(written(tmp_path, less(64)))
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2**64, (2, 500), dtype=np.uint64)
    # Some that differ in one bit only, and some that are equal.
    b[:200] = a[:200] ^ np.uint64(1) << rng.integers(0, 64, 200, dtype=np.uint64)
    b[200:250] = a[200:250]
    assert program.run_clear(x0=a, x1=b)["y0"].tolist() == (a < b).tolist()


def test_comments_are_for_readers(tmp_path: Path) -> None:
    bare, program = adder(4), from_bristol(written(tmp_path, adder(4)))
    commented = bare.replace("\n", "  # 2 1 0 1 XOR\n").replace("AND", "AND#", 1)
    read = from_bristol(written(tmp_path, f"# an adder\n#\n{commented}# 1 1 0 1 INV"))
    assert str(read) == str(program)
    with pytest.raises(BristolSyntaxError, match="line 3: expected the numbers of gates and wires"):
        from_bristol(written(tmp_path, "# an adder\n\n3 # 6\n"))


@pytest.mark.parametrize("text", [adder(8), SMALL])
def test_fashion_is_written_as_it_was_read(tmp_path: Path, text: str) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    to_bristol(from_bristol(written(tmp_path, text)), first)
    to_bristol(from_bristol(first), second)
    assert first.read_text() == second.read_text()
    assert first.read_text().splitlines()[:3] == text.splitlines()[:3]


def test_the_old_format_is_written_as_it_was_read(tmp_path: Path) -> None:
    text = less(64)
    to_old_bristol(from_bristol(written(tmp_path, text)), tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_text().split() == text.split()


@given(gate_programs(least_inputs=1), st.sampled_from([to_bristol, to_old_bristol]), st.data())
@settings(max_examples=part(60), deadline=None)
def test_any_program_is_written_in_and_xor_inv(
    folder: Path,
    program: GateProgram,
    write: Callable[[GateProgram, Path], None],
    data: st.DataObject,
) -> None:
    if write is to_old_bristol and len(program.inputs) > 2:
        with pytest.raises(InvalidArgumentError, match="one or two inputs, got 3"):
            write(program, folder / "any.txt")
        return
    write(program, folder / "any.txt")
    read = from_bristol(folder / "any.txt", program.inputs, program.outputs)
    assert (read.inputs, read.outputs) == (program.inputs, program.outputs)
    if write is to_old_bristol:
        assert {*read.kinds.tolist()} <= {GateKind.AND, GateKind.XOR, GateKind.NOT}
    for _ in range(8):
        number = data.draw(st.integers(0, 2**program.input_bits - 1))
        bits = [number >> place & 1 for place in range(program.input_bits)]
        assert evaluated(read, bits) == evaluated(program, bits)


def test_tables_need_no_more_ands_than_their_functions() -> None:
    builder = GateBuilder("parity", (Port("a", "bits", 6),))
    parity = sum((number.bit_count() & 1) << number for number in range(64))
    builder.output(Port("y", "bits", 1), [builder.append(GateKind.LUT6, *range(6), table=parity)])
    assert GateKind.AND not in in_bristol_gates(builder.finish()).kinds


def test_many_ands_at_once(tmp_path: Path) -> None:
    text = "1 6\n2 2 2\n1 2\n\n4 2 0 1 2 3 4 5 MAND\n"
    program = boolean.from_bristol(written(tmp_path, text))
    assert program.run_clear(x0=[3, 1, 2], x1=[3, 3, 1])["y0"].tolist() == [3, 1, 0]


def test_constants_and_copies(tmp_path: Path) -> None:
    text = "3 4\n1 1\n1 3\n\n1 1 1 1 EQ\n1 1 0 2 EQ\n1 1 0 3 EQW\n"
    program = boolean.from_bristol(written(tmp_path, text))
    assert program.run_clear(x0=[0, 1])["y0"].tolist() == [1, 5]


def test_ports_can_be_named(tmp_path: Path) -> None:
    ports = [Port("a", "signed", 4), Port("b", "signed", 4)], [Port("s", "bits", 5)]
    program = boolean.from_bristol(written(tmp_path, adder(4)), *ports)
    assert program.run_clear(a=-1, b=1)["s"].tolist() == [0, 0, 0, 0, 1]
    with pytest.raises(InvalidArgumentError, match="with these inputs: expected 8 bits, got 4"):
        boolean.from_bristol(tmp_path / "circuit.txt", ports[0][:1])
    with pytest.raises(InvalidArgumentError, match="with these outputs: expected 5 bits, got 8"):
        boolean.from_bristol(tmp_path / "circuit.txt", None, ports[0])
    with pytest.raises(InvalidArgumentError, match="with these inputs: a name comes twice among"):
        boolean.from_bristol(tmp_path / "circuit.txt", ports[0][:1] * 2)
    no_ports: list[Any] = ["ab", 5, [("a", "signed", 8)]]
    for given_ports in no_ports:
        with pytest.raises(InvalidArgumentError, match="inputs: expected a list of ports, got"):
            boolean.from_bristol(tmp_path / "circuit.txt", given_ports)


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("3 6", "3", 1, "expected the numbers of gates and wires, got 1"),
        ("3 6", "3 x", 1, "expected a number from 0 up, of up to 10 digits, got 'x'"),
        ("3 6", "3 -6", 1, "expected a number from 0 up, of up to 10 digits, got '-6'"),
        ("3 6", "3 " + "6" * 50, 1, "expected a number"),
        ("3 6", "3 ६", 1, "expected a number"),
        ("3 6", "3 2", 3, "do not fit 2 wires"),
        ("3 6", "4 6", 7, "expected 4 gates, got 3"),
        ("3 6", "2 6", 7, "expected 2 gates, got more"),
        ("3 6", "3 7", 7, "wire 6 is used and was not made"),
        ("2 1 2", "3 1 2", 2, "expected 3 and the bits of as many ports, got 3"),
        ("2 1 2", "2 0 2", 2, "expected a width of 1 or more, got 0"),
        ("2 1 2", "2 1 9999999999", 2, "expected up to"),
        ("AND", "NAND", 5, "expected a gate AND, XOR, INV, EQ, EQW or MAND, got 'NAND'"),
        ("2 1 0 1 4 AND", "AND", 5, "expected numbers of wires"),
        ("2 1 0 1 4 AND", "2 1 0 4 AND", 5, "expected 2 . 1 wires, got 2"),
        ("2 1 0 1 4 AND", "1 1 0 4 AND", 5, "AND has not 1 wires in"),
        ("2 1 0 1 4 AND", "2 1 0 1 2 AND", 5, "wire 2 is made twice"),
        ("1 1 1 3 EQ", "1 1 1 4 EQ", 6, "wire 4 is made twice"),
        ("2 1 0 1 4 AND", "2 1 0 1 6 AND", 5, "wire 6 is not among the 6 wires"),
        ("2 1 0 1 4 AND", "2 1 0 5 4 AND", 5, "wire 5 is used and was not made before"),
        ("1 1 1 3 EQ", "1 1 2 3 EQ", 6, "expected a constant 0 or 1, got '2'"),
    ],
)
def test_hostile_files_are_refused_by_line(
    tmp_path: Path, old: str, new: str, line: int, reason: str
) -> None:
    assert old in SMALL
    path = written(tmp_path, SMALL.replace(old, new, 1))
    with pytest.raises(
        BristolSyntaxError, match=f"cannot read circuit.txt: line {line}: .*{reason}"
    ):
        from_bristol(path)


def test_an_empty_file_is_no_circuit(tmp_path: Path) -> None:
    with pytest.raises(BristolSyntaxError, match="expected the numbers of gates and wires"):
        from_bristol(written(tmp_path, "\n\n"))


@given(st.integers(0, 2**32), st.sampled_from([SMALL, less(2), adder(2)]))
@settings(deadline=None)
def test_damaged_files_are_refused_or_legal(folder: Path, seed: int, text: str) -> None:
    try:
        program = from_bristol(written(folder, damage(text, random.Random(seed))))
    except BristolSyntaxError:
        return
    assert evaluated(program, [0] * program.input_bits) is not None

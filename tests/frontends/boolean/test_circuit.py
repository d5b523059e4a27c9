"""Programs over bits from file to result."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import InputNameError, InvalidArgumentError
from cloakwork.programs.gates import GateBuilder, GateKind
from cloakwork.programs.port import Port
from tests.families import greater, mapped
from tests.frontends.boolean.circuits import adder, less


def test_from_one_format_to_the_other(tmp_path: Path) -> None:
    (tmp_path / "less.txt").write_text(less(6))
    program = cw.boolean.from_bristol(tmp_path / "less.txt")
    cw.boolean.to_bristol(program, tmp_path / "fashion.txt")
    cw.boolean.to_old_bristol(program, tmp_path / "old.txt")
    a, b = np.divmod(np.arange(4096), 64)
    for name in ("fashion.txt", "old.txt"):
        again = cw.boolean.from_bristol(tmp_path / name)
        assert (again.run_clear(x0=a, x1=b)["y0"] == (a < b)).all()


def test_statistics(tmp_path: Path) -> None:
    (tmp_path / "adder.txt").write_text(adder(8))
    found = cw.boolean.from_bristol(tmp_path / "adder.txt").statistics()
    assert found.gates == {"and": 15, "xor": 22}
    assert found.depth == 15


def test_an_input_may_have_any_name() -> None:
    builder = GateBuilder("not", (Port("self", "bits", 1), Port("in 0", "bytes", 8)))
    builder.output(Port("y", "bits", 1), [builder.append(GateKind.NOT, 0)])
    program = cw.boolean.Circuit(builder.finish())
    assert program.run_clear(**{"self": [0], "in 0": b"x"})["y"].tolist() == [1]
    with pytest.raises(InputNameError, match="the input 'in 0' is missing"):
        program.run_clear(self=[0])
    with pytest.raises(InputNameError, match="there is no input 'out'"):
        program.run_clear(**{"self": [0], "in 0": b"x", "out": 1})


NO_PATHS = [None, 5, "", b"circuit.txt", "a\0b"]


@pytest.mark.parametrize("path", NO_PATHS, ids=repr)
@pytest.mark.parametrize(
    "read",
    [
        cw.boolean.from_bristol,
        lambda path: cw.boolean.from_verilog(path, top="m"),
        lambda path: cw.boolean.from_verilog([path], top="m"),
        lambda path: cw.boolean.from_haskell(path, top="f"),
    ],
)
def test_what_is_no_path_is_not_read(read: Callable[[Any], Any], path: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"cannot read a file: .* path"):
        read(path)


@pytest.mark.parametrize("write", [cw.boolean.to_bristol, cw.boolean.to_old_bristol])
def test_circuits_are_written_of_programs_to_paths(
    write: Callable[[Any, Any], None], tmp_path: Path
) -> None:
    program = cw.boolean.from_bristol("examples/boolean/adder.txt")
    for path in NO_PATHS:
        with pytest.raises(InvalidArgumentError, match=r"cannot write a file: .* path"):
            write(program, path)
    for other in (None, program.gates):
        with pytest.raises(InvalidArgumentError, match="expected a program over bits, got"):
            write(other, tmp_path / "circuit.txt")
    assert not any(tmp_path.iterdir())


def test_a_program_is_of_gates() -> None:
    given: Any = 5
    with pytest.raises(InvalidArgumentError, match="expected a GateProgram, got 5"):
        cw.boolean.Circuit(given)


def test_programs_show_themselves_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "adder.txt").write_text(adder(64))
    circuit = cw.boolean.from_bristol(tmp_path / "adder.txt")
    program = mapped(circuit.gates)
    for shown in map(repr, (circuit, circuit.gates, program.body)):
        assert "x0, x1 -> y0" in shown
        assert len(shown) <= 100
    assert repr(program) == (
        "Program(adder.txt: x0, x1 -> y0; 64 bootstraps; TFHE with the parameters space4, 128-bit "
        "secure)"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads to be an integer from 1 up to 1024"),
        ({"threads": 2000}, "threads"),
        ({"threads": 1.0}, "threads"),
        ({"threads": True}, "threads"),
        ({"failure_bits": 10}, "failure_bits to be an integer from 40 up to 128, got 10"),
        ({"failure_bits": 39}, "failure_bits"),
        ({"failure_bits": 0, "insecure": True}, "failure_bits to be an integer from 1 up to 128"),
        ({"insecure": "yes"}, "insecure to be True or False"),
        ({"failure_bits": 129}, "failure_bits"),
        ({"failure_bits": "64"}, "failure_bits"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    circuit = cw.boolean.from_bristol("examples/boolean/adder.txt")
    with pytest.raises(InvalidArgumentError, match=f"cannot compile the circuit: .*{message}"):
        circuit.compile(**options)


def test_a_program_is_for_the_threads_asked_for() -> None:
    gates = cw.boolean.from_bristol("examples/boolean/adder.txt").gates
    for threads in (1, 3):
        assert mapped(gates, threads).threads == threads


@pytest.mark.parametrize("failure_bits", [40, 64, 128])
def test_programs_go_wrong_no_more_often_than_asked(failure_bits: int) -> None:
    program = mapped(greater(4), failure_bits=failure_bits)
    assert program.scheme.failure_bits == failure_bits
    assert program.scheme.failure(program.body).worst <= -failure_bits
    found = program.run_clear(a=9, b=4)
    assert (found["above"], found["differ"].tolist()) == (1, [1, 0, 1, 1])

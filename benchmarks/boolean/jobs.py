"""The programs over bits that are measured, and what their paper reports of some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import cloakwork as cw
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.frontends.circuit.compile_function import CircuitFunction
from cloakwork.frontends.circuit.on_bits import gates_of_function
from cloakwork.programs.packing.bits import results_of_bits
from examples.circuit.compared import PROGRAMS

_FOLDER = Path(__file__).parents[2] / "examples" / "boolean"
_SEED = 20240463


@dataclass(frozen=True, slots=True)
class Paper:
    """What WAHC 2025, doi 10.1145/3733811.3767311, reports of a program.

    Args:
        gates: Gates of its netlist; None where it is not told.
        wall_seconds: By number of threads.
    """

    gates: int | None
    wall_seconds: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Compared:
    """What is known of a program by which compilers are compared.

    The seconds of others are those of the README of Parasol (Sunscreen, 2025), on 64 cores of a
    Zen 4.

    Args:
        apart: Bootstraps that its operations take, each mapped by itself.
        cpu_seconds: What it is to take at most on one thread.
        parasol: Wall seconds of Parasol.
        concrete: Of Concrete.
        transpiler: Of Google's transpiler.
    """

    apart: int
    cpu_seconds: float
    parasol: float
    concrete: float
    transpiler: float


@dataclass(frozen=True, slots=True)
class Job:
    """A program and what it is run on.

    Args:
        name: What it is called in the report.
        read: Reads the program.
        clear: The inputs that the evaluator knows.
        below: Bounds on inputs that do not take every number of their bits.
        schedule_threads: Threads that the program is mapped for, besides those of the engine, to
            simulate its schedule.
        paper: What the paper reports.
        compared: What is known of it elsewhere.
    """

    name: str
    read: Callable[[], Circuit]
    clear: tuple[str, ...] = ()
    below: Mapping[str, int] = field(default_factory=dict)
    schedule_threads: tuple[int, ...] = (64,)
    paper: Paper | None = None
    compared: Compared | None = None

    def arguments(self, program: Circuit) -> dict[str, Any]:
        """Every input of the program, uniform and the same each time."""
        generator = np.random.default_rng(_SEED)
        ports = program.gates.inputs
        bits = generator.integers(0, 2, (1, program.gates.input_bits), dtype=np.uint8)
        drawn = results_of_bits(ports, bits, many=False)
        return drawn | {
            name: int(generator.integers(0, bound)) for name, bound in self.below.items()
        }


def _haskell(file: str, top: str) -> Callable[[], Circuit]:
    return partial(cw.boolean.from_haskell, _FOLDER / file, top)


def _retrieval(entries: int, paper: Paper) -> tuple[Job, Job]:
    below = {"index": entries}
    # Mapping for other threads takes minutes, and both programs have few bootstraps in a row.
    input_threads = (64,) if entries <= 100 else ()
    return (
        Job(
            f"pir-{entries}",
            _haskell("Pir.hs", f"lookup{entries}"),
            ("entries",),
            below,
            input_threads,
            paper,
        ),
        Job(f"pir-{entries}-table", _haskell("Pir.hs", f"table{entries}"), (), below),
    )


def _python(function: CircuitFunction) -> Circuit:
    return Circuit(gates_of_function(function.staged(), function.declared))


def _compared(name: str, top: str, compared: Compared) -> tuple[Job, Job]:
    """A program by which compilers are compared, in Haskell and in Python."""
    in_python = partial(_python, PROGRAMS[name])
    return (
        Job(name, _haskell("Compared.hs", top), schedule_threads=(), compared=compared),
        Job(f"{name}-python", in_python, schedule_threads=(), compared=compared),
    )


JOBS = (
    Job(
        "aes-encrypt",
        _haskell("Aes.hs", "encrypt"),
        paper=Paper(27_987, {1: 311, 16: 28.4}),
    ),
    # Mapped for other threads they would tell nothing new of AES.
    Job("aes-decrypt", _haskell("Aes.hs", "decrypt"), schedule_threads=()),
    Job("aes-expand-key", _haskell("Aes.hs", "expandKey"), schedule_threads=()),
    *_retrieval(100, Paper(6_399, {1: 74})),
    *_retrieval(500, Paper(None, {1: 376})),
    # Of as many gates as the paper's, a comparison with each entry.
    Job(
        "pir-100-member",
        _haskell("Pir.hs", "member100"),
        schedule_threads=(),
        paper=Paper(6_399, {1: 74}),
    ),
    Job("adder-64", _haskell("Adder.hs", "sumOf")),
    Job("calculator", _haskell("Calculator.hs", "calculate")),
    Job("relu", _haskell("Relu.hs", "relu")),
    Job("sort", _haskell("Sort.hs", "sorted")),
    Job(
        "multiplier-32",
        partial(cw.boolean.from_verilog, _FOLDER / "Multiplier.v", top="multiplier"),
    ),
    *_compared("chi-squared", "chiSquared", Compared(1041, 15.0, 0.58, 5.3, 13.8)),
    *_compared("cardio", "cardio", Compared(55, 4.0, 0.44, 2.1, 3.3)),
    *_compared("auction", "auction", Compared(770, 10.0, 2.7, 1690.0, 68.0)),
    *_compared("hamming", "hamming", Compared(89, 2.0, 2.7, 24.7, 40.0)),
    Job("adder-32-bristol", partial(cw.boolean.from_bristol, _FOLDER / "adder.txt")),
)

"""The memory of a process that holds an evaluator, loaded from files, and runs one program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cloakwork._native import WORD_BYTES, Parameters
from cloakwork.programs.keys import required_keys
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Constant,
    Linear,
    Mul,
    Operation,
    Polynomial,
    Rotate,
    SlotProgram,
)
from cloakwork.programs.vectors import VectorTable
from cloakwork.runtime.bootstrap_memory import bootstrap_memory
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.workspace import Workspace
from cloakwork.schemes.transform_cache import ciphertext_bytes, transform_bytes

# Interpreter, numpy and this package, as measured on CPython 3.11 with numpy 2.
_INTERPRETER_BYTES = 54 << 20
# Of the tables of one prime's transforms, for each coefficient: roots and inverse roots, each
# with its quotient.
_TABLE_WORDS = 4
_NUMBER_BYTES = 8
# A layer that is being encoded stands as complex numbers twice: as given and as checked.
_ENCODING_COPIES = 2
_COMPLEX_BYTES = 16


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """The bytes that an evaluator's process takes at the most.

    Args:
        interpreter: Interpreter, packages, and the tables of the parameters.
        keys: Evaluation keys, both halves expanded.
        numbers: The program's diagonals and constants as float64, those of bootstraps as complex
            numbers.
        layers: Diagonals kept encoded between runs, those of bootstraps first.
        workspace: Ciphertexts, and the polynomials that operations work in, which the engine
            keeps for the next operation; diagonals while they are being encoded.
    """

    interpreter: int
    keys: int
    numbers: int
    layers: int
    workspace: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.interpreter + self.keys + self.numbers + self.layers + self.workspace


def process_memory(
    program: SlotProgram, parameters: Parameters, kept: int, refreshing: Refreshing | None = None
) -> ProcessMemory:
    """The most memory that a process takes which loads an evaluator and runs a program.

    The engine keeps the memory of polynomials, by their length, for polynomials to come. So of
    each length there are in the end as many as any operation takes at once: with B baby and G
    giant steps that is 2 (B + G) for a linear transform, modulo the primes of its level and of
    key switching. Transforms of one level may run beside each other, one on each thread.

    Args:
        program: The program, whose operations name levels.
        parameters: What it runs under.
        kept: Bytes that encoded layers may take; what does not fit is encoded in every run. The
            diagonals of bootstraps come first.
        refreshing: What bootstraps do; None where the parameters have none.

    Example:
        >>> import numpy as np
        >>> from cloakwork.programs.slots import Input, Output, Rescale
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> operations = (Input("x", 1), Linear(0, {0: np.ones(512)}, 1), Rescale(1), Output(2))
        >>> memory = process_memory(SlotProgram("", 512, operations, (None,) * 4), p, 10**9)
        >>> memory.numbers, memory.layers == transform_bytes(p, 1, 1)
        (4096, True)
    """
    engine = Workspace(parameters, program.slots)
    held = bootstrap_memory(program, refreshing)
    layers = held.encoded if held.encoded <= kept else 0
    peak = 0
    if refreshing is not None and held.encoded:
        engine.bootstrap(refreshing)
    for operation, level in _leveled(program):
        match operation:
            case Linear(diagonals=diagonals):
                needed = transform_bytes(parameters, len(diagonals), level)
                fits = layers + needed <= kept
                layers += needed * fits
                encoding = len(diagonals) * program.slots * _COMPLEX_BYTES * _ENCODING_COPIES
                one_giant = engine.encode(operation, level)
                peak = max(peak, layers + engine.nbytes + encoding)
                engine.transform(operation, level)
                if not fits:
                    peak = max(peak, layers + engine.nbytes + encoding + one_giant)
            case Polynomial():
                engine.powers(operation, level)
                engine.switch(level)
            case _:
                engine.switch(level)
        peak = max(peak, layers + engine.nbytes)
    values = predicted_peak_bytes(
        program, lambda state: ciphertext_bytes(parameters, state.level or 0)
    )
    tables = parameters.key_prime_count * parameters.n * _TABLE_WORDS * WORD_BYTES
    return ProcessMemory(
        _INTERPRETER_BYTES + tables,
        held.keys or required_keys(program).nbytes(parameters.evaluation_key_bytes),
        _distinct_vectors(program) * program.slots * _NUMBER_BYTES + held.numbers,
        layers,
        peak - layers + values,
    )


def _leveled(program: SlotProgram) -> Iterator[tuple[Operation, int]]:
    """The operations that have operands, with the levels of these."""
    for operation in program.operations:
        match operation:
            case Linear(operand=operand) | Rotate(operand=operand) | Polynomial(operand=operand):
                yield operation, program.states[operand].level or 0
            case Mul(left=left, right=right) if not any(
                isinstance(program.operations[each], Constant) for each in (left, right)
            ):
                yield operation, program.states[left].level or 0
            case _:
                pass


def _distinct_vectors(program: SlotProgram) -> int:
    table = VectorTable()
    last = -1
    for operation in program.operations:
        match operation:
            case Linear(diagonals=diagonals):
                last = max(last, *map(table.number_of, diagonals.values()))
            case Constant(vector=vector):
                last = max(last, table.number_of(vector))
            case _:
                pass
    return last + 1

"""The memory of ciphertexts in a run, and of a process that holds an evaluator and runs it."""

from __future__ import annotations

from dataclasses import dataclass

from cloakwork._native import WORD_BYTES, Parameters
from cloakwork.plan.reals.options import ProgramOptions
from cloakwork.programs.bsgs import split
from cloakwork.programs.keys import required_keys
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Linear, SlotProgram
from cloakwork.runtime.held_memory import bootstrap_memory, held_memory
from cloakwork.runtime.memory import predicted_peak_bytes, require_memory
from cloakwork.runtime.numbers import copied_bytes, number_bytes
from cloakwork.runtime.schedule import sharing_transforms
from cloakwork.runtime.workspace import workspace_of
from cloakwork.schemes.base import SlotScheme
from cloakwork.schemes.encoded_cache import ciphertext_bytes, transform_bytes

# Interpreter, numpy and this package, as measured on CPython 3.11 with numpy 2.
INTERPRETER_BYTES = 54 << 20
# Of the tables of one prime's transforms, for each coefficient: roots and inverse roots, each
# with its quotient. Those of shorter transforms, which encode what repeats itself, come to as much.
_TABLE_WORDS = 2 * 4


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """The bytes that an evaluator's process takes at the most.

    Args:
        interpreter: Interpreter, packages, and the tables of the parameters.
        keys: Evaluation keys, both halves expanded.
        numbers: The program's diagonals and constants, and those of bootstraps as complex numbers.
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
    program: SlotProgram,
    parameters: Parameters,
    kept: int,
    refreshing: Refreshing | None = None,
    limit: int | None = None,
) -> ProcessMemory:
    """The most memory that a process takes which loads an evaluator and runs a program.

    The engine keeps the memory of polynomials, by their length, for polynomials to come; see
    `runtime.workspace`.

    Example:
        >>> import numpy as np
        >>> from cloakwork.programs.slots import Input, Output, Rescale
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> operations = (Input("x", 1), Linear(0, {0: np.ones(512)}, 1), Rescale(1), Output(2))
        >>> memory = process_memory(SlotProgram("", 512, operations, (None,) * 4), p, 10**9)
        >>> memory.numbers, memory.layers == p.diagonal_words(1) * p.prime_count(1) * WORD_BYTES
        (4096, True)
    """
    held = held_memory(program, parameters, refreshing)
    values = predicted_peak_bytes(
        program, lambda state: ciphertext_bytes(parameters, state.level or 0)
    )
    limited = held
    if limit is not None:
        limited = held.within(limit - values)
        kept = min(kept, limited.left_to_transforms(limit - values))
    transforms = kept_transforms(program, parameters, kept, refreshing)
    engine = workspace_of(program, parameters, refreshing, transforms)
    workspace = engine.nbytes
    if limit is not None:
        workspace = min(workspace, engine.in_use + limited.cached)
    layers = sum(transforms.values()) + (held.encoded if held.encoded <= kept else 0)
    tables = parameters.key_prime_count * parameters.n * _TABLE_WORDS * WORD_BYTES
    return ProcessMemory(
        INTERPRETER_BYTES + tables,
        limited.keys or required_keys(program).nbytes(parameters.evaluation_key_bytes),
        held.numbers or number_bytes(program),
        layers,
        workspace + copied_bytes(program) + values,
    )


def kept_transforms(
    program: SlotProgram, parameters: Parameters, kept: int, refreshing: Refreshing | None = None
) -> dict[int, int]:
    """The linear transforms that stay encoded between runs, by their numbers, and their bytes.

    Example:
        >>> import numpy as np
        >>> from cloakwork.programs.slots import Input, Output, Rescale
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> operations = (Input("x", 1), Linear(0, {0: np.ones(512)}, 1), Rescale(1), Output(2))
        >>> program = SlotProgram("", 512, operations, (None,) * 4)
        >>> [*kept_transforms(program, p, 10**9)], [*kept_transforms(program, p, 100)]
        ([1], [])
    """
    held = bootstrap_memory(program, refreshing)
    taken = held.encoded if held.encoded <= kept else 0
    found: dict[int, int] = {}
    for number, shared_by in sharing_transforms(program).items():
        operation = program.operations[number]
        if isinstance(operation, Linear):
            level = program.context(number).level
            steps = split(operation.diagonals, program.slots, operation.baby_steps)
            needed = transform_bytes(parameters, operation.diagonals, steps, level, shared_by)
            if taken + needed <= kept:
                found[number] = needed
                taken += needed
    return found


def require_within_limit(program: SlotProgram, scheme: SlotScheme, options: ProgramOptions) -> None:
    """Refuse a program whose ciphertexts take more memory at once than is allowed."""
    if options.memory_limit is not None:
        peak = predicted_peak_bytes(program, scheme.bytes_at)
        advice = f"compute in parts, or allow memory_limit={peak}"
        require_memory(peak, options.memory_limit, f"compile {options.title}", advice)

"""What a run of a program takes of a server, before it is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cloakwork.errors import MemoryBudgetError, RunTooLongError
from cloakwork.explain.estimate import estimate
from cloakwork.explain.quantities import size
from cloakwork.plan.analysis.memory import INTERPRETER_BYTES, process_memory
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.program import Program
from cloakwork.schemes.encoded_cache import default_cache_bytes
from cloakwork.schemes.tfhe import Tfhe

# Keys of bits are kept as transforms, one of 64-bit numbers and of both halves for the seed and 32
# bits of a file; while they are made of the file there is as much again.
_TRANSFORMED = 16
# Values of integers and bits, and what an operation works in.
_WORKING = 2
# Runs of six programs of all kinds took up to 5 percent more than this says without it.
_MARGIN = 1.1


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a run takes.

    Args:
        seconds: How long, by the model.
        kept_bytes: What an evaluator takes that waits for its next run, without the process.
        run_bytes: What the process takes at the most which holds it and runs it.

    Example:
        >>> import cloakwork as cw
        >>> found = Prediction.of(cw.compile(lambda x: x.sum(), (64,)))
        >>> found.kept_bytes < found.run_bytes
        True
    """

    seconds: float
    kept_bytes: int
    run_bytes: int

    @classmethod
    def of(cls, program: Program) -> Prediction:
        """That of a program."""
        found = estimate(program)
        parts = [_part_bytes(each) for each in program.parts]
        keys = found.key_bytes * max(_key_factor(each) for each in program.parts)
        kept = keys + sum(kept for kept, _ in parts)
        files = found.input_bytes + found.output_bytes
        working = max(working for _, working in parts)
        run_bytes = int(_MARGIN * (INTERPRETER_BYTES + kept + working + files))
        return cls(found.seconds, kept, run_bytes)


def require_run_memory(title: str, run_bytes: int, most: int) -> None:
    """Refuse a run that takes more memory than an operator allows.

    Args:
        title: The program's name.
        run_bytes: What its process takes.
        most: What all that run at once may take.

    Raises:
        MemoryBudgetError: It takes more.

    Example:
        >>> require_run_memory("scores", 100, 100)
    """
    if run_bytes > most:
        raise MemoryBudgetError(
            f"cannot run {title}: expected up to {size(most)} of memory, as the server's operator "
            f"allows, and it takes {size(run_bytes)}; ask for more, or another server"
        )


def require_seconds(title: str, seconds: float, most: float) -> None:
    """Refuse a run that takes longer than an operator allows.

    Args:
        title: The program's name.
        seconds: How long a run takes.
        most: How long one may take.

    Raises:
        RunTooLongError: It takes longer.

    Example:
        >>> require_seconds("scores", 2.0, 1.0)
        Traceback (most recent call last):
        cloakwork.errors.RunTooLongError: cannot run scores: expected up to 1 s a run, ...
    """
    if seconds > most:
        raise RunTooLongError(
            f"cannot run {title}: expected up to {most:g} s a run, as the server's operator "
            f"allows, and it takes {seconds:.3g} s; ask for more, or another server"
        )


def _part_bytes(program: Program) -> tuple[int, int]:
    """What a program's evaluator keeps beside its keys, and what a run of it takes more."""
    body: Any = program.body
    if isinstance(body, SlotProgram) and body.numbers == "real" and program.scheme.encrypts:
        scheme: Any = program.scheme
        found = process_memory(body, scheme.parameters, default_cache_bytes(), scheme.refreshing)
        tables = found.interpreter - INTERPRETER_BYTES
        return tables + found.numbers + found.layers, found.workspace
    return 0, _WORKING * estimate(program).memory_bytes


def _key_factor(program: Program) -> int:
    return _TRANSFORMED if isinstance(program.scheme, Tfhe) else 1

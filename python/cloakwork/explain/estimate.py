"""What a run of a program takes, before it is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cloakwork._native import Parameters, ntt_seconds, threads
from cloakwork.base.arguments import integer, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.explain.modelled import modelled_seconds, returning_seconds, seconds_of_limit
from cloakwork.explain.quantities import counted, duration, size
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.plan.analysis.memory import kept_transforms
from cloakwork.plan.cost.tfhe import data_flow_seconds, measured_set
from cloakwork.programs.bootstraps import BootstrapProgram, bootstrap_statistics_of
from cloakwork.programs.slots import Input, Output, SlotProgram, State
from cloakwork.runtime.held_memory import held_memory
from cloakwork.runtime.leaving import Leaving, numbers_leaving
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.program import Program
from cloakwork.runtime.row import encrypted_ports
from cloakwork.schemes.base import levels_of
from cloakwork.schemes.device.devices import CPU
from cloakwork.schemes.encoded_cache import default_cache_bytes
from cloakwork.schemes.tfhe import Tfhe

# That a number takes on its way out of slots: of its mask and two products at their level, of three
# digits and two sums modulo two primes, and as much as these beside them.
_TRANSFORMS_OF_A_NUMBER = 45
_REPETITIONS = 100


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run of a program takes on this machine.

    Args:
        operations: How often it does each costly thing.
        seconds: CPU seconds by the model, over all threads; 0 where nothing is encrypted. The first
            run of an evaluator encodes what later ones find encoded, as far as it is kept.
        key_bytes: Bytes of the evaluation keys.
        input_bytes: Bytes of the encrypted inputs.
        output_bytes: Bytes of the encrypted results.
        memory_bytes: Bytes that the ciphertexts of a run take at once, at the most.

    Example:
        >>> import cloakwork as cw
        >>> found = cw.estimate(cw.compile(lambda x: x.sum(), (64,)), runs=10)
        >>> found.operations["rotation"], found.memory_bytes >= found.input_bytes
        (60, True)
    """

    operations: Mapping[str, int]
    seconds: float
    key_bytes: int
    input_bytes: int
    output_bytes: int
    memory_bytes: int

    def __str__(self) -> str:
        done = ", ".join(counted(count, name) for name, count in sorted(self.operations.items()))
        return "\n".join(
            [
                f"work     {done or 'none'}",
                f"time     {duration(self.seconds)} of CPU by the model",
                f"keys     {size(self.key_bytes)}",
                f"inputs   {size(self.input_bytes)}",
                f"results  {size(self.output_bytes)}",
                f"memory   {size(self.memory_bytes)} of ciphertexts at the peak",
            ]
        )


def estimate(program: Program, runs: int = 1, memory_limit: int | None = None) -> Estimate:
    """What runs of a program take on this machine, before they are run.

    For programs over bits the machine's costs are measured where they are not known yet, which
    takes seconds.

    Args:
        program: The program.
        runs: How many runs; each takes `program.batch` evaluations.
        memory_limit: Bytes that the evaluator's `memory_limit` is set to, below which keys are
            expanded and diagonals encoded whenever they are used. Below the least that a run may
            have, the time is that of the least.

    Raises:
        InvalidArgumentError: It is not a program, or `runs` is not an integer from 1 up, or
            `memory_limit` not one from 0 up.

    Example:
        >>> import cloakwork as cw
        >>> found = cw.estimate(cw.compile(lambda x: x.sum(), (64,)))
        >>> sorted(found.operations.items())
        [('addition', 6), ('rotation', 6)]
    """
    if not isinstance(program, Program):
        raise InvalidArgumentError(f"cannot estimate: expected a program, got {shown(program)}")
    runs = integer(runs, "runs", "estimate", least=1, most=1 << 40)
    if memory_limit is not None:
        memory_limit = integer(
            memory_limit, "memory_limit", "estimate", least=0, most=(1 << 63) - 1
        )
    if program.row:
        found = [estimate(each, runs, memory_limit) for each in program.parts]
        return _of_row(program, found, runs)
    body: Any = program.body
    once = (_of_bits if isinstance(body, BootstrapProgram) else _of_slots)(program, body)
    limited = _limited(program, memory_limit)
    return Estimate(
        {name: runs * count for name, count in once.operations.items()},
        once.seconds
        + (runs - 1) * (_later_seconds(program, body, limited) if runs > 1 else 0.0)
        + runs * (limited.seconds if limited is not None else 0.0),
        once.key_bytes,
        runs * once.input_bytes,
        runs * once.output_bytes,
        once.memory_bytes + (runs - 1) * (once.input_bytes + once.output_bytes),
    )


def _of_row(program: Program, found: Sequence[Estimate], runs: int) -> Estimate:
    """What the programs of a row take, one after the other."""
    operations: Counter[str] = Counter()
    for each in found:
        operations.update(each.operations)
    return Estimate(
        dict(operations),
        sum(each.seconds for each in found),
        program.key_bytes,
        runs * sum(map(_encrypted_bytes, program.parts)),
        found[-1].output_bytes,
        max(each.memory_bytes for each in found),
    )


def _encrypted_bytes(part: Program) -> int:
    """Bytes of those inputs of a program that clients encrypt."""
    if not isinstance(part.body, SlotProgram):
        return 0
    levels = levels_of(part.body, "inputs")
    numbers = part.packing.vectors_of([port.name for port in encrypted_ports(part)])
    return sum(int(part.scheme.bytes_at(State(levels[number]))) for number in numbers)


@dataclass(frozen=True, slots=True)
class _Limited:
    """What a limit of memory means to a run.

    Args:
        seconds: What every run takes more.
        transform_bytes: What encoded transforms may take.
    """

    seconds: float
    transform_bytes: int


def _limited(program: Program, memory_limit: int | None) -> _Limited | None:
    """What the limit means; None where there is none, or none that counts keys and diagonals."""
    body, scheme = program.body, program.scheme
    if memory_limit is None or not isinstance(body, SlotProgram) or body.numbers != "real":
        return None
    if program.device != CPU or not scheme.encrypts:
        return None
    left = memory_limit - predicted_peak_bytes(body, scheme.bytes_at)
    whole = held_memory(body, scheme.parameters, scheme.refreshing)
    within = whole.within(left)
    seconds = seconds_of_limit(body, scheme, whole, within)
    return _Limited(seconds, within.left_to_transforms(left))


def _later_seconds(
    program: Program, body: SlotProgram | BootstrapProgram, limited: _Limited | None
) -> float:
    """What a run takes after the first, but for what the limit adds to each."""
    scheme = program.scheme
    if not scheme.encrypts:
        return 0.0
    if isinstance(body, BootstrapProgram):
        return _of_bits(program, body).seconds
    kept: Collection[int] = ()
    if body.numbers == "real":
        kept_bytes = default_cache_bytes()
        if limited is not None:
            kept_bytes = min(kept_bytes, limited.transform_bytes)
        kept = kept_transforms(body, scheme.parameters, kept_bytes, scheme.refreshing)
    return sum(modelled_seconds(body, scheme, kept)) + returning_seconds(program)


def _of_slots(program: Program, body: SlotProgram) -> Estimate:
    scheme = program.scheme
    bytes_of = {
        kind: sum(
            scheme.bytes_at(state)
            for operation, state in zip(body.operations, body.states, strict=True)
            if isinstance(operation, kind)
        )
        for kind in (Input, Output)
    }
    seconds = 0.0
    if scheme.encrypts:
        seconds = sum(modelled_seconds(body, scheme)) + returning_seconds(program)
    return Estimate(
        dict(counted_operations(body)),
        seconds,
        program.key_bytes,
        bytes_of[Input],
        bytes_of[Output],
        predicted_peak_bytes(body, scheme.bytes_at),
    )


def _of_bits(program: Program, body: BootstrapProgram) -> Estimate:
    scheme = program.scheme
    found = bootstrap_statistics_of(body)
    operations = {"bootstrap": found.bootstraps, "addition": found.terms}
    if not isinstance(scheme, Tfhe):
        return Estimate(operations, 0.0, 0, 0, 0, 0)
    each = scheme.parameters.lwe_bytes
    at_once = max(1, threads())
    costs = measured_set(scheme.parameters.name, scheme.failure_bits)
    leaving = 0.0
    if numbers := numbers_leaving(program):
        operations["number out of slots"] = numbers
        first = next(each.program for each in program.after if isinstance(each, Leaving))
        log_n = first.scheme.parameter_sets[0].log_n
        ring = Parameters(levels=0, log_n=log_n, insecure=True)
        leaving = numbers * _TRANSFORMS_OF_A_NUMBER * ntt_seconds(ring, _REPETITIONS)
    return Estimate(
        operations,
        at_once * data_flow_seconds(body, costs, at_once) + leaving,
        program.key_bytes,
        body.input_count * each,
        len(body.output_signals) * each,
        body.signal_count * each,
    )

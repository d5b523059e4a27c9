"""What a run of a program takes, before it is run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cloakwork._native import Parameters, ntt_seconds
from cloakwork.base.arguments import integer
from cloakwork.explain.modelled import run_seconds, seconds_of_limit
from cloakwork.explain.quantities import counted, duration, size
from cloakwork.explain.refused import no_program
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.plan.analysis.memory import kept_transforms
from cloakwork.plan.cost.tfhe import data_flow_seconds, measured_set
from cloakwork.programs.bootstraps import BootstrapProgram, bootstrap_statistics_of
from cloakwork.programs.slots import Input, Output, SlotProgram
from cloakwork.runtime.after import programs_before
from cloakwork.runtime.held_memory import held_memory
from cloakwork.runtime.leaving import Leaving, numbers_leaving
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.program import Program
from cloakwork.runtime.repeated import steps
from cloakwork.runtime.returning import Returning
from cloakwork.runtime.row import key_bytes_of
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
        input_bytes: Bytes of the inputs that are encrypted; results of other programs are not sent.
        output_bytes: Bytes of the encrypted results.
        memory_bytes: Bytes that the ciphertexts of a run take at once, at the most.
        log2_failure: log2 of the probability that noise changes results by more than is stated.
        row: Of a program that follows others, brought together with them, what all of the row take:
            each key once, the inputs that are sent, and the results of the last. None of others.

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
    log2_failure: float
    row: Estimate | None = None

    def __str__(self) -> str:
        done = ", ".join(counted(count, name) for name, count in sorted(self.operations.items()))
        fails = "never" if self.log2_failure == -math.inf else f"2^{math.ceil(self.log2_failure)}"
        return "\n".join(
            [
                f"work     {done or 'none'}",
                f"time     {duration(self.seconds)} of CPU by the model",
                f"keys     {size(self.key_bytes)}",
                f"inputs   {size(self.input_bytes)}",
                f"results  {size(self.output_bytes)}",
                f"memory   {size(self.memory_bytes)} of ciphertexts at the peak",
                f"fails    {fails}{'' if fails == 'never' else ' at most'}",
                *([] if self.row is None else ["", "in a row, with all before", f"{self.row}"]),
            ]
        )


def estimate(program: Program, runs: int = 1, memory_limit: int | None = None) -> Estimate:
    """What runs of a program take on this machine, before they are run.

    Of a program that follows others, `row` says what all of them take, where
    `cloakwork.together` has brought them together. For programs over bits the machine's costs are
    measured where they are not known yet, which takes seconds.

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
        raise no_program("estimate", "a program", program)
    runs = integer(runs, "runs", "estimate", least=1, most=1 << 40)
    if memory_limit is not None:
        memory_limit = integer(
            memory_limit, "memory_limit", "estimate", least=0, most=(1 << 63) - 1
        )
    # Of a program that stands for its row the last is by itself.
    parts = [*programs_before(program), program.parts[-1]]
    found = [_of_runs(each, runs, memory_limit) for each in parts]
    if len(parts) == 1 or any(each.scheme.key_set != program.scheme.key_set for each in parts):
        return found[-1]
    row = _of_row(parts, found, runs)
    return row if program.row else replace(found[-1], row=row)


def _of_row(parts: Sequence[Program], found: Sequence[Estimate], runs: int) -> Estimate:
    """What the programs of a row take, one after the other."""
    operations: Counter[str] = Counter()
    for each in found:
        operations.update(each.operations)
    # The last counts the failures of exact ones before it.
    chances = [each.scheme.log2_failure(each.body) for each in parts[:-1] if not each.scheme.exact]
    chances = [math.log2(runs) + each for each in chances]
    return Estimate(
        dict(operations),
        sum(each.seconds for each in found),
        key_bytes_of(parts),
        sum(each.input_bytes for each in found),
        found[-1].output_bytes,
        max(each.memory_bytes for each in found),
        float(np.logaddexp2.reduce([found[-1].log2_failure, *chances])),
    )


def _of_runs(program: Program, runs: int, memory_limit: int | None) -> Estimate:
    """What runs of one program take."""
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
        math.log2(runs) + once.log2_failure,
    )


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
    return run_seconds(program, kept)


def _of_slots(program: Program, body: SlotProgram) -> Estimate:
    scheme = program.scheme
    bytes_of = {
        kind: [
            scheme.bytes_at(state)
            for operation, state in zip(body.operations, body.states, strict=True)
            if isinstance(operation, kind)
        ]
        for kind in (Input, Output)
    }
    taken = _taken(program)
    sent = [each for number, each in enumerate(bytes_of[Input]) if number not in taken]
    seconds = 0.0
    if scheme.encrypts:
        seconds = run_seconds(program)
    operations: Counter[str] = Counter()
    for step in steps(program):
        operations.update(counted_operations(step.body))
    for link in program.after:
        if isinstance(link, Returning):
            place = link.place(program)
            operations.update({"plaintext product": place.parts, "rotation": place.turns})
    return Estimate(
        dict(operations),
        seconds,
        program.key_bytes,
        sum(sent),
        sum(bytes_of[Output]),
        predicted_peak_bytes(body, scheme.bytes_at),
        program.log2_failure,
    )


def _taken(program: Program) -> set[int]:
    """The numbers of inputs that are results of others."""
    return {own for link in program.after for own, _ in link.pairs(program)}


def _of_bits(program: Program, body: BootstrapProgram) -> Estimate:
    scheme = program.scheme
    found = bootstrap_statistics_of(body)
    operations = {"bootstrap": found.bootstraps, "addition": found.terms}
    if not isinstance(scheme, Tfhe):
        return Estimate(operations, 0.0, 0, 0, 0, 0, program.log2_failure)
    each, taken = scheme.parameters.lwe_bytes, _taken(program)
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
        data_flow_seconds(body, costs, 1) + leaving,
        program.key_bytes,
        sum(port.bits * each for own, port in enumerate(body.inputs) if own not in taken),
        len(body.output_signals) * each,
        body.signal_count * each,
        program.log2_failure,
    )

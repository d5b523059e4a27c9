"""What was measured of one circuit, and how it is measured."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.circuit.jobs import CircuitJob
from benchmarks.circuit.paper import LaneCounts
from benchmarks.measurement import Row
from cloakwork import _native
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.frontends.circuit.on_slots import compiled
from cloakwork.plan.circuits.scalar import scalar_program
from cloakwork.plan.circuits.search import lane_programs
from cloakwork.plan.parameters.bgv import IntegerOptions
from cloakwork.programs.ir.circuits import CircuitInput, ScalarCircuit, evaluate
from cloakwork.programs.ir.vectors import LaneProgram
from cloakwork.programs.keys import KeyExpansion
from cloakwork.programs.packing.results import Leaf, Sequenced
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.program import Program
from cloakwork.schemes.bgv import Bgv, BgvBackend, ByPrime

BITS = 16

# Rounds, and in each at most so many runs of one program, and no further once they have taken so
# many seconds.
_ROUNDS = 5
_AT_ONCE = 15
_ENOUGH_SECONDS = 0.1
_SEED = 582057
# Inputs are drawn anew until the results have so many bits, the last from few numbers.
_BOUNDS = (50, 10, 3, 1)
_DRAWS = 200


@dataclass(frozen=True, slots=True)
class CircuitEvaluation:
    """One circuit, evaluated.

    Args:
        job: Its name.
        replication: What tells it from others of the name.
        n: Ring degree of the vectorised program.
        levels: Its levels.
        threads: Threads of the engine.
        additions: Its additions, subtractions and negations.
        products: Its products of ciphertexts.
        rotations: Its rotations.
        masks: Its products with clear vectors.
        compile_seconds: Of the vectorised program, parameters included.
        seconds: CPU seconds of one run of it.
        scalar_n: Ring degree of the scalar program: each scalar a ciphertext of its own.
        scalar_seconds: CPU seconds of one run of the scalar program.
        relinearised_seconds: The same, every product relinearised at once, as the paper has it.
        key_bytes: Bytes of the evaluation keys of the vectorised program.
        right: Whether all results on ciphertexts and in the clear are Python's.
    """

    job: str
    replication: str
    n: int
    levels: int
    threads: int
    additions: int
    products: int
    rotations: int
    masks: int
    compile_seconds: float
    seconds: float
    scalar_n: int
    scalar_seconds: float
    relinearised_seconds: float
    key_bytes: int
    right: bool

    @property
    def name(self) -> str:
        """Name and replication."""
        return f"{self.job}, {self.replication}"

    @property
    def counts(self) -> LaneCounts:
        """Operations by kind, as the paper counts them."""
        return LaneCounts(self.additions, self.products, self.rotations, self.masks)

    @property
    def moves(self) -> int:
        """Rotations and products."""
        return self.rotations + self.products

    @property
    def speed_up(self) -> float:
        """Against the scalar program with every product relinearised at once."""
        return self.relinearised_seconds / self.seconds

    @property
    def lazy_speed_up(self) -> float:
        """Against the scalar program as Cloakwork runs it."""
        return self.scalar_seconds / self.seconds

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        figures = {
            ("additions", "count"): self.additions,
            ("products", "count"): self.products,
            ("rotations", "count"): self.rotations,
            ("masks", "count"): self.masks,
            ("compile time", "s"): self.compile_seconds,
            ("CPU time", "ms"): 1e3 * self.seconds,
            ("CPU time, scalar", "ms"): 1e3 * self.scalar_seconds,
            ("CPU time, scalar, relinearised at once", "ms"): 1e3 * self.relinearised_seconds,
            ("keys", "bytes"): self.key_bytes,
            ("right", "truth"): float(self.right),
        }
        for (figure, unit), value in figures.items():
            yield Row(self.name, self.n, self.levels, self.threads, figure, unit, value)


class _Relinearising(BgvBackend):
    """Relinearises every product at once."""

    multiply_lazily = BgvBackend.multiply


class _RelinearisingBgv(Bgv):
    """Runs programs so."""

    def backend(
        self,
        keys: ByPrime,
        *,
        cache_bytes: int,
        expansion: KeyExpansion | None = None,  # noqa: ARG002
    ) -> BgvBackend:
        return _Relinearising(self.parameter_sets, keys.by_prime, cache_bytes=cache_bytes)


def evaluated(job: CircuitJob, effort: float = 1.0) -> CircuitEvaluation:
    """Compile a job, run it in lanes and scalar by scalar, and compare with Python's integers."""
    circuit = job.circuit
    inputs, bounds = _inputs(circuit)
    expected = [value for values in evaluate(circuit, inputs).values() for value in values]
    start = time.perf_counter()
    program = _compiled(lane_programs(circuit, effort=effort), circuit, bounds)
    compile_seconds = time.perf_counter() - start
    free = tuple(
        replace(each, replicated=False, grouped=False, slots=None) for each in circuit.inputs
    )
    scalar = _compiled([scalar_program(replace(circuit, inputs=free))], circuit, bounds)
    arguments = {each.name: _shaped(each, inputs[each.name]) for each in circuit.inputs}
    runs = [
        _Run(program, arguments),
        _Run(scalar, arguments),
        _Run(
            Program(_RelinearisingBgv(scalar.scheme.parameter_sets), scalar.body, scalar.packing),
            arguments,
        ),
    ]
    seconds, scalar_seconds, relinearised = _measured(runs)
    clear = program.run_clear(**arguments)
    body = program.body
    assert isinstance(body, SlotProgram)
    found = counted_operations(body)
    return CircuitEvaluation(
        job.name,
        job.replication,
        program.scheme.parameter_sets[0].n,
        body.top_level,
        _native.threads(),
        found["addition"],
        found["ciphertext product"],
        found["rotation"],
        found["plaintext product"],
        compile_seconds,
        seconds,
        scalar.scheme.parameter_sets[0].n,
        scalar_seconds,
        relinearised,
        program.key_bytes,
        all(run.found == expected for run in runs) and clear == expected,
    )


def _compiled(
    lanes: Sequence[LaneProgram], circuit: ScalarCircuit, bounds: Mapping[str, tuple[int, int]]
) -> Program:
    count = sum(output.count for output in circuit.outputs)
    form = Sequenced(tuple(map(Leaf, range(count))))
    return compiled(lanes, circuit, form, bounds, IntegerOptions(BITS))


def _inputs(circuit: ScalarCircuit) -> tuple[dict[str, list[int]], dict[str, tuple[int, int]]]:
    """Random scalars whose results fit the bits, and the range that each input has."""
    generator = random.Random(_SEED)
    limit = 1 << BITS - 1
    for bound in _BOUNDS:
        bounds = {
            each.name: (0, 1) if each.name == "c" else (-bound, bound) for each in circuit.inputs
        }
        for _ in range(_DRAWS):
            drawn = {
                each.name: [generator.randint(*bounds[each.name]) for _ in range(each.count)]
                for each in circuit.inputs
            }
            results = [value for values in evaluate(circuit, drawn).values() for value in values]
            if all(-limit <= value < limit for value in results):
                return drawn, bounds
    raise AssertionError(f"no results of {circuit.title} fit {BITS} bits")


def _shaped(declared: CircuitInput, flat: list[int]) -> Any:
    match declared.shape:
        case ():
            return flat[0]
        case (_,):
            return flat
        case shape:
            return [flat[start : start + shape[1]] for start in range(0, len(flat), shape[1])]


class _Run:
    """A program on encrypted arguments, ready to run; its results, and the seconds of its runs."""

    def __init__(
        self,
        program: Program,
        arguments: Mapping[str, Any],
    ) -> None:
        client, self._evaluator = program.keygen()
        self._encrypted = client.encrypt(**arguments)
        self.found = client.decrypt(self._evaluator.run(self._encrypted, threads=1))
        self.seconds: list[float] = []

    def once(self) -> None:
        start = time.process_time()
        self._evaluator.run(self._encrypted, threads=1)
        self.seconds.append(time.process_time() - start)


def _measured(runs: Sequence[_Run]) -> list[float]:
    """CPU seconds of each on one thread, the median of several in turn.

    In turn, so that they share what the machine is at; a few at once, so that their keys are as
    near as they are where one program runs often.
    """
    threads = _native.threads()
    _native.set_threads(1)
    try:
        for _ in range(_ROUNDS):
            for run in runs:
                before = len(run.seconds)
                while len(run.seconds) - before < _AT_ONCE and (
                    before == len(run.seconds) or sum(run.seconds[before:]) < _ENOUGH_SECONDS
                ):
                    run.once()
    finally:
        # Threads that wait for each other's work would count as work.
        _native.set_threads(threads)
    return [statistics.median(run.seconds) for run in runs]

"""What a program takes, measured on random inputs and compared with its run in the clear."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from time import perf_counter, process_time
from typing import Any

import numpy as np

from cloakwork.cli.result_files import by_name
from cloakwork.errors import ResultOverflowError, ValueOutOfRangeError
from cloakwork.explain.quantities import duration, size
from cloakwork.programs.port import Port
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.program import Program
from cloakwork.runtime.state import first_state

_MAX_HALVINGS = 64


def measured_runs(program: Program, runs: int, threads: int | None) -> str:
    """Times, bytes, and the largest difference from the run in the clear, as text."""
    generator = np.random.default_rng(0)
    arguments, expected = _inputs_within_range(program, generator)
    clock = _Clock()
    with clock("keys"):
        client, evaluator = program.keygen()
    kept = {each.input for each in program.kept}
    with clock("encrypt"):
        inputs = client.encrypt(**{n: each for n, each in arguments.items() if n not in kept})
    # Each run is the first step of a state.
    state = client.start() if kept else None
    outputs = evaluator.run(inputs, threads=threads, state=copy(state))
    profile = Profile()
    for _ in range(runs):
        own = copy(state)
        with clock("run"):
            outputs = evaluator.run(inputs, threads=threads, profile=profile, state=own)
    with clock("decrypt"):
        result = client.decrypt(outputs)
    difference = _difference(result, expected, program)
    lines = [
        f"{name:<9} {duration(statistics.median(wall))}, "
        f"{duration(statistics.median(cpu))} of CPU{_runs(len(wall))}"
        for name, (wall, cpu) in clock.seconds.items()
    ]
    lines += [f"keys      {size(evaluator.key_bytes)}"]
    lines += [f"inputs    {size(inputs.nbytes)}", f"results   {size(outputs.nbytes)}"]
    lines += [f"peak      {size(profile.peak_bytes)} of ciphertexts"] * bool(profile.peak_bytes)
    return "\n".join([repr(program), *lines, f"differs   {difference} from the run in the clear"])


def _inputs_within_range(program: Program, generator: np.random.Generator) -> tuple[Any, Any]:
    """Random inputs whose intermediate and final values stay in range, and their results."""
    for halvings in range(_MAX_HALVINGS):
        arguments = {port.name: random_value(port, generator, halvings) for port in program.inputs}
        arguments |= first_state(program)
        try:
            return arguments, program.run_clear(**arguments)
        except (ResultOverflowError, ValueOutOfRangeError):
            continue
    raise ValueOutOfRangeError(
        f"cannot bench: {program!r} refused every input that was drawn, down to values of "
        f"2^-{_MAX_HALVINGS} of their ports' ranges; measure it from Python with inputs of its own"
    )


def random_value(port: Port, generator: np.random.Generator, halvings: int) -> Any:
    """A value of a port, within 2^-`halvings` of its range.

    Example:
        >>> port = Port("a", "integer", shape=(2,), low=0, high=9)
        >>> len(random_value(port, np.random.default_rng(0), 0))
        2
    """
    if port.kind == "real":
        bound = port.bound if np.isfinite(port.bound) else 1.0
        return generator.uniform(-bound, bound, port.shape) / (1 << halvings)
    if port.kind == "integer":
        nearest = min(max(0, int(port.low or 0)), int(port.high or 0))
        low = nearest - (nearest - int(port.low or 0) >> halvings)
        high = nearest + (int(port.high or 0) - nearest >> halvings)
        drawn = [
            low + int(generator.integers(1 << 62)) % (high - low + 1) for _ in range(port.count)
        ]
        return np.array(drawn, dtype=object).reshape(port.shape).tolist()
    bits = generator.integers(0, 2, (port.count, port.width))
    if port.kind == "bits":
        return bits.reshape(*port.shape, port.width)
    numbers = [int("".join(map(str, row)), 2) for row in bits.tolist()]
    if port.kind == "bytes":
        values: list[Any] = [number.to_bytes(port.width // 8, "little") for number in numbers]
    else:
        sign = 1 << port.width - 1 if port.kind == "signed" else 0
        values = [(number ^ sign) - sign for number in numbers]
    return values if port.shape else values[0]


class _Clock:
    """Wall and CPU seconds of named pieces of work."""

    def __init__(self) -> None:
        self.seconds: dict[str, tuple[list[float], list[float]]] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        wall, cpu = perf_counter(), process_time()
        yield
        walls, cpus = self.seconds.setdefault(name, ([], []))
        walls.append(perf_counter() - wall)
        cpus.append(process_time() - cpu)


def _runs(count: int) -> str:
    return f", median of {count}" if count > 1 else ""


def _difference(found: Any, expected: Any, program: Program) -> str:
    pairs: list[tuple[Any, Any]] = list(
        zip(
            by_name(found, program.outputs).values(),
            by_name(expected, program.outputs).values(),
            strict=True,
        )
    )
    if all(port.kind == "real" for port in program.outputs):
        largest = max(float(np.abs(np.subtract(*pair)).max(initial=0.0)) for pair in pairs)
        return f"by up to {largest:.2g}"
    same = all(bool(np.all(np.equal(left, right))) for left, right in pairs)
    return "nowhere" if same else "somewhere: a wrong result"

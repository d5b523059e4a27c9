"""How large values come to be, and how wrong, seen on runs in the clear.

Bounds by interval arithmetic grow with every layer of a network far beyond what any input
reaches. What calibration inputs reach, with room to spare, is the bound of a network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import Parameters
from cloakwork.backends.clear import ClearBackend, ClearKey, ClearVector
from cloakwork.backends.clear_rows import ClearRows
from cloakwork.backends.noise import noise_of
from cloakwork.plan.packing import Packing
from cloakwork.programs.slots import Constant, Input, Output, Program, Vector
from cloakwork.runtime.executor import applied

# What rounding may add at the end of a range, as a part of it.
_ROUNDING = 1e-9


def results(
    program: Program, inputs: Sequence[Vector], parameters: Parameters | None = None, seed: int = 0
) -> list[Vector]:
    """The results of a program in the clear.

    Args:
        program: The program.
        inputs: One vector for each input, in order.
        parameters: Those whose noise is added; None for none.
        seed: What the noise is drawn from.

    Example:
        >>> from cloakwork.programs.slots import Add
        >>> program = Program("x+x", 2, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
        >>> results(program, [np.array([1.0, -2.0])])[0].tolist()
        [2.0, -4.0]
    """
    noise = None if parameters is None else noise_of(parameters, seed)
    values = _values(program, ClearBackend(noise), ClearKey(noise), inputs)
    return _outputs(program, values)


def _outputs(program: Program, values: Mapping[int, ClearVector]) -> list[Vector]:
    return [
        values[number].slots
        for number, operation in enumerate(program.operations)
        if isinstance(operation, Output)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """What a polynomial expects of the numbers that come to it.

    Args:
        layer: The name of its layer.
        values: The ciphertexts of its operand, by number.
        packing: How the operand is packed.
        low: The least number expected.
        high: The greatest.
        scale: What the slots hold is a number times this, plus a shift.
        shift: The shift.
    """

    layer: str
    values: tuple[int, ...]
    packing: Packing
    low: float
    high: float
    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What came about in a run in the clear.

    Args:
        largest: For each operation the largest absolute value of any slot; NaN for a constant.
        extremes: The least and the greatest number that came to each layer that is watched.
        results: The results.
    """

    largest: NDArray[np.float64]
    extremes: NDArray[np.float64]
    results: list[Vector]


def observe(
    program: Program,
    runs: Sequence[Sequence[Vector]],
    watches: Sequence[Watch],
    batch: int,
    backend: ClearBackend | None = None,
) -> list[Seen]:
    """Run a program in the clear, often, and look at its values.

    Args:
        program: The program.
        runs: For each run one vector for each input, in order.
        watches: The layers that are watched.
        batch: Inputs that a ciphertext has room for.
        backend: One that adds no errors, by default a new one.

    Example:
        >>> program = Program("x", 2, (Input("x", 0), Output(0)), (None,) * 2)
        >>> watch = Watch("silu", (0,), Packing(2, np.array([0, 1])), -1.0, 1.0)
        >>> [seen] = observe(program, [[np.array([0.5, -2.0])]], [watch], 1)
        >>> seen.extremes.tolist(), seen.largest.tolist()
        ([[-2.0, 0.5]], [2.0, 2.0])
    """
    kept = ClearRows() if backend is None else backend
    return [
        _seen(program, _values(program, kept, ClearKey(), inputs), watches, batch)
        for inputs in runs
    ]


def _seen(
    program: Program, values: Mapping[int, ClearVector], watches: Sequence[Watch], batch: int
) -> Seen:
    extremes = np.empty((len(watches), 2))
    for watch, row in zip(watches, extremes, strict=True):
        operands = watch.packing.unpack([values[each].slots for each in watch.values], batch)
        numbers = (operands - watch.shift) / watch.scale
        row[:] = numbers.min(), numbers.max()
    largest = [
        np.abs(values[number].slots).max() if number in values else np.nan
        for number in range(len(program.operations))
    ]
    return Seen(np.array(largest), extremes, _outputs(program, values))


def outside(watches: Sequence[Watch], extremes: NDArray[np.float64]) -> list[str]:
    """What layers receive that they are not meant for, in words.

    Args:
        watches: What is expected.
        extremes: The least and the greatest number that came to each.

    Example:
        >>> watch = Watch("silu", (0,), Packing(2, np.array([0, 1])), -1.0, 1.0)
        >>> outside([watch], np.array([[-2.0, 0.5]]))
        ["layer 'silu' expects numbers from -1 to 1, and got -2 to 0.5"]
    """
    return [
        f"layer {watch.layer!r} expects numbers from {watch.low:.4g} to {watch.high:.4g}, "
        f"and got {least:.4g} to {greatest:.4g}"
        for watch, (least, greatest) in zip(watches, extremes, strict=True)
        if _beyond(watch.low - least, watch) or _beyond(greatest - watch.high, watch)
    ]


def _beyond(excess: float, watch: Watch) -> bool:
    return excess > _ROUNDING * max(abs(watch.low), abs(watch.high))


def overflowing(
    program: Program, bounds: Sequence[float | None], largest: NDArray[np.float64]
) -> list[str]:
    """What layers make that ciphertexts have no room for, in words.

    Args:
        program: A program whose stages begin with the names of layers.
        bounds: For each operation the largest absolute value that it may have.
        largest: The largest that it had.

    Example:
        >>> program = Program(
        ...     "x", 2, (Input("x", 0), Output(0)), (None,) * 2, stages=("input | in order",) * 2)
        >>> overflowing(program, [4.0, 4.0], np.array([5.0, 5.0]))
        ["layer 'input' has room for numbers up to 4, and made one of 5"]
    """
    reports: dict[str, str] = {}
    for stage, bound, made in zip(program.stages, bounds, largest, strict=True):
        if bound is not None and not made <= bound * (1 + _ROUNDING):
            layer = stage.partition(" | ")[0]
            reports.setdefault(
                layer,
                f"layer {layer!r} has room for numbers up to {bound:.4g}, and made one of "
                f"{made:.4g}",
            )
    return list(reports.values())


def _values(
    program: Program, backend: ClearBackend, key: ClearKey, inputs: Sequence[Vector]
) -> dict[int, ClearVector]:
    waiting = iter(inputs)
    values: dict[int, ClearVector] = {}
    for number, operation in enumerate(program.operations):
        match operation:
            case Input(level=level):
                values[number] = key.encrypt(next(waiting), bound=np.inf, level=level)
            case Constant():
                pass
            case Output(operand=operand):
                values[number] = values[operand]
            case _:
                values[number] = applied(operation, program, backend, values)
    return values

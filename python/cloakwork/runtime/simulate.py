"""What programs compute in the clear, and whether layers receive what they are meant for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import Parameters
from cloakwork.base.arguments import apart
from cloakwork.programs.packing.batch import Packing
from cloakwork.programs.slots import Constant, Input, Output, Program, Vector
from cloakwork.runtime.executor import applied
from cloakwork.schemes.ckks_noise import noise_of
from cloakwork.schemes.clear_real import ClearBackend, ClearKey, ClearVector
from cloakwork.schemes.clear_rows import ClearRows

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


def extremes(
    program: Program,
    runs: Sequence[Sequence[Vector]],
    watches: Sequence[Watch],
    batch: int,
    backend: ClearBackend | None = None,
) -> NDArray[np.float64]:
    """The least and the greatest number that comes to each layer in any run in the clear.

    Args:
        program: The program.
        runs: For each run one vector for each input, in order.
        watches: The layers that are watched.
        batch: Inputs that a ciphertext has room for.
        backend: One that adds no errors, by default a new one.

    Example:
        >>> program = Program("x", 2, (Input("x", 0), Output(0)), (None,) * 2)
        >>> watch = Watch("silu", (0,), Packing(2, np.array([0, 1])), -1.0, 1.0)
        >>> extremes(program, [[np.array([0.5, -2.0])]], [watch], 1).tolist()
        [[-2.0, 0.5]]
    """
    kept = ClearRows() if backend is None else backend
    found = np.empty((len(runs), len(watches), 2))
    for inputs, rows in zip(runs, found, strict=True):
        values = _values(program, kept, ClearKey(), inputs)
        for watch, row in zip(watches, rows, strict=True):
            operands = watch.packing.unpack([values[each].slots for each in watch.values], batch)
            numbers = (operands - watch.shift) / watch.scale
            row[:] = numbers.min(), numbers.max()
    return np.column_stack([found[..., 0].min(axis=0), found[..., 1].max(axis=0)])


def outside(watches: Sequence[Watch], received: NDArray[np.float64]) -> list[str]:
    """What layers receive that they are not meant for, in words.

    Args:
        watches: What is expected.
        received: The least and the greatest number that came to each.

    Example:
        >>> watch = Watch("silu", (0,), Packing(2, np.array([0, 1])), -1.0, 1.0)
        >>> outside([watch], np.array([[-2.0, 0.5]]))
        ["layer 'silu' expects numbers from -1 to 1, and got -2 to 0.5"]
    """
    reports: list[str] = []
    for watch, (least, greatest) in zip(watches, received, strict=True):
        if _beyond(watch.low - least, watch) or _beyond(greatest - watch.high, watch):
            (low, got_least), (high, got_greatest) = (
                apart(watch.low, float(least)),
                apart(watch.high, float(greatest)),
            )
            reports.append(
                f"layer {watch.layer!r} expects numbers from {low} to {high}, and got {got_least} "
                f"to {got_greatest}"
            )
    return reports


def _beyond(excess: float, watch: Watch) -> bool:
    return excess > _ROUNDING * max(abs(watch.low), abs(watch.high))


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

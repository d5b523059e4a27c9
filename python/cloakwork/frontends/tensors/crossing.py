"""Where a function's numbers leave slots, a circuit decides on them, and its bits come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.gates import GateProgram
from cloakwork.programs.ir.tensors import Node, Source
from cloakwork.programs.port import Port
from cloakwork.runtime.after import ResultOf
from cloakwork.runtime.program import Program
from cloakwork.runtime.row import rounded_to_port


class Deciding(Protocol):
    """A circuit over bits; see `cloakwork.boolean`."""

    @property
    def gates(self) -> GateProgram: ...

    def run_clear(self, /, **inputs: Any) -> dict[str, Any]: ...

    def compile(self, *, after: Mapping[str, ResultOf] | None = None) -> Program: ...


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """A circuit on numbers of a function.

    Args:
        circuit: The circuit.
        operands: The numbers that its inputs take.
        results: What stands for its outputs in the function, by their names.
    """

    circuit: Deciding
    operands: tuple[Node, ...]
    results: Mapping[str, Node]


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A step of a function that is repeated, each time on its own results.

    Args:
        states: What stands for its own results in the step.
        ranges: The range of each of them, in every step.
        first: What they are in the first step.
        captured: What the step takes beside them, the same each time.
        next: What they are in the next step.
        times: How many steps there are.
        results: What stands for what the last step makes, by names.
        samples: Samples of the operands, if there are any.
    """

    states: tuple[Source, ...]
    ranges: tuple[tuple[float, float], ...]
    first: tuple[Node, ...]
    captured: tuple[Node, ...]
    next: tuple[Node, ...]
    times: int
    results: Mapping[str, Node]
    samples: tuple[tuple[Any, ...], ...] = ()

    @property
    def operands(self) -> tuple[Node, ...]:
        """What it takes."""
        return (*self.first, *self.captured)


# What is computed by a program of its own.
Cut: TypeAlias = Crossing | Loop


def shape_in_slots(port: Port) -> tuple[int, ...]:
    """The shape of the tensor that an output over bits becomes.

    Example:
        >>> shape_in_slots(Port("above", "bits", 6)), shape_in_slots(Port("n", "unsigned", 3))
        ((6,), ())
    """
    return (*port.shape, port.width) if port.kind == "bits" else port.shape


def range_in_slots(port: Port) -> tuple[float, float]:
    """The least and the greatest number of that tensor.

    Example:
        >>> range_in_slots(Port("n", "signed", 4, fraction=1))
        (-4.0, 3.5)
    """
    if port.kind == "bits":
        return 0.0, 1.0
    worth = 2.0**-port.fraction
    low = -(1 << port.width - 1) if port.kind == "signed" else 0
    return low * worth, (low + (1 << port.width) - 1) * worth


def decided(circuit: Deciding, arrays: Sequence[NDArray[Any]]) -> list[NDArray[np.float64]]:
    """What a circuit decides on the nearest numbers of its inputs, in the clear."""
    pairs = zip(circuit.gates.inputs, arrays, strict=True)
    found = circuit.run_clear(**{port.name: rounded_to_port(each, port) for port, each in pairs})
    return [np.asarray(found[port.name], np.float64) for port in circuit.gates.outputs]

"""Runs a slot program on a backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar, assert_never

from tqdm import tqdm

from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.slots import (
    Add,
    Basis,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Operation,
    Output,
    Polynomial,
    Program,
    Rescale,
    Rotate,
    Sub,
    Vector,
    operands,
)

V = TypeVar("V")

# Seconds before a progress bar appears.
_PATIENCE = 2.0


class Backend(Protocol[V]):
    """What a backend computes on values V; one method per operation of the program."""

    def level(self, value: V) -> int: ...
    def add(self, left: V, right: V) -> V: ...
    def add_constant(self, value: V, constant: Vector) -> V: ...
    def multiply(self, left: V, right: V) -> V: ...
    def multiply_constant(self, value: V, constant: Vector) -> V: ...
    def negate(self, value: V) -> V: ...
    def rotate(self, value: V, steps: int) -> V: ...
    def linear(self, value: V, diagonals: Mapping[int, Vector], baby_steps: int) -> V: ...
    def polynomial(self, value: V, coefficients: Sequence[float], basis: Basis) -> V: ...
    def rescale(self, value: V) -> V: ...
    def drop_level(self, value: V, level: int) -> V: ...


def run(program: Program, backend: Backend[V], inputs: Sequence[V]) -> list[V]:
    """Run a program and return its outputs in order; values are freed at their last use.

    A progress bar shows on a terminal when the run takes longer than a moment.

    Args:
        program: The program.
        backend: Where it runs.
        inputs: One value per input operation, in order.

    Raises:
        InvalidArgumentError: The inputs do not fit the program in number or level.
        CloakworkError: An operation failed; a note names it and the program.

    Example:
        >>> from cloakwork.backends.clear import ClearBackend, ClearVector
        >>> import numpy as np
        >>> program = Program("x+x", 2, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
        >>> run(program, ClearBackend(), [ClearVector(np.array([1.0, 2.0]), 0)])[0].slots.tolist()
        [2.0, 4.0]
    """
    wanted = [operation for operation in program.operations if isinstance(operation, Input)]
    if len(wanted) != len(inputs):
        raise InvalidArgumentError(
            f"cannot run {program.title}: expected {len(wanted)} inputs, got {len(inputs)}"
        )
    for entry, value in zip(wanted, inputs, strict=True):
        if backend.level(value) != entry.level:
            raise InvalidArgumentError(
                f"cannot run {program.title}: expected input {entry.name} at level "
                f"{entry.level}, got level {backend.level(value)}"
            )
    last_use = {
        operand: number
        for number, operation in enumerate(program.operations)
        for operand in operands(operation)
    }
    waiting = iter(inputs)
    values: dict[int, V] = {}
    outputs: list[V] = []
    numbered = tqdm(
        enumerate(program.operations),
        desc=program.title,
        total=len(program.operations),
        delay=_PATIENCE,
        disable=None,
        leave=False,
    )
    for number, operation in numbered:
        if isinstance(operation, Constant):
            continue
        try:
            made = (
                next(waiting)
                if isinstance(operation, Input)
                else _apply(operation, program, backend, values)
            )
        except Exception as error:
            error.add_note(f"in {program.title}, operation {program.line(number)}")
            raise
        values[number] = made
        if isinstance(operation, Output):
            outputs.append(made)
        for operand in operands(operation):
            if last_use[operand] == number:
                values.pop(operand, None)
    return outputs


def _apply(
    operation: Operation, program: Program, backend: Backend[V], values: Mapping[int, V]
) -> V:
    match operation:
        case Add(left=left, right=right):
            first, second = _constants(program, left, right)
            if second is not None:
                return backend.add_constant(values[left], second.vector)
            if first is not None:
                return backend.add_constant(values[right], first.vector)
            return backend.add(values[left], values[right])
        case Sub(left=left, right=right):
            first, second = _constants(program, left, right)
            if second is not None:
                return backend.add_constant(values[left], -second.vector)
            if first is not None:
                return backend.add_constant(backend.negate(values[right]), first.vector)
            return backend.add(values[left], backend.negate(values[right]))
        case Mul(left=left, right=right):
            first, second = _constants(program, left, right)
            if second is not None:
                return backend.multiply_constant(values[left], second.vector)
            if first is not None:
                return backend.multiply_constant(values[right], first.vector)
            return backend.multiply(values[left], values[right])
        case Neg(operand=operand):
            return backend.negate(values[operand])
        case Rotate(operand=operand, steps=steps):
            return backend.rotate(values[operand], steps)
        case Linear(operand=operand, diagonals=diagonals, baby_steps=baby_steps):
            return backend.linear(values[operand], diagonals, baby_steps)
        case Polynomial(operand=operand, coefficients=coefficients, basis=basis):
            return backend.polynomial(values[operand], coefficients, basis)
        case Rescale(operand=operand):
            return backend.rescale(values[operand])
        case DropLevel(operand=operand, level=level):
            return backend.drop_level(values[operand], level)
        case Output(operand=operand):
            return values[operand]
        case Input() | Constant():
            raise AssertionError("inputs and constants are not applied")
        case _:
            assert_never(operation)


def _constants(program: Program, left: int, right: int) -> tuple[Constant | None, Constant | None]:
    first, second = program.operations[left], program.operations[right]
    return (
        first if isinstance(first, Constant) else None,
        second if isinstance(second, Constant) else None,
    )

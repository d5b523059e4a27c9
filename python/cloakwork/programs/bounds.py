"""The largest absolute value that any slot of a program's values may reach.

The program runs on vectors of bounds in place of values. A slot that is known to be
empty has the bound 0, so that copying into empty slots is no sum here, as it is in the
one bound that a ciphertext has for all its slots.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from cloakwork.base.itself import Itself
from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.slots import (
    Add,
    AddProducts,
    BootstrapOfCoefficients,
    Constant,
    Input,
    Mul,
    Operation,
    Polynomial,
    RotatedProducts,
    SlotProgram,
    Sub,
    Vector,
)
from cloakwork.programs.vectors import VectorTable

# What outgrows a double stays here, as the engine's own bounds do.
_LARGEST = float(np.finfo(np.float64).max)
# Operations that programs do with many vectors that have one bound, and how many are kept.
_OFTEN_ALIKE = (Add, Sub, Mul, RotatedProducts, AddProducts)
_MOST_ALIKE = 32
_NONE: Mapping[int, float | Vector] = MappingProxyType({})


def value_bounds(
    program: SlotProgram, inputs: Sequence[Vector], ceilings: Mapping[int, float | Vector] = _NONE
) -> list[float | None]:
    """Bound every value of a program, given bounds of the slots of its inputs.

    The bounds are those of interval arithmetic: reached where every slot may take every
    value within its bound, too large where values depend on each other. They are right
    but for double rounding and the error of an encryption.


    Example:
        >>> from cloakwork.programs.slots import Add, Output, Rotate
        >>> program = SlotProgram(
        ...     "copy", 4, (Input("x", 0), Rotate(0, 2), Add(0, 1), Output(2)), (None,) * 4)
        >>> value_bounds(program, [np.array([1.0, 3.0, 0.0, 0.0])])
        [3.0, 3.0, 3.0, 3.0]
        >>> value_bounds(program, [np.full(4, 3.0)])
        [3.0, 3.0, 6.0, 6.0]
        >>> value_bounds(program, [np.full(4, 3.0)], {2: 5.0})
        [3.0, 3.0, 5.0, 5.0]
    """
    _require_inputs(program, inputs)
    last_use = {
        operand: number
        for number, operation in enumerate(program.operations)
        for operand in operation.operands
    }
    waiting = iter(inputs)
    alike = _Alike()
    slots: dict[int, Vector] = {}
    at_zero: dict[int, Vector] = {}
    bounds: list[float | None] = []
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Input):
            made = next(waiting)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                made = alike.bound(operation, [slots[each] for each in operation.operands])
            match operation:
                case Polynomial(operand=operand) if not slots[operand].all():
                    at_zero[number] = np.where(slots[operand] == 0, operation.at_zero, np.nan)
                case Add(left=left, right=right) if left in at_zero:
                    made = _less_known(made, at_zero[left], program.operations[right])
        # Not copied where there is no need: inputs are many, and alike.
        largest = alike.largest(made)
        if not math.isfinite(largest):
            made = np.nan_to_num(made, nan=_LARGEST, posinf=_LARGEST, neginf=_LARGEST)
            largest = float(made.max())
        if number in ceilings:
            made = np.minimum(made, ceilings[number])
            largest = float(made.max())
        slots[number] = made
        state = program.states[number]
        is_vector = not isinstance(operation, Constant) and not (state.products or state.sums)
        bounds.append(largest if is_vector else None)
        for value in (number, *operation.operands):
            if last_use.get(value, number) == number:
                slots.pop(value, None)
                at_zero.pop(value, None)
    return bounds


def _less_known(bound: Vector, known: Vector, added: Operation) -> Vector:
    """The bound of a sum with a constant, where values are known that the constant may take off."""
    if not isinstance(added, Constant):
        return bound
    return np.where(np.isnan(known), bound, np.abs(known + added.vector))


class _Alike:
    """Bounds of operations on the very same vectors, which are worked out once.

    Blocks of matrices are as full as one another: of their many vectors few differ.
    """

    def __init__(self) -> None:
        self._bounds: dict[tuple[object, ...], Vector] = {}
        self._largest: dict[Itself[Vector], float] = {}
        self._vectors = VectorTable()

    def bound(self, operation: Operation, slots: Sequence[Vector]) -> Vector:
        """The bound of an operation on vectors."""
        if not isinstance(operation, _OFTEN_ALIKE):
            return operation.bound(slots)
        key = (type(operation), operation.identity(self._vectors), *map(Itself, slots))
        if key not in self._bounds:
            if len(self._bounds) >= _MOST_ALIKE:
                self._bounds.clear()
            self._bounds[key] = operation.bound(slots)
        return self._bounds[key]

    def largest(self, vector: Vector) -> float:
        """The largest number of a vector."""
        if Itself(vector) not in self._largest:
            if len(self._largest) >= _MOST_ALIKE:
                self._largest.clear()
            self._largest[Itself(vector)] = float(vector.max())
        return self._largest[Itself(vector)]


def polynomial_ceilings(program: SlotProgram) -> dict[int, float]:
    """What no slot of the operands of polynomials in the Chebyshev basis exceeds, which is 1.

    It holds where polynomials are given what they are meant for, as in programs of tensors: by the
    bounds of the inputs, or by what clients check. So it is of coefficients that are refreshed, and
    of the products that these are before they are rescaled.

    Example:
        >>> from cloakwork.programs.slots import Output, Polynomial
        >>> made = Input("x", 1), Polynomial(0, (0.0, 1.0), "chebyshev"), Output(1)
        >>> polynomial_ceilings(SlotProgram("t", 4, made, (None,) * 3))
        {0: 1.0}
    """
    found: dict[int, float] = {}
    for operation in program.operations:
        if isinstance(operation, Polynomial) and operation.basis == "chebyshev":
            found[operation.operand] = 1.0
        if isinstance(operation, BootstrapOfCoefficients):
            for number in (operation.operand, *program.operations[operation.operand].operands):
                found[number] = math.sqrt(2 * program.slots)
    return found


def largest_bound(bounds: Iterable[float | None]) -> float:
    """The largest of some bounds, 1 at the least."""
    return max([1.0, *(bound for bound in bounds if bound is not None)])


def _require_inputs(program: SlotProgram, inputs: Sequence[Vector]) -> None:
    wanted = sum(isinstance(operation, Input) for operation in program.operations)
    if len(inputs) != wanted:
        raise InvalidArgumentError(
            f"cannot bound {program.title}: expected {wanted} inputs, got {len(inputs)}"
        )
    for number, vector in enumerate(inputs):
        if vector.shape != (program.slots,):
            raise InvalidArgumentError(
                f"cannot bound {program.title}: expected {program.slots} slots of input {number}, "
                f"got shape {vector.shape}"
            )
        if not (vector >= 0).all():
            raise InvalidArgumentError(
                f"cannot bound {program.title}: expected bounds of 0 or more, input {number} has "
                "others"
            )

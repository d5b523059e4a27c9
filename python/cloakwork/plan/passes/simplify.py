"""Programs that do less and compute the same.

Each function takes a program and returns one with the same inputs and outputs;
every value that remains has the state it had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.itself import Itself
from cloakwork.plan.passes.late_rescales import with_late_rescales
from cloakwork.programs.slots import (
    Add,
    Constant,
    DropLevel,
    Input,
    Mul,
    Neg,
    Operation,
    Output,
    Rescale,
    Rotate,
    SlotProgram,
    Sub,
)
from cloakwork.programs.vectors import VectorTable


def simplified(program: SlotProgram) -> SlotProgram:
    """The program after all simplifications, late rescales among them, until none finds more to do.

    Example:
        >>> operations = (Input("x", 0), Neg(0), Neg(1), Add(2, 0), Output(3))
        >>> print(simplified(SlotProgram("double", 4, operations, (None,) * 5)))
        double, 4 slots
          %0 = input x        level 0
          %1 = add %0 %0      level 0
          %2 = output %1      level 0
    """
    while True:
        smaller = drop_dead(with_late_rescales(share_common(fold_constants(program))))
        if smaller is program:
            return program
        program = smaller


def drop_dead(program: SlotProgram) -> SlotProgram:
    """The program without operations that no output uses; inputs stay, used or not.

    Example:
        >>> operations = (Input("x", 0), Neg(0), Input("y", 0), Output(2))
        >>> print(drop_dead(SlotProgram("", 4, operations, (None,) * 4)).line(1))
        %1 = input y
    """
    is_used = [isinstance(operation, Input | Output) for operation in program.operations]
    for number in reversed(range(len(is_used))):
        if is_used[number]:
            for operand in program.operations[number].operands:
                is_used[operand] = True
    if all(is_used):
        return program
    rebuilt = _Rebuilt(program)
    for number, operation in enumerate(program.operations):
        if is_used[number]:
            rebuilt.keep(number, rebuilt.moved(operation))
    return rebuilt.finish()


def share_common(program: SlotProgram) -> SlotProgram:
    """The program with each value computed once, where it was computed first.

    Operations are common if they are of one kind on the same values; the order of
    the operands of `Add` and `Mul` does not count, and vectors count by what they
    hold. Inputs and outputs are never common.

    Example:
        >>> operations = (Input("x", 0), Rotate(0, 1), Rotate(0, 1), Add(1, 2), Output(3))
        >>> print(share_common(SlotProgram("", 4, operations, (None,) * 5)).line(2))
        %2 = add %1 %1
    """
    table = VectorTable()
    first: dict[Hashable, int] = {}
    rebuilt = _Rebuilt(program)
    for number, operation in enumerate(program.operations):
        moved = rebuilt.moved(operation)
        if isinstance(operation, Input | Output):
            rebuilt.keep(number, moved)
            continue
        key = same_value(moved, table)
        if key in first:
            rebuilt.replace(number, first[key])
        else:
            first[key] = rebuilt.keep(number, moved)
    return rebuilt.finish()


def fold_constants(program: SlotProgram) -> SlotProgram:
    """The program without operations that change nothing or undo one another.

    - x + 0, x - 0, -(-x) are x; 0 - x is -x;
    - a rotation of a rotation is one rotation, a drop of a drop is one drop, where
      nothing else uses the inner one; rotations that cancel are nothing;
    - x times ones, rescaled, is x one level down.

    Operations that are no longer used stay; `drop_dead` removes them.

    Example:
        >>> operations = (Input("x", 0), Rotate(0, 1), Rotate(1, 2), Output(2))
        >>> print(fold_constants(SlotProgram("", 4, operations, (None,) * 4)).line(2))
        %2 = rotate %0 by 3
    """
    uses = Counter(operand for entry in program.operations for operand in entry.operands)
    constants = _Uniform()
    rebuilt = _Rebuilt(program)
    for number, operation in enumerate(program.operations):
        is_alone = all(
            uses[operand] == 1 and rebuilt.is_own(operand) for operand in operation.operands
        )
        folded = _folded(rebuilt.moved(operation), rebuilt, constants, is_alone=is_alone)
        if isinstance(folded, int):
            rebuilt.replace(number, folded)
        else:
            rebuilt.keep(number, folded)
    return rebuilt.finish()


class _Rebuilt:
    """A program being made out of another one, operation by operation.

    Numbers of the old program are `old`, numbers of the new one `new`.
    """

    def __init__(self, program: SlotProgram) -> None:
        self.slots = program.slots
        self.operations: list[Operation] = []
        self.levels: list[int | None] = []
        self._program = program
        self._new_of: dict[int, int] = {}
        self._old_of: list[int] = []
        self._has_changed = False

    def moved(self, operation: Operation) -> Operation:
        """An old operation on the new values."""
        old = operation.operands
        new = tuple(self._new_of[operand] for operand in old)
        return operation if new == old else operation.with_operands(new)

    def keep(self, old: int, operation: Operation) -> int:
        """Append the operation that makes the old value, and return its new number."""
        self._new_of[old] = len(self.operations)
        self._old_of.append(old)
        self.operations.append(operation)
        self.levels.append(self._program.states[old].level)
        self._has_changed |= operation is not self._program.operations[old]
        return self._new_of[old]

    def replace(self, old: int, new: int) -> None:
        """Let another value stand for the old one."""
        self._new_of[old] = new

    def is_own(self, old: int) -> bool:
        """Whether the old value is not replaced by another one."""
        return self._old_of[self._new_of[old]] == old

    def finish(self) -> SlotProgram:
        program = self._program
        if not self._has_changed and len(self.operations) == len(program.operations):
            return program
        return SlotProgram(
            program.title,
            program.slots,
            tuple(self.operations),
            tuple(program.layouts[old] for old in self._old_of),
            tuple(program.origins[old] for old in self._old_of),
            tuple(program.stages[old] for old in self._old_of),
            program.numbers,
        )


def same_value(operation: Operation, table: VectorTable) -> Hashable:
    """Equal for operations that make the same value.

    Example:
        >>> same_value(Add(1, 0), VectorTable()) == same_value(Add(0, 1), VectorTable())
        True
    """
    numbers = sorted(operation.operands) if operation.commutes else operation.operands
    return (operation.kind, *numbers, *operation.identity(table))


class _Uniform:
    """The number that fills a whole constant; each object is read once."""

    def __init__(self) -> None:
        self._known: dict[Itself[NDArray[Any]], float | None] = {}

    def number(self, operation: Operation) -> float | None:
        """The number; None where there is none, or the operation is no constant."""
        if not isinstance(operation, Constant):
            return None
        vector = operation.vector
        if Itself(vector) not in self._known:
            number = float(vector[0]) if bool(np.all(vector == vector[0])) else None
            self._known[Itself(vector)] = number
        return self._known[Itself(vector)]


def _folded(
    operation: Operation, rebuilt: _Rebuilt, constants: _Uniform, *, is_alone: bool
) -> Operation | int:
    """What stands for an operation on new values: another operation or one of these values.

    `is_alone` says that nothing else uses its operands.
    """
    made: Sequence[Operation] = rebuilt.operations
    match operation:
        case Add(left=left, right=right):
            if constants.number(made[left]) == 0:
                return right
            if constants.number(made[right]) == 0:
                return left
        case Sub(left=left, right=right):
            if constants.number(made[left]) == 0:
                return Neg(right)
            if constants.number(made[right]) == 0:
                return left
        case Neg(operand=operand):
            inner = made[operand]
            if isinstance(inner, Neg):
                return inner.operand
        case Rotate(operand=operand, steps=steps):
            inner = made[operand]
            if isinstance(inner, Rotate):
                total = (inner.steps + steps) % rebuilt.slots
                if total == 0:
                    return inner.operand
                if is_alone:
                    return Rotate(inner.operand, total)
        case DropLevel(operand=operand, level=level):
            inner = made[operand]
            if isinstance(inner, DropLevel) and is_alone:
                return DropLevel(inner.operand, level)
        case Rescale(operand=operand):
            factor = _factor_of_ones(made[operand], rebuilt, constants)
            product_level = rebuilt.levels[operand]
            if factor is not None and product_level is not None:
                return DropLevel(factor, product_level - 1)
        case _:
            pass
    return operation


def _factor_of_ones(operation: Operation, rebuilt: _Rebuilt, constants: _Uniform) -> int | None:
    """The value that is multiplied by ones, if that is what the operation does."""
    if isinstance(operation, Mul):
        if constants.number(rebuilt.operations[operation.left]) == 1:
            return operation.right
        if constants.number(rebuilt.operations[operation.right]) == 1:
            return operation.left
    return None

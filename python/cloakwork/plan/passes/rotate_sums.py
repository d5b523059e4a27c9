"""Sums of rotations of one value made one operation, whose rotations share all they can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cloakwork.programs.slots import (
    Add,
    Builder,
    Operation,
    Rotate,
    RotateSum,
    SlotProgram,
    Sub,
)


@dataclass(frozen=True, slots=True)
class _RotatedSum:
    """Rotations of one value, by steps, with their signs."""

    base: int
    signs: Mapping[int, int]

    def plus(self, other: _RotatedSum, sign: int) -> _RotatedSum | None:
        """The sum or the difference of two, unless they have another base or a step in common."""
        if self.base != other.base or self.signs.keys() & other.signs.keys():
            return None
        return _RotatedSum(
            self.base, {**self.signs, **{k: sign * s for k, s in other.signs.items()}}
        )


def with_rotate_sums(program: SlotProgram) -> SlotProgram:
    """The program with sums of rotations of one value as single operations.

    A sum is one where nothing else uses what it is made of, nor any other rotation of its value,
    which would share the digits of its key switching.

    Example:
        >>> from cloakwork.programs.slots import Input
        >>> operations = (Input("x", 0), Rotate(0, 1), Rotate(0, 2), Sub(0, 1), Add(3, 2))
        >>> print(with_rotate_sums(SlotProgram("", 4, operations, (None,) * 5, numbers="integer")))
        , 4 slots of integers
          %0 = input x                             level 0
          %1 = rotate_sum %0 by 0, 2 less 1        level 0
    """
    sums = _sums(program)
    inside = {number for total in sums.values() for number in total.inside}
    builder = Builder(program.title, program.slots, program.numbers)
    new_of: dict[int, int] = {}
    for number, operation in enumerate(program.operations):
        if number in inside:
            continue
        made = sums[number].operation() if number in sums else operation
        moved = made.with_operands([new_of[each] for each in made.operands])
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        new_of[number] = builder.append(moved, program.layouts[number])
    return builder.finish()


def without_rotate_sums(program: SlotProgram) -> SlotProgram:
    """The program with sums of rotations as rotations and additions, which passes may rewrite.

    Example:
        >>> from cloakwork.programs.slots import Input
        >>> operations = (Input("x", 0), RotateSum(0, (0, 2), (1,)))
        >>> body = SlotProgram("", 4, operations, (None,) * 2, numbers="integer")
        >>> print(without_rotate_sums(body))
        , 4 slots of integers
          %0 = input x             level 0
          %1 = rotate %0 by 2      level 0
          %2 = add %0 %1           level 0
          %3 = rotate %0 by 1      level 0
          %4 = sub %2 %3           level 0
    """
    builder = Builder(program.title, program.slots, program.numbers)
    new_of: dict[int, int] = {}
    for number, operation in enumerate(program.operations):
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        moved = operation.with_operands([new_of[each] for each in operation.operands])
        if isinstance(moved, RotateSum):
            new_of[number] = _parts(builder, moved)
        else:
            new_of[number] = builder.append(moved, program.layouts[number])
    return builder.finish()


def _parts(builder: Builder, total: RotateSum) -> int:
    def rotated(steps: int) -> int:
        return builder.append(Rotate(total.operand, steps)) if steps else total.operand

    first, *added = total.added
    value = rotated(first)
    for steps in added:
        value = builder.append(Add(value, rotated(steps)))
    for steps in total.subtracted:
        value = builder.append(Sub(value, rotated(steps)))
    return value


@dataclass(frozen=True, slots=True)
class _Total:
    """A sum that nothing larger contains, and the operations inside it."""

    total: _RotatedSum
    inside: tuple[int, ...]

    def operation(self) -> Operation:
        """The sum as one operation."""
        added = sorted(step for step, sign in self.total.signs.items() if sign > 0)
        subtracted = sorted(step for step, sign in self.total.signs.items() if sign < 0)
        return RotateSum(self.total.base, tuple(added), tuple(subtracted))


def _sums(program: SlotProgram) -> dict[int, _Total]:
    """The sums by the number of the operation that completes them."""
    uses = Counter(each for operation in program.operations for each in operation.operands)
    rotations = Counter(
        operation.operand for operation in program.operations if isinstance(operation, Rotate)
    )
    found: dict[int, _Total] = {}
    for number, operation in enumerate(program.operations):
        match operation:
            case Rotate(operand=operand, steps=steps) if uses[number] == 1:
                found[number] = _Total(_RotatedSum(operand, {steps: 1}), ())
            case Add(left=left, right=right) | Sub(left=left, right=right):
                # What is used elsewhere as well has to be made as it is.
                parts = [
                    found[each] if each in found and uses[each] == 1 else None
                    for each in (left, right)
                ]
                sign = -1 if isinstance(operation, Sub) else 1
                joined = _joined((left, right), parts, sign)
                if joined is not None:
                    for part in joined.inside:
                        found.pop(part, None)
                    found[number] = joined
    return {
        number: total
        for number, total in found.items()
        if len(total.total.signs) > 1
        and rotations[total.total.base] == sum(step != 0 for step in total.total.signs)
    }


def _joined(numbers: tuple[int, int], parts: Sequence[_Total | None], sign: int) -> _Total | None:
    """The sum or difference of two values where it is a sum of rotations."""
    for whole in ((False, False), (True, False), (False, True)):
        sums: list[_RotatedSum] = []
        inside: list[int] = []
        for number, part, as_it_is in zip(numbers, parts, whole, strict=True):
            if as_it_is:
                sums.append(_RotatedSum(number, {0: 1}))
            elif part is not None:
                sums.append(part.total)
                inside += [*part.inside, number]
        if len(sums) == 2 and (total := sums[0].plus(sums[1], sign)) is not None:
            return _Total(total, tuple(inside))
    return None

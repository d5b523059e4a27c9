"""Which linear transforms are made together: those of one value, and those that meet in sums.

Transforms of one value share the rotations of it, its baby steps. Transforms whose results nothing
uses but additions share the rotations of what is summed, the giant steps: what all of them rotate
by one giant step is added up before it is rotated, and one division ends the sum.

    x -- A --.            .- C -- x            baby steps of x for A and C, of y for B and D
              + = u   v = +                    giant steps of u for A and B, of v for C and D
    y -- B --'            '- D -- y
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cloakwork.programs.bsgs import HOISTED, baby_steps_of, split
from cloakwork.programs.slots import Add, Linear, SlotProgram

# Transforms of one sum: each holds its operand until the last of them is due.
_MOST_TERMS = 64
# Sums that are made together: each holds a value until it is due.
_MOST_SUMS = 32
# Giant steps of sums of several values that are made together: each holds what is to be rotated.
_MOST_GIANTS = 128
# Operations by which a sum is made before it is due, at most: no more values than these can be in
# memory beyond those that the program itself keeps.
LONGEST_GROUP = 128

# What transforms share: a value, how many baby steps there are, and by which it is rotated.
_Babies: TypeAlias = tuple[int, int, frozenset[int]]


@dataclass(frozen=True, slots=True)
class TransformSum:
    """Linear transforms of which nothing is used but the sum, or one by itself.

    Args:
        result: The number of the sum.
        transforms: The numbers of the transforms.
        members: The numbers of all operations that it is made by, the result first.
    """

    result: int
    transforms: tuple[int, ...]
    members: tuple[int, ...]

    def joined(self, other: TransformSum, result: int) -> TransformSum:
        """The sum of both, which has a number of its own."""
        return TransformSum(
            result,
            self.transforms + other.transforms,
            (result, *self.members, *other.members),
        )


def transform_sums(program: SlotProgram) -> list[TransformSum]:
    """All linear transforms of a program over reals as sums of as many as meet.

    Example:
        >>> import numpy as np
        >>> from cloakwork.programs.slots import Input
        >>> ones = {0: np.ones(8), 1: np.ones(8)}
        >>> operations = (Input("x", 1), Input("y", 1), Linear(0, ones, 2), Linear(1, ones, 2),
        ...     Add(2, 3), Linear(0, ones, 2))
        >>> program = SlotProgram("", 8, operations, (None,) * 6)
        >>> [(each.result, each.transforms) for each in transform_sums(program)]
        [(4, (2, 3)), (5, (5,))]
    """
    if program.numbers != "real":
        return []
    uses = Counter(operand for each in program.operations for operand in each.operands)
    return _sums(program, range(len(program.operations)), lambda operand: uses[operand] == 1)


def sums_among(program: SlotProgram, numbers: Iterable[int]) -> list[TransformSum]:
    """The sums that the operations of one group make; see `transform_groups`."""
    return _sums(program, sorted(numbers), lambda _: True)


def _sums(
    program: SlotProgram, numbers: Iterable[int], may_join: Callable[[int], bool]
) -> list[TransformSum]:
    found: dict[int, TransformSum] = {}
    for number in numbers:
        match program.operations[number]:
            case Linear():
                found[number] = TransformSum(number, (number,), (number,))
            case Add(left=left, right=right) if left in found and right in found:
                count = len(found[left].transforms) + len(found[right].transforms)
                if count <= _MOST_TERMS and may_join(left) and may_join(right):
                    found[number] = found.pop(left).joined(found.pop(right), number)
    return list(found.values())


def transform_groups(program: SlotProgram) -> tuple[tuple[int, ...], ...]:
    """The operations of transforms that are made together, when the first sum of them is due.

    A sum of several transforms is made at once, and together with it those after it that share baby
    steps with it, if their operands are there by then. One that shares more baby steps with others
    apart, transform by transform, than giant steps in the sum is not made at once.

    Returns:
        The numbers of the operations of each group of two or more, the first sum before others.

    Example:
        >>> import numpy as np
        >>> from cloakwork.programs.slots import Input
        >>> near, far = {0: np.ones(8), 1: np.ones(8)}, {4: np.ones(8), 5: np.ones(8)}
        >>> operations = (Input("x", 1), Linear(0, near, 4), Linear(0, far, 4), Linear(0, far, 8))
        >>> transform_groups(SlotProgram("", 8, operations, (None,) * 4))
        ((1, 2),)
        >>> operations = (Input("x", 1), Input("y", 1), Linear(0, near, 1), Linear(1, far, 1),
        ...     Add(2, 3))
        >>> transform_groups(SlotProgram("", 8, operations, (None,) * 5))
        ((4, 2, 3),)
    """
    groups = _SumGroups(program)
    for each in transform_sums(program):
        groups.add(each)
    return groups.made


class _SumGroup:
    """Sums that are made together, before any operation after the first of them."""

    def __init__(self, first: TransformSum) -> None:
        self.due = first.result
        self.sums: list[TransformSum] = []
        self.operands: set[int] = set()
        self.giants = 0

    def add(self, further: TransformSum, operands: Iterable[int], giants: int) -> None:
        """Take in a sum of these operands and of so many giant steps."""
        self.sums.append(further)
        self.operands.update(operands)
        self.giants += giants

    def takes(self, further: TransformSum, operands: Iterable[int], giants: int) -> bool:
        """Whether a sum may be made when the first is due, and does not hold too much by then."""
        single = len(self.operands.union(operands)) == 1
        return (
            max(operands) < self.due < further.result
            and len(self.sums) < _MOST_SUMS
            and further.result - self.due < LONGEST_GROUP
            and (single or self.giants + giants <= _MOST_GIANTS)
        )


class _SumGroups:
    """Groups of sums of transforms, made as the sums of a program come."""

    def __init__(self, program: SlotProgram) -> None:
        self._program = program
        self._all: list[_SumGroup] = []
        # The last group that has the rotations of a value by baby steps.
        self._having: dict[_Babies, _SumGroup] = {}

    def add(self, further: TransformSum) -> None:
        """Put a sum into a group that shares baby steps with it, or into one of its own."""
        babies = [self._babies(number) for number in further.transforms]
        operands = {operand for operand, _, _ in babies}
        of_each = [self._giants(number) for number in further.transforms]
        giants = len(frozenset[int]().union(*of_each))
        shared = [each for each in babies if each in self._having and any(each[2])]
        for each in shared:
            if self._having[each].takes(further, operands, giants):
                self._put(further, self._having[each], babies, giants)
                return
        saved = sum(map(len, of_each)) - giants
        if len(babies) > 1 and HOISTED * self._saved_apart(further, babies) > saved:
            for number in further.transforms:
                self.add(TransformSum(number, (number,), (number,)))
            return
        self._all.append(_SumGroup(further))
        self._put(further, self._all[-1], babies, giants)

    def _put(
        self, further: TransformSum, group: _SumGroup, babies: Sequence[_Babies], giants: int
    ) -> None:
        group.add(further, [operand for operand, _, _ in babies], giants)
        self._having.update(dict.fromkeys(babies, group))

    def _saved_apart(self, further: TransformSum, babies: Sequence[_Babies]) -> int:
        """Baby steps that groups have already for the transforms of a sum, each by itself."""
        saved = 0
        for number, each in zip(further.transforms, babies, strict=True):
            one = TransformSum(number, (number,), (number,))
            giants = len(self._giants(number))
            if each in self._having and self._having[each].takes(one, [each[0]], giants):
                saved += len(each[2] - {0})
        return saved

    def _linear(self, number: int) -> Linear:
        linear = self._program.operations[number]
        assert isinstance(linear, Linear)
        return linear

    def _babies(self, number: int) -> _Babies:
        linear = self._linear(number)
        babies = baby_steps_of(linear.diagonals, linear.baby_steps)
        return linear.operand, linear.baby_steps, babies

    def _giants(self, number: int) -> frozenset[int]:
        linear = self._linear(number)
        return frozenset(split(linear.diagonals, self._program.slots, linear.baby_steps).giant)

    @property
    def made(self) -> tuple[tuple[int, ...], ...]:
        """The operations of each group, groups of one left out."""
        of_each = (
            tuple(number for each in group.sums for number in each.members) for group in self._all
        )
        return tuple(group for group in of_each if len(group) > 1)

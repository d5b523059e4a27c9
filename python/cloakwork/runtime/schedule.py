"""What a run of a program does in one go, and what each of these tasks waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

from cloakwork.programs.bsgs import sharing_babies
from cloakwork.programs.slots import (
    Add,
    ClearInput,
    Constant,
    Input,
    Linear,
    Mul,
    Output,
    PairedBootstrap,
    Rescale,
    Rotate,
    SlotProgram,
    SwitchProduct,
)
from cloakwork.runtime.transform_groups import LONGEST_GROUP, transform_groups

# Rotations of one value that are made at once, and products: each holds a value until it is due.
_LARGEST_GROUP = 32


def hoisting_groups(program: SlotProgram) -> tuple[tuple[int, ...], ...]:
    """The rotations of one value that are made together, when the first of them is due.

    They share the expensive part of key switching: "hoisting" of Halevi and Shoup, Faster
    Homomorphic Linear Transformations in HElib, 2018 (eprint 2018/244). A group has 2 to
    32 rotations, the last less than 128 operations after the first.

    Args:
        program: The program.

    Returns:
        The numbers of the operations of each group, groups in order of their first.

    Example:
        >>> from cloakwork.programs.slots import Add
        >>> operations = (Input("x", 1), Rotate(0, 1), Rotate(0, 2), Add(1, 2), Rotate(3, 4))
        >>> hoisting_groups(SlotProgram("", 8, operations, (None,) * 5))
        ((1, 2),)
    """
    groups = _Groups()
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Rotate):
            groups.add(operation.operand, number)
    return tuple(group for group in groups.made if len(group) > 1)


class _Groups:
    """Groups of operations that share something, done when the first of them is due."""

    def __init__(self) -> None:
        self._all: list[list[int]] = []
        self._open: dict[Hashable, list[int]] = {}

    def add(self, shared: Hashable, *numbers: int) -> None:
        """Take operations that share something, a value and what is made of it.

        Each needs no others but those before it here.
        """
        group = self._open.get(shared)
        if (
            group is None
            or len(group) >= _LARGEST_GROUP * len(numbers)
            or numbers[-1] - group[0] >= LONGEST_GROUP
        ):
            group = self._open[shared] = []
            self._all.append(group)
        group += numbers

    @property
    def made(self) -> list[tuple[int, ...]]:
        """The groups, those whose first came first before the others."""
        return [tuple(group) for group in self._all]


def sharing_transforms(program: SlotProgram) -> dict[int, int]:
    """For each linear transform how many share its baby rotations, itself among them.

    Example:
        >>> import numpy as np
        >>> operations = (Input("x", 1), *(Linear(0, {each: np.ones(8)}, 4) for each in (1, 2, 5)))
        >>> sharing_transforms(SlotProgram("", 8, operations, (None,) * 4))
        {1: 2, 3: 2, 2: 1}
    """
    sharing: dict[int, int] = {}
    for numbers in schedule(program).tasks:
        taken = ((number, program.operations[number]) for number in numbers)
        transforms = {number: each for number, each in taken if isinstance(each, Linear)}
        values = ((each.operand, each.diagonals, each.baby_steps) for each in transforms.values())
        sharing.update(zip(transforms, sharing_babies(values), strict=True))
    return sharing


def rescaled_products(program: SlotProgram) -> tuple[tuple[int, ...], ...]:
    """The products that are switched and rescaled at once: those that nothing else uses.

    Those of the same rotated products are made together, in groups such as `hoisting_groups`.

    Example:
        >>> from cloakwork.programs.slots import RotatedProducts
        >>> operations = (
        ...     Input("x", 1), RotatedProducts((0,), (0,), 2), SwitchProduct(1, 0), Rescale(2),
        ...     SwitchProduct(1, 2), Rescale(4))
        >>> rescaled_products(SlotProgram("", 4, operations, (None,) * 6))
        ((2, 3, 4, 5),)
    """
    uses = Counter(operand for each in program.operations for operand in each.operands)
    groups = _Groups()
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Rescale) and uses[operation.operand] == 1:
            switch = program.operations[operation.operand]
            if isinstance(switch, SwitchProduct):
                groups.add(switch.operand, operation.operand, number)
    return tuple(groups.made)


class KnownSum(NamedTuple):
    """A sum of products with vectors that a run is given.

    Args:
        within: The products and sums that it alone is made of.
        terms: The values of each product, the encrypted one first.
    """

    within: tuple[int, ...]
    terms: tuple[tuple[int, int], ...]


def known_sums(program: SlotProgram) -> dict[int, KnownSum]:
    """The sums of products with vectors that a run is given, by the number of each.

    Example:
        >>> from cloakwork.programs.slots import Add, ClearInput
        >>> operations = (
        ...     Input("x", 1), ClearInput("y", 1), ClearInput("y", 1), Mul(0, 1), Mul(2, 0),
        ...     Add(3, 4), Rescale(5))
        >>> known_sums(SlotProgram("", 4, operations, (None,) * 7))
        {5: KnownSum(within=(3, 4), terms=((0, 1), (0, 2)))}
    """
    operations = program.operations
    uses = Counter(operand for each in operations for operand in each.operands)
    sums: dict[int, KnownSum] = {}
    for number, operation in enumerate(operations):
        match operation:
            case Mul(left=left, right=right) if isinstance(operations[right], ClearInput):
                sums[number] = KnownSum((), ((left, right),))
            case Mul(left=left, right=right) if isinstance(operations[left], ClearInput):
                sums[number] = KnownSum((), ((right, left),))
            case Add(left=left, right=right):
                if left in sums and right in sums and uses[left] == uses[right] == 1:
                    one, other = sums.pop(left), sums.pop(right)
                    within = (*one.within, left, *other.within, right)
                    sums[number] = KnownSum(within, one.terms + other.terms)
    return {number: each for number, each in sums.items() if each.within}


def bootstrap_pairs(program: SlotProgram) -> tuple[tuple[int, int], ...]:
    """The paired bootstraps that are done together: those of one value and another, both ways.

    Example:
        >>> operations = (
        ...     Input("x", 3), Input("y", 3),
        ...     PairedBootstrap(0, 1, 5, 1), PairedBootstrap(1, 1, 5, 0))
        >>> bootstrap_pairs(SlotProgram("", 4, operations, (None,) * 4))
        ((2, 3),)
    """
    waiting: dict[tuple[int, ...], int] = {}
    pairs: list[tuple[int, int]] = []
    for number, operation in enumerate(program.operations):
        if not isinstance(operation, PairedBootstrap):
            continue
        first = waiting.pop((operation.other, operation.operand), None)
        if first is None:
            waiting[operation.operands] = number
        else:
            pairs.append((first, number))
    return tuple(pairs)


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """The tasks of a program, in program order: single operations and those done together.

    Inputs, constants and outputs are not tasks: there is nothing to compute.

    Args:
        inputs: The numbers of the inputs.
        tasks: The numbers of the operations that each task does.
        operands: The values that each task works on, constants left out.
        sources: Where the value of each operation is found: that of an output is its operand's.
        users: The tasks that work on each value that any works on.
        outputs: The values that are results of the program; they outlive their users.
        degrees: The degree of every value as a ciphertext; see `degrees`.
        lazy_products: The products of two ciphertexts that are not relinearised at once.
        known_sums: The sums that are made at once; what they are made of has no tasks.
    """

    inputs: tuple[int, ...]
    tasks: tuple[tuple[int, ...], ...]
    operands: tuple[tuple[int, ...], ...]
    sources: tuple[int, ...]
    users: Mapping[int, Sequence[int]]
    outputs: tuple[int, ...]
    degrees: tuple[int, ...]
    lazy_products: frozenset[int]
    known_sums: Mapping[int, KnownSum]

    @property
    def in_a_row(self) -> bool:
        """Whether each task needs what the one before it makes."""
        pairs = zip(self.tasks, self.operands[1:], strict=False)
        return all(not set(made).isdisjoint(taken) for made, taken in pairs)


# A program is often run more than once, and what it takes is predicted before each run.
_schedules: WeakKeyDictionary[SlotProgram, Schedule] = WeakKeyDictionary()


def schedule(program: SlotProgram) -> Schedule:
    """The tasks of a program and what each waits for; made once for each program.

    Example:
        >>> from cloakwork.programs.slots import Neg
        >>> operations = (Input("x", 1), Neg(0), Neg(0), Output(1))
        >>> schedule(SlotProgram("", 8, operations, (None,) * 4)).tasks
        ((1,), (2,))
    """
    made = _schedules.get(program)
    if made is None:
        made = _schedules[program] = _scheduled(program)
    return made


def part_of_schedule(plan: Schedule, tasks: Sequence[int], outputs: Sequence[int]) -> Schedule:
    """Some tasks of a schedule as one of their own: what it needs of others are its inputs.

    Args:
        plan: The schedule.
        tasks: The numbers of the tasks, rising.
        outputs: The values that outlive their users, all made by these tasks.

    Example:
        >>> from cloakwork.programs.slots import Neg
        >>> operations = (Input("x", 1), Neg(0), Neg(1), Neg(2), Output(3))
        >>> whole = schedule(SlotProgram("", 8, operations, (None,) * 5))
        >>> part = part_of_schedule(whole, [1, 2], [3])
        >>> part.inputs, part.tasks, part.outputs
        ((1,), ((2,), (3,)), (3,))
    """
    made = {value for task in tasks for value in plan.tasks[task]}
    needed = {value for task in tasks for value in plan.operands[task]}
    users: dict[int, list[int]] = {}
    for place, task in enumerate(tasks):
        for value in plan.operands[task]:
            users.setdefault(value, []).append(place)
    return replace(
        plan,
        inputs=tuple(sorted(needed - made)),
        tasks=tuple(plan.tasks[task] for task in tasks),
        operands=tuple(plan.operands[task] for task in tasks),
        users=users,
        outputs=tuple(outputs),
    )


def _scheduled(program: SlotProgram) -> Schedule:
    groups: dict[int, tuple[int, ...]] = {
        number: group
        for group in (
            *hoisting_groups(program),
            *transform_groups(program),
            *rescaled_products(program),
            *bootstrap_pairs(program),
        )
        for number in group
    }
    sums = known_sums(program)
    within = {number for each in sums.values() for number in each.within}
    tasks: list[tuple[int, ...]] = []
    used: list[tuple[int, ...]] = []
    sources: list[int] = []
    users: dict[int, list[int]] = {}
    outputs: list[int] = []
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Output):
            sources.append(sources[operation.operand])
            outputs.append(sources[operation.operand])
            continue
        sources.append(number)
        group = groups.get(number, (number,))
        if isinstance(operation, Input | Constant) or number != group[0] or number in within:
            continue
        if number in sums:
            encrypted = tuple({sources[each] for pair in sums[number].terms for each in pair})
        else:
            encrypted = _operands(program, group, sources)
        for value in encrypted:
            users.setdefault(value, []).append(len(tasks))
        tasks.append(group)
        used.append(encrypted)
    inputs = tuple(
        number for number, each in enumerate(program.operations) if isinstance(each, Input)
    )
    found = degrees(program)
    lazy = (
        number
        for number, degree in enumerate(found)
        if degree == 2 and multiplies_ciphertexts(program, number)
    )
    return Schedule(
        inputs,
        tuple(tasks),
        tuple(used),
        tuple(sources),
        users,
        tuple(outputs),
        found,
        frozenset(lazy),
        sums,
    )


def _operands(
    program: SlotProgram, group: Sequence[int], sources: Sequence[int]
) -> tuple[int, ...]:
    """The encrypted values that a group works on, but does not make."""
    used = {operand for number in group for operand in program.operations[number].operands}
    values = {sources[operand] for operand in used.difference(group)}
    return tuple(value for value in values if not isinstance(program.operations[value], Constant))


def degrees(program: SlotProgram) -> tuple[int, ...]:
    """The degree of every value as a ciphertext: 2 where it is not relinearised, else 1.

    A product of ciphertexts stays at degree 2, and so do sums of such and their products with
    constants, until a rescale or a rotation takes degree 1: a sum of many products is
    relinearised once. Products that meet in sums are treated alike: they are relinearised at
    once where that is less often, and where one of them is multiplied or dropped, which only
    integers are. One that is a result stays as it is.

    Args:
        program: The program.

    Example:
        >>> from cloakwork.programs.slots import Add, Input, Rescale
        >>> operations = (Input("x", 1), Mul(0, 0), Mul(0, 0), Add(1, 2), Rescale(3))
        >>> degrees(SlotProgram("", 8, operations, (None,) * 5))
        (1, 2, 2, 2, 1)
    """
    families = _families(program)
    products: Counter[int] = Counter()
    relinearisations: Counter[int] = Counter()
    # Rotations of one value are made together, after one relinearisation.
    rotated: set[int] = set()
    # These need degree 1 and have no relinearisation of their own.
    at_once: set[int] = set()
    for number, operation in enumerate(program.operations):
        own = [families[operand] for operand in operation.operands if operand in families]
        if multiplies_ciphertexts(program, number):
            products[families[number]] += 1
            at_once.update(own)
        elif operation.degree == "needs 1":
            at_once.update(own)
        elif operation.degree == "relinearises":
            relinearisations.update(own)
        elif operation.degree == "relinearises once":
            rotated.update(operand for operand in operation.operands if operand in families)
    relinearisations.update(families[operand] for operand in rotated)
    waiting = {
        family
        for family in products
        if relinearisations[family] <= products[family] and family not in at_once
    }
    return tuple(
        2 if families.get(number) in waiting else 1 for number in range(len(program.operations))
    )


def multiplies_ciphertexts(program: SlotProgram, number: int) -> bool:
    """Whether an operation is a product of two ciphertexts."""
    if not isinstance(program.operations[number], Mul):
        return False
    return not program.context(number).has_constant


def _families(program: SlotProgram) -> dict[int, int]:
    """One name for all products of ciphertexts that meet in sums, and for these sums."""
    parents: dict[int, int] = {}

    def first(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    for number, operation in enumerate(program.operations):
        if multiplies_ciphertexts(program, number):
            parents[number] = number
        elif operation.degree == "keeps" and not isinstance(operation, Output):
            for operand in operation.operands:
                if operand in parents:
                    parents.setdefault(number, number)
                    parents[first(operand)] = first(number)
    return {number: first(number) for number in parents}

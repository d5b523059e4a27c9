"""Tasks of a slot program that stay together: rotated products, and what is switched of them;
weighted sums, and each of them that is taken.

Rotated products are hundreds of times as large as a ciphertext. What is made of them, in one key
switch each, is done where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from cloakwork.programs.slots import (
    Add,
    Operation,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
    SwitchProduct,
    TakeSum,
)
from cloakwork.runtime.schedule import Schedule

# A switched product is rescaled, and shares of the inner index are summed.
_FOLLOWERS = (SwitchProduct, TakeSum, Rescale, Rotate, Add)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Tasks of a schedule that are done in one go.

    Args:
        tasks: The tasks, rising.
        values: The values that they make.
        needs: The values of others that they work on, rising.
        gives: Of the values those that others need or that are results, and rotated products.
    """

    tasks: tuple[int, ...]
    values: tuple[int, ...]
    needs: tuple[int, ...]
    gives: tuple[int, ...]


def bundles(program: SlotProgram, plan: Schedule) -> list[Bundle]:
    """All tasks of a program in bundles, each after those that it needs.

    Example:
        >>> from cloakwork.programs.slots import Input, Output, Rescale
        >>> from cloakwork.runtime.schedule import schedule
        >>> operations = (
        ...     Input("x", 1), RotatedProducts((0,), (0,), 2),
        ...     SwitchProduct(1, 0), Rescale(2), SwitchProduct(1, 2), Rescale(4), Add(3, 5),
        ...     Output(6))
        >>> program = SlotProgram("", 4, operations, (None,) * 8)
        >>> [each.tasks for each in bundles(program, schedule(program))]
        [(0, 1, 2)]
    """
    together: list[list[int]] = []
    # The bundle of each value that is made of rotated products alone, and so may be joined.
    of_products: dict[int, int] = {}
    for task, values in enumerate(plan.tasks):
        operations = [program.operations[value] for value in values]
        makers = {of_products.get(value, -1) for value in plan.operands[task]}
        if _follows(operations, makers):
            (place,) = makers
        else:
            place = len(together)
            together.append([])
        together[place].append(task)
        state = program.states[values[0]]
        if state.products or state.sums or _follows(operations, makers):
            of_products.update(dict.fromkeys(values, place))
    results = frozenset(plan.outputs)
    return [_bundle(program, plan, results, tasks) for tasks in together]


def _follows(operations: Sequence[Operation], makers: set[int]) -> bool:
    """Whether the operations of a task on values of these bundles are done with them."""
    follow = all(isinstance(each, _FOLLOWERS) for each in operations)
    return follow and len(makers) == 1 and -1 not in makers


def _bundle(
    program: SlotProgram, plan: Schedule, results: Set[int], tasks: Sequence[int]
) -> Bundle:
    own = set(tasks)
    values = tuple(value for task in tasks for value in plan.tasks[task])
    needs = {value for task in tasks for value in plan.operands[task]}.difference(values)
    gives = tuple(
        value
        for value in values
        if value in results
        or program.states[value].products
        or not own.issuperset(plan.users.get(value, ()))
    )
    return Bundle(tuple(tasks), values, tuple(sorted(needs)), gives)


def product_blocks(program: SlotProgram) -> Mapping[int, tuple[int, int]]:
    """For each rotated products which block of rows is on its left, and of columns on its right.

    Blocks are lists of ciphertexts, counted in the order in which they come.
    """
    rows: dict[tuple[int, ...], int] = {}
    columns: dict[tuple[int, ...], int] = {}
    return {
        number: (
            rows.setdefault(operation.left, len(rows)),
            columns.setdefault(operation.right, len(columns)),
        )
        for number, operation in enumerate(program.operations)
        if isinstance(operation, RotatedProducts)
    }

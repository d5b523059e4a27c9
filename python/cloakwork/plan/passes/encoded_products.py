"""Sums of many products with constants as sums of linear transforms, which stay encoded.

To encode a constant takes longer than its product. A constant is encoded in every run, and the
diagonals of a linear transform once, as far as memory allows; transforms that meet in a sum are
made together.
"""

from __future__ import annotations

from collections import Counter

from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    Linear,
    Mul,
    Operation,
    Rescale,
    SlotProgram,
    Sub,
)

# Products of a sum whose encoding counts beside whatever else a program does.
_FEWEST = 16


def with_encoded_products(program: SlotProgram) -> SlotProgram:
    """The program with products with constants as transforms, where 16 of them or more meet.

    Constants that are no longer used stay; `simplify.drop_dead` removes them.

    Example:
        >>> import numpy as np
        >>> from cloakwork.programs.slots import Input
        >>> builder = Builder("", slots=2)
        >>> x = builder.append(Input("x", 1))
        >>> total = builder.append(Mul(x, builder.constant(np.zeros(2))))
        >>> for number in range(1, 16):
        ...     product = builder.append(Mul(x, builder.constant(np.full(2, 1.0 * number))))
        ...     total = builder.append(Add(total, product))
        >>> last = builder.append(Rescale(total))
        >>> made = with_encoded_products(builder.finish())
        >>> sum(isinstance(each, Linear) for each in made.operations)
        16
    """
    chosen = _products_of_long_sums(program)
    if not chosen:
        return program
    builder = Builder(program.title, program.slots, program.numbers)
    for number, operation in enumerate(program.operations):
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        made = _transform(program, operation) if number in chosen else operation
        builder.append(made, program.layouts[number])
    return builder.finish()


def _transform(program: SlotProgram, product: Operation) -> Linear:
    """The linear transform of one diagonal that a product with a constant is."""
    left, right = product.operands
    first, second = program.operations[left], program.operations[right]
    if isinstance(second, Constant):
        return Linear(left, {0: second.vector}, 1)
    assert isinstance(first, Constant)
    return Linear(right, {0: first.vector}, 1)


def _products_of_long_sums(program: SlotProgram) -> set[int]:
    """The numbers of the products that meet in sums of many, which are rescaled."""
    if program.numbers != "real":
        return set()
    uses = Counter(each for operation in program.operations for each in operation.operands)
    chosen: set[int] = set()
    for operation in program.operations:
        if isinstance(operation, Rescale):
            products = _products_below(program, operation.operand, uses)
            if len(products) >= _FEWEST:
                chosen.update(products)
    return chosen


def _products_below(program: SlotProgram, total: int, uses: Counter[int]) -> list[int]:
    """The products with constants of a sum, of which nothing else is used."""
    found: list[int] = []
    left = [total]
    while left:
        number = left.pop()
        operation = program.operations[number]
        if uses[number] > 1:
            continue
        if isinstance(operation, Add | Sub):
            left += operation.operands
        elif isinstance(operation, Mul) and any(
            isinstance(program.operations[each], Constant) for each in operation.operands
        ):
            found.append(number)
    return found

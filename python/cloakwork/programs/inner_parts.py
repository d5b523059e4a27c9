"""Rotated products cut along their inner index: each part can be made by itself and added up.

Sums of residues are exact, so that the parts sum to the very residues of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from cloakwork.programs.slots import AddProducts, Builder, RotatedProducts, SlotProgram


@dataclass(frozen=True, slots=True)
class InnerParts:
    """A program whose rotated products are cut.

    Args:
        program: The program.
        sources: For each of its operations the one of the whole program that it is, or a part of.
    """

    program: SlotProgram
    sources: tuple[int, ...]


def with_inner_parts(program: SlotProgram, parts: int) -> InnerParts:
    """Cut the lists of every rotated products into parts of about as many terms.

    Example:
        >>> from cloakwork.programs.slots import Input, Output, Rescale, SwitchProduct
        >>> operations = (
        ...     Input("x", 1), RotatedProducts((0,) * 3, (0,) * 3, 2), SwitchProduct(1, 0),
        ...     Rescale(2), Output(3))
        >>> made = with_inner_parts(SlotProgram("", 4, operations, (None,) * 5), 2)
        >>> [len(each.operands) for each in made.program.operations], made.sources
        ([0, 2, 4, 2, 1, 1, 1], (0, 1, 1, 1, 2, 3, 4))
    """
    builder = Builder(program.title, program.slots, program.numbers)
    moved: list[int] = []
    sources: list[int] = []
    for number, operation in enumerate(program.operations):
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        here = operation.with_operands([moved[operand] for operand in operation.operands])
        if isinstance(here, RotatedProducts):
            value = _summed(builder, here, parts)
        else:
            value = builder.append(here, program.layouts[number])
        sources += [number] * (len(builder) - len(sources))
        moved.append(value)
    return InnerParts(builder.finish(), tuple(sources))


def _summed(builder: Builder, products: RotatedProducts, parts: int) -> int:
    """The sum of the parts of rotated products, one after the other."""
    run = products.run(builder.slots)
    runs = len(products.left) // run
    count = min(parts, runs)
    edges = [run * (runs * part // count) for part in range(count + 1)]
    total = None
    for start, end in pairwise(edges):
        part = builder.append(
            replace(products, left=products.left[start:end], right=products.right[start:end])
        )
        total = part if total is None else builder.append(AddProducts(total, part))
    assert total is not None
    return total

"""Sums of products that are rescaled once, and not product by product."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from cloakwork.programs.slots import Add, Builder, Operation, Rescale, SlotProgram, Sub


def with_late_rescales(program: SlotProgram) -> SlotProgram:
    """The program in which what was rescaled and then added is added and then rescaled.

    That is so where nothing else uses what was rescaled. Of a sum of many products one rescale is
    left; the others stay behind it, used by nothing, until they are dropped.

    Example:
        >>> from cloakwork.plan.passes.simplify import drop_dead
        >>> from cloakwork.programs.slots import Input, Mul, Output
        >>> made = Input("x", 1), Input("y", 1), Mul(0, 0), Mul(1, 1), Rescale(2), Rescale(3)
        >>> program = SlotProgram("", 4, (*made, Add(4, 5), Output(6)), (None,) * 8)
        >>> print(drop_dead(with_late_rescales(program)))
        , 4 slots
          %0 = input x         level 1
          %1 = input y         level 1
          %2 = mul %0 %0       level 1, not rescaled
          %3 = mul %1 %1       level 1, not rescaled
          %4 = add %2 %3       level 1, not rescaled
          %5 = rescale %4      level 0
          %6 = output %5       level 0
    """
    # Over integers to rescale is to switch the modulus, which noise decides.
    if program.numbers == "integer":
        return program
    uses = Counter(each for operation in program.operations for each in operation.operands)
    if not any(_is_of_rescaled(each, program.operations, uses) for each in program.operations):
        return program
    builder = Builder(program.title, program.slots, program.numbers)
    new_of: list[int] = []
    for number, operation in enumerate(program.operations):
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        made = operation.with_operands([new_of[each] for each in operation.operands])
        terms = [builder.operations[each] for each in made.operands]
        rescaled = [each.operand for each in terms if isinstance(each, Rescale)]
        alone = all(uses[each] == 1 for each in operation.operands)
        if isinstance(made, Add | Sub) and alone and len(rescaled) == len(terms):
            made = Rescale(builder.append(made.with_operands(rescaled)))
        new_of.append(builder.append(made, program.layouts[number]))
    return builder.finish()


def _is_of_rescaled(
    operation: Operation, operations: Sequence[Operation], uses: Mapping[int, int]
) -> bool:
    """Whether an operation is a sum whose terms are rescaled, and used by nothing else."""
    return isinstance(operation, Add | Sub) and all(
        uses[each] == 1 and isinstance(operations[each], Rescale) for each in operation.operands
    )

"""Which numbers clients check, as a program is made for what its user says of them."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.ir.tensors import Evaluate, Node
from cloakwork.programs.layout import Layout
from cloakwork.programs.slots import DropLevel, Polynomial, SlotProgram


def checked_ranges(program: SlotProgram, results: Sequence[Node]) -> tuple[ActivationRange, ...]:
    """What polynomials expect of their operands, where that rests on what a user says.

    Args:
        program: The program.
        results: The graph that it was made of. Its polynomials are recognised by their titles.
    """
    claimed = {
        node.title: node
        for node in in_order(results)
        if isinstance(node, Evaluate) and node.use is not None and node.use.claimed
    }
    ranges: list[ActivationRange] = []
    operands: list[int] = []
    for number, operation in enumerate(program.operations):
        node = claimed.get(program.stages[number])
        layout = program.layouts[number]
        if not isinstance(operation, Polynomial) or node is None or not isinstance(layout, Layout):
            continue
        operands.append(_undropped(program, operation.operand))
        if len(operands) == layout.ciphertexts:
            ranges.append(_range(node, tuple(operands), layout))
            operands = []
    return tuple(ranges)


def _undropped(program: SlotProgram, value: int) -> int:
    operation = program.operations[value]
    return operation.operand if isinstance(operation, DropLevel) else value


def _range(node: Evaluate, operands: tuple[int, ...], layout: Layout) -> ActivationRange:
    assert node.use is not None
    factor, shift = 2 / (node.high - node.low), -(node.high + node.low) / (node.high - node.low)
    use = node.use
    return ActivationRange(
        use.name, operands, layout, use.low, use.high, factor * node.scale, shift
    )

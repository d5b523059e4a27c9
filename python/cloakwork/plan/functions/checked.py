"""Which numbers clients check: what a user says of them, and that comparisons are not close."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.ir.tensors import Evaluate, Node
from cloakwork.programs.layout import Layout
from cloakwork.programs.slots import DropLevel, Polynomial, SlotProgram


def checked_ranges(program: SlotProgram, results: Sequence[Node]) -> tuple[ActivationRange, ...]:
    """What polynomials expect of their operands, where that does not follow from the inputs."""
    nodes = [each for each in in_order(results) if isinstance(each, Evaluate)]
    checked = {
        node.title: node for node in nodes if node.use and (node.use.claimed or node.use.gap)
    }
    # Of a composition only the first takes what the function is of.
    later = {(node.title, node.coefficients) for node in nodes if node.use is None}
    ranges: list[ActivationRange] = []
    operands: list[int] = []
    for number, operation in enumerate(program.operations):
        node = checked.get(program.stages[number])
        layout = program.layouts[number]
        if not isinstance(operation, Polynomial) or node is None or not isinstance(layout, Layout):
            continue
        if (node.title, operation.coefficients) in later:
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
        use.name, operands, layout, use.low, use.high, factor * node.scale, shift, use.gap
    )

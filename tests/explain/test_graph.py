"""The graph of a program as it is drawn."""

import pytest
from hypothesis import given

from cloakwork.explain.graph import nodes_of
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    Input,
    Output,
    Rotate,
    SlotProgram,
)
from tests.programs.random_programs import programs


@pytest.mark.parametrize("most", [0, 1000])
@given(programs())
def test_every_operation_is_in_one_node(most: int, program: SlotProgram) -> None:
    nodes = nodes_of(program, most=most)
    drawn = [number for node in nodes for number in node.numbers]
    assert sorted(drawn) == [
        number
        for number, operation in enumerate(program.operations)
        if not isinstance(operation, Constant)
    ]
    node_of = {number: place for place, node in enumerate(nodes) for number in node.numbers}
    for place, node in enumerate(nodes):
        used = {
            node_of[operand]
            for number in node.numbers
            for operand in program.operations[number].operands
            if operand in node_of
        }
        assert set(node.parents) == used - {place}
        assert all(parent < place for parent in node.parents)


@given(programs())
def test_values_that_live_together_stand_apart(program: SlotProgram) -> None:
    nodes = nodes_of(program)
    last_use = list(range(len(nodes)))
    for place, node in enumerate(nodes):
        for parent in node.parents:
            last_use[parent] = place
    for place, node in enumerate(nodes):
        living = [other for other in range(place) if last_use[other] >= place]
        assert (node.level, node.track) not in {
            (nodes[other].level, nodes[other].track) for other in living
        }


def test_long_programs_are_thinned() -> None:
    builder = Builder("long", 8)
    total = builder.append(Input("x", 1))
    for number in range(100):
        builder.stage = f"sum {number // 10}"
        for step in (1, 2, 4):
            total = builder.append(Add(total, builder.append(Rotate(total, step))))
    builder.append(Output(total))
    nodes = nodes_of(builder.finish())
    assert [node.kind for node in nodes] == ["input", *["rotate"] * 10, "output"]
    assert [node.stage for node in nodes] == [0, *range(1, 11), 0]

"""Vectors made from others."""

from __future__ import annotations

from cloakwork.plan.circuits.assemble import assemble
from cloakwork.plan.circuits.cost import LaneCosts, lane_cost
from cloakwork.plan.circuits.forms import ProductNode, forms_of_circuit
from cloakwork.plan.circuits.targets import LaneSchedule
from cloakwork.programs.ir.circuits import CircuitBuilder, CircuitInput, ScalarProduct, Sum
from cloakwork.programs.ir.vectors import (
    PackedLanes,
)
from cloakwork.programs.operations import Add, Mul, Operation, Rotate


def test_what_moves_alike_is_added_up_before() -> None:
    builder = CircuitBuilder("some")
    x = builder.input(CircuitInput("x", (4,)))
    first = builder.append(ScalarProduct(x[0], x[1]))
    second = builder.append(ScalarProduct(builder.append(Sum(first, x[2])), x[1]))
    both = builder.append(Sum(first, second))
    builder.output("y", (), (builder.append(ScalarProduct(x[3], both)),))
    forms = forms_of_circuit(builder.finish(), factors=False, shares_inputs=False)
    products = [each for each in forms.live if isinstance(forms.nodes[each], ProductNode)]
    lanes = dict(zip(products, (0, 0, 5), strict=True))
    schedule = LaneSchedule(tuple((each,) for each in products), lanes)
    operations = assemble(forms, schedule, "beside", LaneCosts()).operations
    moved = {type(operations[each.operand]) for each in operations if isinstance(each, Rotate)}
    assert Add in moved
    assert Mul not in moved


COSTS = LaneCosts(rotation=1.0, hoisted=0.5, summed=0.125, level=0.0, addition=0.0, encryption=0.0)
ROTATIONS: list[Operation] = [PackedLanes(()), Rotate(0, 1), Rotate(0, 2)]


def test_rotations_that_are_only_summed_cost_little() -> None:
    assert lane_cost([*ROTATIONS, Add(1, 2)], COSTS) == 1.125
    assert lane_cost([*ROTATIONS, Add(1, 0), Add(3, 2)], COSTS) == 1.125


def test_rotations_that_are_used_alone_as_well_cost_more() -> None:
    used = [*ROTATIONS, Add(1, 2), Add(3, 1)]
    assert lane_cost(used, COSTS) == 1.5
    another = [*ROTATIONS, Add(1, 2), Rotate(0, 3)]
    assert lane_cost(another, COSTS) == 2.0

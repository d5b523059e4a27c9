"""Bundles: products stay with what is switched of them, and nothing waits in a circle."""

from __future__ import annotations

from typing import Any

import pytest

import cloakwork as cw
from cloakwork.cluster.bundles import bundles, product_blocks
from cloakwork.programs.slots import Mul, RotatedProducts, SlotProgram, SwitchProduct
from cloakwork.runtime.schedule import schedule
from tests.families import CIRCUITS, NETWORKS, TENSORS
from tests.products import real_product


def layers(x: Any, w: Any, v: Any) -> Any:
    """A product, a function of its numbers, and a product of that."""
    first = w @ x
    return v @ (first * first)


SHAPES = ((90, 300), (60, 90), (10, 60))
CHAIN = cw.compile(layers, *(cw.Spec(shape, bound=0.1) for shape in SHAPES), precision=12)
PRODUCT = real_product((70, 24), (24, 60), log_n=9, insecure=True)
PROGRAMS = [CHAIN, PRODUCT, *(each.program for each in (TENSORS, NETWORKS, CIRCUITS))]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_every_task_is_in_one_bundle_after_what_it_needs(program: cw.Program) -> None:
    body = program.body
    assert isinstance(body, SlotProgram)
    plan = schedule(body)
    found = bundles(body, plan)
    assert sorted(task for each in found for task in each.tasks) == [*range(len(plan.tasks))]
    there = set(plan.inputs)
    for each in found:
        assert set(each.needs) <= there
        there.update(each.gives)
    assert set(plan.outputs) <= there


@pytest.mark.parametrize("program", [CHAIN, PRODUCT], ids=lambda program: program.name)
def test_switches_are_where_their_products_are(program: cw.Program) -> None:
    body = program.body
    assert isinstance(body, SlotProgram)
    place = {
        value: number
        for number, each in enumerate(bundles(body, schedule(body)))
        for value in each.values
    }
    switches = 0
    for number, operation in enumerate(body.operations):
        if isinstance(operation, SwitchProduct):
            assert place[number] == place[operation.operand]
            switches += 1
    assert switches


def test_functions_of_products_are_shared_out() -> None:
    assert CHAIN.packing.kind == "matrices"
    body = CHAIN.body
    assert isinstance(body, SlotProgram)
    for each in bundles(body, schedule(body)):
        kinds = {type(body.operations[value]) for value in each.values}
        assert Mul not in kinds or RotatedProducts not in kinds


def test_blocks_are_counted_by_their_lists() -> None:
    assert isinstance(PRODUCT.body, SlotProgram)
    found = product_blocks(PRODUCT.body)
    rows, columns = ({each[side] for each in found.values()} for side in (0, 1))
    assert sorted(found.values()) == [(row, column) for row in sorted(rows) for column in columns]

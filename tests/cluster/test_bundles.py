"""Bundles: products stay with what is switched of them, and nothing waits in a circle."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
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


@cache
def chain() -> cw.Program:
    return cw.compile(layers, *(cw.Spec(shape, bound=0.1) for shape in SHAPES), precision=12)


@cache
def block_product() -> cw.Program:
    return real_product((70, 24), (24, 60), log_n=9, insecure=True)


PROGRAMS: dict[str, Callable[[], cw.Program]] = {
    "chain": chain,
    "product": block_product,
    "tensors": lambda: TENSORS.program,
    "network": lambda: NETWORKS.program,
    "circuit": lambda: CIRCUITS.program,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_task_is_in_one_bundle_after_what_it_needs(name: str) -> None:
    body = PROGRAMS[name]().body
    assert isinstance(body, SlotProgram)
    plan = schedule(body)
    found = bundles(body, plan)
    assert sorted(task for each in found for task in each.tasks) == [*range(len(plan.tasks))]
    there = set(plan.inputs)
    for each in found:
        assert set(each.needs) <= there
        there.update(each.gives)
    assert set(plan.outputs) <= there


@pytest.mark.parametrize("name", ["chain", "product"])
def test_switches_are_where_their_products_are(name: str) -> None:
    body = PROGRAMS[name]().body
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
    assert chain().packing.kind == "matrices"
    body = chain().body
    assert isinstance(body, SlotProgram)
    for each in bundles(body, schedule(body)):
        kinds = {type(body.operations[value]) for value in each.values}
        assert Mul not in kinds or RotatedProducts not in kinds


def test_blocks_are_counted_by_their_lists() -> None:
    body = block_product().body
    assert isinstance(body, SlotProgram)
    found = product_blocks(body)
    rows, columns = ({each[side] for each in found.values()} for side in (0, 1))
    assert sorted(found.values()) == [(row, column) for row in sorted(rows) for column in columns]

"""Chains of products, run in the clear."""

from __future__ import annotations

from typing import Any

import numpy as np

from cloakwork.plan.matmul.chain import AnyGeometry, bounds_in, lowered_chain
from cloakwork.plan.matmul.matrix_plan import MatrixPlan
from cloakwork.plan.matmul.spine import Spine
from cloakwork.plan.passes.levels import depth_of, lowest_levels
from cloakwork.plan.tensors.lowerings import in_blocks
from cloakwork.plan.tensors.search import Task
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.ir.tensors import Source
from cloakwork.programs.slots import Output
from cloakwork.runtime.simulate import results


def run_chain(
    spine: Spine, geometry: AnyGeometry, arrays: dict[Source, Any]
) -> tuple[Any, int, float]:
    """The result of a chain in a geometry, the levels that it takes, and the bound of results."""
    lowered = lowered_chain("chain", spine, geometry)
    program = lowest_levels(lowered.program)
    inputs = [v for source, place in lowered.sources for v in place.pack(arrays[source])]
    found = [each.real for each in results(program, inputs)]
    bounds = value_bounds(program, bounds_in(lowered, dict.fromkeys(arrays, 1.0)))
    largest = max(
        bounds[number] or 0.0
        for number, operation in enumerate(program.operations)
        if isinstance(operation, Output)
    )
    assert max(np.abs(each).max() for each in found) <= largest * (1 + 1e-9)
    return lowered.results[0].unpack(found), depth_of(program), largest


def in_blocks_of(task: Task) -> MatrixPlan:
    """The plan of a task as products of matrices in blocks."""
    way = in_blocks(task)
    assert way is not None
    return way.plan(task)

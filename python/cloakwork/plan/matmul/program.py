"""Makes the program of a planned product of two matrices."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.plan.matmul.planned import PlannedProduct
from cloakwork.programs.packing.matrix import MatrixPacking, PlacedMatrix
from cloakwork.programs.packing.results import Leaf
from cloakwork.programs.port import Port
from cloakwork.runtime.program import Program
from cloakwork.schemes.ckks import Ckks


def product_program(
    planned: PlannedProduct, inputs: Sequence[Port], arguments: tuple[int, int], bound: float
) -> Program:
    """The program of a planned product of reals.

    Args:
        planned: The plan.
        inputs: The arguments of the program.
        arguments: Which of them the left and the right tensor are.
        bound: What no number of the result exceeds.
    """
    placed = tuple(map(PlacedMatrix, arguments, planned.operands))
    result = Port("result", "real", 0, planned.result.shape, -bound, bound)
    packing = MatrixPacking(tuple(inputs), (result,), placed, (planned.result,), Leaf(0))
    return Program(Ckks(planned.parameters), planned.program, packing)

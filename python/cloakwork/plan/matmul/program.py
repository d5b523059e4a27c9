"""Makes the program of a planned product of two matrices."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork._native import BgvParameters, Parameters
from cloakwork.plan.matmul.planned import PlannedProduct
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.packing.matrix import (
    IntegerMatrixPacking,
    MatrixPacking,
    MatrixPlace,
    PlacedMatrix,
)
from cloakwork.programs.packing.results import Leaf
from cloakwork.programs.port import Port
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.program import Program
from cloakwork.schemes.bgv import Bgv
from cloakwork.schemes.ckks import Ckks


def product_program(
    body: SlotProgram,
    parameters: Parameters,
    inputs: Sequence[Port],
    placed: Sequence[PlacedMatrix],
    result: MatrixPlace,
    bound: float,
    *,
    public_inputs: bool,
    ranges: tuple[ActivationRange, ...] = (),
) -> Program:
    """The program of planned products of matrices of reals.

    Args:
        body: The operations.
        parameters: What it runs under.
        inputs: The arguments of the program.
        placed: The tensors that go in, in order: which arguments they are, and where they lie.
        result: Where the result lies.
        bound: What no number of the result exceeds.
        public_inputs: Whether inputs may be encrypted by a public key.
        ranges: What the user says of products on the way.
    """
    port = Port("result", "real", 0, result.shape, -bound, bound)
    packing = MatrixPacking(tuple(inputs), (port,), tuple(placed), (result,), Leaf(0))
    scheme = Ckks(parameters, public_inputs=public_inputs)
    return Program(scheme, body, packing, ranges=ranges)


def integer_product_program(
    planned: PlannedProduct,
    parameter_sets: Sequence[BgvParameters],
    ports: tuple[Port, Port, Port],
    *,
    modulus: int | None,
    public_inputs: bool,
) -> Program:
    """The program of a planned product of integers.

    Args:
        planned: The plan.
        parameter_sets: The parameters of every plaintext modulus.
        ports: The left and the right tensor, and the result.
        modulus: What results are modulo; None where they are integers.
        public_inputs: Whether inputs may be encrypted by a public key.
    """
    left, right, result = ports
    placed = tuple(map(PlacedMatrix, (0, 1), planned.operands))
    packing = IntegerMatrixPacking(
        (left, right), (result,), placed, (planned.result,), Leaf(0), modulus
    )
    return Program(Bgv(parameter_sets, public_inputs=public_inputs), planned.program, packing)

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
from cloakwork.programs.packing.results import Form, Leaf
from cloakwork.programs.port import Port
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.program import Program
from cloakwork.schemes.bgv import Bgv
from cloakwork.schemes.ckks import Ckks

_ONE_RESULT = Leaf(0)


def product_program(
    body: SlotProgram,
    parameters: Parameters,
    inputs: Sequence[Port],
    placed: Sequence[PlacedMatrix],
    results: Sequence[tuple[MatrixPlace, float]],
    *,
    public_inputs: bool,
    form: Form = _ONE_RESULT,
    ranges: tuple[ActivationRange, ...] = (),
) -> Program:
    """The program of planned products of matrices of reals."""
    several = len(results) > 1
    ports = tuple(
        Port(f"result {number}" if several else "result", "real", 0, place.shape, -bound, bound)
        for number, (place, bound) in enumerate(results, start=1)
    )
    places = tuple(place for place, _ in results)
    packing = MatrixPacking(tuple(inputs), ports, tuple(placed), places, form)
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
    """The program of a planned product of integers."""
    left, right, result = ports
    placed = tuple(map(PlacedMatrix, (0, 1), planned.operands))
    packing = IntegerMatrixPacking(
        (left, right), (result,), placed, (planned.result,), _ONE_RESULT, modulus
    )
    return Program(Bgv(parameter_sets, public_inputs=public_inputs), planned.program, packing)

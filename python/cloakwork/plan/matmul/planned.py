"""The program of a product of two encrypted matrices, and where these lie in it."""

from __future__ import annotations

from dataclasses import dataclass

from cloakwork.plan.matmul.budgets import require_plannable
from cloakwork.plan.matmul.lower import blocks_multiplied, entered, given_out
from cloakwork.plan.matmul.recognise import MatrixContraction
from cloakwork.programs.matrices import BlockLayout, Blocks, MatrixPlace
from cloakwork.programs.slots import Builder, Numbers, SlotProgram


@dataclass(frozen=True, slots=True)
class PlannedProduct:
    """A planned product.

    Args:
        program: The program.
        operands: Where the left and the right tensor lie.
        result: Where the result lies.
    """

    program: SlotProgram
    operands: tuple[MatrixPlace, MatrixPlace]
    result: MatrixPlace


def planned_product(
    title: str, contraction: MatrixContraction, blocks: Blocks, numbers: Numbers = "real"
) -> PlannedProduct:
    """The program of a product by one way to multiply."""
    product = contraction.product
    require_plannable(title, product.counts(blocks).ciphertexts)
    is_real = numbers == "real"
    left = BlockLayout(blocks, "left", product.left_shape)
    right = BlockLayout(blocks, "right", product.right_shape)
    result = BlockLayout(blocks, "product", product.shape)
    builder = Builder(title, blocks.slots, numbers)
    builder.origin = contraction.origin
    one, other = (
        entered(builder, source.name, each, int(is_real))
        for source, each in zip(contraction.sources, (left, right), strict=True)
    )
    made = blocks_multiplied(builder, one, other, result, rescales=is_real)
    given_out(builder, made, result)
    views = (*contraction.operands, contraction.result)
    places = [
        MatrixPlace(layout, view.order, view.sizes)
        for layout, view in zip((left, right, result), views, strict=True)
    ]
    return PlannedProduct(builder.finish(), (places[0], places[1]), places[2])

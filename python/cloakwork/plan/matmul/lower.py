"""Lowering: products of matrices in blocks as operations of a slot program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.matrices import BlockLayout, Blocks, Role
from cloakwork.programs.slots import (
    Add,
    Builder,
    Input,
    Output,
    Rescale,
    Rotate,
    RotatedProducts,
    SwitchProduct,
)


def entered(builder: Builder, name: str, layout: BlockLayout, level: int) -> NDArray[np.int64]:
    """The vectors of an operand as inputs: their numbers, in the layout's grid."""
    builder.stage = "input"
    count = layout.ciphertexts
    names = [name] if count == 1 else [f"{name}.{number}" for number in range(count)]
    numbers = [builder.append(Input(each, level), layout) for each in names]
    return np.array(numbers).reshape(layout.grid)


def blocks_multiplied(
    builder: Builder,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    layout: BlockLayout,
    *,
    rescales: bool,
    by: type[RotatedProducts] = RotatedProducts,
) -> NDArray[np.int64]:
    """The vectors of a product of two operands that lie in the same blocks."""
    made = np.empty(layout.grid, dtype=np.int64)
    for group, tall, wide in np.ndindex(*layout.grid[:-1]):
        builder.stage = f"products of {layout.blocks.side} rotations"
        products = builder.append(
            by(
                tuple(left[group, tall].tolist()),
                tuple(right[group, :, wide].tolist()),
                layout.blocks.step,
            )
        )
        builder.stage = "switch keys"
        for rotation in range(layout.blocks.side):
            made[group, tall, wide, rotation] = switched(
                builder,
                products,
                rotation * layout.blocks.step,
                layout.blocks.lane_sums(),
                rescales=rescales,
                layout=layout,
            )
    return made


def switched(
    builder: Builder,
    products: int,
    steps: int,
    sums: Sequence[int],
    *,
    rescales: bool,
    layout: BlockLayout | None,
) -> int:
    """One vector of rotated products."""
    value = builder.append(SwitchProduct(products, steps), None if rescales or sums else layout)
    if rescales:
        value = builder.append(Rescale(value), None if sums else layout)
    for each in sums:
        turned = builder.append(Rotate(value, each))
        value = builder.append(Add(value, turned), layout if each == sums[-1] else None)
    return value


def given_out(builder: Builder, values: NDArray[np.int64], layout: BlockLayout) -> None:
    """Make results of the vectors of a product."""
    builder.stage = "output"
    for value in values.ravel().tolist():
        builder.append(Output(value), layout)


def operand_vectors(blocks: Blocks, role: Role, shape: Any) -> BlockLayout:
    """Where a batch of matrices of a shape lies."""
    return BlockLayout(blocks, role, tuple(shape))

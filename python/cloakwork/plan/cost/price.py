"""What operations cost, in units of one rotation, for choosing between plans."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from cloakwork.programs.bsgs import HOISTED, split
from cloakwork.programs.slots import (
    Add,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Operation,
    Rescale,
    Rotate,
)

# Encoding a vector and multiplying by it.
DIAGONAL = 0.6
_PRODUCT = 1.2
_RESCALE = 0.25
_ADD = 0.05
_INPUT = 0.5


def price(operations: Sequence[Operation], slots: int, start: int = 0) -> float:
    """The price of operations from one on; rotations of one value share its decomposition.

    Example:
        >>> price([Input("x", 1), Rotate(0, 1), Rotate(0, 2), Rotate(1, 1)], 8, 1)
        2.5
    """
    total = 0.0
    turned: set[int] = set()
    for operation in itertools.islice(operations, start, None):
        match operation:
            case Rotate(operand=operand):
                total += HOISTED if operand in turned else 1.0
                turned.add(operand)
            case Linear(diagonals=diagonals, baby_steps=baby_steps):
                total += split(diagonals, slots, baby_steps).cost + DIAGONAL * len(diagonals) + 0.5
            case Mul(left=left, right=right):
                factors = (operations[left], operations[right])
                clear = any(isinstance(factor, Constant) for factor in factors)
                total += DIAGONAL if clear else _PRODUCT
            case Rescale():
                total += _RESCALE
            case Add() | DropLevel():
                total += _ADD
            case Input():
                total += _INPUT
            case _:
                pass
    return total

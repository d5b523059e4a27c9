"""Prices in units of one rotation, for choosing between plans before parameters are known.

Whoever knows the parameters prices by `runtime.costs`.
"""

from __future__ import annotations

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

# A ciphertext product is a key switch too, and some more.
PRODUCT = 1.2
# Encoding a vector and multiplying by it; while layouts are open, many diagonals turn out equal.
DIAGONAL = 0.6
DIAGONAL_OF_OPEN_LAYOUT = 0.3
CLEAR_PRODUCT = 1e-6
# A level spent is a level that no later operation has: among arrangements of one contraction, and
# among orders of several, each of which is to have the least depth that its cost allows.
LEVEL = 80.0
LEVEL_OF_ORDER = 6.0
# Whatever comes after works on every ciphertext of a result.
RESULT = 10.0
_LINEAR = 0.5
_RESCALE = 0.25
_ADD = 0.05
_INPUT = 0.5


def price(operations: Sequence[Operation], slots: int, start: int = 0) -> float:
    """The price of operations from one on; rotations of one value share its decomposition.

    Transforms that are summed share giant steps, and what else a transform takes.
    """
    total = 0.0
    turned: set[int] = set()
    giants: dict[int, frozenset[int]] = {}
    for number, operation in enumerate(operations[start:], start):
        match operation:
            case Rotate(operand=operand):
                total += HOISTED if operand in turned else 1.0
                turned.add(operand)
            case Linear(diagonals=diagonals, baby_steps=baby_steps):
                steps = split(diagonals, slots, baby_steps)
                total += steps.cost + DIAGONAL * len(diagonals) + _LINEAR
                giants[number] = frozenset(steps.giant)
            case Add(left=left, right=right) if left in giants and right in giants:
                total += _ADD - _LINEAR - len(giants[left] & giants[right])
                giants[number] = giants[left] | giants[right]
            case Mul(left=left, right=right):
                factors = (operations[left], operations[right])
                clear = any(isinstance(factor, Constant) for factor in factors)
                total += DIAGONAL if clear else PRODUCT
            case Rescale():
                total += _RESCALE
            case Add() | DropLevel():
                total += _ADD
            case Input():
                total += _INPUT
    return total

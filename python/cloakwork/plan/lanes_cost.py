"""What lane programs cost, in units of one rotation of a fresh ciphertext at the lowest level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.lanes import (
    Masked,
    Multiple,
    Offset,
    Packed,
    Rotation,
    VectorDifference,
    VectorNegative,
    VectorOperation,
    VectorProduct,
    VectorSum,
    vectors_of,
)


@dataclass(frozen=True, slots=True)
class LaneCosts:
    """Prices of operations relative to one another.

    Args:
        encryption: An input: who encrypts it works and sends as well.
        rotation: A rotation of a vector not rotated before.
        hoisted: A further rotation of the same vector.
        product: A product of two ciphertexts, not relinearised.
        relinearisation: A relinearisation: of a sum of products before it is rotated or
            multiplied, and not of a result.
        mask: A product with a clear vector.
        multiple: A product with one clear integer.
        addition: A sum, a difference, a negation, or a sum with a clear vector.
        level: What an operation costs more for each product or mask that its result still goes
            through, as a part of its price: its ciphertext carries so many more primes.

    Raises:
        InvalidArgumentError: A price is below 0, or a rotation is free.
    """

    encryption: float = 0.25
    rotation: float = 1.0
    hoisted: float = 0.5
    product: float = 0.5
    relinearisation: float = 0.8
    mask: float = 0.2
    multiple: float = 0.05
    addition: float = 0.03
    level: float = 0.5

    def __post_init__(self) -> None:
        if not self.rotation > 0 or not all(price >= 0 for price in astuple(self)):
            raise InvalidArgumentError(
                f"cannot price lane programs by {self}: expected prices from 0 up, and a "
                f"rotation above 0"
            )


def levels_left(operations: Sequence[VectorOperation]) -> list[int]:
    """For every operation, the most products and masks on a way from its result.

    Example:
        >>> levels_left([Packed(()), VectorProduct(0, 0), Rotation(1, 1)])
        [1, 0, 0]
    """
    left = [0] * len(operations)
    for number in range(len(operations) - 1, -1, -1):
        operation = operations[number]
        below = left[number] + isinstance(operation, VectorProduct | Masked)
        for vector in vectors_of(operation):
            left[vector] = max(left[vector], below)
    return left


def cost_of(operations: Sequence[VectorOperation], costs: LaneCosts) -> float:
    """The cost of operations that are all needed.

    Example:
        >>> cost_of([Packed(()), Rotation(0, 1), Rotation(0, 2), Rotation(1, 1)], LaneCosts())
        2.75
        >>> round(cost_of([Packed(()), VectorProduct(0, 0), Rotation(1, 1)], LaneCosts()), 6)
        2.675
    """
    prices: list[float] = []
    rotated: set[int] = set()
    levels = levels_left(operations)
    # Vectors that are sums of products not relinearised yet.
    waiting: set[int] = set()
    for number, (operation, left) in enumerate(zip(operations, levels, strict=True)):
        prices.append(_price(operation, costs, rotated) * (1 + costs.level * left))
        vectors = set(vectors_of(operation))
        if isinstance(operation, Rotation | VectorProduct):
            for vector in vectors & waiting:
                waiting.remove(vector)
                prices.append(costs.relinearisation * (1 + costs.level * levels[vector]))
        if isinstance(operation, VectorProduct) or vectors & waiting:
            waiting.add(number)
    # Exact, so that the order of operations does not tell programs apart.
    return math.fsum(prices)


def _price(operation: VectorOperation, costs: LaneCosts, rotated: set[int]) -> float:
    match operation:
        case Packed():
            return costs.encryption
        case Rotation(operand=operand):
            if operand in rotated:
                return costs.hoisted
            rotated.add(operand)
            return costs.rotation
        case VectorProduct():
            return costs.product
        case Masked():
            return costs.mask
        case Multiple():
            return costs.multiple
        case VectorSum() | VectorDifference() | VectorNegative() | Offset():
            return costs.addition

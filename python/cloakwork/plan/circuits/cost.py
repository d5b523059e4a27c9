"""What lane programs cost, in units of one rotation of a fresh ciphertext at the lowest level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.ir.vectors import MaskedLanes, Multiple, PackedLanes
from cloakwork.programs.operations import Add, Mul, Operation, Rotate, Sub


@dataclass(frozen=True, slots=True)
class LaneCosts:
    """Prices of operations relative to one another.

    Args:
        encryption: An input: who encrypts it works and sends as well.
        rotation: A rotation of a vector not rotated before.
        hoisted: A further rotation of the same vector.
        summed: The same, where nothing but the sum of all its rotations is used.
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
    summed: float = 0.5
    product: float = 0.5
    relinearisation: float = 0.8
    mask: float = 0.2
    multiple: float = 0.05
    addition: float = 0.03
    level: float = 0.5

    def __post_init__(self) -> None:
        if not self.rotation > 0 or not all(price >= 0 for price in astuple(self)):
            raise InvalidArgumentError(
                f"cannot price vectorised programs by {self}: expected prices from 0 up, and a "
                f"rotation above 0"
            )


def levels_left(operations: Sequence[Operation]) -> list[int]:
    """For every operation, the most products and masks on a way from its result.

    Example:
        >>> levels_left([PackedLanes(()), Mul(0, 0), Rotate(1, 1)])
        [1, 0, 0]
    """
    left = [0] * len(operations)
    for number in range(len(operations) - 1, -1, -1):
        operation = operations[number]
        below = left[number] + isinstance(operation, Mul | MaskedLanes)
        for vector in operation.operands:
            left[vector] = max(left[vector], below)
    return left


def lane_cost(operations: Sequence[Operation], costs: LaneCosts) -> float:
    """The cost of operations that are all needed.

    Example:
        >>> lane_cost([PackedLanes(()), Rotate(0, 1), Rotate(0, 2), Rotate(1, 1)], LaneCosts())
        2.75
        >>> round(lane_cost([PackedLanes(()), Mul(0, 0), Rotate(1, 1)], LaneCosts()), 6)
        2.675
    """
    prices: list[float] = []
    rotated: set[int] = set()
    levels = levels_left(operations)
    # Vectors that are sums of products not relinearised yet.
    waiting: set[int] = set()
    for number, (operation, left) in enumerate(zip(operations, levels, strict=True)):
        prices.append(_price(operation, costs, rotated) * (1 + costs.level * left))
        vectors = set(operation.operands)
        if isinstance(operation, Rotate | Mul):
            for vector in vectors & waiting:
                waiting.remove(vector)
                prices.append(costs.relinearisation * (1 + costs.level * levels[vector]))
        if isinstance(operation, Mul) or vectors & waiting:
            waiting.add(number)
    for base, further in _summed(operations):
        saved = further * (costs.hoisted - costs.summed)
        prices.append(-saved * (1 + costs.level * levels[base]))
    # Exact, so that the order of operations does not tell programs apart.
    return math.fsum(prices)


def _summed(operations: Sequence[Operation]) -> Iterator[tuple[int, int]]:
    """Vectors of whose rotations only one sum is used, and how many it has beyond the first."""
    rotations: dict[int, int] = {}
    uses = [0] * len(operations)
    for operation in operations:
        for vector in operation.operands:
            uses[vector] += 1
        if isinstance(operation, Rotate):
            rotations[operation.operand] = rotations.get(operation.operand, 0) + 1
    if all(count == 1 for count in rotations.values()):
        return
    # Sums of rotations of one vector: the vector, and how many rotations.
    sums: dict[int, tuple[int, int]] = {}
    for number, operation in enumerate(operations):
        match operation:
            case Rotate(operand=operand):
                found = (operand, 1)
            case Add(left=left, right=right) | Sub(left=left, right=right):
                parts = [sums[each] for each in (left, right) if each in sums and uses[each] == 1]
                bases = {base for base, _ in parts}
                whole = {left, right} & bases
                if len(bases) != 1 or len(parts) + len(whole) < 2:
                    continue
                found = (bases.pop(), sum(count for _, count in parts))
            case _:
                continue
        sums[number] = found
        base, count = found
        if 1 < count == rotations[base]:
            yield base, count - 1


def _price(operation: Operation, costs: LaneCosts, rotated: set[int]) -> float:
    match operation:
        case PackedLanes():
            return costs.encryption
        case Rotate(operand=operand):
            if operand in rotated:
                return costs.hoisted
            rotated.add(operand)
            return costs.rotation
        case Mul():
            return costs.product
        case MaskedLanes():
            return costs.mask
        case Multiple():
            return costs.multiple
        case _:
            return costs.addition

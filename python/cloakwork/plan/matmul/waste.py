"""Which ways to multiply matrices waste little, whatever they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from cloakwork.plan.matmul.product import Product
from cloakwork.programs.matrices import Blocks

# From this size on a product has at most so many clear multiplications for each of its own; where
# blocks fill all slots there are four.
_FROM_SIZE = 64
_MOST_CLEAR = 8
# Up to so many multiplications a product has at most a quarter more ciphertexts than the fewest.
_FEW_CIPHERTEXTS_UP_TO = 1 << 13


class Way(Protocol):
    """A way to multiply matrices."""

    @property
    def blocks(self) -> Blocks:
        """How slots are shared out."""
        ...


W = TypeVar("W", bound=Way)


def clear_multiplications(product: Product, blocks: Blocks) -> int:
    """Of words modulo each prime: four for every word of a pair of ciphertexts and each rotation.

    Example:
        >>> product = Product(1, 512, 512, 512)
        >>> blocks = Blocks(2048, side=64, tall=8, wide=4, inner_parts=2)
        >>> clear_multiplications(product, blocks) / product.multiplications
        4.0
    """
    found = product.counts(blocks)
    words = 2 * blocks.slots
    return 4 * words * found.groups * found.terms * found.side


def without_waste(product: Product, ways: Sequence[W]) -> Sequence[W]:
    """Those ways that waste little, or all of them where all do.

    Example:
        >>> from cloakwork.plan.matmul.choose import Choice
        >>> blocks = [Blocks(2048, side=64, tall=tall, wide=4, inner_parts=2) for tall in (1, 8)]
        >>> ways = [Choice(each, (), 0.0) for each in blocks]
        >>> [each.blocks.tall for each in without_waste(Product(1, 512, 512, 512), ways)]
        [8]
    """
    if product.multiplications <= _FEW_CIPHERTEXTS_UP_TO:
        totals = [product.counts(each.blocks).ciphertexts for each in ways]
        most = min(totals) + min(totals) // 4
        return [each for each, total in zip(ways, totals, strict=True) if total <= most]
    if min(product.rows, product.inner, product.columns) < _FROM_SIZE:
        return ways
    most = _MOST_CLEAR * product.multiplications
    return [each for each in ways if clear_multiplications(product, each.blocks) <= most] or ways

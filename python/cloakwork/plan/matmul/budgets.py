"""Which ways to multiply matrices stay within the keys, memory and size that are allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cloakwork.errors import KeyBudgetError, MemoryBudgetError, ProgramTooLargeError
from cloakwork.plan.matmul.product import Product
from cloakwork.programs.matrices import Blocks

W = TypeVar("W")

# A program of as many is planned in some seconds.
_MOST_CIPHERTEXTS = 1 << 19


@dataclass(frozen=True, slots=True)
class Budgets:
    """What is allowed.

    Args:
        keys: Bytes that evaluation keys may take; None for any.
        memory: Bytes that the ciphertexts of a run may take; None for any.
    """

    keys: int | None = None
    memory: int | None = None

    def kept_by(
        self,
        title: str,
        ways: Sequence[W],
        key_bytes: Callable[[W], int],
        peak_bytes: Callable[[W], int],
    ) -> list[W]:
        """The ways that keep them, one or more.

        Example:
            >>> Budgets(keys=5, memory=10).kept_by("", [3, 4, 9], lambda d: d, lambda d: 30 // d)
            [3, 4]
        """
        within = [each for each in ways if self.keys is None or key_bytes(each) <= self.keys]
        if not within:
            least = min(map(key_bytes, ways))
            raise KeyBudgetError(
                f"cannot compile {title} within {self.keys} bytes of evaluation keys: it takes "
                f"{least} at least; allow key_budget={least}",
                least,
            )
        if self.memory is None:
            return within
        limit = self.memory
        fitting = [each for each in within if peak_bytes(each) <= limit]
        if not fitting:
            least = min(map(peak_bytes, within))
            raise MemoryBudgetError(
                f"cannot compile {title}: its ciphertexts take {least} bytes at once, at the "
                f"least, {limit} are allowed; multiply in parts, or allow memory_limit={least}"
            )
        return fitting


def require_plannable(title: str, ciphertexts: int) -> None:
    """Refuse, before it is planned, a product of more ciphertexts than a program can have.

    Example:
        >>> require_plannable("a small product", 2)
    """
    if ciphertexts > _MOST_CIPHERTEXTS:
        raise ProgramTooLargeError(
            f"cannot compile {title}: its matrices and its result take {ciphertexts} ciphertexts, "
            f"up to {_MOST_CIPHERTEXTS} can be planned; multiply in parts"
        )


def plannable(product: Product, ways: Iterable[Blocks]) -> list[Blocks]:
    """The ways that take no more ciphertexts than a program can have, or all where none does.

    Example:
        >>> ways = [Blocks(512, side=1, shares=shares) for shares in (1, 512)]
        >>> [each.shares for each in plannable(Product(1, 1, 10**6, 1), ways)]
        [512]
    """
    found = list(ways)
    fitting = [each for each in found if product.counts(each).ciphertexts <= _MOST_CIPHERTEXTS]
    return fitting or found

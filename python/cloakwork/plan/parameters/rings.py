"""The rings that plans are made for, and the one in which a plan costs least."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from cloakwork.errors import (
    InsecureParametersError,
    InvalidParametersError,
    KeyBudgetError,
    LevelExhaustedError,
    MemoryBudgetError,
    NoiseExhaustedError,
)

C = TypeVar("C")
P = TypeVar("P")

# Base-2 logarithms of the degrees, where nobody asks for one.
RINGS = range(12, 17)

# What a ring may be refused with where another one may do.
REFUSALS = (
    InvalidParametersError,
    KeyBudgetError,
    LevelExhaustedError,
    MemoryBudgetError,
    NoiseExhaustedError,
)


def at_first(plans: Sequence[object]) -> bool:
    """Whether to stop at the first ring that serves: larger ones do the same for more."""
    return bool(plans)


def cheapest_of(
    candidates: Iterable[C],
    attempt: Callable[[C], P],
    price: Callable[[P], float],
    is_enough: Callable[[Sequence[P]], bool] = lambda _: False,
) -> P:
    """The plan of the least price among rings, or among what is tried in each.

    Example:
        >>> cheapest_of(RINGS, lambda log_n: abs(log_n - 13), float)
        0
    """
    plans: list[P] = []
    refusals: list[Exception] = []
    for candidate in candidates:
        try:
            plans.append(attempt(candidate))
        except REFUSALS as refusal:
            # A traceback would hold what was tried, and itself, after it is of no use.
            refusals.append(refusal.with_traceback(None))
            continue
        if is_enough(plans):
            break
    if plans:
        return min(plans, key=price)
    of_budgets = [each for each in refusals if isinstance(each, KeyBudgetError | MemoryBudgetError)]
    raise (of_budgets or refusals[-1:])[0]


def is_dearer(price: Callable[[P], float], times: float = 1.0) -> Callable[[Sequence[P]], bool]:
    """Whether the last ring's plan costs more than so many times that of the ring before.

    Example:
        >>> [is_dearer(float, 2.0)(prices) for prices in ([1.0], [1.0, 1.5], [1.0, 2.5])]
        [False, False, True]
    """

    def told(plans: Sequence[P]) -> bool:
        return len(plans) > 1 and price(plans[-1]) > times * price(plans[-2])

    return told


def same_kind(refusal: Exception, text: str) -> InvalidParametersError:
    """A refusal of parameters in other words, insecure ones where the refusal is of these.

    Example:
        >>> type(same_kind(InsecureParametersError("too small"), "larger")).__name__
        'InsecureParametersError'
    """
    insecure = isinstance(refusal, InsecureParametersError)
    kind = InsecureParametersError if insecure else InvalidParametersError
    return kind(text)

"""The cheapest orders and lanes of an expression of matrices in a ring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from cloakwork._native import Parameters
from cloakwork.errors import InvalidParametersError
from cloakwork.plan.matmul.chain_order import Ordering
from cloakwork.plan.matmul.chain_order_text import bracketed
from cloakwork.plan.matmul.expression import (
    Combination,
    Expression,
    Matrix,
    MatrixChain,
    Pointwise,
    Weighted,
    operands,
)
from cloakwork.plan.matmul.lanes import Lanes, lane_choices
from cloakwork.plan.parameters.ckks import EXACT_WORD_BITS
from cloakwork.runtime.costs import Costs

# Bits of scale and of headroom that orders are compared by before parameters are known.
_TYPICAL_SCALE, _TYPICAL_HEADROOM = 33.0, 12.0
# Levels above the fewest that an order may take.
_MORE_LEVELS = 2
# Vectors of a result, whose operations are planned one by one.
_MOST_VECTORS = 1 << 14


def cheapest_orders(
    expression: Expression,
    log_n: int,
    costs: Callable[[Parameters], Costs],
    is_possible: Callable[[int], bool] = lambda _: True,
    most_side: int | None = None,
    slot_rows: int = 1,
) -> list[Ordering]:
    """For each number of levels the cheapest order and lanes, the cheapest of them first.

    Example:
        >>> from cloakwork.plan.matmul.spine import Factor
        >>> from cloakwork.programs.ir.tensors import Source
        >>> from cloakwork.runtime.costs import comparable
        >>> sources = [Source(name, (64, 64)) for name in "abcd"]
        >>> chain = MatrixChain(tuple(Matrix(Factor(each, False)) for each in sources), "")
        >>> bracketed(cheapest_orders(chain, 13, comparable)[0])
        '(a b) (c d)'
    """
    slots = 1 << log_n - 1
    every = _all_lanes(expression, slots, slot_rows)
    lanes = [each for each in every if each[0].side <= (most_side or slots)]
    if not lanes:
        return []
    found: list[tuple[float, Ordering]] = []
    for levels in range(*_levels_of(expression)):
        if not is_possible(levels):
            break
        try:
            prices = costs(typical_parameters(log_n, levels))
        except InvalidParametersError:
            break
        best = _cheapest(
            [Ordering(expression, each, summed, prices, levels) for each, summed in lanes]
        )
        # More levels than the order takes are those of another entry.
        if all(bracketed(best) != bracketed(other) for _, other in found):
            found.append((best.cost, best))
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


def _cheapest(orders: Sequence[Ordering]) -> Ordering:
    """The cheapest of several; those that cost too much at the least are not looked at."""
    first, *others = sorted(orders, key=lambda each: each.least_cost)
    best, least = first, first.cost
    for each in others:
        if each.least_cost >= least:
            break
        cost = each.cost
        if cost < least:
            best, least = each, cost
    return best


@lru_cache
def typical_parameters(log_n: int, levels: int) -> Parameters:
    """What operations are priced by; nothing is encrypted under them.

    Example:
        >>> typical_parameters(12, 2).levels
        2
    """
    return Parameters(
        levels=levels,
        scale_bits=_TYPICAL_SCALE,
        headroom_bits=_TYPICAL_HEADROOM,
        log_n=log_n,
        word_bits=EXACT_WORD_BITS,
        insecure=True,
    )


def _levels_of(expression: Expression) -> tuple[int, int]:
    """The fewest levels of all orders, and one above the most that are worth a look."""
    least, most = _depths(expression)
    return least, min(most, least + _MORE_LEVELS) + 1


def _depths(expression: Expression) -> tuple[int, int]:
    """The levels that an expression takes in its shortest and in its longest order."""
    below = [_depths(each) for each in operands(expression)]
    match expression:
        case MatrixChain():
            return _shortest([least for least, _ in below]), max(most for _, most in below) + len(
                below
            ) - 1
        case Weighted() | Pointwise():
            return max(least for least, _ in below) + 1, max(most for _, most in below) + 1
        case _:
            return max((each for each, _ in below), default=0), max(
                (each for _, each in below), default=0
            )


def _shortest(depths: Sequence[int]) -> int:
    """The depth of the flattest tree over leaves of these depths, in their order."""
    if len(depths) == 1:
        return depths[0]
    return 1 + min(
        max(_shortest(depths[:at]), _shortest(depths[at:])) for at in range(1, len(depths))
    )


def _all_lanes(expression: Expression, slots: int, slot_rows: int) -> Iterator[tuple[Lanes, int]]:
    """Ways to share out lanes, and which inner index of outer chains they share out."""
    outer = [expression]
    if isinstance(expression, Combination):
        outer = [each for _, each in expression.terms]
    chains = [each for each in outer if isinstance(each, MatrixChain)]
    most = max((len(each.factors) - 1 for each in chains), default=1)
    for column_parts in (1, 2) if slot_rows == 1 and _is_flat(expression) else (1,):
        for summed in range(1, most + 1):
            inner = [each.sizes[summed] for each in chains if summed < len(each.factors)] or [1]
            for each in lane_choices(expression.shape, inner, slots, column_parts, slot_rows):
                # Without shares it does not matter whose they are.
                is_new = each.shares > 1 or summed == 1
                if is_new and _vectors(expression, each) <= _MOST_VECTORS:
                    yield each, summed


def _is_flat(expression: Expression) -> bool:
    """Whether it is a sum of products of two matrices from outside, and of such matrices."""
    if isinstance(expression, Combination):
        terms = [each for _, each in expression.terms]
        return expression.constant is None and all(
            isinstance(each, Matrix) or _is_flat(each) for each in terms
        )
    return (
        isinstance(expression, MatrixChain)
        and all(isinstance(each, Matrix) for each in expression.factors)
        and len(expression.factors) == 2
    )


def _vectors(expression: Expression, lanes: Lanes) -> int:
    rows, columns = expression.shape
    return lanes.blocks(rows, "rows") * lanes.blocks(columns, "columns") * lanes.side

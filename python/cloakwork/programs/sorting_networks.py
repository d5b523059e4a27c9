"""Which numbers a network exchanges to bring several of them in order, whatever they are.

Source: Batcher, "Sorting networks and their applications", AFIPS 1968: odd-even merging of lists
as short as the count that is kept; what that does not need is left out.
"""

from __future__ import annotations


def ordering(count: int, kept: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Exchanges that bring the greatest of some places in falling order, and where each then is.

    Each is a pair of places, the first of which then has the greater number.

    Example:
        >>> ordering(2, 2), ordering(3, 1)
        (([(0, 1)], [0, 1]), ([(0, 1), (0, 2)], [0]))
    """
    exchanges: list[tuple[int, int]] = []
    order = _sorted([*range(count)], kept, exchanges)
    needed: list[tuple[int, int]] = []
    wanted = set(order)
    for pair in reversed(exchanges):
        if wanted & {*pair}:
            needed.append(pair)
            wanted |= {*pair}
    return needed[::-1], order


def _sorted(places: list[int], kept: int, exchanges: list[tuple[int, int]]) -> list[int]:
    if len(places) < 2:
        return places
    half = (len(places) + 1) // 2
    first, second = (_sorted(each, kept, exchanges) for each in (places[:half], places[half:]))
    return _merged(first, second, kept, exchanges)


def _merged(
    one: list[int], two: list[int], kept: int, exchanges: list[tuple[int, int]]
) -> list[int]:
    """Two lists in falling order as one, as far as it is kept."""
    if not one or not two:
        return (one or two)[:kept]
    if len(one) == len(two) == 1:
        exchanges.append((one[0], two[0]))
        return [*one, *two][:kept]
    first, *even = _merged(one[::2], two[::2], kept, exchanges)
    odd = _merged(one[1::2], two[1::2], kept, exchanges)
    pairs = [*zip(odd, even, strict=False)]
    exchanges.extend(pairs)
    between = [place for pair in pairs for place in pair]
    return [first, *between, *odd[len(pairs) :], *even[len(pairs) :]][:kept]

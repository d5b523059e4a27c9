"""The least, the greatest, the order and the median of encrypted integers, whatever they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit.refusals import at_line
from cloakwork.frontends.circuit.selection import one_or_other
from cloakwork.frontends.circuit.symbols import Symbol
from cloakwork.frontends.circuit.ufuncs import greater_of, lesser_of
from cloakwork.programs.sorting_networks import ordering


def in_rounds(items: Sequence[Any], join: Callable[[Any, Any], Any], what: str) -> Any:
    """One of several, joined two by two, so that the rounds are few.

    Raises:
        InvalidArgumentError: There are none.

    Example:
        >>> in_rounds(["a", "b", "c"], lambda x, y: f"({x}{y})", "join")
        '((ab)c)'
    """
    if not items:
        raise InvalidArgumentError(
            f"cannot compute {what}{at_line()}: expected one integer or more, got none"
        )
    rows = [*items]
    while len(rows) > 1:
        pairs = [join(*pair) for pair in zip(rows[::2], rows[1::2], strict=False)]
        rows = [*pairs, *rows[len(rows) // 2 * 2 :]]
    return rows[0]


def least(items: Sequence[Any]) -> Any:
    """The least of several."""
    return in_rounds(items, lesser_of, "a minimum")


def greatest(items: Sequence[Any]) -> Any:
    """The greatest of several."""
    return in_rounds(items, greater_of, "a maximum")


def any_holds(items: Sequence[Any]) -> Any:
    """Whether one of several is not 0."""
    return in_rounds([each != 0 for each in items] or [False], lambda a, b: a | b, "any")


def all_hold(items: Sequence[Any]) -> Any:
    """Whether each of several is not 0."""
    return in_rounds([each != 0 for each in items] or [True], lambda a, b: a & b, "all")


def first_greatest(items: Sequence[Any]) -> Any:
    """The number of the first that is the greatest."""
    return greatest_by(items, range(len(items)))


def first_least(items: Sequence[Any]) -> Any:
    """The number of the first that is the least."""
    return least_by(items, range(len(items)))


def greatest_by(keys: Sequence[Any], items: Sequence[Any]) -> Any:
    """The first item whose key is the greatest.

    Example:
        >>> greatest_by([3, 5, 5], ["a", "b", "c"])
        'b'
    """
    return _best(keys, items, lambda one, two: one < two, "an argmax")


def least_by(keys: Sequence[Any], items: Sequence[Any]) -> Any:
    """The first item whose key is the least."""
    return _best(keys, items, lambda one, two: two < one, "an argmin")


def _best(
    keys: Sequence[Any], items: Sequence[Any], is_better: Callable[[Any, Any], Any], what: str
) -> Any:
    def joined(one: tuple[Any, Any], two: tuple[Any, Any]) -> tuple[Any, Any]:
        later = is_better(one[0], two[0])
        return one_or_other(later, two[0], one[0]), one_or_other(later, two[1], one[1])

    return in_rounds([*zip(keys, items, strict=True)], joined, what)[1]


def rising(items: Sequence[Any]) -> list[Any]:
    """Several in rising order.

    Example:
        >>> rising([3, 1, 2])
        [1, 2, 3]
    """
    return _last_rising(items, len(items), greater_of, lesser_of)


def parted(items: Sequence[Any], place: int) -> list[Any]:
    """Several, of which those beyond a place are the greatest, from it on in rising order.

    Below the middle those up to the place are the least, in rising order.

    Raises:
        InvalidArgumentError: There is no such place.

    Example:
        >>> parted([3, 1, 2], 1)
        [1, 2, 3]
    """
    count = len(items)
    place = _place_among(count, place)
    if 2 * place < count:
        # The least are the greatest of the opposite order.
        return _last_rising(items, place + 1, lesser_of, greater_of)[::-1]
    return _last_rising(items, count - place, greater_of, lesser_of)


def _place_among(count: int, place: int) -> int:
    """A place of so many, counted from the first."""
    if not -count <= place < count:
        raise InvalidArgumentError(
            f"cannot part integers{at_line()}: expected a place from {-count} to {count - 1}, "
            f"got {place}"
        )
    return place % count


def _last_rising(
    items: Sequence[Any],
    kept: int,
    first_of: Callable[[Any, Any], Any],
    second_of: Callable[[Any, Any], Any],
) -> list[Any]:
    """Several, so many of which are at the end in order; the others before in any."""
    rows = [*items]
    exchanges, order = ordering(len(rows), kept)
    for first, second in exchanges:
        pair = rows[first], rows[second]
        rows[first], rows[second] = first_of(*pair), second_of(*pair)
    others = [row for place, row in enumerate(rows) if place not in order]
    return [*others, *(rows[place] for place in order[::-1])]


def rising_by(keys: Sequence[Any], items: Sequence[Any]) -> list[Any]:
    """Several in the rising order of a key of each; those of one key stay in their order.

    Example:
        >>> rising_by([3, 1, 3], [5, 6, 7])
        [6, 5, 7]
    """
    return _last_rising_by(keys, items, len(items))


def parted_by(keys: Sequence[Any], items: Sequence[Any], place: int) -> list[Any]:
    """Several as `parted` leaves their keys; of one key later ones count as greater.

    Raises:
        InvalidArgumentError: There is no such place.

    Example:
        >>> parted_by([3, 1, 2], ["a", "b", "c"], -1)[-1]
        'a'
    """
    place = _place_among(len(items), place)
    if 2 * place < len(items):
        opposite = [-key for key in keys]
        return _last_rising_by(opposite[::-1], items[::-1], place + 1)[::-1]
    return _last_rising_by(keys, items, len(items) - place)


def _last_rising_by(keys: Sequence[Any], items: Sequence[Any], kept: int) -> list[Any]:
    """Several, so many of which are at the end in the order of their keys."""
    places = (len(keys) - 1).bit_length()
    # With its place behind its bits, no key is equal to another.
    rows = [
        (key * (1 << places) + at, item)
        for at, (key, item) in enumerate(zip(keys, items, strict=True))
    ]
    exchanges, order = ordering(len(rows), kept)
    for first, second in exchanges:
        (one, item), (two, other) = rows[first], rows[second]
        bit = one < two
        rows[first] = greater_of(one, two), one_or_other(bit, other, item)
        rows[second] = lesser_of(one, two), one_or_other(bit, item, other)
    others = [item for place, (_, item) in enumerate(rows) if place not in order]
    return [*others, *(rows[place][1] for place in order[::-1])]


def middle(items: Sequence[Any]) -> Any:
    """The median: of an even number the mean of the two in the middle, with a bit after the point.

    Raises:
        InvalidArgumentError: There are none.

    Example:
        >>> middle([5, 1, 2])
        2
    """
    if not items:
        raise InvalidArgumentError(
            f"cannot compute a median{at_line()}: expected one number or more, got none"
        )
    half = len(items) // 2
    rows = _last_rising(items, len(items) - (len(items) - 1) // 2, greater_of, lesser_of)
    if len(items) % 2:
        return rows[half]
    total = rows[half - 1] + rows[half]
    return total.halved() if isinstance(total, Symbol) else total / 2

"""Objects as keys of tables by which they are, whatever they hold."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Itself(Generic[T]):
    """An object as a key: equal to itself alone, and held as long as the key is.

    Arrays and mappings cannot be keys, and their place in memory must not be one: once an object
    is gone the next may get its place, and with it what a table knows of the one before.

    Args:
        of: The object.

    Example:
        >>> one, other = [1], [1]
        >>> table = {Itself(one): "one"}
        >>> table[Itself(one)], Itself(other) in table
        ('one', False)
    """

    __slots__ = ("of",)

    def __init__(self, of: T) -> None:
        self.of = of

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Itself) and self.of is other.of

    def __hash__(self) -> int:
        return id(self.of)

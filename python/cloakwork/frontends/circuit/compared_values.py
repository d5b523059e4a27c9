"""What stands for an encrypted value that is compared in one way, whatever the sign between."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

from cloakwork.frontends.circuit import refusals

Compare: TypeAlias = Callable[[Any, Any], Any]


class ComparedValue(ABC):
    """Has the signs of comparison by one function; no condition, and no key of a dictionary.

    Example:
        >>> class Length(ComparedValue):
        ...     def __init__(self, text):
        ...         self.text = text
        ...     def compared(self, other, compare):
        ...         return compare(len(self.text), len(other.text))
        >>> Length("ab") < Length("abc"), Length("ab") == Length("cd")
        (True, True)
    """

    __slots__ = ()

    @abstractmethod
    def compared(self, other: Any, compare: Compare) -> Any:
        """What a comparison gives of integers that are in the order of the values."""

    def __lt__(self, other: Any) -> Any:
        return self.compared(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self.compared(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self.compared(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self.compared(other, operator.ge)

    def __eq__(self, other: Any) -> Any:
        return self.compared(other, operator.eq)

    def __ne__(self, other: Any) -> Any:
        return self.compared(other, operator.ne)

    __bool__ = refusals.as_condition
    __hash__ = refusals.as_key

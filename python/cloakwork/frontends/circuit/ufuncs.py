"""Which of numpy's functions are operators on encrypted integers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cloakwork.errors import EncryptedConditionError
from cloakwork.frontends.circuit.refusals import at_line


def lesser_of(a: Any, b: Any) -> Any:
    """The lesser of two integers, or of vectors element by element."""
    if isinstance(a, int):
        return min(a, b) if isinstance(b, int) else b.least(a)
    return a.least(b)


def greater_of(a: Any, b: Any) -> Any:
    """The greater of two integers, or of vectors element by element."""
    if isinstance(a, int):
        return max(a, b) if isinstance(b, int) else b.greatest(a)
    return a.greatest(b)


_OPERATORS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "matmul": operator.matmul,
    "negative": operator.neg,
    "positive": operator.pos,
    "power": operator.pow,
    "absolute": abs,
    "divide": operator.truediv,
    "divmod": divmod,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "invert": operator.invert,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "minimum": lesser_of,
    "maximum": greater_of,
    "logical_not": lambda x: x == 0,
    "logical_and": lambda x, y: (x != 0) & (y != 0),
    "logical_or": lambda x, y: (x != 0) | (y != 0),
    "logical_xor": lambda x, y: (x != 0) ^ (y != 0),
}


def operator_of(ufunc: np.ufunc, method: str, settings: Mapping[str, Any]) -> Callable[..., Any]:
    """The operator that numpy asks for where something of its own meets an encrypted integer.

    Args:
        ufunc: The function that numpy calls.
        method: How it calls it.
        settings: What it says beside the operands.

    Raises:
        EncryptedConditionError: It is no operator.

    Example:
        >>> operator_of(np.add, "__call__", {})(1, 2)
        3
    """
    compute = _OPERATORS.get(ufunc.__name__)
    if compute is None or method != "__call__" or settings:
        called = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        raise EncryptedConditionError(
            f"cannot use an encrypted integer in numpy's {called}{at_line()}: expected "
            "an operator between integers and vectors of them; write a loop"
        )
    return compute

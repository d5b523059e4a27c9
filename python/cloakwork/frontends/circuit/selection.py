"""Choosing between two values by a bit, encrypted or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit.refusals import at_line
from cloakwork.frontends.circuit.symbols import (
    Symbol,
    Vector,
    clear_integer,
    operand,
    require_same_shape,
    shape_of_vector,
)


def select(bit: Any, x: Any, y: Any) -> Any:
    """x where the bit is 1 and y where it is 0: y + bit * (x - y).

    Args:
        bit: 0 or 1, encrypted or not. An encrypted one that is neither gives neither x nor y.
        x: A number, or a vector of them.
        y: The same; a number beside a vector counts for each of its elements.

    Raises:
        InvalidArgumentError: A clear bit is neither 0 nor 1.
        ShapeMismatchError: The vectors differ in shape.
        NotIntegerError: Something to choose from is no integer.

    Example:
        >>> select(1, 10, 20), select(0, 10, 20)
        (10, 20)
    """
    if isinstance(bit, Symbol):
        return _selected(bit, x, y)
    value = clear_integer(bit)
    if value not in (0, 1):
        raise InvalidArgumentError(
            f"cannot select{at_line()}: expected a bit, 0 or 1, got {shown(bit)}"
        )
    if _is_staged(x) or _is_staged(y):
        return _selected(value, x, y)
    return x if value else y


def _is_staged(value: Any) -> bool:
    if isinstance(value, list | tuple | np.ndarray):
        return any(map(_is_staged, value))
    return isinstance(value, Symbol | Vector)


def _selected(bit: Symbol | int, x: Any, y: Any) -> Any:
    x, y = operand(x), operand(y)
    if shape_of_vector(x) and shape_of_vector(y):
        require_same_shape("select", x, y)
    if isinstance(bit, int) and shape_of_vector(x) == shape_of_vector(y):
        return x if bit else y
    return y + bit * (x - y)

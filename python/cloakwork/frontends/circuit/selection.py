"""Choosing between two values by a bit, encrypted or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit.points import is_fraction
from cloakwork.frontends.circuit.refusals import at_line
from cloakwork.frontends.circuit.symbols import (
    Symbol,
    Vector,
    clear_integer,
    is_encrypted,
    operand,
    require_same_shape,
    shape_of_vector,
)


def select(bit: Any, x: Any, y: Any) -> Any:
    """x where the bit is 1 and y where it is 0: y + bit * (x - y).

    Args:
        bit: 0 or 1, encrypted or not, such as a comparison; or a vector of these, which chooses
            element by element. An encrypted one that is neither gives neither x nor y.
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
    if isinstance(bit, Vector | list | tuple | np.ndarray):
        return _each_selected(operand(bit), operand(x), operand(y))
    if isinstance(bit, Symbol):
        return _selected(bit, x, y)
    value = clear_integer(bit)
    if value not in (0, 1):
        raise InvalidArgumentError(
            f"cannot select{at_line()}: expected a bit, 0 or 1, got {shown(bit)}"
        )
    if is_encrypted(x) or is_encrypted(y):
        return _selected(value, x, y)
    return x if value else y


def one_or_other(bit: Any, one: Any, zero: Any) -> Any:
    """One of two values by whether an integer is not 0: integers, and what is made of them.

    Raises:
        InvalidArgumentError: The two are not made in the same way.

    Example:
        >>> one_or_other(True, (1, [2]), (3, [4]))
        (1, [2])
    """
    if not isinstance(bit, Symbol):
        return one if bit else zero
    if one is zero and one is not None:
        return one
    if isinstance(one, tuple | list) and type(one) is type(zero) and len(one) == len(zero):
        # Named tuples are made by a method.
        made = getattr(type(one), "_make", type(one))
        return made([one_or_other(bit, *pair) for pair in zip(one, zero, strict=True)])
    if isinstance(one, dict) and isinstance(zero, dict) and one.keys() == zero.keys():
        return {name: one_or_other(bit, each, zero[name]) for name, each in one.items()}
    if _are_numbers_with_point(one, zero):
        return _selected(bit if bit.is_boolean else bit != 0, one, zero)
    kind = python_type(one)
    if kind is not python_type(zero) or kind not in (int, list, tuple):
        raise InvalidArgumentError(
            f"cannot choose by an encrypted value{at_line()}, for which both sides are computed: "
            "expected two integers, or two values made of integers in the same way, "
            f"got {type(one).__name__} and {type(zero).__name__}"
        )
    return select(bit if bit.is_boolean else bit != 0, one, zero)


def _are_numbers_with_point(one: Any, zero: Any) -> bool:
    """Whether both are numbers, and an encrypted one of them has a fixed point."""
    numbers = all(isinstance(each, Symbol | int) or is_fraction(each) for each in (one, zero))
    return numbers and any(isinstance(each, Symbol) and each.fraction for each in (one, zero))


def python_type(value: Any) -> type:
    """What a value is to Python: an integer, a list, or of a type of its own.

    Example:
        >>> python_type(Vector([1])) is python_type([1]), python_type((1,)) is python_type([1])
        (True, False)
    """
    if isinstance(value, Vector | list | np.ndarray):
        return list
    if isinstance(value, Symbol) or clear_integer(value) is not None:
        return int
    return type(value)


def _each_selected(bits: Vector, x: Any, y: Any) -> Vector:
    """Element by element what a bit chooses; a number is one for each of them."""
    rows = []
    for value in (x, y):
        if shape_of_vector(value):
            require_same_shape("select", bits, value)
        rows.append(value if shape_of_vector(value) else [value] * len(bits))
    return Vector([select(*each) for each in zip(bits, *rows, strict=True)])


def _selected(bit: Symbol | int, x: Any, y: Any) -> Any:
    if isinstance(bit, Symbol) and bit.is_boolean and _is_boolean(x) and _is_boolean(y):
        one, zero = (bit.boolean(each) for each in (x, y))
        return zero ^ (bit & (one ^ zero))
    if not _are_numbers_with_point(x, y):
        x, y = operand(x), operand(y)
    if shape_of_vector(x) and shape_of_vector(y):
        require_same_shape("select", x, y)
    if isinstance(bit, Symbol) and bit.is_boolean and shape_of_vector(x) and shape_of_vector(y):
        # Each for itself, so that what is chosen from Booleans is one.
        return _each_selected(Vector([bit] * len(x)), x, y)
    if isinstance(bit, int) and shape_of_vector(x) == shape_of_vector(y):
        return x if bit else y
    return y + bit * (x - y)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, Symbol) and value.is_boolean)

"""Tables in the clear that encrypted integers look up."""

from __future__ import annotations

from typing import Any

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit.refusals import at_line
from cloakwork.frontends.circuit.symbols import Vector, operand


def table(items: Any) -> Vector:
    """A table of integers that an encrypted integer is an index of.

    Args:
        items: Integers in a list, a tuple or an array, or rows of them; up to 65536 along an axis.

    Returns:
        What takes indices as numpy does: clear ones and encrypted ones, whose range has to be
        within the table.

    Raises:
        NotIntegerError: It holds something else than integers.
        ShapeMismatchError: Its rows differ in length.
        InvalidArgumentError: It is empty, or too long.

    Example:
        >>> import cloakwork as cw
        >>> grades = cw.table([1, 1, 2, 2, 3, 5])
        >>> @cw.circuit(points=cw.scalar(bounds=(0, 5)))
        ... def grade(points):
        ...     return grades[points]
        >>> grade(4)
        3
    """
    made = operand(items if isinstance(items, np.ndarray | Vector) else [*items])
    if not isinstance(made, Vector) or not 1 <= len(made) <= _MOST:
        raise InvalidArgumentError(
            f"cannot make a table{at_line()}: expected from 1 to {_MOST} integers, got "
            f"{shown(items)}"
        )
    return made


# An index of more bits takes more ANDs than any program should have.
_MOST = 1 << 16

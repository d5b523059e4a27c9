"""Clear operands beside encrypted tensors, which know no labels of their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.arrays import real_array, real_numbers
from cloakwork.base.frames import labels_of
from cloakwork.errors import InputNameError

# The columns of the arguments of the function that is run on stand-ins, by their names.
_columns: ContextVar[Mapping[str, tuple[str, ...]] | None] = ContextVar("_columns", default=None)


@contextmanager
def beside_columns(columns: Mapping[str, tuple[str, ...]]) -> Iterator[None]:
    """Refuse clear operands whose labels are these in another order.

    Args:
        columns: The names of the columns of each argument that has some.

    Raises:
        InputNameError: Two arguments have the same columns in different orders.
    """
    for name, own in columns.items():
        _require_order(own, columns, f"compile, argument {name!r}")
    token = _columns.set(columns)
    try:
        yield
    finally:
        _columns.reset(token)


def clear_operand(data: Any, action: str) -> NDArray[np.float64]:
    """A clear operand as an array.

    Raises:
        InputNameError: It is a frame with labels of an argument's columns in another order.
        NotRealError: It is not of real numbers.
        NotFiniteError: There is a NaN or an infinity.
    """
    _require_order_of_labels(data, action)
    return real_array(data, action)


def clear_numbers(data: Any, action: str) -> NDArray[Any]:
    """The same, of numbers of their own type.

    Raises:
        InputNameError: As `clear_operand`.
        NotRealError: As `clear_operand`.
        NotFiniteError: As `clear_operand`.
    """
    _require_order_of_labels(data, action)
    return real_numbers(data, action)


def _require_order_of_labels(data: Any, action: str) -> None:
    columns = _columns.get()
    if columns:
        for labels in labels_of(data):
            _require_order(labels, columns, action)


def _require_order(
    labels: tuple[str, ...], columns: Mapping[str, tuple[str, ...]], action: str
) -> None:
    for name, own in columns.items():
        if labels != own and sorted(labels) == sorted(own):
            raise InputNameError(
                f"cannot {action}: expected labels in the order of the columns of argument "
                f"{name!r}, {', '.join(map(shown, own))}, got {', '.join(map(shown, labels))}, and "
                "numbers meet by their places; give them in the order of these columns, as by "
                "series[[*frame.columns]], or .to_numpy() where places are meant"
            )

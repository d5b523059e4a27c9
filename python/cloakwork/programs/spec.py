"""What is known of encrypted arguments while a program is planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cloakwork.base.arguments import positive, shown
from cloakwork.errors import ShapeMismatchError


@dataclass(frozen=True, slots=True)
class Spec:
    """What is known of an encrypted argument before there is any: its shape and its bound.

    Args:
        shape: The shape.
        bound: The largest absolute value of any element. It is public.

    Raises:
        ShapeMismatchError: A dimension is no whole number from 1 on.
        InvalidArgumentError: The bound is no positive number.

    Example:
        >>> Spec((2, 3))
        Spec(shape=(2, 3), bound=1.0)
    """

    shape: tuple[int, ...]
    bound: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _shape(self.shape))
        object.__setattr__(self, "bound", positive(self.bound, "bound", "describe a tensor"))


def _shape(shape: Any) -> tuple[int, ...]:
    whole = isinstance(shape, tuple | list) and all(
        isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 1
        for size in shape
    )
    if not whole:
        raise ShapeMismatchError(
            f"cannot describe a tensor: expected a tuple of whole numbers from 1 on, got "
            f"{shown(shape)}"
        )
    return tuple(int(size) for size in shape)

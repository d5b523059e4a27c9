"""What is known of encrypted arguments while a program is planned."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from cloakwork.base.arguments import positive, shown
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError
from cloakwork.programs.operations.base import MAX_INTEGER
from cloakwork.programs.places import TensorPlace
from cloakwork.programs.port import Port

SpecKind: TypeAlias = Literal["real", "integer"]

_ACTION = "describe a tensor"


@dataclass(frozen=True, slots=True)
class Spec:
    """What is known of an encrypted argument before there is any: its shape and its bound.

    Args:
        shape: The shape.
        bound: The largest absolute value of any element. It is public.
        low: The least value of any element, where more is known than the bound; public too.
        high: The greatest. Where an end is given, the bound follows from both.
        kind: `real` or `integer`: what the elements are.
        missing: Of reals, what stands for missing numbers: one number, or one for each place along
            the last axis. By default they are refused.

    Raises:
        ShapeMismatchError: A dimension is no whole number from 1 on.
        InvalidArgumentError: The bound is no positive number, the range is empty, the kind is
            unknown, or an end of integers is not an integer of up to 63 bits; or what stands for
            missing numbers is not in the range.

    Example:
        >>> Spec((2, 3))
        Spec(shape=(2, 3), bound=1.0, low=-1.0, high=1.0, kind='real')
        >>> Spec((2, 3), low=0.5, high=4)
        Spec(shape=(2, 3), bound=4.0, low=0.5, high=4.0, kind='real')
        >>> Spec((2, 3), bound=9, kind="integer")
        Spec(shape=(2, 3), bound=9, low=-9, high=9, kind='integer')
    """

    shape: tuple[int, ...]
    bound: float = 1.0
    low: float | None = None
    high: float | None = None
    kind: SpecKind = "real"
    missing: tuple[float, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _shape(self.shape))
        if self.kind not in get_args(SpecKind):
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected a kind of {get_args(SpecKind)}, got {shown(self.kind)}"
            )
        bound = positive(self.bound, "bound", _ACTION)
        low, high = ends(self.low, self.high, bound, _ACTION)
        if self.kind == "integer":
            # Of more bits than a double has.
            low = _whole(-self.bound if self.low is None else self.low)
            high = _whole(self.bound if self.high is None else self.high)
        if self.kind == "integer" or self.low is not None or self.high is not None:
            bound = max(abs(low), abs(high))
        object.__setattr__(self, "bound", bound)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        outside = [each for each in self.missing if not low <= each <= high]
        if outside:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected numbers for missing ones from {low:g} to {high:g}, "
                f"the range of all, got {outside[0]:g}; give another, or make the range wider"
            )

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value of any element."""
        assert self.low is not None
        assert self.high is not None
        return self.low, self.high

    def port(self, name: str) -> Port:
        """The argument as a program takes it."""
        return Port(name, self.kind, 0, self.shape, *self.ends, missing=self.missing)


def _whole(end: float) -> int:
    """An end of the range of integers."""
    if end != int(end) or abs(int(end)) > MAX_INTEGER:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected bounds and ends of ranges that are integers of up to 63 "
            f"bits, got {end:g}; round them outward"
        )
    return int(end)


@dataclass(frozen=True, slots=True)
class PlacedSpec(Spec):
    """What is known of an argument that lies in ciphertexts already.

    Args:
        place: Where its elements lie.
        error: How far each may be off.
    """

    place: TensorPlace | None = None
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class PhaseSpec(PlacedSpec):
    """What is known of bits that lie in ciphertexts as parts of phases; see `programs.phases`.

    Args:
        bits: The input over bits that they are.
    """

    bits: Port | None = None

    def port(self, name: str) -> Port:
        assert self.bits is not None
        return replace(self.bits, name=name)


def _is_finite(number: Any) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def ends(low: Any, high: Any, bound: float, action: str) -> tuple[float, float]:
    """The ends of a range, the ones that are not given at the bound.

    Example:
        >>> ends(0, None, 2.0, "describe a tensor")
        (0.0, 2.0)
    """
    found: list[float] = []
    for given, otherwise in ((low, -bound), (high, bound)):
        is_number = isinstance(given, int | float | np.integer | np.floating)
        if given is not None and not (is_number and _is_finite(given)):
            raise InvalidArgumentError(
                f"cannot {action}: expected the ends of a range to be finite numbers, got "
                f"{shown(given)}"
            )
        found.append(otherwise if given is None else float(given))
    least, greatest = found
    if not least <= greatest or least == greatest == 0:
        raise InvalidArgumentError(
            f"cannot {action}: expected a range from low to a greater high, got {least:g} to "
            f"{greatest:g}"
        )
    return least, greatest


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

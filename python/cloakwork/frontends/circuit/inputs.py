"""What a function over encrypted integers says of its inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cloakwork.base.arguments import integer, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.ir.circuits import CircuitInput

MAX_BITS = 64
# Scalars of one input; circuits of more are not planned in any useful time.
_MAX_SCALARS = 1 << 16
# The last of a row of the largest ring that may be asked for.
_MAX_SLOT = (1 << 16) - 1


@dataclass(frozen=True, slots=True)
class Declared:
    """An encrypted input: its shape, its range, and how it may lie in slots.

    Args:
        shape: Its shape; that of a scalar is empty.
        bounds: The least and the greatest value of every scalar; None for the range that
            results have.
        replicated: Whether a scalar may lie in several slots.
        grouped: Whether all its scalars lie in one ciphertext.
        slots: The slot of every scalar in order; None leaves them to the plan.
    """

    shape: tuple[int, ...]
    bounds: tuple[int, int] | None = None
    replicated: bool = field(default=True, kw_only=True)
    grouped: bool = field(default=False, kw_only=True)
    slots: tuple[int, ...] | None = field(default=None, kw_only=True)

    def named(self, name: str) -> CircuitInput:
        """The input under a name.

        Example:
            >>> print(vector(3, grouped=True).named("a"))
            a: vector of 3, replicated
        """
        return CircuitInput(name, self.shape, self.replicated, self.grouped, self.slots)


def scalar(
    *,
    bits: int | None = None,
    bounds: tuple[int, int] | None = None,
    replicated: bool = True,
    grouped: bool = False,
    layout: Sequence[int] | None = None,
) -> Declared:
    """An encrypted integer as an input of a circuit.

    Args:
        bits: It is a signed number of so many bits; by default of those of the results.
        bounds: Or the least and the greatest value that it may take.
        replicated: Whether the client may put it into several slots, where that saves work.
        grouped: Whether all of the input lies in one ciphertext of its own.
        layout: The slot that it lies in; it is then grouped and not replicated.

    Raises:
        InvalidArgumentError: An argument is out of range, or two contradict each other.

    Example:
        >>> scalar(bits=8).bounds
        (-128, 127)
    """
    return _declared((), bits, bounds, replicated, grouped, layout)


def vector(
    n: int,
    *,
    bits: int | None = None,
    bounds: tuple[int, int] | None = None,
    replicated: bool = True,
    grouped: bool = False,
    layout: Sequence[int] | None = None,
) -> Declared:
    """A vector of encrypted integers as an input of a circuit; see `scalar`.

    Args:
        n: How many.
        bits: Each is a signed number of so many bits.
        bounds: Or the least and the greatest value that each may take.
        replicated: Whether the client may put a number into several slots.
        grouped: Whether all of the input lies in one ciphertext of its own.
        layout: The slot of each number.

    Raises:
        InvalidArgumentError: An argument is out of range, or two contradict each other.

    Example:
        >>> vector(3, layout=[0, 4, 8]).slots
        (0, 4, 8)
    """
    n = integer(n, "n", "declare a vector", least=1, most=_MAX_SCALARS)
    return _declared((n,), bits, bounds, replicated, grouped, layout)


def matrix(
    m: int,
    n: int,
    *,
    bits: int | None = None,
    bounds: tuple[int, int] | None = None,
    replicated: bool = True,
    grouped: bool = False,
    layout: Sequence[int] | Sequence[Sequence[int]] | None = None,
) -> Declared:
    """A matrix of encrypted integers as an input of a circuit; see `scalar`.

    Args:
        m: How many rows.
        n: How many columns.
        bits: Each is a signed number of so many bits.
        bounds: Or the least and the greatest value that each may take.
        replicated: Whether the client may put a number into several slots.
        grouped: Whether all of the input lies in one ciphertext of its own.
        layout: The slot of each number, row by row.

    Raises:
        InvalidArgumentError: An argument is out of range, or two contradict each other.

    Example:
        >>> matrix(2, 2, layout=[[0, 1], [4, 5]]).slots
        (0, 1, 4, 5)
    """
    m = integer(m, "m", "declare a matrix", least=1, most=_MAX_SCALARS)
    n = integer(n, "n", "declare a matrix", least=1, most=_MAX_SCALARS)
    if m * n > _MAX_SCALARS:
        raise InvalidArgumentError(
            f"cannot declare a matrix: expected up to {_MAX_SCALARS} elements, got {m} x {n}"
        )
    return _declared((m, n), bits, bounds, replicated, grouped, layout)


def _declared(
    shape: tuple[int, ...],
    bits: int | None,
    bounds: tuple[int, int] | None,
    replicated: bool,
    grouped: bool,
    layout: Any,
) -> Declared:
    for name, value in (("replicated", replicated), ("grouped", grouped)):
        if not isinstance(value, bool):
            raise InvalidArgumentError(
                f"cannot declare an input: expected {name} to be True or False, got {shown(value)}"
            )
    slots = None if layout is None else _slots(layout, math.prod(shape))
    if slots is not None:
        replicated, grouped = False, True
    return Declared(
        shape, _bounds(bits, bounds), replicated=replicated, grouped=grouped, slots=slots
    )


def _bounds(bits: Any, bounds: Any) -> tuple[int, int] | None:
    if bits is not None and bounds is not None:
        raise InvalidArgumentError("cannot declare an input: expected bits or bounds, got both")
    if bits is not None:
        bits = integer(bits, "bits", "declare an input", least=1, most=MAX_BITS)
        return signed_range(bits)
    if bounds is None:
        return None
    least, greatest = -(1 << MAX_BITS - 1), (1 << MAX_BITS) - 1
    match bounds:
        case [low, high]:
            low = integer(low, "the least value", "declare an input", least=least, most=greatest)
            high = integer(
                high, "the greatest value", "declare an input", least=least, most=greatest
            )
            if high < low:
                raise InvalidArgumentError(
                    "cannot declare an input: expected bounds as the least and the greatest value "
                    f"in this order, got {shown(bounds)}"
                )
            return low, high
        case _:
            raise InvalidArgumentError(
                "cannot declare an input: expected bounds to be the least and the greatest value, "
                f"got {shown(bounds)}"
            )


def signed_range(bits: int) -> tuple[int, int]:
    """The least and the greatest signed number of so many bits.

    Example:
        >>> signed_range(8)
        (-128, 127)
    """
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _slots(layout: Any, count: int) -> tuple[int, ...]:
    if isinstance(layout, int):
        layout = [layout]
    if not isinstance(layout, Sequence):
        raise InvalidArgumentError(
            f"cannot declare an input: expected a layout to list slots, got {shown(layout)}"
        )
    flat = [
        integer(slot, "a slot", "declare an input", least=0, most=_MAX_SLOT)
        for row in layout
        for slot in (row if isinstance(row, Sequence) else [row])
    ]
    if len(flat) != count or len(set(flat)) != count:
        raise InvalidArgumentError(
            f"cannot declare an input: expected a layout of {count} different slots, "
            f"got {shown(layout)}"
        )
    return tuple(flat)

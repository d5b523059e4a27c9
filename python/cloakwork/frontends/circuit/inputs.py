"""What a function over encrypted integers says of its inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cloakwork.base.arguments import integer, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.ir.circuits import CircuitInput
from cloakwork.programs.packing import object_array
from cloakwork.programs.packing.codings import coded
from cloakwork.programs.packing.fixed_point import scaled_integers
from cloakwork.programs.port import Coding, Port

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
        fraction: Bits after the point: every scalar is an integer divided by 2^fraction.
        coding: What its scalars stand for; see `programs.packing.codings`.
    """

    shape: tuple[int, ...]
    bounds: tuple[int, int] | None = None
    replicated: bool = field(default=True, kw_only=True)
    grouped: bool = field(default=False, kw_only=True)
    slots: tuple[int, ...] | None = field(default=None, kw_only=True)
    fraction: int = field(default=0, kw_only=True)
    coding: Coding = field(default="", kw_only=True)

    @property
    def is_for_bits(self) -> bool:
        """Whether its numbers have a point, or stand for something else, which is for bits."""
        return bool(self.fraction or self.coding)

    def coded_port(self, name: str) -> Port:
        """The port of dates or texts."""
        assert self.bounds is not None
        low, high = self.bounds
        width = high.bit_length()
        return Port(name, "unsigned", width, self.shape, low, high, coding=self.coding)

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


def fixed(
    integer_bits: int,
    fraction_bits: int,
    *,
    shape: tuple[int, ...] = (),
    signed: bool = True,
) -> Declared:
    """Encrypted numbers with a fixed point as an input of a circuit, which then runs on bits.

    The client takes numbers of any kind and rounds them to the nearest, of two to the even one.
    Functions are exact: a sum has as many bits after the point as the operand that has more, a
    product as many as both together; `round(x)` and `cw.rounded(x, bits)` round.

    Args:
        integer_bits: Bits before the point, the sign among them.
        fraction_bits: Bits after the point, one or more.
        shape: Empty for a number, else (n,) or (m, n).
        signed: Whether numbers may be negative.

    Raises:
        InvalidArgumentError: An argument is out of range.

    Example:
        >>> import cloakwork as cw
        >>> @cw.circuit(price=cw.fixed(8, 2, signed=False), rate=cw.fixed(1, 4))
        ... def discounted(price, rate):
        ...     return cw.rounded(price - price * rate, 2)
        >>> discounted(99.75, 0.25)
        74.75
    """
    action = "declare a number with a fixed point"
    integer_bits = integer(integer_bits, "integer_bits", action, least=0, most=MAX_BITS)
    fraction_bits = integer(fraction_bits, "fraction_bits", action, least=1, most=MAX_BITS)
    width = integer(integer_bits + fraction_bits, "bits in all", action, least=1, most=MAX_BITS)
    if not isinstance(shape, tuple) or len(shape) > 2 or math.prod(shape) > _MAX_SCALARS:
        raise InvalidArgumentError(
            f"cannot {action}: expected a shape of (), (n,) or (m, n) with up to {_MAX_SCALARS} "
            f"numbers, got {shown(shape)}"
        )
    sizes = tuple(integer(each, "a size", action, least=1, most=_MAX_SCALARS) for each in shape)
    bounds = signed_range(width) if signed else (0, (1 << width) - 1)
    return Declared(sizes, bounds, fraction=fraction_bits)


def for_bits(declared: Mapping[str, Declared]) -> list[str]:
    """The inputs that are for bits: numbers with a point, dates and texts.

    Example:
        >>> for_bits({"x": scalar(), "y": fixed(4, 2)})
        ['y']
    """
    return [name for name, each in declared.items() if each.is_for_bits]


def as_integers(name: str, declared: Declared, value: Any) -> Any:
    """What is given for an input as integers, where it is declared with a point or as a coding.

    Example:
        >>> as_integers("x", fixed(4, 2, shape=(2,)), [0.5, 1.0])
        [2, 4]
    """
    if declared.coding:
        return coded(declared.coded_port(name), value, "call a circuit")
    if not declared.fraction:
        return value
    port = Port(name, "signed", 2 * MAX_BITS, declared.shape, fraction=declared.fraction)
    array = object_array(value, name, "take a number with a fixed point")
    return scaled_integers(port, array).tolist()


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

"""The inputs and outputs of programs: names, kinds, shapes and ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias, get_args

from cloakwork.base.arguments import printable
from cloakwork.base.record import Word, added
from cloakwork.errors import InvalidProgramError

PortKind = Literal["real", "integer", "unsigned", "signed", "bytes", "bits"]
BIT_KINDS = ("unsigned", "signed", "bytes", "bits")

# What the integers of an input stand for: dates, the characters of texts, or bytes.
Coding: TypeAlias = Literal["", "date", "ascii", "latin-1", "bytes"]

# Bits of all inputs, and of all outputs, that a program over bits may have.
MAX_PORT_BITS = 1 << 20
# More axes than any version of numpy can index, and elements along one of them.
MAX_AXES = 64
MAX_SIZE = 1 << 40
# Of what a double holds.
MAX_EXPONENT = 1 << 10


@dataclass(frozen=True, slots=True)
class Port:
    """A named input or output.

    Of kinds over bits, bit 0 comes first and is worth 1; the bytes of an element of kind `bytes`
    come in order, each with its bit 0 first; the elements of a vector come in order.

    Args:
        name: The name.
        kind: `real` or `integer` numbers; over bits `unsigned`, `signed` (two's complement),
            `bytes`, or `bits` without a meaning.
        width: Bits of one element of a kind over bits; 0 for numbers.
        shape: The shape; that of a single element is empty.
        low: The least value of any element; None where the kind alone says it, or nothing does.
        high: The greatest.
        fraction: Over bits, bits after the point of a number with a fixed point, whose bit 0 is
            worth 2^-fraction; 0 for an integer.
        exponent: Of reals, slots hold numbers divided by 2^exponent.
        columns: The names of the elements along the last axis, if they have any.
        axes: Of a result, for each of its axes, the axes of inputs that it runs along, by the name
            of the input and the number of its axis; empty where nothing is known.
        missing: Of an input of reals, what stands for missing numbers: one number, or one for each
            element along the last axis; none where they are refused.
        coding: Of an input of integers over bits, what they stand for; empty for integers.
        length: Of an input of reals, the largest Euclidean length of a vector along its first axis;
            0 where lengths do not count.

    Raises:
        InvalidProgramError: The name is not text or is empty, the kind is unknown, a width or size
            is below 1, the bits are more than `MAX_PORT_BITS`, bytes are not whole, the range is
            empty, bits after the point are more than all, the kind has no point, the exponent is
            larger than `MAX_EXPONENT`, or the length is not one of vectors of reals.

    Example:
        >>> print(Port("samples", "signed", 12, shape=(4,)))
        samples: 4 x signed, 12 bits
        >>> print(Port("price", "unsigned", 16, fraction=6))
        price: unsigned, 16 bits, 6 of them after the point
        >>> print(Port("a", "integer", shape=(2, 3), low=0, high=255))
        a: 2 x 3, integers from 0 to 255
    """

    name: Word
    kind: PortKind
    width: int = 0
    shape: tuple[int, ...] = ()
    low: float | int | None = None
    high: float | int | None = None
    fraction: int = 0
    exponent: int = added(0)
    columns: tuple[Word, ...] = added(())
    axes: tuple[tuple[tuple[Word, int], ...], ...] = added(())
    missing: tuple[float, ...] = added(())
    coding: Coding = added("")  # noqa: RUF009
    length: float = added(0.0)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            self._refuse(f"its name is of type {type(self.name).__name__}, not text")
        if not self.name:
            self._refuse("its name is empty")
        if self.kind not in get_args(PortKind):
            self._refuse(f"expected a kind of {get_args(PortKind)}, got {self.kind!r}")
        if type(self.width) is not int or self.width < int(self.is_bits):
            self._refuse(f"expected a width of {int(self.is_bits)} or more, got {self.width!r}")
        if self.width and not self.is_bits:
            self._refuse(f"expected a width of 0 for numbers, got {self.width}")
        if not isinstance(self.shape, tuple) or len(self.shape) > MAX_AXES:
            self._refuse(f"expected a shape of up to {MAX_AXES} axes")
        for size in self.shape:
            if type(size) is not int or not 1 <= size <= MAX_SIZE:
                self._refuse(f"expected sizes from 1 on, got {size!r}")
        if self.bits > MAX_PORT_BITS:
            self._refuse(f"expected up to {MAX_PORT_BITS} bits, got {self.bits}")
        if self.kind == "bytes" and self.width % 8:
            self._refuse(f"expected whole bytes, got a width of {self.width} bits")
        if type(self.fraction) is not int or not 0 <= self.fraction <= self.width:
            self._refuse(f"expected 0 to {self.width} bits after the point, got {self.fraction!r}")
        if self.fraction and self.kind not in ("unsigned", "signed"):
            self._refuse(f"expected a point in a number, got one in {self.kind}")
        if type(self.exponent) is not int or abs(self.exponent) > MAX_EXPONENT:
            self._refuse(f"expected an exponent of up to {MAX_EXPONENT}, got {self.exponent!r}")
        if self.exponent and self.kind != "real":
            self._refuse(f"expected an exponent of reals, got one of {self.kind}")
        if self.columns and (len(self.columns),) != self.shape[-1:]:
            self._refuse(f"expected a name for each column, got {len(self.columns)} names")
        if self.missing and len(self.missing) not in (1, *self.shape[-1:]):
            self._refuse(f"expected one number for missing ones, got {len(self.missing)}")
        if self.coding not in get_args(Coding) or (self.coding and not self.is_bits):
            self._refuse(f"expected a coding of integers over bits, got {self.coding!r}")
        has_length = self.kind == "real" and bool(self.shape) and 0 < self.length < math.inf
        if self.length and not has_length:
            self._refuse(f"expected a length of vectors of reals, got {self.length!r}")
        if self.axes and len(self.axes) != len(self.shape):
            self._refuse(f"expected the labels of each axis, got those of {len(self.axes)}")
        if self.low is not None and self.high is not None and not self.low <= self.high:
            self._refuse(f"its range from {self.low!r} to {self.high!r} is empty")

    @property
    def is_bits(self) -> bool:
        """Whether it is of a kind over bits."""
        return self.kind in BIT_KINDS

    @property
    def count(self) -> int:
        """Its elements."""
        return math.prod(self.shape)

    @property
    def bits(self) -> int:
        """Bits of all its elements; 0 for numbers."""
        return self.width * self.count

    @property
    def bound(self) -> float:
        """The largest absolute value of any element; infinite where no range says it."""
        if self.low is None or self.high is None:
            return math.inf
        return float(max(abs(self.low), abs(self.high)))

    @property
    def held_bound(self) -> float:
        """The largest absolute value that a slot holds for it."""
        return math.ldexp(self.bound, -self.exponent)

    def __str__(self) -> str:
        name, sizes = printable(self.name), " x ".join(map(str, self.shape))
        if self.is_bits:
            bits = "1 bit" if self.width == 1 else f"{self.width} bits"
            point = f", {self.fraction} of them after the point" if self.fraction else ""
            return f"{name}: {f'{sizes} x ' if sizes else ''}{self.kind}, {bits}{point}"
        limits = ""
        if self.low is not None and self.high is not None:
            form = "g" if self.kind == "real" else ""
            limits = f" from {self.low:{form}} to {self.high:{form}}"
        if self.exponent:
            limits += f", in units of 2^{self.exponent}"
        if self.length:
            limits += f", vectors of length up to {self.length:g}"
        return f"{name}: {sizes or 'one'}, {self.kind}s{limits}"

    def _refuse(self, reason: str) -> NoReturn:
        raise InvalidProgramError(f"cannot make the port {self.name!r:.40}: {reason}")


def signature(inputs: Sequence[Port], outputs: Sequence[Port]) -> str:
    """The names of inputs and outputs, as a repr shows them: `a, b -> y`."""
    return " -> ".join(
        ", ".join(printable(port.name) for port in ports) for ports in (inputs, outputs)
    )


def distinct_ports(given: Any, kinds: Sequence[str], what: str) -> tuple[Port, ...]:
    """Ports of some kinds, of which no two share a name, and whose bits are few enough."""
    ports = tuple(given)
    for port in ports:
        if not isinstance(port, Port):
            raise InvalidProgramError(f"cannot make the program: expected its {what} to be ports")
        if port.kind not in kinds:
            raise InvalidProgramError(
                f"cannot make the program: expected its {what} to be of {', '.join(kinds)}, "
                f"got {port.name!r:.40} of kind {port.kind}"
            )
    names = [port.name for port in ports]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidProgramError(
            f"cannot make the program: the name {twice!r} comes twice among its {what}"
        )
    bits = sum(port.bits for port in ports)
    if bits > MAX_PORT_BITS:
        raise InvalidProgramError(
            f"cannot make the program: expected up to {MAX_PORT_BITS} bits of {what}, got {bits}"
        )
    return ports

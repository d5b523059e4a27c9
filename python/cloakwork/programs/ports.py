"""The inputs and outputs of a gate program: names, and how their bits are to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from cloakwork.errors import InvalidProgramError

PortKind = Literal["unsigned", "signed", "bytes", "bits"]

# Bits of all inputs, and of all outputs, that a program may have.
MAX_PORT_BITS = 1 << 20


@dataclass(frozen=True, slots=True)
class Port:
    """A named input or output.

    Bit 0 comes first and is worth 1; the bytes of a port of kind `bytes` come in order, each
    with its bit 0 first; the elements of a vector come in order.

    Args:
        name: The name.
        kind: `unsigned`, `signed` (two's complement), `bytes`, or `bits` without a meaning.
        width: Bits of one element.
        length: Elements of a vector; None for a single element.
        fraction: Bits after the point of a number with a fixed point, whose bit 0 is worth
            2^-fraction; 0 for an integer.

    Raises:
        InvalidProgramError: The name is no text, the kind is unknown, the width or length is
            below 1, the bits are more than `MAX_PORT_BITS`, bytes are not whole, or bits after the
            point are more than all, or are of no number.

    Example:
        >>> print(Port("samples", "signed", 12, length=4))
        samples: 4 x signed, 12 bits
        >>> print(Port("price", "unsigned", 16, fraction=6))
        price: unsigned, 16 bits, 6 of them after the point
    """

    name: str
    kind: PortKind
    width: int
    length: int | None = None
    fraction: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            self._refuse(f"its name is of type {type(self.name).__name__}, not text")
        if self.kind not in get_args(PortKind):
            self._refuse(f"expected a kind of {get_args(PortKind)}, got {self.kind!r}")
        for what, number in (("width", self.width), ("length", self.length or 1)):
            if type(number) is not int or number < 1:
                self._refuse(f"expected a {what} of 1 or more, got {number!r}")
        if self.length is not None and self.length < 1:
            self._refuse(f"expected a length of 1 or more, got {self.length!r}")
        if self.bits > MAX_PORT_BITS:
            self._refuse(f"expected up to {MAX_PORT_BITS} bits, got {self.bits}")
        if self.kind == "bytes" and self.width % 8:
            self._refuse(f"expected whole bytes, got a width of {self.width} bits")
        if type(self.fraction) is not int or not 0 <= self.fraction <= self.width:
            self._refuse(f"expected 0 to {self.width} bits after the point, got {self.fraction!r}")
        if self.fraction and self.kind not in ("unsigned", "signed"):
            self._refuse(f"expected a point in a number, got one in {self.kind}")

    @property
    def count(self) -> int:
        """Its elements."""
        return 1 if self.length is None else self.length

    @property
    def bits(self) -> int:
        """Bits of all its elements."""
        return self.width * self.count

    def __str__(self) -> str:
        times = "" if self.length is None else f"{self.length} x "
        bits = "1 bit" if self.width == 1 else f"{self.width} bits"
        point = f", {self.fraction} of them after the point" if self.fraction else ""
        return f"{self.name}: {times}{self.kind}, {bits}{point}"

    def _refuse(self, reason: str) -> None:
        raise InvalidProgramError(f"cannot make the port {self.name!r}: {reason}")


def signature(inputs: Sequence[Port], outputs: Sequence[Port]) -> str:
    """The names of inputs and outputs, as a repr shows them.

    Example:
        >>> signature([Port("a", "bits", 2), Port("b", "bits", 1)], [Port("y", "bits", 1)])
        'a, b -> y'
    """
    named = (", ".join(port.name for port in ports) for ports in (inputs, outputs))
    return " -> ".join(named)

"""Python's integers as the inputs and results of a program over bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.packing.bits import BitPacking, Bits, bits_of, results_of_bits
from cloakwork.programs.packing.codings import coded
from cloakwork.programs.packing.integers import integer_rows
from cloakwork.programs.packing.results import (
    Form,
    Leaf,
    filled,
    integers_of,
    named_parts,
    shape_of_form,
)
from cloakwork.programs.port import Port

_WIDER = "declare wider bounds"


@dataclass(frozen=True)
class BitIntegerPacking(BitPacking):
    """Inputs of a program over bits, integers within bounds, and results in a function's form.

    Args:
        inputs: The inputs, signed or unsigned, with the bounds that a client holds them to.
        outputs: The outputs.
        form: How their elements stand in lists, tuples and dicts, counted over all outputs.
    """

    kind: ClassVar[str] = "integers of bits"

    form: Form

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = [part.number for part in integers_of(self.form) if isinstance(part, Leaf)]
        if numbers != [*range(sum(port.count for port in self.outputs))]:
            raise InvalidProgramError(
                "cannot make the program: expected the elements of its outputs as results in "
                f"their order, got {len(numbers)} results"
            )

    def _read(self, port: Port, value: Any, action: str) -> tuple[Bits, bool]:
        if port.low is None:
            return super()._read(port, value, action)
        if port.coding:
            value = coded(port, value, action)
        rows, many = integer_rows(port, value, action, wider=_WIDER)
        return bits_of(port, rows)[0], many

    def unpack(self, runs: Sequence[Sequence[Bits]], count: int | None) -> Any:
        """Python's integers in the form in which the function returns them."""
        bits = np.stack([np.concatenate([*run, np.empty(0, np.uint8)]) for run in runs])
        integers = [replace(port, fraction=0) for port in self.outputs]
        found: list[NDArray[Any]] = [
            np.asarray(each, object).reshape(len(runs), -1)
            for each in results_of_bits(integers, bits.astype(np.uint8), many=True).values()
        ]
        rows = np.concatenate(found, axis=1).tolist()
        made = [filled(self.form, [int(each) for each in row]) for row in rows]
        return made[0] if count is None else made


def output_ports(form: Form, ranges: Sequence[tuple[int, int]]) -> tuple[Port, ...]:
    """Results as ports: one, or one for each name of a dict, as wide as the ranges ask for.

    Example:
        >>> print(*output_ports(Leaf(0), [(-3, 9)]))
        result: signed, 5 bits
    """
    ports = []
    for name, part in named_parts(form).items():
        leaves = [each for each in integers_of(part) if isinstance(each, Leaf)]
        numbers = [each.number for each in leaves]
        if not numbers:
            continue
        fractions = {each.fraction for each in leaves}
        low = min(ranges[number][0] for number in numbers)
        high = max(ranges[number][1] for number in numbers)
        shape = shape_of_form(part)
        shape = shape if prod(shape) == len(numbers) else (len(numbers),)
        port = port_within(name, shape, low, high)
        if len(fractions) == 1:
            port = with_bits_after_point(port, *fractions)
        ports.append(port)
    return tuple(ports)


def with_bits_after_point(port: Port, fraction: int) -> Port:
    """A port of integers as one of these divided by 2^fraction.

    Example:
        >>> print(with_bits_after_point(Port("x", "unsigned", 4), 6))
        x: unsigned, 6 bits, 6 of them after the point
    """
    return replace(port, width=max(port.width, fraction), fraction=fraction)


def port_within(name: str, shape: tuple[int, ...], low: int, high: int) -> Port:
    """A port of numbers with the fewest bits that hold a range.

    Example:
        >>> print(port_within("x", (), 0, 9))
        x: unsigned, 4 bits
    """
    signed = low < 0
    width = max(max(end, ~end).bit_length() for end in (low, high)) + signed
    return Port(name, "signed" if signed else "unsigned", max(1, width), shape)

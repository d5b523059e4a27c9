"""Decisions by name, as circuits: the greatest of several numbers, their order, a table.

Each is made for a port, whose numbers it takes; what goes in may be encrypted for it, or be a
result of a program over reals or integers (`Circuit.compile`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cloakwork.base.arguments import integer, shown
from cloakwork.errors import InvalidArgumentError, NotIntegerError
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.plan.boolean.lookup import chosen_entry
from cloakwork.plan.boolean.words import Number, WordGates
from cloakwork.programs.port import Port
from cloakwork.programs.sorting_networks import ordering

# Entries of a table, by the bits that look one up.
_MOST_TABLE_BITS = 16


class _Words(WordGates):
    """Gates on the numbers of a port, each a list of values of bits, bit 0 first."""

    def __init__(self, title: str, port: Port, action: str) -> None:
        if not isinstance(port, Port) or port.kind not in ("signed", "unsigned"):
            raise InvalidArgumentError(
                f"cannot {action}: expected a port of signed or unsigned numbers, got {shown(port)}"
            )
        super().__init__(title, (port,))
        self._signed = port.kind == "signed"
        self.elements = [
            [*range(first, first + port.width)] for first in range(0, port.bits, port.width)
        ]

    def is_less(self, left: Sequence[int], right: Sequence[int]) -> int:
        """Whether one number of the port is less than another."""
        own, other = (Number(tuple(each), self._signed) for each in (left, right))
        return self.less(own, other)

    def numbered(self, width: int) -> list[list[int]]:
        """The elements, each with its number behind its bits."""
        return [[*each, *self.constant(at, width)] for at, each in enumerate(self.elements)]

    def greatest(self, rows: list[list[int]], count: int, width: int) -> list[list[int]]:
        """So many rows of those whose first bits are the greatest numbers, in falling order."""
        exchanges, order = ordering(len(rows), count)
        for first, second in exchanges:
            self._exchange(rows, first, second, width)
        return [rows[place] for place in order]

    def first_greatest(self, bits: int, width: int) -> list[int]:
        """The first of the greatest elements, with its number of so many bits behind its own."""
        rows = self.numbered(bits)
        while len(rows) > 1:
            pairs = [
                self.choose(self.is_less(one[:width], two[:width]), two, one)
                for one, two in zip(rows[::2], rows[1::2], strict=False)
            ]
            rows = [*pairs, *rows[len(rows) // 2 * 2 :]]
        return rows[0]

    def is_number(self, row: Sequence[int], number: int) -> int:
        """Whether bits are those of a known number."""
        known = self.constant(number, len(row))
        return self.equal(Number(tuple(row)), Number(tuple(known)))

    def _exchange(self, rows: list[list[int]], first: int, second: int, width: int) -> None:
        """Bring two rows in falling order; equal ones stay."""
        low, high = rows[first], rows[second]
        bit = self.is_less(low[:width], high[:width])
        rows[first], rows[second] = self.choose(bit, high, low), self.choose(bit, low, high)


def argmax(values: Port) -> Circuit:
    """Which of several numbers is the greatest; the first of them, where several are.

    Args:
        values: The numbers, signed or unsigned, two or more.

    Returns:
        A circuit with the outputs `index` and `greatest`. It compares in rounds, so that the time
        grows with the logarithm of the count where there are threads.

    Raises:
        InvalidArgumentError: It is no such port.

    Example:
        >>> import cloakwork as cw
        >>> circuit = cw.boolean.argmax(cw.Port("scores", "signed", 8, shape=(5,)))
        >>> circuit.run_clear(scores=[3, -7, 90, 90, 12])["index"]
        2
    """
    words = _Words(f"argmax of {getattr(values, 'name', '')}", values, "make an argmax")
    bits = (_several(len(words.elements), "make an argmax") - 1).bit_length()
    row = words.first_greatest(bits, values.width)
    words.output(Port("index", "unsigned", bits), row[values.width :])
    words.output(_like(values, "greatest", ()), row[: values.width])
    return Circuit(words.finish())


def one_hot(values: Port) -> Circuit:
    """Which of several numbers is the greatest, as a bit for each; the first of several such.

    Within a function over reals (`cloakwork.exactly`) its zeros and ones choose by a product.

    Args:
        values: The numbers, signed or unsigned, two or more.

    Returns:
        A circuit with the output `chosen`, of one bit for each number, one of which is 1.

    Raises:
        InvalidArgumentError: It is no such port.

    Example:
        >>> import cloakwork as cw
        >>> circuit = cw.boolean.one_hot(cw.Port("scores", "signed", 8, shape=(5,)))
        >>> circuit.run_clear(scores=[3, -7, 90, 90, 12])["chosen"].tolist()
        [0, 0, 1, 0, 0]
    """
    action = "choose the greatest"
    words = _Words(f"the greatest of {getattr(values, 'name', '')}", values, action)
    count = _several(len(words.elements), action)
    bits = (count - 1).bit_length()
    index = words.first_greatest(bits, values.width)[values.width :]
    chosen = [words.is_number(index, number) for number in range(count)]
    words.output(Port("chosen", "bits", count), chosen)
    return Circuit(words.finish())


def top(values: Port, count: int) -> Circuit:
    """The greatest of several numbers in falling order, and which they are.

    Equal numbers come in any order.

    Args:
        values: The numbers, signed or unsigned, two or more.
        count: How many of them.

    Returns:
        A circuit with the outputs `indices` and `greatest`, of so many each.

    Raises:
        InvalidArgumentError: It is no such port, or the count is out of range.

    Source: as of `programs.sorting_networks`.

    Example:
        >>> import cloakwork as cw
        >>> circuit = cw.boolean.top(cw.Port("scores", "unsigned", 8, shape=(5,)), 2)
        >>> circuit.run_clear(scores=[3, 7, 90, 80, 12])["indices"].tolist()
        [2, 3]
    """
    action = "make a list of the greatest"
    words = _Words(f"greatest of {getattr(values, 'name', '')}", values, action)
    several = _several(len(words.elements), action)
    count = integer(count, "count", action, least=1, most=several)
    bits = (several - 1).bit_length()
    rows = words.numbered(bits)
    chosen = words.greatest(rows, count, values.width)
    indices = [bit for row in chosen for bit in row[values.width :]]
    words.output(Port("indices", "unsigned", bits, shape=(count,)), indices)
    numbers = [bit for row in chosen for bit in row[: values.width]]
    words.output(_like(values, "greatest", (count,)), numbers)
    return Circuit(words.finish())


def sort(values: Port) -> Circuit:
    """Several numbers in rising order, as `numpy.sort` brings them.

    Args:
        values: The numbers, signed or unsigned, two or more.

    Returns:
        A circuit with the output `sorted`.

    Raises:
        InvalidArgumentError: It is no such port.

    Source: as of `programs.sorting_networks`.

    Example:
        >>> import cloakwork as cw
        >>> circuit = cw.boolean.sort(cw.Port("bids", "unsigned", 8, shape=(4,)))
        >>> circuit.run_clear(bids=[30, 7, 90, 12])["sorted"].tolist()
        [7, 12, 30, 90]
    """
    words = _Words(f"{getattr(values, 'name', '')} in order", values, "make a sort")
    count = _several(len(words.elements), "make a sort")
    rows = [list(element) for element in words.elements]
    falling = words.greatest(rows, count, values.width)
    words.output(_like(values, "sorted", (count,)), [bit for row in falling[::-1] for bit in row])
    return Circuit(words.finish())


def above(values: Port, threshold: float) -> Circuit:
    """Which numbers are greater than a known one.

    Args:
        values: The numbers, signed or unsigned.
        threshold: The known one; what lies between two numbers of the port counts as the lower.

    Returns:
        A circuit with the output `above`, a bit for each number.

    Raises:
        InvalidArgumentError: It is no such port, or the threshold is not one of its numbers.

    Example:
        >>> import cloakwork as cw
        >>> circuit = cw.boolean.above(cw.Port("x", "signed", 8, shape=(3,), fraction=4), 1.5)
        >>> circuit.run_clear(x=[1.5, 1.5625, -3])["above"].tolist()
        [0, 1, 0]
    """
    action = "make a threshold"
    words = _Words(f"{getattr(values, 'name', '')} above {threshold}", values, action)
    number = np.floor(np.float64(threshold) * 2.0**values.fraction)
    low = -(1 << values.width - 1) if values.kind == "signed" else 0
    if not low <= number < low + (1 << values.width):
        raise InvalidArgumentError(
            f"cannot {action}: expected a number that {values} may be, got {shown(threshold)}"
        )
    known = words.constant(int(number) % (1 << values.width), values.width)
    found = [words.is_less(known, element) for element in words.elements]
    words.output(Port("above", "bits", len(found)), found)
    return Circuit(words.finish())


def table(values: Port, entries: Any) -> Circuit:
    """An entry of a known table for each number.

    Args:
        values: The numbers, signed or unsigned, of up to 16 bits; the bits of each, as an unsigned
            number, say which entry it takes.
        entries: The entries, integers of any sign, 2^width of them.

    Returns:
        A circuit with the output `entries`.

    Raises:
        InvalidArgumentError: It is no such port, or there are not as many entries.
        NotIntegerError: An entry is not an integer.

    Example:
        >>> import cloakwork as cw
        >>> squares = [number**2 for number in range(16)]
        >>> circuit = cw.boolean.table(cw.Port("x", "unsigned", 4, shape=(3,)), squares)
        >>> circuit.run_clear(x=[1, 5, 15])["entries"].tolist()
        [1, 25, 225]
    """
    action = "make a table"
    words = _Words(f"table of {getattr(values, 'name', '')}", values, action)
    given = np.asarray(entries)
    if given.dtype.kind not in "iub":
        raise NotIntegerError(f"cannot {action}: expected integers as entries, got {given.dtype}")
    numbers = [int(each) for each in given.ravel()]
    if values.width > _MOST_TABLE_BITS or len(numbers) != 1 << values.width:
        raise InvalidArgumentError(
            f"cannot {action}: expected a number of up to {_MOST_TABLE_BITS} bits and an entry for "
            f"each, got {values.width} bits and {len(numbers)} entries"
        )
    signed = min(numbers) < 0
    width = max(1, *(int(each if each >= 0 else ~each).bit_length() + signed for each in numbers))
    found = [
        bit for element in words.elements for bit in chosen_entry(words, element, numbers, width)
    ]
    made = Port("entries", "signed" if signed else "unsigned", width, shape=values.shape)
    words.output(made, found)
    return Circuit(words.finish())


def _like(port: Port, name: str, shape: tuple[int, ...]) -> Port:
    return Port(name, port.kind, port.width, shape=shape, fraction=port.fraction)


def _several(count: int, action: str) -> int:
    if count < 2:
        raise InvalidArgumentError(f"cannot {action}: expected two numbers or more, got {count}")
    return count

"""Which scalar lies in which slot of the vectors of a program over integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cloakwork.base.arguments import printable
from cloakwork.programs.ir.vectors import Clear, PlacedScalar
from cloakwork.programs.packing.scalar import ROWS, ScalarPacking
from cloakwork.programs.port import Port

_SHOWN_SLOTS = 16
_SHOWN_STRIPS = 12


@dataclass(frozen=True, slots=True)
class Strip:
    """The slots of one evaluation of a vector, from its first that holds something on.

    Args:
        kind: Whether the vector goes in or comes out.
        number: Which of these it is.
        start: The first slot; one below 0 lies at the end of the row.
        names: What each slot holds; empty for nothing, or nothing that is read.
    """

    kind: Literal["input", "result"]
    number: int
    start: int
    names: tuple[str, ...]

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{self.kind} {self.number}"

    def __str__(self) -> str:
        names = [name or "." for name in self.names[:_SHOWN_SLOTS]]
        more = " ..." if len(self.names) > _SHOWN_SLOTS else ""
        return f"  {self.title}  slot {self.start}: |{'|'.join(names)}|{more}"


def strips_of(packing: ScalarPacking) -> list[Strip]:
    """A strip of each vector that goes in, then of each that comes out.

    Results are called r0, r1 and so on, in order.
    """
    slots = packing.places.slots
    strips = [
        _strip(
            "input",
            number,
            {each.slot: _name_of(each, packing) for each in scalars},
            slots,
        )
        for number, scalars in enumerate(packing.places.inputs)
    ]
    held: dict[int, dict[int, str]] = {}
    for number, place in enumerate(packing.places.results):
        if not isinstance(place, Clear):
            names = held.setdefault(place.output, {})
            names[place.slot] = "=".join(filter(None, [names.get(place.slot), f"r{number}"]))
    return strips + [_strip("result", output, held[output], slots) for output in sorted(held)]


def strip_lines(packing: ScalarPacking) -> list[str]:
    """The strips as text, and how many evaluations a run holds."""
    places = packing.places
    strips = strips_of(packing)
    more = len(strips) - _SHOWN_STRIPS
    return [
        f"slots: {places.width} for each evaluation; {ROWS} rows of {places.slots} hold "
        f"{packing.batch} evaluations",
        *map(str, strips[:_SHOWN_STRIPS]),
        *([f"  and {more} more vectors"] * (more > 0)),
    ]


def _name_of(scalar: PlacedScalar, packing: ScalarPacking) -> str:
    """What lies in a slot: a scalar of an input, or a digit of it."""
    port = next(each for each in packing.inputs if each.name == scalar.input)
    digits = packing.digits_of.get(scalar.input)
    if digits is None:
        return scalar_name(port, scalar.index)
    index, place = divmod(scalar.index, digits.count)
    return f"{scalar_name(port, index)} digit {place}"


def scalar_name(port: Port, index: int) -> str:
    """A scalar of an input as a user writes it.

    Example:
        >>> scalar_name(Port("a", "integer", shape=(2, 3)), 4)
        'a[1,1]'
    """
    places: list[int] = []
    for length in reversed(port.shape):
        index, place = divmod(index, length)
        places.insert(0, place)
    name = printable(port.name)
    return f"{name}[{','.join(map(str, places))}]" if places else name


def _strip(
    kind: Literal["input", "result"], number: int, held: Mapping[int, str], slots: int
) -> Strip:
    signed = {(slot if 2 * slot < slots else slot - slots): name for slot, name in held.items()}
    start = min([0, *signed])
    stop = max(signed, default=start) + 1
    return Strip(kind, number, start, tuple(signed.get(slot, "") for slot in range(start, stop)))

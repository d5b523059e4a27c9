"""The numbers that a polynomial in place of an activation is meant for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import apart
from cloakwork.base.record import Fields, Record
from cloakwork.errors import InvalidLayoutError, MalformedBytesError
from cloakwork.programs.places import Places

# What rounding may add at the end of a range, as a part of it.
_ROUNDING = 1e-9
_MAX_CIPHERTEXTS = 1 << 20
_MAX_VALUE = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class ActivationRange:
    """What a polynomial expects of the numbers that come to it.

    Args:
        layer: The name of its layer.
        values: The values of the program that are its operand, a ciphertext each.
        places: How the operand is packed.
        low: The least number expected.
        high: The greatest.
        scale: What the slots hold is a number times this, plus a shift.
        shift: The shift.
    """

    layer: str
    values: tuple[int, ...]
    places: Places
    low: float
    high: float
    scale: float = 1.0
    shift: float = 0.0

    @property
    def reached(self) -> float:
        """The largest absolute value that a slot holds for numbers of the range."""
        return max(abs(end * self.scale + self.shift) for end in (self.low, self.high))

    def is_left_by(self, least: float, greatest: float) -> bool:
        """Whether numbers from the least to the greatest leave the range."""
        slack = _ROUNDING * max(abs(self.low), abs(self.high))
        return self.low - least > slack or greatest - self.high > slack

    def to_record(self) -> Record:
        """The range as files hold it."""
        return {
            "layer": self.layer,
            "values": list(self.values),
            **places_record(self.places),
            **{name: getattr(self, name) for name in ("low", "high", "scale", "shift")},
        }

    @classmethod
    def from_fields(cls, fields: Fields) -> ActivationRange:
        """The range of a record.

        Raises:
            MalformedBytesError: The record is of no range.
        """
        places = read_places(fields)
        values = fields.integers("values", least=0, most=_MAX_VALUE, count=_MAX_CIPHERTEXTS)
        low, high = fields.number("low"), fields.number("high")
        if not low <= high:
            raise fields.wrong("low and high", "a range")
        shift = fields.number("shift")
        return cls(fields.text("layer"), values, places, low, high, fields.positive("scale"), shift)


def places_record(places: Places) -> Record:
    """Places as files hold them."""
    return {"slots": places.slots, "places": places.places, "packing": places.name}


def read_places(fields: Fields) -> Places:
    """The places of a record.

    Raises:
        MalformedBytesError: The record is of none.
    """
    slots = fields.integer("slots", least=1, most=1 << 20)
    try:
        return Places(slots, fields.array("places", "int64"), fields.text("packing"))
    except InvalidLayoutError as error:
        raise MalformedBytesError(f"cannot read {fields.place}: {error}") from error


def left_ranges(ranges: Sequence[ActivationRange], received: NDArray[np.float64]) -> list[str]:
    """The layers that receive numbers outside their ranges, in words.

    Args:
        ranges: What is expected.
        received: The least and the greatest number that came to each.

    Example:
        >>> silu = ActivationRange("silu", (0,), Places(2, np.array([0, 1])), -1.0, 1.0)
        >>> left_ranges([silu], np.array([[-2.0, 0.5]]))
        ["layer 'silu' expects numbers from -1 to 1, and got -2 to 0.5"]
    """
    reports: list[str] = []
    for each, (least, greatest) in zip(ranges, received.tolist(), strict=True):
        if each.is_left_by(least, greatest):
            (low, got_least), (high, got_greatest) = (
                apart(each.low, least),
                apart(each.high, greatest),
            )
            reports.append(
                f"layer {each.layer!r} expects numbers from {low} to {high}, and got {got_least} "
                f"to {got_greatest}"
            )
    return reports

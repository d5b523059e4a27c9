"""Values on their way from grain to grain: as they are in one process, as bytes between two."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

from cloakwork.base.record import Fields, Record
from cloakwork.runtime.profile import Measurement, Profile


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a grain took; it goes back to whoever asked for the run.

    Args:
        start: When it began, in seconds of the clock of its machine.
        operations: What each operation took, from its own start.
        peak_bytes: The most bytes that its values took at once.
        key_bytes: Bytes of the evaluation keys that its worker read for it.
    """

    start: float
    operations: tuple[Measurement, ...]
    peak_bytes: int
    key_bytes: int = 0


class Moved:
    """Values by number, with the receipt of the grain that made them.

    Pickled it holds the engine's own bytes, which are moved as they are (protocol 5) and read by
    the engine where they arrive.

    Args:
        values: The values, ciphertexts of a scheme.
        scheme: The scheme.
        receipt: What the grain took.
    """

    __slots__ = ("_receipt", "_records", "_scheme", "_values")

    def __init__(self, values: Mapping[int, Any], scheme: Any, receipt: Receipt) -> None:
        self._values: Mapping[int, Any] | None = values
        self._records: Mapping[int, Record] = {}
        self._scheme = scheme
        self._receipt = receipt

    @property
    def receipt(self) -> Receipt:
        """What the grain took."""
        return self._receipt

    def values(self, form: Any) -> Mapping[int, Any]:
        """The values, read by the form of their program where they came as bytes.

        Raises:
            MalformedBytesError: They are damaged.
        """
        if self._values is None:
            self._values = read_values(self._records, form)
            self._records, self._scheme = {}, form.scheme
        return self._values

    def only(self, numbers: Iterable[int]) -> Moved:
        """Some of the values, without a copy of any."""
        if self._values is None:
            return _arrived({number: self._records[number] for number in numbers}, self._receipt)
        return Moved(
            {number: self._values[number] for number in numbers}, self._scheme, self._receipt
        )

    def __sizeof__(self) -> int:
        # By this Dask knows what a worker holds, and what a move would take.
        if self._values is not None:
            return sum(int(value.nbytes) for value in self._values.values())
        return sum(len(data) for record in self._records.values() for data in _leaves(record))

    def __reduce_ex__(self, _: SupportsIndex) -> tuple[Any, ...]:
        records = self._records
        if self._values is not None:
            records = {number: self._scheme.dump(value) for number, value in self._values.items()}
        return _arrived, (
            {number: _mapped(record, pickle.PickleBuffer) for number, record in records.items()},
            self._receipt,
        )


def _arrived(records: Mapping[int, Record], receipt: Receipt) -> Moved:
    made = Moved({}, None, receipt)
    made._values, made._records = None, records
    return made


def read_values(records: Mapping[int, Record], form: Any) -> dict[int, Any]:
    """The values of records whose bytes came as any buffers."""
    return {
        number: form.read(number, Fields(_mapped(record, bytes), f"value {number}"))
        for number, record in records.items()
    }


def _mapped(record: Record, change: Any) -> Record:
    """A record of bytes, and lists of bytes, each changed."""
    return {
        name: [change(each) for each in entry] if isinstance(entry, list) else change(entry)
        for name, entry in record.items()
    }


def _leaves(record: Record) -> Iterable[Any]:
    for entry in record.values():
        yield from entry if isinstance(entry, list) else [entry]


def fill(profile: Profile, receipts: Sequence[Receipt], lanes: Sequence[int]) -> None:
    """Put what grains took together, in seconds from the first start on, lanes as threads."""
    begun = min((each.start for each in receipts), default=0.0)
    for each, lane in zip(receipts, lanes, strict=True):
        offset = each.start - begun
        profile.operations += [
            measured._replace(start=offset + measured.start, thread=lane)
            for measured in each.operations
        ]
        profile.peak_bytes = max(profile.peak_bytes, each.peak_bytes)
        if each.key_bytes:
            profile.key_bytes[lane] = profile.key_bytes.get(lane, 0) + each.key_bytes
    profile.operations.sort(key=lambda measured: measured.start + measured.seconds)

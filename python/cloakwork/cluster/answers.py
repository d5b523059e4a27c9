"""What workers answer of the grains that they did: containers, as plain bytes.

A worker's bytes are never unpickled where a run was asked for. An error crosses as the name of its
class, its message and its notes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork import errors
from cloakwork.base.record import Fields, Word, record_of
from cloakwork.cluster.job import Order
from cloakwork.cluster.moved import Receipt
from cloakwork.errors import CloakworkError, WorkerFailedError
from cloakwork.runtime import container
from cloakwork.runtime.profile import Measurement

ANSWER_KIND = "grain answer"

_LONGEST_TEXT = 10_000
_MOST_NOTES = 20
_MOST_BYTES = 1 << 62


@dataclass(frozen=True, slots=True)
class Failure:
    """What a grain has raised; grains that take what it makes hand it on.

    Args:
        error: The name of the error's class.
        message: Its message.
        notes: Its notes.
    """

    error: Word
    message: str
    notes: tuple[str, ...]

    @classmethod
    def of(cls, error: CloakworkError) -> Failure:
        """What an error is where it crosses to another process."""
        notes = getattr(error, "__notes__", [])
        return cls(type(error).__name__, readable(error), tuple(map(readable, notes)))

    def raised(self) -> CloakworkError:
        """The error, of the same class where that is one of Cloakwork's.

        Example:
            >>> Failure("StorageFullError", "cannot write", ()).raised()
            StorageFullError('cannot write')
        """
        kind = getattr(errors, self.error, None)
        # Another class may take more than a message.
        if not (isinstance(kind, type) and issubclass(kind, CloakworkError)) or "__init__" in vars(
            kind
        ):
            kind = WorkerFailedError
        found: CloakworkError = kind(readable(self.message))
        for note in self.notes[:_MOST_NOTES]:
            found.add_note(readable(note))
        return found


@dataclass(frozen=True, slots=True)
class _Operations:
    """Measurements, of each field an array."""

    numbers: NDArray[np.int64]
    kinds: tuple[Word, ...]
    kind_numbers: NDArray[np.int64]
    starts: NDArray[np.float64]
    seconds: NDArray[np.float64]
    threads: NDArray[np.int64]
    sizes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answer:
    """Says what a grain took, or raised: a task of Dask.

    Args:
        job: The digest of the grain's job.
        grain: The name of the grain.
    """

    job: str
    grain: str

    def __call__(self, made: Any) -> bytes:
        """The answer of a grain that has made, or raised, something."""
        failed = isinstance(made, Failure)
        return container.to_bytes(
            ANSWER_KIND,
            {
                "job": self.job,
                "grain": self.grain,
                "failures": [record_of(made)] if failed else [],
                "receipts": [] if failed else [_receipt_record(made.receipt)],
            },
        )


def receipt_of(data: bytes, order: Order, operations: int) -> Receipt:
    """What a grain took, of its worker's answer.

    Args:
        data: The answer.
        order: The grain.
        operations: How many operations its program has.

    Raises:
        MalformedBytesError: It is not an answer, or that of another grain.
        CloakworkError: What the grain raised.
    """
    fields = container.read_bytes(data, ANSWER_KIND)
    fields = Fields(
        {name: fields.raw(name) for name in ("job", "grain", "failures", "receipts")},
        f"a worker's answer of grain {order.name}",
    )
    if (fields.word("job"), fields.word("grain")) != (order.job.digest, order.name):
        raise fields.wrong("job and grain", "those that were asked for")
    for each in fields.several("failures", most=1):
        raise each.made(Failure).raised()
    for each in fields.several("receipts", most=1):
        return _read_receipt(each, operations)
    raise fields.wrong("receipts", "one")


def _receipt_record(receipt: Receipt) -> dict[str, Any]:
    own = receipt.operations
    kinds = sorted({each.kind for each in own})
    places = {kind: place for place, kind in enumerate(kinds)}

    def column(values: Any, dtype: str) -> NDArray[Any]:
        return np.fromiter(values, dtype, len(own))

    return {
        "start": receipt.start,
        "peak_bytes": receipt.peak_bytes,
        "key_bytes": receipt.key_bytes,
        "operations": {
            "numbers": column((each.number for each in own), "<i8"),
            "kinds": kinds,
            "kind_numbers": column((places[each.kind] for each in own), "<i8"),
            "starts": column((each.start for each in own), "<f8"),
            "seconds": column((each.seconds for each in own), "<f8"),
            "threads": column((each.thread for each in own), "<i8"),
            "sizes": column((each.nbytes for each in own), "<i8"),
        },
    }


def _read_receipt(fields: Fields, operations: int) -> Receipt:
    own = fields.value("operations", _Operations)
    columns = (own.numbers, own.kind_numbers, own.starts, own.seconds, own.threads, own.sizes)
    whole, times = (
        (own.numbers, own.kind_numbers, own.threads, own.sizes),
        (own.starts, own.seconds),
    )
    if (
        len({len(each) for each in columns}) != 1
        or any((each < 0).any() for each in whole)
        or not all(np.isfinite(each).all() for each in times)
        or (own.numbers >= operations).any()
        or (own.kind_numbers >= len(own.kinds)).any()
    ):
        raise fields.wrong("operations", "measurements of the program's operations")
    return Receipt(
        fields.number("start"),
        tuple(
            Measurement(number, own.kinds[kind], *measured)
            for number, kind, *measured in zip(*(each.tolist() for each in columns), strict=True)
        ),
        fields.integer("peak_bytes", least=0, most=_MOST_BYTES),
        fields.integer("key_bytes", least=0, most=_MOST_BYTES),
    )


def readable(text: object) -> str:
    """Text from another process without what would steer a terminal, and not without end.

    Example:
        >>> readable("cannot \\x1b[2J")
        'cannot ?[2J'
    """
    shown = str(text)[:_LONGEST_TEXT]
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in shown)

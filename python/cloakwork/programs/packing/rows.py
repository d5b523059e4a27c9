"""A block of a table of vectors, what is searched for in it, and what is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Limits, added
from cloakwork.programs.layout import MAX_SLOTS
from cloakwork.programs.packing.results import Form, plain_form
from cloakwork.programs.packing.tensor import WholeTensorPacking
from cloakwork.programs.port import Port
from cloakwork.programs.rows import (
    CoefficientsPlace,
    ColumnsPlace,
    LivePlace,
    NumbersPlace,
    PairsPlace,
    QueryPlace,
    RowSlots,
    SumPlace,
)
from cloakwork.programs.slots import Vector

Stored: TypeAlias = Literal["slots", "coefficients"]
_Count: TypeAlias = Annotated[int, Limits(1, MAX_SLOTS)]


@dataclass(frozen=True)
class RowsPacking(WholeTensorPacking):
    """How a block of rows and a query lie in ciphertexts; see `programs.rows`.

    Args:
        inputs: `columns`, a column for each row; `live`, which rows count; `query`; and `payloads`,
            further numbers of rows, where there are any.
        outputs: A number for each row, `scores` or `matches`; `payloads`; or sums over all rows.
        vector_slots: Slots of a ciphertext.
        half: RowSlots in the real parts of slots, and as many in the imaginary parts.
        shares: Coordinates of a row in a ciphertext.
        factor: What queries are multiplied by.
        penalty: What is taken off the products of rows that do not count.
        stored: Where numbers of rows stand as they are compared: in slots, or in coefficients, from
            which a bootstrap takes the products to slots.
    """

    kind: ClassVar[str] = "rows"
    contents: ClassVar[str] = "rows"
    checks_polynomials: ClassVar[bool] = True
    # Rows and queries are encrypted each by itself, and lengths alone see to their products.
    checked_together: ClassVar[bool] = False
    advice: ClassVar[str] = "let the index encrypt it, which divides it by the largest length"

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    vector_slots: _Count
    half: _Count
    shares: _Count
    factor: float
    penalty: float
    stored: Stored = added("slots")  # noqa: RUF009
    rows: RowSlots = field(init=False)
    form: Form = field(init=False)

    def __post_init__(self) -> None:
        slots, half, shares = self.vector_slots, self.half, self.shares
        self._require(slots % half == 0, "its rows do not fill slots")
        self._require(slots // half % shares == 0, "its shares do not fill slots")
        named = {port.name: port for port in self.inputs}
        known = ("columns", "live", "query", "payloads")[: len(self.inputs)]
        self._require(tuple(named) == known and len(known) > 2, "its inputs are others")
        self._require(len(named["columns"].shape) == 2, "its columns are not a matrix")
        width, size = named["columns"].shape
        self._require(size <= 2 * half, "its rows are too many")
        self._require(self.stored == "slots" or shares == 1, "its shares are not in slots")
        rows = RowSlots(slots, half, shares, size)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "form", plain_form(len(self.outputs)))
        places: dict[str, Any] = {
            "columns": ColumnsPlace(rows, width),
            "live": LivePlace(rows, self.penalty),
            "query": QueryPlace(rows, width, self.factor),
        }
        if self.stored == "coefficients":
            for name in ("columns", "live"):
                places[name] = CoefficientsPlace(places[name])
        shapes = {"columns": (width, size), "live": (size,), "query": (width,)}
        if "payloads" in named:
            count = named["payloads"].shape[0] if named["payloads"].shape else 0
            places["payloads"], shapes["payloads"] = NumbersPlace(rows, count), (count, size)
            self._require(count > 0, "its payloads have no numbers")
        for name, port in named.items():
            self._require(port.shape == shapes[name], f"{name!r} has another shape")
        self._place([(named[name], place) for name, place in places.items()], self._results(rows))

    def _results(self, rows: RowSlots) -> list[Any]:
        """Where the results lie, by their shapes."""
        found: list[Any] = []
        for port in self.outputs:
            self._require(port.shape[-1:] in ((), (rows.size,)), f"{port.name!r:.40} has no rows")
            match port.shape:
                case ():
                    found.append(SumPlace(rows))
                case (_,):
                    found.append(PairsPlace(rows))
                case (count, _):
                    found.append(NumbersPlace(rows, count))
                case _:
                    self._require(False, f"{port.name!r:.40} has another shape")
        return found

    def _packed(self, place: Any, rows: NDArray[np.float64]) -> list[Vector]:
        found: list[Vector] = place.pack(rows[0])
        return found

    def _unpacked(self, place: Any, vectors: Sequence[Vector]) -> NDArray[np.float64]:
        return np.asarray(place.unpack(vectors))[np.newaxis]

    def input_bounds(self) -> list[Vector] | None:
        return [
            np.full(self.vector_slots, place.most * (1.0 if port.name == "live" else port.bound))
            for port, place in self.tensors_in
            for _ in range(place.ciphertexts)
        ]

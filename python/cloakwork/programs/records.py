"""Programs as the records that files hold, see `base.record`.

The operations of a slot program stand in a record as in its text; its vectors are one array, each
once, and so are its matrices; the diagonals of its transforms are arrays of their elements, whose
patterns stand beside them, each set once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.itself import Itself
from cloakwork.base.record import Fields, Record, record_of
from cloakwork.errors import CloakworkError, MalformedBytesError
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.diagonals import DiagonalArrays, SparseDiagonals
from cloakwork.programs.layout import MAX_SLOTS
from cloakwork.programs.patterns import ALONE, Patterns
from cloakwork.programs.slots import DTYPES as NUMBERS
from cloakwork.programs.slots import Builder, SlotProgram
from cloakwork.programs.text import Named, Naming, meaning_lines, operation_lines, read_operation
from cloakwork.programs.tokens import Tokens
from cloakwork.programs.vectors import VectorTable

_MAX_TRANSFORMS = 1 << 20
_MATRIX_AXES = 2
# In memory operations take some tens of times as much as their text.
_TEXT_BYTES = 1 << 24
_INDICES = ("uint16", "uint32")


class _Tables(Naming):
    """Names transforms and matrices by number as well."""

    def __init__(self) -> None:
        super().__init__()
        self.transforms: list[SparseDiagonals] = []
        self.matrices: list[NDArray[np.float64]] = []
        self._numbers: dict[bytes, int] = {}
        self._by_identity: dict[Itself[SparseDiagonals], int] = {}
        self._contents = VectorTable()
        self._matrix_numbers: dict[tuple[tuple[int, ...], int], int] = {}

    def diagonals(self, diagonals: Mapping[int, NDArray[Any]]) -> str:
        if not isinstance(diagonals, SparseDiagonals):
            return super().diagonals(diagonals)
        number = self._by_identity.get(Itself(diagonals))
        if number is None:
            number = self._numbers.setdefault(diagonals.digest(), len(self.transforms))
            if number == len(self.transforms):
                self.transforms.append(diagonals)
            self._by_identity[Itself(diagonals)] = number
        return f"t{number}"

    def matrix(self, matrix: NDArray[np.float64]) -> str:
        content = matrix.shape, self._contents.number_of(matrix)
        number = self._matrix_numbers.setdefault(content, len(self.matrices))
        if number == len(self.matrices):
            self.matrices.append(matrix)
        return f"m{number}"


def slots_record(program: SlotProgram) -> Record:
    """A slot program as a record from which `read_slots` makes it again, bit for bit."""
    tables = _Tables()
    return _record_of_lines(program, program.title, operation_lines(program, tables), tables)


def _record_of_lines(
    program: SlotProgram, title: str, lines: Sequence[str], tables: _Tables
) -> Record:
    """The record whose operations are these lines, with what they name."""
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    vectors = tables.distinct.vectors
    patterns = _several_patterns(tables.transforms)
    empty = np.empty((0, program.slots), dtype=NUMBERS[program.numbers])
    return {
        "title": title,
        "numbers": program.numbers,
        "slots": program.slots,
        # Bytes are not compressed: operations take many times what their text does.
        "operations": text,
        "vectors": np.stack(vectors) if vectors else empty,
        "transforms": [_transform_record(each, [*patterns]) for each in tables.transforms],
        # Programs without have no such entries, as they had before there were any.
        **({"matrices": tables.matrices} if tables.matrices else {}),
        **({"patterns": list(map(_patterns_record, patterns.values()))} if patterns else {}),
    }


def _several_patterns(transforms: Sequence[SparseDiagonals]) -> dict[bytes, Patterns]:
    """The sets of more than one pattern that transforms have, by what they hold."""
    sets = (each.patterns for each in transforms)
    return {each.digest: each for each in sets if len(each) > 1}


def _patterns_record(patterns: Patterns) -> Record:
    return {"steps": patterns.steps, "sizes": patterns.sizes.astype(np.uint32)}


def _transform_record(diagonals: SparseDiagonals, several: Sequence[bytes]) -> Record:
    arrays = diagonals.arrays()
    held: dict[str, Any] = {
        "numbers": arrays.numbers.astype(np.int32),
        "counts": arrays.counts.astype(np.uint32),
        "targets": arrays.targets,
        "places": arrays.places,
        "weights": arrays.weights,
    }
    if len(arrays.patterns) > 1:
        held["patterns"] = several.index(arrays.patterns.digest)
        held["pattern_of"] = arrays.pattern_of
    elif not arrays.patterns.is_alone:
        # Elements that are not repeated have no such entry, as none had before some were.
        held["copies"] = arrays.patterns.steps.astype(np.int64)
    return held


def read_slots(fields: Fields) -> SlotProgram:
    """The slot program of a record; a damaged one, or one not legal, is a malformed record."""
    numbers: Any = fields.choice("numbers", tuple(NUMBERS))
    slots = fields.integer("slots", least=1, most=MAX_SLOTS)
    text = fields.data("operations")
    if len(text) > _TEXT_BYTES:
        raise fields.wrong("operations", f"up to {_TEXT_BYTES} bytes of text")
    # A vector is named by two characters or more.
    vectors = fields.array("vectors", NUMBERS[numbers].str, ndim=2, most=len(text) * slots)
    if vectors.shape[1] != slots:
        raise fields.wrong("vectors", f"of {slots} slots")
    patterns: list[Patterns] = []
    if fields.has("patterns"):
        several = fields.several("patterns", most=_MAX_TRANSFORMS)
        patterns = [_read_patterns(each, slots) for each in several]
    transforms = [
        _read_transform(each, slots, patterns)
        for each in fields.several("transforms", most=_MAX_TRANSFORMS)
    ]
    try:
        lines = text.decode("utf-8", "surrogatepass").split("\n")
        builder = Builder(fields.text("title"), slots, numbers)
        matrices: list[NDArray[np.float64]] = []
        if fields.has("matrices"):
            axes, most = _MATRIX_AXES, _MAX_TRANSFORMS
            matrices = fields.arrays("matrices", "float64", ndim=axes, most=most)
        named = Named(_Rows(vectors), transforms, matrices)
        for line in lines:
            read_operation(Tokens(line), named, builder)
        return builder.finish()
    except (CloakworkError, UnicodeDecodeError) as error:
        raise MalformedBytesError(f"cannot read {fields.place}: {error}") from error


class _Rows(Sequence[NDArray[Any]]):
    """The rows of an array, each one object, which takes more memory than a short row does."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        self._made: dict[int, NDArray[Any]] = {}

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, number: Any) -> Any:
        if number not in self._made:
            self._made[number] = self._array[number]
        return self._made[number]


def _read_patterns(fields: Fields, slots: int) -> Patterns:
    patterns = Patterns(fields.array_of_any("steps", _INDICES), fields.array("sizes", "uint32"))
    if not patterns.fit(slots):
        raise fields.wrong("steps", f"patterns of {slots} slots")
    return patterns


def _read_transform(fields: Fields, slots: int, several: Sequence[Patterns]) -> SparseDiagonals:
    def given(name: str, *dtypes: str) -> NDArray[Any] | None:
        return None if fields.raw(name) is None else fields.array_of_any(name, dtypes)

    patterns, pattern_of = ALONE, None
    if fields.has("copies"):
        patterns = Patterns(fields.array("copies", "int64"))
    elif fields.has("patterns"):
        patterns = several[fields.integer("patterns", least=0, most=len(several) - 1)]
        pattern_of = fields.array_of_any("pattern_of", _INDICES)
    arrays = DiagonalArrays(
        fields.array("numbers", "int32").astype(np.int64),
        fields.array("counts", "uint32").astype(np.int64),
        fields.array_of_any("targets", _INDICES),
        given("places", *_INDICES),
        given("weights", "float64"),
        patterns,
        pattern_of,
    )
    try:
        return SparseDiagonals.from_arrays(slots, arrays)
    except ValueError as error:
        raise MalformedBytesError(f"cannot read {fields.place}: {error}") from error


def meaning_record(program: SlotProgram | BootstrapProgram) -> Record:
    """What a program computes, as a record: its title, layouts, origins and stages left out."""
    if isinstance(program, BootstrapProgram):
        return {**record_of(program), "title": ""}
    tables = _Tables()
    return _record_of_lines(program, "", meaning_lines(program, tables), tables)

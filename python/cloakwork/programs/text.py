"""The text of a whole program: a person can read it, and it reads back exactly.

A header, the distinct vectors, then one line per operation, with its layout, the
line of the user's program that it comes from and the stage of the plan:

    cloakwork slot program 1
    title "masked neighbour"
    slots 8

    v0 = 1.0 x3, 0.0 x5

    %0 = input "x" at 1
    %1 = rotate %0 by 1 layout (i:3@1) garbage from "neighbour.py:4"
    %2 = constant v0
    %3 = mul %1 %2 stage "mask"
    %4 = rescale %3
    %5 = output %4

A program over integers says so after its slots, by the line `numbers integer`.

`str(program)` is the summary for people only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.layout import Axis, Layout
from cloakwork.programs.matrices import BlockLayout, Blocks, Role
from cloakwork.programs.operations import OPERATIONS
from cloakwork.programs.slots import AnyLayout, Builder, SlotProgram
from cloakwork.programs.tokens import Tokens, program_lines, quote
from cloakwork.programs.vectors import DistinctVectors, read_vector, vector_text

# Bytes that the vectors of a program read from outside may take.
MEMORY = 1 << 30

_FIRST_LINE = "cloakwork slot program 1"

# The most that every version of numpy can index.
_MAX_AXES = 32
# A batch of matrices has a number of them, rows and columns.
_MATRIX_AXES = 3
_BLOCKS = tuple(each.name for each in fields(Blocks) if each.name != "slots")


def to_text(program: SlotProgram) -> str:
    """A program as text from which `from_text` makes it again, bit for bit."""
    naming = Naming()
    body = operation_lines(program, naming)
    distinct = naming.distinct
    lines = [_FIRST_LINE, f"title {quote(program.title)}", f"slots {program.slots}"]
    if program.numbers != "real":
        lines.append(f"numbers {program.numbers}")
    lines.append("")
    for number, vector in enumerate(distinct.vectors):
        lines.append(f"v{number} = {vector_text(vector)}")
    if distinct.vectors:
        lines.append("")
    return "\n".join([*lines, *body])


def from_text(text: str, *, memory: int = MEMORY) -> SlotProgram:
    """Read a program from its text."""
    vectors: list[NDArray[Any]] = []
    with program_lines(text, _FIRST_LINE) as (title, lines):
        head = next(lines, Tokens(""))
        head.expect("slots")
        builder = Builder(title, head.integer())
        for tokens in lines:
            if tokens.accept("numbers"):
                if vectors or len(builder):
                    raise InvalidProgramError(
                        "what the numbers are comes before vectors and operations"
                    )
                tokens.expect("integer")
                builder = Builder(title, builder.slots, "integer")
            elif tokens.peek().startswith("v"):
                _expect_number(tokens, "v", len(vectors))
                if 8 * builder.slots * (len(vectors) + 1) > memory:
                    raise InvalidProgramError(
                        f"the vectors take more than {memory} bytes; "
                        "if the program is to be trusted, read it with more memory"
                    )
                vectors.append(read_vector(tokens, builder.slots, builder.numbers))
            else:
                read_operation(tokens, Named(vectors), builder)
    return builder.finish()


@dataclass(frozen=True, slots=True)
class Named:
    """The vectors and the transforms that the text of operations names.

    Args:
        vectors: Vectors by number, v0, v1 and so on.
        transforms: Diagonals by number, t0, t1 and so on; text that a person reads has none, and
            writes the vector of every diagonal.
        matrices: Matrices by number, m0, m1 and so on; likewise text has every number.
    """

    vectors: Sequence[NDArray[Any]] = ()
    transforms: Sequence[Any] = ()
    matrices: Sequence[NDArray[np.float64]] = ()

    def vector(self, tokens: Tokens) -> NDArray[Any]:
        """Take the name of a vector."""
        vector: NDArray[Any] = _taken(tokens, "v", self.vectors)
        return vector

    def diagonals(self, tokens: Tokens) -> Mapping[int, NDArray[Any]]:
        """Take the name of a transform, or its diagonals."""
        if not tokens.accept("{"):
            transform: Mapping[int, NDArray[Any]] = _taken(tokens, "t", self.transforms)
            return transform
        diagonals: dict[int, NDArray[Any]] = {}
        while True:
            number = tokens.signed()
            if number in diagonals:
                raise InvalidProgramError(f"diagonal {number} is given twice")
            tokens.expect(":")
            diagonals[number] = self.vector(tokens)
            if not tokens.accept(","):
                tokens.expect("}")
                return diagonals

    def matrix(self, tokens: Tokens) -> NDArray[np.float64]:
        """Take the name of a matrix, or its rows."""
        if tokens.peek() != "[":
            matrix: NDArray[np.float64] = _taken(tokens, "m", self.matrices)
            return matrix
        rows = tokens.several(lambda: tokens.several(tokens.real))
        if len({*map(len, rows)}) > 1:
            raise InvalidProgramError("the rows of a matrix have different lengths")
        return np.array(rows, dtype=np.float64)


def _taken(tokens: Tokens, prefix: str, given: Sequence[Any]) -> Any:
    number = tokens.numbered(prefix)
    if number >= len(given):
        raise InvalidProgramError(f"{prefix}{number} is not given before it is used")
    return given[number]


class Naming:
    """Names vectors, and the diagonals of transforms one by one by their vectors."""

    def __init__(self) -> None:
        self.distinct = DistinctVectors()

    def vector(self, vector: NDArray[Any]) -> str:
        """The name of a vector."""
        return f"v{self.distinct.number_of(vector)}"

    def diagonals(self, diagonals: Mapping[int, NDArray[Any]]) -> str:
        """The diagonals of a transform."""
        entries = [f"{d}: {self.vector(vector)}" for d, vector in diagonals.items()]
        return f"{{{', '.join(entries)}}}"

    def matrix(self, matrix: NDArray[np.float64]) -> str:
        """The rows of a matrix."""
        rows = [f"[{', '.join(map(repr, row))}]" for row in matrix.tolist()]
        return f"[{', '.join(rows)}]"


def operation_lines(program: SlotProgram, naming: Naming) -> list[str]:
    """One line per operation, with its layout, origin and stage.

    Of blocks of a matrix, which are many, all vectors lie alike: the first says how.
    """
    lines: list[str] = []
    first: dict[BlockLayout, int] = {}
    for number, meaning in enumerate(meaning_lines(program, naming)):
        words = [meaning]
        layout = program.layouts[number]
        if isinstance(layout, BlockLayout) and first.setdefault(layout, number) < number:
            words.append(f"layout of %{first[layout]}")
        elif layout is not None:
            words.append(_layout(layout))
        for word, text in (("from", program.origins[number]), ("stage", program.stages[number])):
            words.append(f"{word} {quote(text)}" if text else "")
        lines.append(" ".join(filter(None, words)))
    return lines


def meaning_lines(program: SlotProgram, naming: Naming) -> list[str]:
    """One line per operation: what it computes, without its layout, origin and stage."""
    lines: list[str] = []
    for number, operation in enumerate(program.operations):
        operands = "".join([f" %{each}" for each in operation.operands])
        text = operation.text(naming)
        lines.append(f"%{number} = {operation.kind}{operands}{' ' if text else ''}{text}")
    return lines


def _layout(layout: AnyLayout) -> str:
    if isinstance(layout, BlockLayout):
        blocks = [f"{name} {getattr(layout.blocks, name)}" for name in _BLOCKS]
        return f"layout {layout.role} {_sizes(layout.shape)} {' '.join(blocks)}"
    words = [f"layout {_axes(layout.axes)}"]
    words += [f"copies {_axes(layout.replicas)}"] if layout.replicas else []
    words += [f"at {layout.offset}"] if layout.offset else []
    words += ["garbage"] if layout.garbage else []
    return " ".join(words)


def _sizes(sizes: Sequence[int]) -> str:
    return f"[{', '.join(map(str, sizes))}]"


def _read_blocks(tokens: Tokens, role: Role, slots: int) -> BlockLayout:
    shape = tokens.several(tokens.integer)
    if len(shape) != _MATRIX_AXES:
        raise InvalidProgramError(f"expected {_MATRIX_AXES} sizes of matrices, got {len(shape)}")
    found: dict[str, int] = {}
    for name in _BLOCKS:
        tokens.expect(name)
        found[name] = tokens.integer()
    batch, rows, columns = shape
    return BlockLayout(Blocks(slots, **found), role, (batch, rows, columns))


def _axes(axes: Sequence[Axis]) -> str:
    return f"({', '.join(map(_axis, axes))})"


def _axis(axis: Axis) -> str:
    is_plain = axis.name.isidentifier() and axis.name.isascii()
    tile = f"/{axis.tile}" if axis.tile else ""
    name = axis.name if is_plain else quote(axis.name)
    return f"{name + ':' if axis.name else ''}{axis.size}@{axis.stride}{tile}"


def read_operation(tokens: Tokens, named: Named, builder: Builder) -> None:
    """Append the operation that a line of `operation_lines` holds to those before it."""
    _expect_number(tokens, "%", len(builder))
    name = tokens.word()
    if name not in OPERATIONS:
        raise InvalidProgramError(f"expected an operation, got {name[:20]!r}")
    operation = OPERATIONS[name].read(tokens, named)
    layout = _read_layout(tokens, builder) if tokens.accept("layout") else None
    builder.origin = tokens.quoted() if tokens.accept("from") else ""
    builder.stage = tokens.quoted() if tokens.accept("stage") else ""
    tokens.end()
    builder.append(operation, layout)


def _expect_number(tokens: Tokens, prefix: str, number: int) -> None:
    tokens.expect(f"{prefix}{number}")
    tokens.expect("=")


def _read_layout(tokens: Tokens, builder: Builder) -> AnyLayout:
    slots = builder.slots
    if tokens.accept("of"):
        layout: AnyLayout | None = _taken(tokens, "%", builder.layouts)
        if layout is None:
            raise InvalidProgramError("expected a value that has a layout")
        return layout
    for role in get_args(Role):
        if tokens.accept(role):
            return _read_blocks(tokens, role, slots)
    axes = _read_axes(tokens)
    replicas = _read_axes(tokens) if tokens.accept("copies") else ()
    if len(axes) + len(replicas) > _MAX_AXES:
        raise InvalidProgramError(f"expected at most {_MAX_AXES} axes")
    offset = tokens.integer() if tokens.accept("at") else 0
    return Layout(slots, axes, replicas, tokens.accept("garbage"), offset)


def _read_axes(tokens: Tokens) -> tuple[Axis, ...]:
    axes: list[Axis] = []
    tokens.expect("(")
    while not tokens.accept(")"):
        if axes:
            tokens.expect(",")
        axes.append(_read_axis(tokens))
    return tuple(axes)


def _read_axis(tokens: Tokens) -> Axis:
    name = ""
    if not tokens.peek().isdecimal():
        name = tokens.quoted() if tokens.peek().startswith('"') else tokens.word()
        tokens.expect(":")
    size = tokens.integer()
    tokens.expect("@")
    stride = tokens.signed()
    return Axis(size, stride, name, tokens.integer() if tokens.accept("/") else 0)

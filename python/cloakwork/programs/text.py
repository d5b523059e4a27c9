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
from typing import Any

from numpy.typing import NDArray

from cloakwork.errors import CloakworkError, InvalidProgramError
from cloakwork.programs.layout import Axis, Layout
from cloakwork.programs.operations import OPERATIONS, Operation
from cloakwork.programs.slots import Builder, SlotProgram
from cloakwork.programs.tokens import Tokens, quote
from cloakwork.programs.vectors import DistinctVectors, read_vector, vector_text

# Bytes that the vectors of a program read from outside may take.
MEMORY = 1 << 30

_FIRST_LINE = "cloakwork slot program 1"

# The most that every version of numpy can index.
_MAX_AXES = 32


def to_text(program: SlotProgram) -> str:
    """A program as text from which `from_text` makes it again, bit for bit.

    Example:
        >>> from cloakwork.programs.slots import Add, Input, Output
        >>> x = Input("x", 1)
        >>> print(to_text(SlotProgram("double", 4, (x, Add(0, 0), Output(1)), (None,) * 3)))
        cloakwork slot program 1
        title "double"
        slots 4
        <BLANKLINE>
        %0 = input "x" at 1
        %1 = add %0 %0
        %2 = output %1
    """
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
    """Read a program from its text.

    Args:
        text: What `to_text` made, or a person wrote.
        memory: Bytes that the program's vectors may take.

    Raises:
        InvalidProgramError: The text is no program, or an operation of it is not legal; the
            message names the line.

    Example:
        >>> from cloakwork.programs.slots import Add, Input, Output
        >>> program = SlotProgram("double", 4, (Input("x", 1), Add(0, 0), Output(1)), (None,) * 3)
        >>> print(from_text(to_text(program)))
        double, 4 slots
          %0 = input x        level 1
          %1 = add %0 %0      level 1
          %2 = output %1      level 1
    """
    if not isinstance(text, str):
        raise InvalidProgramError(f"cannot read a program: expected text, got {type(text)}")
    reader = _Reader(memory)
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            reader.read(line)
        except CloakworkError as error:
            raise InvalidProgramError(f"cannot read the program: line {number}: {error}") from error
    return reader.finish()


class Named:
    """The vectors and the transforms that the text of operations names.

    Attributes:
        vectors: Vectors by number, v0, v1 and so on.
        transforms: Diagonals by number, t0, t1 and so on; text that a person reads has none, and
            writes the vector of every diagonal.
    """

    def __init__(
        self, vectors: Sequence[NDArray[Any]] = (), transforms: Sequence[Any] = ()
    ) -> None:
        self.vectors = vectors
        self.transforms = transforms

    def vector(self, tokens: Tokens) -> NDArray[Any]:
        """Take the name of a vector."""
        vector: NDArray[Any] = self._taken(tokens, "v", self.vectors)
        return vector

    def transform(self, tokens: Tokens) -> Mapping[int, NDArray[Any]]:
        """Take the name of a transform."""
        diagonals: Mapping[int, NDArray[Any]] = self._taken(tokens, "t", self.transforms)
        return diagonals

    def _taken(self, tokens: Tokens, prefix: str, given: Sequence[Any]) -> Any:
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


def operation_lines(program: SlotProgram, naming: Naming) -> list[str]:
    """One line per operation.

    Example:
        >>> from cloakwork.programs.slots import Input, Neg
        >>> operation_lines(SlotProgram("", 4, (Input("x", 1), Neg(0)), (None,) * 2), Naming())
        ['%0 = input "x" at 1', '%1 = neg %0']
    """
    return [
        f"%{number} = {_operation(operation, naming)}{_layout(layout)}"
        f"{_quoted('from', origin)}{_quoted('stage', stage)}"
        for number, (operation, layout, origin, stage) in enumerate(
            zip(program.operations, program.layouts, program.origins, program.stages, strict=True)
        )
    ]


def read_operation(line: str, named: Named, builder: Builder) -> None:
    """Append the operation that a line holds.

    Args:
        line: What `operation_lines` made.
        named: What it names.
        builder: The operations before it.

    Raises:
        InvalidProgramError: It is no operation, or not legal there.

    Example:
        >>> builder = Builder("", 4)
        >>> read_operation('%0 = input "x" at 1', Named(), builder)
        >>> builder.level(0)
        1
    """
    _append(Tokens(line), named, builder)


def _operation(operation: Operation, naming: Naming) -> str:
    words = [operation.kind, *(f"%{operand}" for operand in operation.operands)]
    return " ".join([*words, operation.text(naming)]).rstrip()


def _layout(layout: Layout | None) -> str:
    if layout is None:
        return ""
    copies = f" copies {_axes(layout.replicas)}" if layout.replicas else ""
    return f" layout {_axes(layout.axes)}{copies}{_rest(layout)}"


def _rest(layout: Layout) -> str:
    place = f" at {layout.offset}" if layout.offset else ""
    return f"{place}{' garbage' if layout.garbage else ''}"


def _axes(axes: Sequence[Axis]) -> str:
    return f"({', '.join(_axis(axis) for axis in axes)})"


def _axis(axis: Axis) -> str:
    is_plain = axis.name.isidentifier() and axis.name.isascii()
    tile = f"/{axis.tile}" if axis.tile else ""
    name = axis.name if is_plain else quote(axis.name)
    return f"{name + ':' if axis.name else ''}{axis.size}@{axis.stride}{tile}"


def _quoted(word: str, text: str) -> str:
    return f" {word} {quote(text)}" if text else ""


class _Reader:
    """Reads line after line."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._has_begun = False
        self._title: str | None = None
        self._slots: int | None = None
        self._vectors: list[NDArray[Any]] = []
        self._builder: Builder | None = None

    def read(self, line: str) -> None:
        if not line.strip():
            return
        if not self._has_begun:
            if line.strip() != _FIRST_LINE:
                raise InvalidProgramError(f"expected {_FIRST_LINE!r}, got {line[:40]!r}")
            self._has_begun = True
            return
        tokens = Tokens(line)
        if self._title is None:
            tokens.expect("title")
            self._title = tokens.quoted()
            tokens.end()
        elif self._slots is None:
            tokens.expect("slots")
            self._slots = tokens.integer()
            tokens.end()
            # Checked here, so that the error names this line.
            self._builder = Builder(self._title, self._slots)
        elif tokens.accept("numbers"):
            self._read_integers(tokens)
        elif tokens.peek().startswith("v"):
            self._read_vector(tokens)
        else:
            _append(tokens, Named(self._vectors), self._begun())

    def _begun(self) -> Builder:
        assert self._builder is not None
        return self._builder

    def _read_integers(self, tokens: Tokens) -> None:
        if self._vectors or len(self._begun()):
            raise InvalidProgramError("what the numbers are comes before vectors and operations")
        tokens.expect("integer")
        tokens.end()
        self._builder = Builder(self._title or "", self._begun().slots, "integer")

    def _read_vector(self, tokens: Tokens) -> None:
        slots = self._begun().slots
        _expect_number(tokens, "v", len(self._vectors))
        if 8 * slots * (len(self._vectors) + 1) > self._memory:
            raise InvalidProgramError(
                f"the vectors take more than {self._memory} bytes; "
                "if the program is to be trusted, read it with more memory"
            )
        self._vectors.append(read_vector(tokens, slots, self._begun().numbers))

    def finish(self) -> SlotProgram:
        if self._builder is None:
            raise InvalidProgramError(
                f"cannot read the program: expected {_FIRST_LINE!r}, title and slots, got the end"
            )
        return self._builder.finish()


def _append(tokens: Tokens, named: Named, builder: Builder) -> None:
    _expect_number(tokens, "%", len(builder))
    name = tokens.word()
    if name not in OPERATIONS:
        raise InvalidProgramError(f"expected an operation, got {name[:20]!r}")
    operation = OPERATIONS[name].read(tokens, named)
    layout = _read_layout(tokens, builder.slots) if tokens.accept("layout") else None
    builder.origin = tokens.quoted() if tokens.accept("from") else ""
    builder.stage = tokens.quoted() if tokens.accept("stage") else ""
    tokens.end()
    builder.append(operation, layout)


def _expect_number(tokens: Tokens, prefix: str, number: int) -> None:
    tokens.expect(f"{prefix}{number}")
    tokens.expect("=")


def _read_layout(tokens: Tokens, slots: int) -> Layout:
    axes = _read_axes(tokens)
    replicas = _read_axes(tokens) if tokens.accept("copies") else ()
    if len(axes) + len(replicas) > _MAX_AXES:
        raise InvalidProgramError(f"expected at most {_MAX_AXES} axes")
    offset = tokens.integer() if tokens.accept("at") else 0
    return Layout(slots, axes, replicas, tokens.accept("garbage"), offset)


def _read_axes(tokens: Tokens) -> tuple[Axis, ...]:
    axes: list[Axis] = []
    tokens.expect("(")
    if tokens.accept(")"):
        return ()
    while True:
        axes.append(_read_axis(tokens))
        if not tokens.accept(","):
            tokens.expect(")")
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

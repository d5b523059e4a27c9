"""A program over integers as both parties know it: what it takes, computes and gives back."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from cloakwork.errors import InvalidProgramError
from cloakwork.programs import slots_file as program_file
from cloakwork.programs.packing.results import Form, Leaf, integers_of
from cloakwork.programs.packing.scalar import Packing, ResultPlace
from cloakwork.programs.slots import Input, Output, Program

MAX_BITS = 64


@dataclass(frozen=True, slots=True)
class IntegerPort:
    """An input by name.

    Args:
        name: The name.
        shape: Its shape; that of a scalar is empty.
        low: The least value of every scalar.
        high: The greatest.

    Example:
        >>> print(IntegerPort("a", (2, 3), 0, 255))
        a: 2 x 3, 0 to 255
    """

    name: str
    shape: tuple[int, ...]
    low: int
    high: int

    @property
    def count(self) -> int:
        """Its scalars."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.shape)) or "scalar"
        return f"{self.name}: {shape}, {self.low} to {self.high}"


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """A slot program over integers with names for what goes in and a form for what comes out.

    Args:
        program: The slot program.
        packing: Where scalars lie in its inputs and outputs.
        ports: The inputs.
        form: How results stand in lists, tuples and dicts.
        bits: Results are signed numbers of so many bits.
        batch: Evaluations of one run, at most.
        ranges: For each result the least and the greatest value that the ranges of the inputs
            allow; for explanation.

    Raises:
        InvalidProgramError: The parts do not fit one another.
    """

    program: Program
    packing: Packing
    ports: tuple[IntegerPort, ...]
    form: Form
    bits: int
    batch: int
    ranges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        program, packing = self.program, self.packing
        self._require(program.numbers == "integer", "its numbers are no integers")
        self._require(program.slots == packing.slots, "it has other slots than its packing")
        self._require(1 <= self.bits <= MAX_BITS, f"its results have {self.bits} bits")
        self._require(1 <= self.batch <= packing.capacity, f"a run has {self.batch} evaluations")
        inputs = sum(isinstance(each, Input) for each in program.operations)
        outputs = sum(isinstance(each, Output) for each in program.operations)
        self._require(inputs == len(packing.inputs), "its inputs are not those of its packing")
        counts = {port.name: port.count for port in self.ports}
        self._require(len(counts) == len(self.ports), "two inputs share a name")
        for scalar in (scalar for scalars in packing.inputs for scalar in scalars):
            known = 0 <= scalar.index < counts.get(scalar.input, 0)
            self._require(known, "it packs a scalar that no input has")
        self._require(len(self.ranges) == len(packing.results), "a range is missing")
        for place in packing.results:
            lies = not isinstance(place, ResultPlace) or place.output < outputs
            self._require(lies, "a result is of an output that it lacks")
        for part in integers_of(self.form):
            found = not isinstance(part, Leaf) or part.number < len(packing.results)
            self._require(found, "a result is missing")

    def _require(self, condition: bool, reason: str) -> None:
        if not condition:
            _refuse(self.program.title, reason)

    @property
    def title(self) -> str:
        """What it computes."""
        return self.program.title

    @cached_property
    def fingerprint(self) -> str:
        """Equal for programs that do the same with the same packing."""
        digest = hashlib.sha256(program_file.to_bytes(self.program))
        for part in (self.packing, self.ports, self.form, self.bits, self.batch):
            digest.update(repr(part).encode())
        return digest.hexdigest()[:32]


def _refuse(title: str, reason: str) -> NoReturn:
    raise InvalidProgramError(f"cannot use {title}: {reason}")

"""How the scalars of many evaluations lie in the inputs and outputs of a program over integers.

A vector has rows of slots, on which every operation works alike. An evaluation takes `width`
slots; evaluations lie side by side, row after row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.ir.vectors import Clear, PlacedScalar
from cloakwork.programs.layout import MAX_SLOTS

# Of one vector on ciphertexts of BGV; rotations stay within a row.
ROWS = 2


def room(width: int, slots: int) -> int:
    """Evaluations that rows of so many slots hold, each so many slots wide.

    Example:
        >>> room(3, 8)
        4
    """
    return ROWS * (slots // width)


@dataclass(frozen=True, slots=True)
class ResultPlace:
    """Where a result lies: which output of the program, and in which slot of its evaluation."""

    output: int
    slot: int


@dataclass(frozen=True, slots=True)
class Packing:
    """Where scalars go in and results come out.

    Args:
        slots: Slots of a row.
        width: Slots of one evaluation.
        inputs: For each input of the program the scalars that lie in it.
        results: For each result where it lies, or what it is.

    Raises:
        InvalidProgramError: An evaluation does not fit a row, two scalars share a slot, or a
            scalar or a result lies outside.

    Example:
        >>> packing = Packing(4, 2, ((PlacedScalar(1, "x", 0),),), (ResultPlace(0, 1),))
        >>> packing.pack([{"x": [5]}, {"x": [6]}, {"x": [7]}])[0].tolist()
        [[0, 5, 0, 6], [0, 7, 0, 0]]
    """

    slots: int
    width: int
    inputs: tuple[tuple[PlacedScalar, ...], ...]
    results: tuple[ResultPlace | Clear, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.width <= self.slots <= MAX_SLOTS:
            _refuse(f"an evaluation takes {self.width} of {self.slots} slots")
        for number, scalars in enumerate(self.inputs):
            taken = {scalar.slot % self.slots for scalar in scalars}
            if len(taken) != len(scalars):
                _refuse(f"two scalars share a slot of input {number}")
        for place in self.results:
            if isinstance(place, ResultPlace) and place.output < 0:
                _refuse("a result is of no output")

    @property
    def capacity(self) -> int:
        """Evaluations at once."""
        return room(self.width, self.slots)

    def pack(self, evaluations: Sequence[Mapping[str, Sequence[int]]]) -> list[NDArray[Any]]:
        """A vector of Python's integers, row by row, for each input of the program.

        Args:
            evaluations: The scalars of every input by name, up to `capacity` times.
        """
        vectors: list[NDArray[Any]] = []
        for scalars in self.inputs:
            vector = np.zeros((ROWS, self.slots), dtype=object)
            for number, values in enumerate(evaluations):
                row, start = self._start(number)
                for scalar in scalars:
                    slot = (start + scalar.slot) % self.slots
                    vector[row, slot] = int(values[scalar.input][scalar.index])
            vectors.append(vector)
        return vectors

    def unpack(self, vectors: Sequence[NDArray[Any]], evaluations: int) -> list[list[int]]:
        """The results of each of the first evaluations, in order.

        Example:
            >>> packing = Packing(4, 2, (), (ResultPlace(0, 1), Clear(9)))
            >>> packing.unpack([np.arange(8).reshape(2, 4)], 3)
            [[1, 9], [3, 9], [5, 9]]
        """
        return [
            [self._result(place, vectors, number) for place in self.results]
            for number in range(evaluations)
        ]

    def _result(
        self, place: ResultPlace | Clear, vectors: Sequence[NDArray[Any]], evaluation: int
    ) -> int:
        if isinstance(place, Clear):
            return place.value
        row, start = self._start(evaluation)
        return int(vectors[place.output][row, (start + place.slot) % self.slots])

    def _start(self, evaluation: int) -> tuple[int, int]:
        """The row and the first slot of an evaluation."""
        in_row = self.slots // self.width
        return evaluation // in_row, evaluation % in_row * self.width

    def starts(self) -> list[int]:
        """The first slot of every evaluation of a row.

        Example:
            >>> Packing(8, 3, (), ()).starts()
            [0, 3]
        """
        return [number * self.width for number in range(self.slots // self.width)]


def _refuse(reason: str) -> NoReturn:
    raise InvalidProgramError(f"cannot pack integers: {reason}")

"""The memory of a program's numbers: its constants and the diagonals of its transforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from cloakwork.base.itself import Itself
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.slots import Constant, Linear, SlotProgram, WeightedSums
from cloakwork.programs.vectors import VectorTable
from cloakwork.runtime.schedule import schedule

_NUMBER_BYTES = 8
_COMPLEX_BYTES = 16
# Elements of sparse diagonals as the engine has them: slot, place of the weight, number of the
# pattern.
_ELEMENT_BYTES = 12
# Dense diagonals stand as complex numbers twice: as given and as checked.
_COPIES = 2


def number_bytes(program: SlotProgram) -> int:
    """Bytes of the constants, diagonals and weights of a program, each counted once.

    Example:
        >>> import numpy as np
        >>> from cloakwork.programs.slots import Input, Output, Rescale
        >>> transform = Linear(0, {0: np.ones(4), 1: np.ones(4)}, 1)
        >>> operations = (Input("x", 1), transform, Rescale(1), Output(2))
        >>> number_bytes(SlotProgram("", 4, operations, (None,) * 4))
        32
    """
    table = VectorTable()
    last = -1
    sparse: set[Itself[SparseDiagonals]] = set()
    weights: set[Itself[NDArray[Any]]] = set()
    for operation in program.operations:
        match operation:
            case Linear(diagonals=SparseDiagonals() as diagonals):
                sparse.add(Itself(diagonals))
            case Linear(diagonals=diagonals):
                last = max(last, *map(table.number_of, diagonals.values()))
            case Constant(vector=vector):
                last = max(last, table.number_of(vector))
            case WeightedSums():
                weights.add(Itself(operation.weights))
            case _:
                pass
    dense = (last + 1) * program.slots * _NUMBER_BYTES
    of_sums = sum(each.of.nbytes for each in weights)
    patterns = {Itself(each.of.patterns) for each in sparse}
    of_sparse = sum(each.of.nbytes for each in sparse) + sum(each.of.nbytes for each in patterns)
    return dense + of_sums + of_sparse


def engine_bytes(diagonals: Mapping[int, NDArray[Any]], slots: int) -> int:
    """Bytes that the numbers of a transform take beside the program while it is encoded.

    Example:
        >>> import numpy as np
        >>> engine_bytes({0: np.ones(4)}, 4)
        128
    """
    if isinstance(diagonals, SparseDiagonals):
        return _ELEMENT_BYTES * diagonals.stored
    return len(diagonals) * slots * _COMPLEX_BYTES * _COPIES


def copied_bytes(program: SlotProgram) -> int:
    """The most of `engine_bytes` that the transforms of a task take, which are made together.

    Example:
        >>> from cloakwork.programs.slots import Input, Output
        >>> copied_bytes(SlotProgram("", 4, (Input("x", 1), Output(0)), (None,) * 2))
        0
    """
    taken: list[int] = [0]
    for numbers in schedule(program).tasks:
        together = (program.operations[number] for number in numbers)
        transforms = (each for each in together if isinstance(each, Linear))
        taken.append(sum(engine_bytes(each.diagonals, program.slots) for each in transforms))
    return max(taken)

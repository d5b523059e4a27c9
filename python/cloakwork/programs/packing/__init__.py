"""Packings: how what a user gives lies in the vectors of a program, and what comes out reads back.

A packing knows the program's inputs and outputs by name. It turns arguments into vectors, those of
a slot program's inputs or the bits of each port, and the vectors of results into what the user
wants to see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Record
from cloakwork.errors import InputNameError, InvalidArgumentError, ShapeMismatchError
from cloakwork.programs.port import Port
from cloakwork.programs.slots import Vector


@dataclass(frozen=True, slots=True)
class Packed:
    """Arguments as vectors.

    Args:
        runs: For each run of the program its vectors, by the number of the input that they are.
        ports: The names of the inputs that were given, in the program's order.
        count: How many evaluations they are; None where no argument had an axis for them.
    """

    runs: tuple[Mapping[int, NDArray[Any]], ...]
    ports: tuple[str, ...]
    count: int | None


class Packing(Protocol):
    """What each kind of program has: how arguments become vectors, and vectors results.

    Attributes:
        kind: A word that says which packing it is, in files too.
        inputs: What goes in.
        outputs: What comes out.
        batch: Evaluations of one run; more of them are more runs.
    """

    kind: ClassVar[str]

    @property
    def inputs(self) -> tuple[Port, ...]: ...
    @property
    def outputs(self) -> tuple[Port, ...]: ...
    @property
    def batch(self) -> int: ...
    @property
    def vector_counts(self) -> tuple[int, int]:
        """How many vectors go in and come out."""

    def pack(self, arguments: Mapping[str, Any], action: str) -> Packed:
        """The vectors of arguments by name, of all inputs or of some.

        Raises:
            InputNameError: There is no input of a name.
            ShapeMismatchError: A shape does not fit, or the numbers of evaluations differ.
            ValueOutOfRangeError: A number lies outside the range of its port.
        """

    def unpack(self, runs: Sequence[Sequence[NDArray[Any]]], count: int | None) -> Any:
        """The results of runs, in the form in which the user wants them."""

    def input_bounds(self) -> list[Vector] | None:
        """For each input of a program over reals the largest absolute value of each slot.

        None of other programs, and where an input has no range.
        """

    def vectors_of(self, ports: Sequence[str]) -> tuple[int, ...]:
        """The numbers of the vectors that hold these inputs and no others."""

    def to_record(self) -> Record: ...


def bound_arguments(
    ports: Sequence[Port], args: Sequence[Any], named: Mapping[str, Any], action: str
) -> dict[str, Any]:
    """Arguments by name, those given by place taking the names of the ports in order.

    Args:
        ports: The inputs.
        args: The arguments given by place.
        named: Those given by name.
        action: What the caller is about to do, for the message of an error.

    Raises:
        InputNameError: There is no input of a name, or one is given twice.
        InvalidArgumentError: There are more arguments than inputs.

    Example:
        >>> bound_arguments([Port("a", "real"), Port("b", "real")], [1.0], {"b": 2.0}, "run")
        {'a': 1.0, 'b': 2.0}
    """
    names = [port.name for port in ports]
    if len(args) > len(names):
        raise InvalidArgumentError(
            f"cannot {action}: expected {len(names)} argument(s), {', '.join(names)}, got "
            f"{len(args)}"
        )
    found = dict(zip(names, args, strict=False))
    for name, value in named.items():
        if name not in names:
            raise InputNameError(
                f"cannot {action}: there is no input {name!r}; expected "
                f"{', '.join(names) or 'none'}"
            )
        if name in found:
            raise InputNameError(f"cannot {action}: the input {name!r} is given twice")
        found[name] = value
    return found


def counted_evaluations(counts: Mapping[str, int | None], action: str) -> tuple[int, int | None]:
    """How many evaluations arguments make up, those without an axis for them serving all.

    Args:
        counts: For each argument the length of its axis of evaluations, None where it has none.
        action: What the caller is about to do, for the message of an error.

    Returns:
        The number of evaluations, and the same as results show it: None without such an axis.

    Raises:
        ShapeMismatchError: The lengths differ, or are 0.

    Example:
        >>> counted_evaluations({"x": 3, "w": None}, "encrypt")
        (3, 3)
    """
    found = {name: count for name, count in counts.items() if count is not None}
    if len(set(found.values())) > 1:
        listed = ", ".join(f"{count} of {name}" for name, count in found.items())
        raise ShapeMismatchError(
            f"cannot {action}: expected as many evaluations of every input, got {listed}"
        )
    if not found:
        return 1, None
    count = next(iter(found.values()))
    if not count:
        raise ShapeMismatchError(f"cannot {action}: expected one evaluation or more, got none")
    return count, count


def evaluations(array: NDArray[Any], port: Port, action: str) -> int | None:
    """The length of an array's axis of evaluations, None where it has the shape of its port.

    Raises:
        ShapeMismatchError: It has another shape.

    Example:
        >>> evaluations(np.zeros((5, 2, 3)), Port("x", "real", shape=(2, 3)), "encrypt")
        5
    """
    if array.shape == port.shape:
        return None
    if array.ndim == len(port.shape) + 1 and array.shape[1:] == port.shape:
        return len(array)
    raise ShapeMismatchError(
        f"cannot {action}: expected {port.name!r} of shape {port.shape}, or evaluations of it "
        f"along a first axis, got {array.shape}"
    )


def stacked(results: Sequence[NDArray[Any]], count: int | None) -> NDArray[Any]:
    """Results of evaluations as one array, with an axis for them where the inputs had one.

    Example:
        >>> stacked([np.zeros(3)], None).shape, stacked([np.zeros(3)], 1).shape
        ((3,), (1, 3))
    """
    return results[0] if count is None else np.stack(results)

"""Which values of a circuit are functions of one number of a small range, and what these are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.circuits.function_ranges import Range
from cloakwork.plan.circuits.polynomials import Column
from cloakwork.programs.ir.circuits import (
    Applied,
    Difference,
    Integer,
    Negative,
    Scalar,
    ScalarCircuit,
    ScalarProduct,
    Sum,
    operands_of,
)
from cloakwork.programs.ir.exact_functions import ExactFunction, exact_value

# Integers of a range whose functions are polynomials.
MOST_POINTS = 1 << 12
# Integers of columns that are kept, for what else follows from them.
_MOST_KEPT = 1 << 24


class SmallFunctions:
    """The values of a circuit as functions of their roots.

    A root is a value of a small range: an input, or what is computed from several roots. All that
    follows from it alone is a function of it.

    Args:
        circuit: The circuit.
        ranges: The range of every value; see `value_ranges`.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitBuilder, CircuitInput
        >>> builder = CircuitBuilder("tens")
        >>> (x,) = builder.input(CircuitInput("x"))
        >>> ten = builder.append(Integer(10))
        >>> tens = builder.append(Applied(ExactFunction.QUOTIENT, (x, ten)))
        >>> builder.output("y", (), (tens,))
        >>> functions = SmallFunctions(builder.finish(), [(8, 12), (10, 10), (0, 1)])
        >>> functions.root(tens) == x, functions.column(tens)
        (True, Column(least=8, values=(0, 0, 1, 1, 1)))
    """

    def __init__(self, circuit: ScalarCircuit, ranges: Sequence[Range]) -> None:
        self._circuit = circuit
        self._ranges = ranges
        self._known: dict[int, int] = {}
        self._roots: list[int | None] = []
        self._applies: list[bool] = []
        self._rows: dict[int, NDArray[Any]] = {}
        for value in range(len(circuit.operations)):
            self._add(value)

    def known(self, value: int) -> int | None:
        """What a value always is; None where that depends on inputs."""
        return self._known.get(value)

    def is_small(self, value: int) -> bool:
        """Whether the range of a value is small."""
        low, high = self._ranges[value]
        return high - low < MOST_POINTS

    def root(self, value: int) -> int | None:
        """What a value is a function of, perhaps itself; None where it has no small root."""
        return self._roots[value]

    def is_function(self, value: int) -> bool:
        """Whether a value is a function of its root, and not by sums and products alone."""
        return self._applies[value]

    def parts(self, value: int) -> Sequence[int]:
        """The values that one is computed from, as a number."""
        if value in self._known:
            return ()
        root = self._roots[value]
        if root is not None and self._applies[value]:
            return (root,)
        return operands_of(self._circuit.operations[value])

    @cached_property
    def needed(self) -> frozenset[int]:
        """The values that results are computed from, as numbers."""
        needed = {value for output in self._circuit.outputs for value in output.values}
        for value in range(len(self._circuit.operations) - 1, -1, -1):
            if value in needed:
                needed.update(self.parts(value))
        return frozenset(needed)

    def _add(self, value: int) -> None:
        operation = self._circuit.operations[value]
        operands = operands_of(operation)
        encrypted = [each for each in operands if each not in self._known]
        low, high = self._ranges[value]
        if low == high:
            self._known[value] = low
        elif isinstance(operation, Applied) and not encrypted:
            self._known[value] = exact_value(
                operation.function, [self._known[each] for each in operands]
            )
        roots = {self._roots[each] for each in encrypted}
        own = value if self.is_small(value) else None
        root = roots.pop() if len(roots) == 1 else own
        root = own if root is None else root
        self._roots.append(root)
        follows = isinstance(operation, Applied) or any(self._applies[each] for each in encrypted)
        self._applies.append(root not in (value, None) and follows)

    def column(self, value: int) -> Column:
        """The function of its root that a value is."""
        root = self._roots[value]
        assert root is not None
        low, high = self._ranges[root]
        if len(self._rows) * (high - low) > _MOST_KEPT:
            self._rows.clear()
        waiting, needed = [value], {value}
        while waiting:
            for each in operands_of(self._circuit.operations[waiting.pop()]):
                is_there = each in self._rows or each in self._known or each == root
                if not is_there and each not in needed:
                    needed.add(each)
                    waiting.append(each)
        for each in sorted(needed):
            self._rows[each] = self._row(each, root)
        return Column(low, tuple(self._rows[value]))

    def _row(self, value: int, root: int) -> NDArray[Any]:
        """A value at each integer in the range of its root, as Python's integers."""
        match self._circuit.operations[value]:
            case Negative(operand=operand):
                made: Any = -self._at(operand, root)
            case Sum(left=left, right=right):
                made = self._at(left, root) + self._at(right, root)
            case Difference(left=left, right=right):
                made = self._at(left, root) - self._at(right, root)
            case ScalarProduct(left=left, right=right):
                made = self._at(left, root) * self._at(right, root)
            case Applied(function=ExactFunction.CHOSEN, operands=(index, *items)):
                made = [
                    self._at(items[place], root)[number]
                    for number, place in enumerate(self._at(index, root))
                ]
            case Applied(function=function, operands=operands):
                columns = [self._at(each, root) for each in operands]
                made = [exact_value(function, row) for row in zip(*columns, strict=True)]
            case Scalar() | Integer():
                raise AssertionError("scalars are roots, and integers are known")
        return np.array(made, object)

    def _at(self, value: int, root: int) -> NDArray[Any]:
        low, high = self._ranges[root]
        if value in self._known:
            return np.broadcast_to(np.array(self._known[value], object), high - low + 1)
        if value == root:
            return np.arange(low, high + 1).astype(object)
        return self._rows[value]

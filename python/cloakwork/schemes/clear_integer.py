"""The clear backend of programs over integers: exact, whatever their size, slot for slot.

Nothing wraps around: numbers are int64 where no result can leave it, Python's integers
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.slots import MAX_INTEGER, Integers
from cloakwork.schemes.no_transforms import NoTransforms


@dataclass(frozen=True, eq=False)
class ClearIntegers:
    """A vector of integers, and the level that its ciphertext would have.

    Args:
        slots: The numbers, as int64 or as Python's integers, in one row or in several.
        level: The level.
    """

    slots: NDArray[Any]
    level: int

    @cached_property
    def largest(self) -> int:
        """The largest absolute value of any slot."""
        return max(abs(int(self.slots.min())), abs(int(self.slots.max())))

    @property
    def nbytes(self) -> int:
        """Bytes of the vector; of Python's integers those of their places alone."""
        return self.slots.nbytes


def exact(numbers: Sequence[int] | NDArray[Any], level: int) -> ClearIntegers:
    """A value of integers of any size.

    Example:
        >>> exact([1, 2**70], 0).largest == 2**70, exact([1, 2], 0).slots.dtype
        (True, dtype('int64'))
    """
    value = ClearIntegers(np.array(numbers, dtype=object), level)
    if value.largest > MAX_INTEGER:
        return value
    return ClearIntegers(value.slots.astype(np.int64), level)


class ClearIntegersBackend(NoTransforms):
    """Computes on `ClearIntegers` what `runtime.executor.Backend` asks for.

    Example:
        >>> x = exact([1, 2, 2**40], level=1)
        >>> ClearIntegersBackend().multiply(x, x).slots.tolist()
        [1, 4, 1208925819614629174706176]
    """

    def bounded(self, value: ClearIntegers, bound: float) -> ClearIntegers:
        """The same value."""
        return value

    def level(self, value: ClearIntegers) -> int:
        """The level of a value."""
        return value.level

    def add(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        """left + right."""
        return _computed(np.add, left, right, left.largest + right.largest)

    def subtract(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        """left - right."""
        return _computed(np.subtract, left, right, left.largest + right.largest)

    def add_constant(self, value: ClearIntegers, constant: Integers) -> ClearIntegers:
        """value + constant."""
        return self.add(value, ClearIntegers(constant, value.level))

    def multiply(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        """left * right."""
        return _computed(np.multiply, left, right, left.largest * right.largest)

    def multiply_lazily(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        """left * right."""
        return self.multiply(left, right)

    def multiply_constant(self, value: ClearIntegers, constant: Integers) -> ClearIntegers:
        """value * constant."""
        return self.multiply(value, ClearIntegers(constant, value.level))

    def negate(self, value: ClearIntegers) -> ClearIntegers:
        """-value."""
        return ClearIntegers(-value.slots, value.level)

    def rotate(self, value: ClearIntegers, steps: int) -> ClearIntegers:
        """Slot i receives slot i + steps."""
        return ClearIntegers(np.roll(value.slots, -steps, axis=-1), value.level)

    def rotate_many(self, value: ClearIntegers, steps: Sequence[int]) -> list[ClearIntegers]:
        """The rotations by each of the steps."""
        return [self.rotate(value, single) for single in steps]

    def rotate_sum(
        self, value: ClearIntegers, added: Sequence[int], subtracted: Sequence[int]
    ) -> ClearIntegers:
        """The sum of rotations, less others; 0 stands for the value itself."""
        terms = [self.rotate(value, step) for step in added]
        terms += [self.negate(self.rotate(value, step)) for step in subtracted]
        return reduce(self.add, terms)

    def rescale(self, value: ClearIntegers) -> ClearIntegers:
        """The same numbers one level down."""
        return ClearIntegers(value.slots, value.level - 1)

    def drop_level(self, value: ClearIntegers, level: int) -> ClearIntegers:
        """The same numbers at a lower level."""
        return ClearIntegers(value.slots, level)


class ClearIntegersKey:
    """Stands where a secret key stands, and hides nothing.

    Example:
        >>> ClearIntegersKey().encrypt(np.zeros((2, 4), dtype=object), level=2).level
        2
    """

    hidden = False

    def encrypt(self, vector: NDArray[Any], *, level: int) -> ClearIntegers:
        """The vector at a level."""
        return exact(vector, level)

    def decrypt(self, value: ClearIntegers) -> NDArray[Any]:
        """The vector."""
        return value.slots

    def __repr__(self) -> str:
        return "ClearIntegersKey(hides nothing)"


def _computed(
    function: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]],
    left: ClearIntegers,
    right: ClearIntegers,
    bound: int,
) -> ClearIntegers:
    if bound <= MAX_INTEGER:
        return ClearIntegers(function(left.slots, right.slots), left.level)
    made = function(left.slots.astype(object), right.slots.astype(object))
    return exact(made, left.level)

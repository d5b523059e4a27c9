"""The clear backend: slot programs on float64 vectors, slot for slot.

It is the meaning of a program and its debugger: the same rotations and levels as
on ciphertexts, no encryption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev, polynomial

from cloakwork.programs.slots import Basis, Vector, polynomial_depth

# Numbers may outgrow a double on the way; whoever decrypts refuses what becomes of them.
_outgrowing = np.errstate(over="ignore", invalid="ignore")


@dataclass(frozen=True, slots=True, eq=False)
class ClearVector:
    """A vector of slots, and the level that its ciphertext would have."""

    slots: Vector
    level: int

    @property
    def precision(self) -> float:
        """Bits that are right: those of a float64."""
        return 52.0

    @property
    def nbytes(self) -> int:
        """Bytes of the vector."""
        return self.slots.nbytes


class ClearBackend:
    """Computes on `ClearVector` what `runtime.executor.Backend` asks for.

    Example:
        >>> x = ClearVector(np.array([1.0, 2.0, 3.0, 4.0]), level=1)
        >>> ClearBackend().rotate(x, 1).slots.tolist()
        [2.0, 3.0, 4.0, 1.0]
    """

    def level(self, value: ClearVector) -> int:
        """The level of a value."""
        return value.level

    @_outgrowing
    def add(self, left: ClearVector, right: ClearVector) -> ClearVector:
        """left + right."""
        return ClearVector(left.slots + right.slots, left.level)

    @_outgrowing
    def add_constant(self, value: ClearVector, constant: Vector) -> ClearVector:
        """value + constant."""
        return ClearVector(value.slots + constant, value.level)

    @_outgrowing
    def multiply(self, left: ClearVector, right: ClearVector) -> ClearVector:
        """left * right."""
        return ClearVector(left.slots * right.slots, left.level)

    @_outgrowing
    def multiply_constant(self, value: ClearVector, constant: Vector) -> ClearVector:
        """value * constant."""
        return ClearVector(value.slots * constant, value.level)

    def negate(self, value: ClearVector) -> ClearVector:
        """-value."""
        return ClearVector(-value.slots, value.level)

    def rotate(self, value: ClearVector, steps: int) -> ClearVector:
        """Slot i receives slot i + steps."""
        return ClearVector(np.roll(value.slots, -steps), value.level)

    @_outgrowing
    def linear(
        self, value: ClearVector, diagonals: Mapping[int, Vector], baby_steps: int
    ) -> ClearVector:
        """The sum over d of diagonals[d] * rotate(value, d), d split as the engine splits it."""
        total = np.zeros_like(value.slots)
        baby = {step: np.roll(value.slots, -step) for step in {d % baby_steps for d in diagonals}}
        for giant in {d - d % baby_steps for d in diagonals}:
            inner = np.zeros_like(total)
            for d, diagonal in diagonals.items():
                if d - d % baby_steps == giant:
                    inner += np.roll(diagonal, giant) * baby[d % baby_steps]
            total += np.roll(inner, -giant)
        return ClearVector(total, value.level)

    @_outgrowing
    def polynomial(
        self, value: ClearVector, coefficients: Sequence[float], basis: Basis
    ) -> ClearVector:
        """A polynomial of every slot, rescaled as often as its degree asks."""
        evaluate = {"monomial": polynomial.polyval, "chebyshev": chebyshev.chebval}[basis]
        slots = np.asarray(evaluate(value.slots, list(coefficients)), dtype=np.float64)
        return ClearVector(slots, value.level - polynomial_depth(coefficients))

    def rescale(self, value: ClearVector) -> ClearVector:
        """The same numbers one level down."""
        return ClearVector(value.slots, value.level - 1)

    def drop_level(self, value: ClearVector, level: int) -> ClearVector:
        """The same numbers at a lower level."""
        return ClearVector(value.slots, level)


class ClearKey:
    """Stands where a secret key stands, and hides nothing.

    Example:
        >>> ClearKey(level=2).encrypt(np.zeros(4), bound=1.0).level
        2
    """

    def __init__(self, level: int) -> None:
        self._level = level

    def encrypt(self, vector: Vector, *, bound: float) -> ClearVector:
        """The vector at the top level."""
        return ClearVector(vector.copy(), self._level)

    def decrypt(self, value: ClearVector, *, flood_bits: int | None) -> Vector:
        """The vector."""
        return value.slots

"""Runs programs over reals on estimates: what is known of ciphertexts before there are any.

Whoever holds the secret key relies on these, computed from the program alone, and on no claim that
came with a ciphertext: neither for the precision of a result nor for the noise that hides its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from cloakwork._native import CkksEstimate, LinearTransform, Parameters
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.slots import Basis, Vector


class CkksEstimates:
    """Computes on estimates what `schemes.ckks.CkksBackend` computes on ciphertexts.

    Args:
        parameters: The parameter set.

    Example:
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> fresh = p.estimate(512, level=1, bound=1.0).encrypted()
        >>> CkksEstimates(p).add(fresh, fresh).bound
        2.0
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    def bounded(self, value: CkksEstimate, bound: float) -> CkksEstimate:
        """The same value, known to be at most the bound."""
        return value.with_bound(bound)

    def level(self, value: CkksEstimate) -> int:
        """The level of a value."""
        return value.level

    def add(self, left: CkksEstimate, right: CkksEstimate) -> CkksEstimate:
        """left + right."""
        return left.add(right)

    def subtract(self, left: CkksEstimate, right: CkksEstimate) -> CkksEstimate:
        """left - right."""
        return left.add(right)

    def add_constant(self, value: CkksEstimate, constant: Vector) -> CkksEstimate:
        """value + constant."""
        return value.add_plain(self._encoded(value, constant, value.scale))

    def multiply(self, left: CkksEstimate, right: CkksEstimate) -> CkksEstimate:
        """left * right, relinearised, not rescaled."""
        return left.multiply(right)

    def multiply_lazily(self, left: CkksEstimate, right: CkksEstimate) -> CkksEstimate:
        """left * right of degree 2, not rescaled."""
        return left.multiply_lazily(right)

    def multiply_constant(self, value: CkksEstimate, constant: Vector) -> CkksEstimate:
        """value * constant, not rescaled."""
        scale = self._parameters.matching_scale(value.level, value.scale)
        return value.multiply_plain(self._encoded(value, constant, scale))

    def negate(self, value: CkksEstimate) -> CkksEstimate:
        """-value."""
        return value.negate()

    def rotate(self, value: CkksEstimate, steps: int) -> CkksEstimate:
        """A rotation."""
        return (value.relinearize() if value.degree == 2 else value).rotate(steps)

    def rotate_many(self, value: CkksEstimate, steps: Sequence[int]) -> list[CkksEstimate]:
        """The rotations by each of the steps."""
        return [self.rotate(value, each) for each in steps]

    def rotate_sum(self, value: Any, added: Any, subtracted: Any) -> NoReturn:
        """No program over reals has sums of rotations; see `programs.slots.state_after`."""
        raise InvalidProgramError("cannot run rotate_sum: programs over reals have none")

    def linear(
        self, value: CkksEstimate, diagonals: Mapping[int, Vector], baby_steps: int
    ) -> CkksEstimate:
        """The sum over d of diagonals[d] * rotate(value, d), not rescaled."""
        transform = LinearTransform.streamed(
            self._parameters,
            dict(diagonals),
            slots=value.slots,
            level=value.level,
            scale=self._parameters.matching_scale(value.level, value.scale),
            baby_steps=baby_steps,
        )
        return value.linear_transform(transform)

    def polynomial(
        self, value: CkksEstimate, coefficients: Sequence[float], basis: Basis
    ) -> CkksEstimate:
        """A polynomial of every slot."""
        return value.polynomial(coefficients, basis)

    def rescale(self, value: CkksEstimate) -> CkksEstimate:
        """One level down."""
        return value.relinearize_and_rescale()

    def drop_level(self, value: CkksEstimate, level: int) -> CkksEstimate:
        """A lower level."""
        return value.align(level)

    def _encoded(self, value: CkksEstimate, constant: Vector, scale: float) -> CkksEstimate:
        bound = float(np.abs(constant).max())
        return self._parameters.estimate(value.slots, level=value.level, bound=bound, scale=scale)

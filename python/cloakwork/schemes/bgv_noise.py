"""Runs programs over integers on estimates of noise: what would happen to ciphertexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from cloakwork._native import BgvEstimate, BgvParameters
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.slots import Integers
from cloakwork.programs.vectors import uniform_integer
from cloakwork.schemes.bgv import centred, encoded, encoded_transform


@dataclass(frozen=True, slots=True, eq=False)
class Estimated:
    """What is known of a ciphertext before there is any.

    Args:
        noise: Its level, degree and noise.
    """

    noise: BgvEstimate
    nbytes: int = 0


class BgvEstimates:
    """Computes on `Estimated` what `schemes.bgv.BgvBackend` computes on ciphertexts.

    A program that it runs, runs on ciphertexts; where noise would destroy a result it raises
    as the engine does.

    Args:
        parameters: The parameters.
    """

    def __init__(self, parameters: BgvParameters) -> None:
        self._parameters = parameters
        # With the vector itself, so that no other takes its identity.
        self._norms: dict[int, tuple[Integers, float]] = {}

    def bounded(self, value: Estimated, bound: float) -> Estimated:
        """The same value."""
        return value

    def level(self, value: Estimated) -> int:
        """The level of a value."""
        return value.noise.level

    def add(self, left: Estimated, right: Estimated) -> Estimated:
        """left + right."""
        return Estimated(left.noise.add(right.noise))

    def subtract(self, left: Estimated, right: Estimated) -> Estimated:
        """left - right."""
        return self.add(left, right)

    def add_constant(self, value: Estimated, constant: Integers) -> Estimated:
        """value + constant."""
        return Estimated(value.noise.add_plain())

    def multiply(self, left: Estimated, right: Estimated) -> Estimated:
        """left * right, relinearised."""
        return Estimated(left.noise.multiply(right.noise))

    def multiply_lazily(self, left: Estimated, right: Estimated) -> Estimated:
        """left * right of degree 2."""
        return Estimated(left.noise.multiply_lazily(right.noise))

    def multiply_constant(self, value: Estimated, constant: Integers) -> Estimated:
        """value * constant."""
        number = uniform_integer(constant)
        if number is not None:
            factor = centred(number, self._parameters.plaintext_modulus)
            return Estimated(value.noise.multiply_scalar(factor))
        return Estimated(value.noise.multiply_plain(self.norm_bits(constant)))

    def norm_bits(self, constant: Integers) -> float:
        """The norm of an encoded constant, as a base-2 logarithm."""
        if id(constant) not in self._norms:
            norm = encoded(self._parameters, constant, 0).norm_bits
            self._norms[id(constant)] = (constant, norm)
        return self._norms[id(constant)][1]

    def negate(self, value: Estimated) -> Estimated:
        """-value."""
        return value

    def rotate(self, value: Estimated, steps: int) -> Estimated:
        """A rotation; all cost the same noise."""
        return Estimated(value.noise.relinearize().rotate())

    def rotate_many(self, value: Estimated, steps: Sequence[int]) -> list[Estimated]:
        """The rotations by each of the steps."""
        return [self.rotate(value, 1)] * len(steps)

    def rotate_sum(
        self, value: Estimated, added: Sequence[int], subtracted: Sequence[int]
    ) -> Estimated:
        """A sum of rotations; those not by 0 add noise."""
        steps = [*added, *subtracted]
        moving = sum(step != 0 for step in steps)
        return Estimated(value.noise.relinearize().rotate_sum(len(steps), moving))

    def linear(
        self, value: Estimated, diagonals: Mapping[int, Integers], baby_steps: int
    ) -> Estimated:
        """The sum over d of diagonals[d] * rotate(value, d)."""
        noise = value.noise.relinearize()
        transform = encoded_transform(self._parameters, diagonals, noise.level, baby_steps)
        return Estimated(noise.linear_transform(transform))

    def polynomial(self, value: Any, coefficients: Any, basis: Any) -> NoReturn:
        """No program over integers has polynomials; see `programs.slots.state_after`."""
        raise InvalidProgramError("cannot run polynomial: programs over integers have none")

    def rescale(self, value: Estimated) -> Estimated:
        """One level down."""
        return Estimated(value.noise.relinearize_and_switch())

    def drop_level(self, value: Estimated, level: int) -> Estimated:
        """A lower level."""
        return Estimated(value.noise.switch_to(level))

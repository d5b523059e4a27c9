"""Runs programs over integers on estimates of ciphertexts, whose noise the engine bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from cloakwork._native import BgvEstimate, BgvParameters
from cloakwork.base.itself import Itself
from cloakwork.programs.bsgs import split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.slots import Integers
from cloakwork.programs.vectors import uniform_integer
from cloakwork.schemes.base import Backend
from cloakwork.schemes.bgv_plaintext import centred, encoded, encoded_transform

# Transforms whose norms are kept: a plan is estimated with several chains of moduli.
_MOST_KEPT = 256


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The diagonals of a transform modulo a prime in a ring, equal where these are."""

    digest: bytes
    log_n: int
    plaintext_modulus: int
    diagonals: SparseDiagonals = field(compare=False)
    parameters: BgvParameters = field(compare=False)


@lru_cache(_MOST_KEPT)
def _mean_norm_bits(numbers: _Numbers) -> float:
    """The mean of the norms of the diagonals, as a base-2 logarithm."""
    norms = [
        2.0 ** encoded(numbers.parameters, each.astype(np.int64), 0).norm_bits
        for each in numbers.diagonals.values()
    ]
    return math.log2(math.fsum(norms) / len(norms))


class BgvEstimates(Backend[BgvEstimate]):
    """Computes on estimates what `schemes.bgv.BgvBackend` computes on ciphertexts.

    A program that it runs, runs on ciphertexts; where noise would destroy a result it raises
    as the engine does.

    Args:
        parameters: The parameters.
    """

    def __init__(self, parameters: BgvParameters) -> None:
        self._parameters = parameters
        self._norms: dict[Itself[Integers], float] = {}

    def add(self, left: BgvEstimate, right: BgvEstimate) -> BgvEstimate:
        return left.add(right)

    def subtract(self, left: BgvEstimate, right: BgvEstimate) -> BgvEstimate:
        return self.add(left, right)

    def add_constant(self, value: BgvEstimate, constant: Integers) -> BgvEstimate:
        return value.add_plain()

    def multiply(self, left: BgvEstimate, right: BgvEstimate) -> BgvEstimate:
        return left.multiply(right)

    def multiply_lazily(self, left: BgvEstimate, right: BgvEstimate) -> BgvEstimate:
        return left.multiply_lazily(right)

    def multiply_constant(self, value: BgvEstimate, constant: Integers) -> BgvEstimate:
        number = uniform_integer(constant)
        if number is not None:
            factor = centred(number, self._parameters.plaintext_modulus)
            return value.multiply_scalar(factor)
        return value.multiply_plain(self.norm_bits(constant))

    def norm_bits(self, constant: Integers) -> float:
        """The norm of an encoded constant, as a base-2 logarithm."""
        if Itself(constant) not in self._norms:
            self._norms[Itself(constant)] = encoded(self._parameters, constant, 0).norm_bits
        return self._norms[Itself(constant)]

    def negate(self, value: BgvEstimate) -> BgvEstimate:
        return value

    def rotate(self, value: BgvEstimate, steps: int) -> BgvEstimate:
        """A rotation; all cost the same noise."""
        return value.relinearize().rotate()

    def rotate_many(self, value: BgvEstimate, steps: Sequence[int]) -> list[BgvEstimate]:
        """The rotations by each of the steps."""
        return [self.rotate(value, 1)] * len(steps)

    def rotate_sum(
        self, value: BgvEstimate, added: Sequence[int], subtracted: Sequence[int]
    ) -> BgvEstimate:
        """A sum of rotations; those not by 0 add noise."""
        steps = [*added, *subtracted]
        moving = sum(step != 0 for step in steps)
        return value.relinearize().rotate_sum(len(steps), moving)

    def linear(
        self, value: BgvEstimate, diagonals: Mapping[int, Integers], baby_steps: int
    ) -> BgvEstimate:
        noise = value.relinearize()
        if not isinstance(diagonals, SparseDiagonals):
            transform = encoded_transform(self._parameters, diagonals, noise.level, baby_steps)
            return noise.linear_transform(transform)
        # As of the transform, whose diagonals need not be encoded at every level for that.
        of = self._parameters
        ring = of.log_n, of.plaintext_modulus
        mean = _mean_norm_bits(_Numbers(diagonals.digest(), *ring, diagonals, of))
        summed = noise.rotate().multiply_plain(mean).multiply_scalar(len(diagonals))
        giants = split(diagonals, diagonals.slots, baby_steps).giant
        return summed.rotate_sum(1, len(giants))

    def rotated_products(
        self, left: Sequence[BgvEstimate], right: Sequence[BgvEstimate], step: int
    ) -> BgvEstimate:
        """Any of the products."""
        return BgvEstimate.rotated_products(left, right)

    def diagonal_products(
        self, left: Sequence[BgvEstimate], right: Sequence[BgvEstimate], step: int
    ) -> BgvEstimate:
        """Any of the products: their noise is that of as many terms, the worst of both lists."""
        return BgvEstimate.rotated_products(left, right)

    def add_products(self, left: BgvEstimate, right: BgvEstimate) -> BgvEstimate:
        return left.add_rotated_products(right)

    def switch_product(self, products: BgvEstimate, steps: int) -> BgvEstimate:
        return products.switch_product()

    def rescale(self, value: BgvEstimate) -> BgvEstimate:
        return value.relinearize_and_switch()

    def drop_level(self, value: BgvEstimate, level: int) -> BgvEstimate:
        return value.switch_to(level)

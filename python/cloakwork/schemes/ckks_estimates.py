"""Runs programs over reals on estimates: what is known of ciphertexts before there are any.

Whoever holds the secret key relies on these, computed from the program alone, and on no claim that
came with a ciphertext: neither for the precision of a result nor for the noise that hides its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cloakwork._native import Bootstrapping, CkksEstimate, LinearTransform, Parameters
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Basis, Vector
from cloakwork.schemes.base import Backend, Sums
from cloakwork.schemes.encoded_cache import native_diagonals


class CkksEstimates(Backend[CkksEstimate]):
    """Computes on estimates what `schemes.ckks.CkksBackend` computes on ciphertexts.

    Args:
        parameters: The parameter set.
        refreshing: What bootstraps under it do; None where it has none.

    Example:
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> fresh = p.estimate(512, level=1, bound=1.0).encrypted()
        >>> CkksEstimates(p).add(fresh, fresh).bound
        2.0
    """

    def __init__(self, parameters: Parameters, refreshing: Refreshing | None = None) -> None:
        self._parameters = parameters
        self._refreshing = refreshing
        # What is known of the secret key of bits in slots, where these come back.
        self.return_key: CkksEstimate | None = None

    def bounded(self, value: CkksEstimate, bound: float) -> CkksEstimate:
        return value.with_bound(bound)

    def add(self, left: CkksEstimate, right: CkksEstimate) -> CkksEstimate:
        return left.add(right)

    def subtract(self, left: CkksEstimate, right: CkksEstimate) -> CkksEstimate:
        return left.add(right)

    def add_constant(self, value: CkksEstimate, constant: Vector) -> CkksEstimate:
        return value.add_plain(self._encoded(value, constant, value.scale))

    def multiply(self, left: CkksEstimate, right: CkksEstimate) -> CkksEstimate:
        return left.multiply(right)

    def multiply_lazily(self, left: CkksEstimate, right: CkksEstimate) -> CkksEstimate:
        return left.multiply_lazily(right)

    def multiply_constant(self, value: CkksEstimate, constant: Vector) -> CkksEstimate:
        scale = self._parameters.matching_scale(value.level, value.scale)
        return value.multiply_plain(self._encoded(value, constant, scale))

    def negate(self, value: CkksEstimate) -> CkksEstimate:
        return value.negate()

    def filled(self, value: CkksEstimate, constant: Vector) -> CkksEstimate:
        return self.add_constant(value.multiply_integer(0), constant)

    def multiply_imaginary(self, value: CkksEstimate) -> CkksEstimate:
        return value

    def twice_real(self, value: CkksEstimate) -> CkksEstimate:
        value = value.relinearize() if value.degree == 2 else value
        return value.add(value.conjugate())

    def rotate(self, value: CkksEstimate, steps: int) -> CkksEstimate:
        return (value.relinearize() if value.degree == 2 else value).rotate(steps)

    def linear(
        self, value: CkksEstimate, diagonals: Mapping[int, Vector], baby_steps: int
    ) -> CkksEstimate:
        return self.shared_linear(value, diagonals, baby_steps, 1)

    def shared_linear(
        self,
        value: CkksEstimate,
        diagonals: Mapping[int, Vector],
        baby_steps: int,
        shared_by: int,
    ) -> CkksEstimate:
        transform = LinearTransform.streamed(
            self._parameters,
            native_diagonals(diagonals),
            slots=value.slots,
            level=value.level,
            scale=self._parameters.matching_scale(value.level, value.scale),
            baby_steps=baby_steps,
            shared_by=shared_by,
        )
        return value.linear_transform(transform)

    def polynomial(
        self, value: CkksEstimate, coefficients: Sequence[float], basis: Basis
    ) -> CkksEstimate:
        return value.polynomial(coefficients, basis)

    def rotated_products(
        self, left: Sequence[CkksEstimate], right: Sequence[CkksEstimate], step: int
    ) -> CkksEstimate:
        """Any of the products."""
        return CkksEstimate.rotated_products(left, right)

    def diagonal_products(
        self, left: Sequence[CkksEstimate], right: Sequence[CkksEstimate], step: int
    ) -> CkksEstimate:
        """Any of the products."""
        return CkksEstimate.diagonal_products(left, right)

    def add_products(self, left: CkksEstimate, right: CkksEstimate) -> CkksEstimate:
        return left.add_rotated_products(right)

    def switch_product(self, products: CkksEstimate, steps: int) -> CkksEstimate:
        return products.switch_product()

    def switch_products_and_rescale(
        self, products: CkksEstimate, steps: Sequence[int]
    ) -> list[CkksEstimate]:
        return [products.switch_product_and_rescale()] * len(steps)

    def weighted_sums(
        self, values: Sequence[CkksEstimate], weights: Vector, offsets: Vector
    ) -> Sums:
        return Sums(CkksEstimate.weighted_sums(values, weights.ravel(), offsets))

    def rescale(self, value: CkksEstimate) -> CkksEstimate:
        return value.relinearize_and_rescale()

    def drop_level(self, value: CkksEstimate, level: int) -> CkksEstimate:
        return value.align(level)

    def bootstrap(self, value: CkksEstimate, level: int) -> CkksEstimate:
        return value.bootstrap(self._circuit("bootstrap")).align(level)

    def bootstrap_of_coefficients(self, value: CkksEstimate, level: int) -> CkksEstimate:
        return self.bootstrap(value, level)

    def bootstrap_pair(
        self, left: CkksEstimate, right: CkksEstimate, level: int
    ) -> Sequence[CkksEstimate]:
        made = left.bootstrap_pair(right, self._circuit("paired_bootstrap"))
        return [each.align(level) for each in made]

    def _circuit(self, kind: str) -> Bootstrapping:
        if self._refreshing is None:
            raise InvalidProgramError(f"cannot run {kind}: the parameters have no levels for it")
        return self._refreshing.circuit

    def _encoded(self, value: CkksEstimate, constant: Vector, scale: float) -> CkksEstimate:
        bound = float(np.abs(constant).max())
        return self._parameters.estimate(value.slots, level=value.level, bound=bound, scale=scale)

"""Reals as factors of a product: parameters of CKKS, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cloakwork._native import Parameters
from cloakwork.plan.matmul.parameters import product_sketch, shortest_parameters
from cloakwork.plan.matmul.product import Product
from cloakwork.plan.reals.options import RealOptions
from cloakwork.programs.matrices import Blocks


@dataclass(frozen=True, slots=True)
class RealFactors:
    """Matrices of reals.

    Args:
        bounds: The largest absolute values of the numbers of both.
        precision: Bits after the binary point that results should have.
        options: What is asked.
    """

    bounds: tuple[float, float]
    precision: float
    options: RealOptions
    rows: int = 1
    # The real and the imaginary part of a complex slot.
    parts: int = 2

    def parameter_sets(
        self, product: Product, candidates: Sequence[Blocks], log_n: int
    ) -> tuple[Parameters]:
        """The parameters with the shortest modulus that serve all of some ways.

        Example:
            >>> product, factors = Product(1, 512, 512, 512), RealFactors((1, 1), 12, RealOptions())
            >>> ways = [Blocks(2048, side=64, tall=8, wide=4, inner_parts=2)]
            >>> [each.levels for each in factors.parameter_sets(product, ways, 12)]
            [1]
        """
        terms = -(-product.inner // min(each.inner for each in candidates))
        sketch = product_sketch(terms, max(len(each.lane_sums()) for each in candidates), log_n)
        largest = max(product.slot_bound(each, self.bounds) for each in candidates)
        # Of both operands, of the rotated products nothing, and of all that follows.
        known = [
            *(math.sqrt(2.0) * each for each in self.bounds),
            *(None if each.products else largest for each in sketch.states[2:]),
        ]
        return (
            shortest_parameters(
                sketch,
                known,
                largest,
                precision=self.precision,
                log_n=log_n,
                insecure=self.options.insecure,
                public_inputs=self.options.public_inputs,
            ),
        )

    def cost(self, product: Product, blocks: Blocks, parameter_sets: Sequence[Parameters]) -> float:
        """What a run costs, vectors and keys included."""
        costs = self.options.costs_of(parameter_sets[0])
        return product.cost(blocks, costs.at(1), costs.at(0)) + costs.run

"""The cheapest way to multiply matrices in blocks: ring, blocks, parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from cloakwork._native import BgvParameters, Parameters
from cloakwork.errors import InvalidParametersError, NoiseExhaustedError
from cloakwork.plan.matmul.budgets import Budgets, plannable, require_plannable
from cloakwork.plan.matmul.product import Product, families
from cloakwork.plan.matmul.waste import without_waste
from cloakwork.plan.parameters.rings import cheapest_of, is_dearer, same_kind
from cloakwork.plan.reals.options import ProgramOptions
from cloakwork.programs.matrices import Blocks
from cloakwork.schemes.encoded_cache import ciphertext_bytes

P = TypeVar("P", Parameters, BgvParameters)


class Factors(Protocol[P]):
    """What is multiplied: reals by CKKS, or integers by BGV."""

    @property
    def options(self) -> ProgramOptions:
        """What is asked."""
        ...

    @property
    def rows(self) -> int:
        """Rows of slots of a ciphertext."""
        ...

    @property
    def parts(self) -> int:
        """Numbers that a slot may hold."""
        ...

    def parameter_sets(
        self, product: Product, candidates: Sequence[Blocks], log_n: int
    ) -> tuple[P, ...]:
        """Parameters that serve all of some ways, a set for each plaintext modulus."""
        ...

    def cost(self, product: Product, blocks: Blocks, parameter_sets: Sequence[P]) -> float:
        """What a run costs, vectors and keys included."""
        ...


@dataclass(frozen=True, slots=True)
class Choice(Generic[P]):
    """A way to multiply matrices.

    Args:
        blocks: How slots are shared out.
        parameter_sets: The parameters, of every plaintext modulus where there are some.
        cost: What a run costs, for comparison, vectors and keys included.
    """

    blocks: Blocks
    parameter_sets: tuple[P, ...]
    cost: float

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation keys."""
        # Those of the lane sums serve products as well where they are rotations of both.
        sums = sum(steps % self.blocks.step > 0 for steps in self.blocks.lane_sums())
        products = 2 * self.blocks.side - 1
        return sum(
            products * each.evaluation_key_bytes(each.levels) + sums * each.evaluation_key_bytes(0)
            for each in self.parameter_sets
        )

    def peak_bytes(self, product: Product) -> int:
        """Bytes that the ciphertexts of a run take at once."""
        found = product.counts(self.blocks)
        at_top = found.left + found.right + 2 * found.side
        return sum(
            at_top * ciphertext_bytes(each, each.levels)
            + found.products * ciphertext_bytes(each, 0)
            for each in self.parameter_sets
        )


def cheapest_choice(product: Product, factors: Factors[P]) -> Choice[P]:
    """The cheapest way within the memory and the keys that are allowed.

    Example:
        >>> from cloakwork.plan.matmul.reals import RealFactors
        >>> from cloakwork.plan.reals.options import RealOptions
        >>> factors = RealFactors((1.0, 1.0), 12, RealOptions())
        >>> cheapest_choice(Product(1, 512, 512, 512), factors).parameter_sets[0].log_n
        12
    """
    options = factors.options
    # No ciphertext holds more numbers than its ring has coefficients.
    require_plannable(options.title, product.numbers >> max(options.rings))
    try:
        return cheapest_of(
            options.rings, partial(_cheapest_in_ring, product, factors), _cost, is_dearer(_cost)
        )
    except (InvalidParametersError, NoiseExhaustedError) as refusal:
        raise same_kind(refusal, f"cannot compile {options.title}: {refusal}") from refusal


def _cost(choice: Choice[P]) -> float:
    return choice.cost


def _cheapest_in_ring(product: Product, factors: Factors[P], log_n: int) -> Choice[P]:
    ways = families(product, 1 << log_n - 1, factors.rows, factors.parts)
    candidates = plannable(product, ways)
    found: list[Choice[P]] = []
    refused: list[Exception] = []
    # Shares of the inner index have errors and bounds of their own, and so have slots of two
    # numbers of the result.
    kinds = {(each.shares > 1, each.column_parts) for each in candidates}
    for kind in sorted(kinds):
        alike = [each for each in candidates if (each.shares > 1, each.column_parts) == kind]
        try:
            sets = factors.parameter_sets(product, alike, log_n)
        except (InvalidParametersError, NoiseExhaustedError) as error:
            refused.append(error)
            continue
        found += [Choice(each, sets, factors.cost(product, each, sets)) for each in alike]
    if not found:
        raise refused[0]
    options = factors.options
    within = Budgets(options.key_budget, options.memory_limit).kept_by(
        options.title, found, lambda each: each.key_bytes, lambda each: each.peak_bytes(product)
    )
    return min(without_waste(product, within), key=_cost)

"""The cheapest way to multiply matrices of integers exactly: ring, blocks, parameters of BGV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cloakwork._native import BGV_FAILURE_BITS, BgvNoiseModel, BgvParameters
from cloakwork.errors import (
    InsecureParametersError,
    InvalidParametersError,
    NoiseExhaustedError,
)
from cloakwork.plan.cost.bgv import counted_costs
from cloakwork.plan.matmul.budgets import Budgets, plannable, require_plannable
from cloakwork.plan.matmul.parameters import product_sketch
from cloakwork.plan.matmul.product import Product, families
from cloakwork.plan.matmul.waste import without_waste
from cloakwork.plan.parameters.bgv import limbs_of, plaintext_moduli
from cloakwork.plan.parameters.ckks import EXACT_WORD_BITS
from cloakwork.plan.parameters.rings import cheapest_of, is_dearer, same_kind
from cloakwork.programs.matrices import Blocks
from cloakwork.programs.packing.scalar import ROWS
from cloakwork.runtime.executor import estimated_results
from cloakwork.schemes.bgv import Bgv
from cloakwork.schemes.encoded_cache import ciphertext_bytes

# Of the engine: bits that a level adds, and that the first modulus has beyond those.
_LEVEL_BITS = 60.0
_HEADROOM_BITS = range(2, 61)
# Between the moduli that are tried.
_STEP_BITS = 3.0


@dataclass(frozen=True, slots=True)
class IntegerProductOptions:
    """What is asked of a product of integers.

    Args:
        bits: Results are signed numbers of so many bits; None where they are modulo `modulus`.
        modulus: The prime that results are modulo; None where they have so many bits.
        insecure: Whether parameters below 128-bit security are allowed.
        public_inputs: Whether inputs may be encrypted by a public key.
        key_budget: Bytes that evaluation keys may take; None for any.
        memory_limit: Bytes that the ciphertexts of a run may take; None for any.
        failure_bits: Each bound on noise fails with a probability of at most 2^-failure_bits.
    """

    bits: int | None
    modulus: int | None = None
    insecure: bool = False
    public_inputs: bool = False
    key_budget: int | None = None
    memory_limit: int | None = None
    failure_bits: int = BGV_FAILURE_BITS

    def moduli(self, log_n: int) -> tuple[int, ...]:
        """The plaintext moduli."""
        if self.modulus is not None:
            return (self.modulus,)
        assert self.bits is not None
        return plaintext_moduli(self.bits, log_n)


@dataclass(frozen=True, slots=True)
class IntegerChoice:
    """A way to multiply matrices of integers.

    Args:
        blocks: How slots are shared out.
        parameter_sets: The parameters of every plaintext modulus.
        cost: What a run costs, for comparison.
    """

    blocks: Blocks
    parameter_sets: tuple[BgvParameters, ...]
    cost: float

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation keys."""
        sums = sum(steps % self.blocks.step > 0 for steps in self.blocks.lane_sums())
        keys = 2 * self.blocks.side - 1 + sums
        return keys * sum(each.evaluation_key_bytes(0) for each in self.parameter_sets)

    def peak_bytes(self, product: Product) -> int:
        """Bytes that the ciphertexts of a run take at once."""
        found = product.counts(self.blocks)
        each = sum(ciphertext_bytes(parameters, 0) for parameters in self.parameter_sets)
        return (found.left + found.right + 2 * found.side + found.products) * each


def cheapest_integer_choice(
    title: str, product: Product, options: IntegerProductOptions, rings: Sequence[int]
) -> IntegerChoice:
    """The cheapest way within the memory and the keys that are allowed.

    Example:
        >>> found = cheapest_integer_choice(
        ...     "product", Product(1, 64, 64, 64), IntegerProductOptions(20), [13, 14])
        >>> found.parameter_sets[0].log_n
        13
    """
    # No ciphertext holds more numbers than its ring has coefficients.
    require_plannable(title, product.numbers >> max(rings))

    def attempt(log_n: int) -> IntegerChoice:
        return _cheapest_in_ring(title, product, options, log_n)

    try:
        return cheapest_of(rings, attempt, _cost, is_dearer(_cost))
    except (InvalidParametersError, NoiseExhaustedError) as refusal:
        raise same_kind(refusal, f"cannot compile {title}: {refusal}") from refusal


def _cost(choice: IntegerChoice) -> float:
    return choice.cost


def _cheapest_in_ring(
    title: str, product: Product, options: IntegerProductOptions, log_n: int
) -> IntegerChoice:
    candidates = plannable(product, families(product, 1 << log_n - 1, ROWS, 1))
    found: list[IntegerChoice] = []
    refused: list[Exception] = []
    for summed in (False, True):
        alike = [each for each in candidates if (each.shares > 1) == summed]
        if not alike:
            continue
        try:
            sets = _parameter_sets(product, alike, options, log_n)
        except (InvalidParametersError, NoiseExhaustedError) as error:
            refused.append(error)
            continue
        prices = counted_costs(limbs_of(sets[0]), log_n).at(0)
        unit = len(sets) * log_n * (1 << log_n)
        found += [
            IntegerChoice(each, sets, unit * product.cost(each, prices, prices)) for each in alike
        ]
    if not found:
        raise refused[0]
    within = Budgets(options.key_budget, options.memory_limit).kept_by(
        title, found, lambda each: each.key_bytes, lambda each: each.peak_bytes(product)
    )
    return min(without_waste(product, within), key=_cost)


def _parameter_sets(
    product: Product, candidates: Sequence[Blocks], options: IntegerProductOptions, log_n: int
) -> tuple[BgvParameters, ...]:
    """The shortest modulus that holds the noise of all of some ways, for every plaintext modulus.

    A result's modulus is not switched: nothing comes after it.
    """
    terms = -(-product.inner // min(each.inner for each in candidates))
    lane_sums = max(len(each.lane_sums()) for each in candidates)
    sketch = product_sketch(terms, lane_sums, log_n, "integer")
    moduli = options.moduli(log_n)
    model = BgvNoiseModel(
        log_n,
        moduli[-1],
        public_inputs=options.public_inputs,
        failure_bits=options.failure_bits,
    )
    products = model.products(model.fresh, model.fresh, terms).plus(model.product_switching)
    bits = max(products.needed_bits, _LEVEL_BITS / 2)
    most = bits + 2 * _STEP_BITS * (1 + lane_sums)
    refusal: Exception | None = None
    while bits <= most:
        try:
            sets = tuple(_made(each, bits, log_n, options) for each in moduli)
            estimated_results(Bgv(sets, public_inputs=options.public_inputs), sketch)
        except InsecureParametersError:
            raise
        except (InvalidParametersError, NoiseExhaustedError) as error:
            refusal = error
            bits += _STEP_BITS
            continue
        return sets
    assert refusal is not None
    raise refusal


def _made(modulus: int, bits: float, log_n: int, options: IntegerProductOptions) -> BgvParameters:
    # A level that there is none of only says how large the first modulus may be.
    level_bits = min(_LEVEL_BITS, max(20.0, bits - _HEADROOM_BITS[0]))
    return BgvParameters(
        levels=0,
        plaintext_modulus=modulus,
        level_bits=level_bits,
        base_bits=bits,
        log_n=log_n,
        word_bits=EXACT_WORD_BITS,
        failure_bits=options.failure_bits,
        insecure=options.insecure,
    )

"""Products of encrypted matrices of integers, exact or modulo a prime: planned for BGV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cloakwork._native import (
    BGV_FAILURE_BITS,
    BGV_LEAST_FAILURE_BITS,
    BGV_MOST_FAILURE_BITS,
    BgvNoiseModel,
    BgvParameters,
)
from cloakwork.errors import (
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
    NoiseExhaustedError,
    ResultOverflowError,
)
from cloakwork.plan.cost.bgv import counted_costs
from cloakwork.plan.matmul.choose import cheapest_choice
from cloakwork.plan.matmul.parameters import product_sketch
from cloakwork.plan.matmul.planned import planned_product
from cloakwork.plan.matmul.product import Product
from cloakwork.plan.matmul.recognise import MatrixContraction, matrix_contraction
from cloakwork.plan.parameters.bgv import is_prime, limbs_of, plaintext_moduli
from cloakwork.plan.parameters.ckks import EXACT_WORD_BITS
from cloakwork.plan.reals.options import ProgramOptions
from cloakwork.programs.ir.tensors import TensorFunction
from cloakwork.programs.matrices import Blocks
from cloakwork.programs.packing.matrix import IntegerMatrixPacking, PlacedMatrix
from cloakwork.programs.packing.scalar import MAX_BITS, ROWS
from cloakwork.programs.port import Port
from cloakwork.runtime.executor import estimated_results
from cloakwork.runtime.program import Program
from cloakwork.schemes.bgv import Bgv

# Of the engine: bits that a level adds, and that the first modulus has beyond those.
_LEVEL_BITS = 60.0
_HEADROOM_BITS = range(2, 61)
# Between the moduli that are tried.
_STEP_BITS = 3.0
# The engine's largest plaintext modulus is below, and there are primes from this many bits on.
_MAX_MODULUS = 1 << 30
_MODULUS_BITS = 29


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerProductOptions(ProgramOptions):
    """What is asked of a product of integers; see `cloakwork.compile` for each option.

    Args:
        modulus: The prime that results are modulo; None where they are integers.
        failure_bits: Each bound on noise fails with a probability of at most 2^-failure_bits.

    Raises:
        InvalidArgumentError: An option has a value that it does not take.
        InvalidParametersError: The modulus is no prime of any ring.

    Example:
        >>> list(IntegerProductOptions(modulus=40961).rings)
        [12]
    """

    action: ClassVar[str] = "compile a product of integers"

    modulus: int | None = None
    failure_bits: int = BGV_FAILURE_BITS

    def __post_init__(self) -> None:
        # Classes with slots are made twice, and `super()` would be of the first.
        ProgramOptions.__post_init__(self)
        self._check_integer("failure_bits", BGV_LEAST_FAILURE_BITS, BGV_MOST_FAILURE_BITS)
        if self.modulus is not None:
            self._check_integer("modulus", 2, _MAX_MODULUS)
            self._require_prime(self.modulus)

    def _require_prime(self, modulus: int) -> None:
        if self.rings and is_prime(modulus):
            return
        least = min(self.asked_rings)
        other = plaintext_moduli(min(modulus.bit_length(), _MODULUS_BITS), least)[0]
        raise InvalidParametersError(
            f"cannot {self.action}: expected a modulus that is a prime below 2^30 and 1 modulo "
            f"{2 << least}, twice the least ring degree, got {modulus}; take {other}, or leave "
            "modulus out for exact integers"
        )

    @property
    def rings(self) -> Sequence[int]:
        """The rings whose slots hold the numbers."""
        if self.modulus is None:
            return self.asked_rings
        return [log_n for log_n in self.asked_rings if self.modulus % (2 << log_n) == 1]


@dataclass(frozen=True, slots=True)
class IntegerFactors:
    """Matrices of integers.

    Args:
        bits: Results are signed numbers of so many bits, where they are not modulo a prime.
        options: What is asked.
    """

    bits: int
    options: IntegerProductOptions
    rows: int = ROWS
    parts: int = 1

    def parameter_sets(
        self, product: Product, candidates: Sequence[Blocks], log_n: int
    ) -> tuple[BgvParameters, ...]:
        """The shortest modulus that holds the noise of all of some ways, for each prime.

        A result's modulus is not switched: nothing comes after it.
        """
        options = self.options
        terms = -(-product.inner // min(each.inner for each in candidates))
        lane_sums = max(len(each.lane_sums()) for each in candidates)
        sketch = product_sketch(terms, lane_sums, log_n, "integer")
        moduli = (options.modulus,) if options.modulus else plaintext_moduli(self.bits, log_n)
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

    def cost(
        self, product: Product, blocks: Blocks, parameter_sets: Sequence[BgvParameters]
    ) -> float:
        """What a run costs, vectors and keys included."""
        log_n = parameter_sets[0].log_n
        prices = counted_costs(limbs_of(parameter_sets[0]), log_n).at(0)
        unit = len(parameter_sets) * log_n * (1 << log_n)
        return unit * product.cost(blocks, prices, prices)


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


def integer_program(function: TensorFunction, options: IntegerProductOptions) -> Program:
    """The cheapest program of a function of integers, which is a product of two matrices."""
    contraction = matrix_contraction(function.results)
    if contraction is None:
        raise InvalidArgumentError(
            f"cannot compile {options.title} over integers: expected one product of two encrypted "
            "matrices or batches of them, such as a @ b, got another function; write it by "
            "cw.circuit, or declare its inputs as reals"
        )
    bound = _bound(contraction, function, options)
    choice = cheapest_choice(contraction.product, IntegerFactors(bound.bit_length() + 1, options))
    planned = planned_product(options.title, contraction, choice.blocks, "integer")
    result = Port("result", "integer", 0, planned.result.shape, -bound, bound)
    packing = IntegerMatrixPacking(
        function.inputs,
        (result,),
        tuple(
            PlacedMatrix(function.sources.index(source), place)
            for source, place in zip(contraction.sources, planned.operands, strict=True)
        ),
        (planned.result,),
        function.form,
        options.modulus,
    )
    scheme = Bgv(choice.parameter_sets, public_inputs=options.public_inputs)
    return Program(scheme, planned.program, packing)


def _bound(
    contraction: MatrixContraction, function: TensorFunction, options: IntegerProductOptions
) -> int:
    """The largest absolute value of a result."""
    if options.modulus is not None:
        return options.modulus // 2
    left, right = (int(function.spec_of[source].bound) for source in contraction.sources)
    bound = contraction.product.inner * left * right
    bits = bound.bit_length() + 1
    if bits > MAX_BITS:
        raise ResultOverflowError(
            f"cannot {options.action}: by the ranges of the inputs results have up to {bits} bits, "
            f"and a result has up to {MAX_BITS}; declare narrower ranges, multiply in parts, or "
            "give a modulus"
        )
    return bound

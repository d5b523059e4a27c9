"""Parameters for programs over integers: primes, the model of noise, refusals."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.circuit.jobs import small_jobs
from cloakwork._native import BgvEstimate, BgvNoise, BgvNoiseModel, BgvParameters
from cloakwork.errors import (
    CircuitTooDeepError,
    InsecureParametersError,
    InvalidProgramError,
    NoiseExhaustedError,
)
from cloakwork.plan.circuits.scalar import scalar_program
from cloakwork.plan.circuits.search import lane_programs
from cloakwork.plan.cost.bgv import expected_limbs
from cloakwork.plan.parameters.bgv import (
    IntegerOptions,
    cheapest_integer_plan,
    integer_plan,
    limbs_of,
    plaintext_moduli,
)
from cloakwork.programs.slots import Input, Mul, Output, Polynomial, SlotProgram
from cloakwork.runtime.executor import estimated_results
from cloakwork.schemes.bgv import Bgv
from tests.thoroughness import slow

OPTIONS = IntegerOptions(16)


@given(st.integers(1, 64), st.integers(12, 16))
def test_primes_hold_the_bits_and_suit_the_ring(bits: int, log_n: int) -> None:
    moduli = plaintext_moduli(bits, log_n)
    assert math.prod(moduli) > 1 << bits
    assert len(set(moduli)) == len(moduli) <= 3
    assert all(modulus < 1 << 30 and modulus % (2 << log_n) == 1 for modulus in moduli)


def found(estimate: BgvEstimate) -> BgvNoise:
    return BgvNoise(estimate.canonical_bits, estimate.length_bits, estimate.noise_bits)


def require_near(model: BgvNoise, engine: BgvNoise) -> None:
    """The model is no lower than the engine, and no more than a bit higher."""
    assert engine.norm - 0.1 <= model.norm <= engine.norm + 1
    assert engine.length - 0.1 <= model.length <= engine.length + 0.6
    assert engine.coefficient - 0.1 <= model.coefficient <= engine.coefficient + 1


@pytest.mark.parametrize("log_n", [12, 13, 14, 15])
@pytest.mark.parametrize("bits", [8, 16, 29])
def test_the_model_of_noise_is_the_engines(log_n: int, bits: int) -> None:
    modulus = plaintext_moduli(bits, log_n)[0]
    model = BgvNoiseModel(log_n, modulus)
    parameters = BgvParameters(
        levels=2,
        plaintext_modulus=modulus,
        level_bits=60,
        base_bits=120,
        log_n=log_n,
        insecure=True,
    )
    fresh = parameters.fresh(2)
    require_near(model.fresh, found(fresh))
    publicly = BgvNoiseModel(log_n, modulus, public_inputs=True).fresh
    require_near(publicly, found(parameters.fresh_public(2)))
    switched = fresh.multiply(fresh).switch_to(0)
    require_near(model.rounding, found(switched))
    rotated = found(fresh.rotate())
    assert model.rotation.norm >= rotated.norm - 0.1
    assert model.rotation.length >= rotated.length - 0.1
    product = found(fresh.multiply_plain())
    expected = found(fresh).times(model.message)
    for bound in ("norm", "length", "coefficient"):
        assert abs(getattr(product, bound) - getattr(expected, bound)) < 0.1


@pytest.mark.parametrize("job", ["dot.3", *slow("mm.2", "conv.4.2", "sort[3]")])
def test_no_plan_costs_more_than_the_circuit_as_it_is_written(job: str) -> None:
    circuit = next(each.circuit for each in small_jobs() if each.name == job)
    found = lane_programs(circuit, effort=0.05)
    plans = [integer_plan(lanes, OPTIONS) for lanes in found]
    scalar = integer_plan(scalar_program(circuit), OPTIONS)
    least = min(plan.cost for plan in plans)
    assert cheapest_integer_plan(found, OPTIONS).cost == least <= scalar.cost


def test_numbers_share_ciphertexts_though_a_run_would_be_quicker_without() -> None:
    """As a client has to encrypt and send them."""
    dot = next(each.circuit for each in small_jobs() if each.name == "dot.3")
    free = tuple(replace(each, grouped=False) for each in dot.inputs)
    plan = cheapest_integer_plan(lane_programs(replace(dot, inputs=free), effort=0.05), OPTIONS)
    assert sum(isinstance(each, Input) for each in plan.program.operations) == 2


def test_a_circuit_of_which_no_program_fits_is_refused() -> None:
    circuit = next(each.circuit for each in small_jobs() if each.name == "sort[3]")
    found = lane_programs(circuit, effort=0.05)
    with pytest.raises(InsecureParametersError, match="no modulus of up to 106 bits"):
        cheapest_integer_plan(found, IntegerOptions(16, rings=(12,)))
    with pytest.raises(CircuitTooDeepError, match="multiplies more often in a row"):
        cheapest_integer_plan(found, IntegerOptions(16, rings=(11, 12)))
    fitting = cheapest_integer_plan(found[:3], IntegerOptions(16, rings=(13,)))
    assert fitting.parameter_sets[0].log_n == 13


@pytest.mark.parametrize(
    ("base_bits", "level_bits", "levels"),
    [(58.0, 30, 0), (64.0, 30, 0), (60.0, 28, 3), (70, 46, 2)],
)
def test_primes_are_foretold_to_within_one(
    base_bits: float, level_bits: float, levels: int
) -> None:
    parameters = BgvParameters(levels=levels, base_bits=base_bits, level_bits=level_bits, log_n=14)
    counted = limbs_of(parameters)
    foretold = expected_limbs(base_bits, level_bits, levels, 430)
    assert foretold is not None
    assert len(counted.levels) == len(foretold.levels)
    assert abs(counted.digit - foretold.digit) <= 1
    for found, expected in zip(counted.levels, foretold.levels, strict=True):
        assert abs(found - expected) <= 1


def test_noise_that_would_destroy_a_result_is_refused() -> None:
    operations = (Input("x", 0), Mul(0, 0), Mul(1, 1), Output(2))
    program = SlotProgram("x^4", 2048, operations, (None,) * 4, numbers="integer")
    parameters = BgvParameters(levels=0, base_bits=72, level_bits=20, log_n=12)
    with pytest.raises(NoiseExhaustedError):
        estimated_results(Bgv([parameters]), program)
    square = (Input("x", 0), Mul(0, 0), Output(1))
    fitting = SlotProgram("x^2", 2048, square, (None,) * 3, numbers="integer")
    assert estimated_results(Bgv([parameters]), fitting)[0][0].budget_bits > 0


def test_programs_over_integers_have_no_transforms() -> None:
    with pytest.raises(InvalidProgramError, match="programs over integers have none"):
        SlotProgram(
            "p",
            4,
            (Input("x", 3), Polynomial(0, (0.0, 1.0), "monomial")),
            (None,) * 2,
            numbers="integer",
        )

"""Conjunctions of conditions: few bootstraps, sums that are told from 0, the same functions."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import NoiseBudgetError
from cloakwork.plan.boolean.conjunctions import Condition, ZeroTest, arranged, with_conjunctions
from cloakwork.plan.boolean.cover import Abilities, cover
from cloakwork.plan.boolean.emit import written_out
from cloakwork.plan.boolean.map import map_gates
from cloakwork.plan.boolean.xag import network_of
from cloakwork.plan.cost.tfhe import stated_sets
from cloakwork.programs.bootstraps import HALF, bootstrap_statistics_of
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port
from cloakwork.schemes.tfhe_noise import failure_of
from tests.plan.boolean import circuits
from tests.plan.boolean.test_map import SIXTEEN, noised, require_same
from tests.plan.boolean.test_xag import outputs_of
from tests.thoroughness import part


def deviation(item: Condition | ZeroTest, bits: list[int], message_bits: int) -> int:
    """How far a condition is from being met, or what a bootstrap makes of a test's sum."""
    if isinstance(item, Condition):
        first, *others = (bits[bit] for bit in item.bits)
        if others:
            return first + others[0] - 1 if item.wanted else first - others[0]
        return 1 - first if item.wanted else first
    weight = 1 + sum(each.deviation for each in item.terms)
    total = sum(deviation(each, bits, message_bits) for each in item.terms)
    for place, pair in enumerate(item.pairs):
        total += weight * deviation(pair, bits, message_bits) << place
    message = total % (1 << message_bits)
    return 1 - (message == 0) + (message == 1 << (message_bits - 1))


def conditions_in(test: ZeroTest) -> list[Condition]:
    inner = [conditions_in(each) if isinstance(each, ZeroTest) else [each] for each in test.terms]
    return [each for several in inner for each in several] + list(test.pairs)


@given(st.integers(3, 5), st.integers(0, 40), st.integers(0, 40), st.integers(0, 2**32))
@settings(deadline=None, max_examples=part(200))
def test_tests_hold_where_all_conditions_do(
    message_bits: int, singles: int, pairs: int, seed: int
) -> None:
    rng = random.Random(seed)
    count = singles + 2 * pairs
    of_bits: list[tuple[int, ...]] = [(bit,) for bit in range(singles)]
    of_bits += [(bit, bit + 1) for bit in range(singles, count, 2)]
    conditions = [Condition(bits, rng.randrange(2)) for bits in of_bits or [(0,)]]
    test = arranged(conditions, message_bits)
    assert sorted(conditions_in(test), key=str) == sorted(conditions, key=str)
    assert test.deviation == 1
    assert test.count <= max(1, len(conditions) - 1)
    met = [rng.randrange(2) for _ in range(max(1, count))]
    for condition in conditions:
        *others, last = condition.bits
        met[last] = condition.wanted ^ sum(met[bit] for bit in others)
    assert deviation(test, met, message_bits) == 0
    for _ in range(20):
        bits = met.copy()
        for bit in rng.sample(range(len(bits)), rng.randint(1, min(len(bits), 1 + count // 4))):
            bits[bit] ^= 1
        holds = all(deviation(each, bits, message_bits) == 0 for each in conditions)
        assert deviation(test, bits, message_bits) == (not holds)


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize(
    ("gates", "bootstraps", "depth"),
    [
        (circuits.equal(8), 3, 2),
        (circuits.equal(16), 6, 2),
        (circuits.equal(16, chain=True), 6, 2),
        (circuits.equal(32), 10, 3),
        (circuits.member(8, 32), 82, 5),
    ],
)
def test_equality_is_by_digits(
    gates: GateProgram, bootstraps: int, depth: int, threads: int
) -> None:
    mapped = map_gates(gates, stated_sets(128), threads)
    require_same(gates, mapped.program, 256)
    found = bootstrap_statistics_of(mapped.program)
    assert found.bootstraps <= bootstraps
    assert found.depth <= depth
    assert mapped.failure.worst <= -128


@pytest.mark.slow
def test_membership_takes_a_third_of_the_ands() -> None:
    gates = circuits.member(100, 32)
    mapped = map_gates(gates, stated_sets(128), 1)
    require_same(gates, mapped.program)
    # There are 3199 ANDs.
    assert mapped.program.bootstrap_count <= 1009
    assert mapped.failure.worst <= -128


def trees(seed: int) -> GateProgram:
    """ANDs and ORs of several values each, of XORs and of one another."""
    rng = random.Random(seed)
    inputs = rng.randint(4, 24)
    builder = GateBuilder("trees", (Port("a", "bits", inputs),))
    values = list(range(inputs))
    for _ in range(rng.randint(1, 12)):
        kind = rng.choice([GateKind.AND, GateKind.OR, GateKind.NOR, GateKind.NAND])
        joined = None
        for _ in range(rng.randint(2, 30)):
            value = rng.choice(values if rng.random() < 0.5 else range(inputs))
            if rng.random() < 0.5:
                other = rng.choice(values if rng.random() < 0.1 else range(inputs))
                value = builder.append(GateKind.XOR, value, other)
            if rng.random() < 0.3:
                value = builder.append(GateKind.NOT, value)
            joined = value if joined is None else builder.append(kind, joined, value)
        assert joined is not None
        values.append(joined)
    builder.output(Port("y", "bits", len(values)), values)
    return builder.finish()


@given(st.integers(0, 2**32), st.sampled_from([3, 4, 5]), st.integers(0, 2**32))
@settings(deadline=None, max_examples=part(100))
def test_networks_compute_the_same(seed: int, message_bits: int, bits_seed: int) -> None:
    network = network_of(trees(seed))
    wide = with_conjunctions(network, message_bits)
    rng = random.Random(bits_seed)
    for _ in range(8):
        bits = [rng.randrange(2) for _ in range(network.input_count)]
        all_bits = bits.copy()
        for test in wide.conjunctions:
            all_bits.append(1 - deviation(test, all_bits, message_bits))
        assert outputs_of(wide.network, all_bits) == outputs_of(network, bits)


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 64]), st.sampled_from([64, 128]))
@settings(deadline=None, max_examples=part(60))
def test_programs_compute_the_same(seed: int, threads: int, failure_bits: int) -> None:
    gates = trees(seed)
    mapped = map_gates(gates, stated_sets(failure_bits), threads)
    require_same(gates, mapped.program)
    assert mapped.failure.worst <= -failure_bits


def test_a_test_that_is_too_noisy_is_refused() -> None:
    noise = noised(SIXTEEN, "noisy", bootstrap_variance=SIXTEEN.noise.budget(4, 1) / 2).noise
    wide = with_conjunctions(network_of(circuits.equal(32)), 4)
    made = cover(wide.network, Abilities(1, 1, 1), 0.0, generous=False)
    with pytest.raises(NoiseBudgetError, match="'noisy': a test"):
        written_out(circuits.equal(32), wide, made, noise)


def test_a_conjunction_leaves_in_the_encoding_of_its_use() -> None:
    gates = circuits.equal(16)
    made = map_gates(gates, stated_sets(128), 1).program
    assert made.output_encodings.tolist() == [HALF]
    assert made.tables.max() == HALF
    assert failure_of(made, stated_sets(128)[-1].noise).worst <= -128

"""Conjunctions and comparisons by tests of sums: few bootstraps, and the same functions."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import NoiseBudgetError
from cloakwork.plan.boolean.cover import Abilities, cover
from cloakwork.plan.boolean.emit import program_of_cover
from cloakwork.plan.boolean.fewer_ands_by_cuts import with_fewer_ands
from cloakwork.plan.boolean.map import map_gates
from cloakwork.plan.boolean.sum_tests import (
    BitTest,
    SignTest,
    ZeroTest,
    sign_test_of,
    zero_test_of,
)
from cloakwork.plan.boolean.wide_network import with_tests
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


def deviation(item: BitTest | ZeroTest, bits: list[int], message_bits: int) -> int:
    """How far a condition is from being met, or what a bootstrap makes of a test's sum."""
    if isinstance(item, BitTest):
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


def sign(test: BitTest | SignTest, bits: list[int]) -> int:
    """What a condition deviates by, or the sign of a test's sum."""
    if isinstance(test, BitTest):
        return deviation(test, bits, 0)
    terms = enumerate(test.terms)
    total = sum(side * sign(each, bits) << place for place, (each, side) in terms)
    return (total > 0) - (total < 0)


def bit_of(test: ZeroTest | SignTest, bits: list[int], message_bits: int) -> int:
    """What the bootstraps of a last test make."""
    if isinstance(test, ZeroTest):
        return 1 - deviation(test, bits, message_bits)
    found = sign(test, bits)
    return int(found > 0) if found else test.tie


def conditions_in(test: ZeroTest) -> list[BitTest]:
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
    conditions = [BitTest(bits, rng.randrange(2)) for bits in of_bits or [(0,)]]
    test = zero_test_of(conditions, message_bits)
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
        (circuits.less(16), 8, 3),
        (circuits.less(32), 16, 4),
        # One comparison, and a bootstrap for every three of the bits chosen.
        (circuits.larger(32), 59, 9),
    ],
)
def test_numbers_are_compared_by_digits(
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


@given(st.integers(3, 5), st.integers(1, 60), st.integers(0, 1), st.integers(0, 2**32))
@settings(deadline=None, max_examples=part(200))
def test_signs_are_those_of_differences(message_bits: int, width: int, tie: int, seed: int) -> None:
    rng = random.Random(seed)
    terms = [
        (BitTest((bit, width + bit), rng.randrange(2)), rng.choice([1, -1])) for bit in range(width)
    ]
    test = sign_test_of(terms, tie, message_bits)
    most = message_bits - 1
    assert test.count == max(1, -(-(width - 1) // (most - 1)))

    def require_room(each: SignTest) -> None:
        assert len(each.terms) <= most
        for inner, _ in each.terms:
            if isinstance(inner, SignTest):
                require_room(inner)

    require_room(test)
    for _ in range(10):
        bits = [rng.randrange(2) for _ in range(width)] * 2
        for bit in rng.sample(range(width), rng.randint(0, min(3, width))):
            bits[bit] ^= 1
        signs = [side * deviation(each, bits, 0) for each, side in terms]
        difference = sum(each << place for place, each in enumerate(signs))
        assert bit_of(test, bits, message_bits) == (difference > 0 or (not difference and tie))


def compared(seed: int) -> GateProgram:
    """Comparisons, written as carries, borrows or choices, and gates of them."""
    rng = random.Random(seed)
    width = rng.randint(2, 12)
    ports = [Port(name, "unsigned", width) for name in "abc"]
    builder = GateBuilder("compared", ports)

    def inverted(value: int) -> int:
        return builder.append(GateKind.NOT, value) if rng.random() < 0.5 else value

    def comparison() -> list[int]:
        first, second = rng.sample(range(3), 2)
        kind, carries = (
            rng.randrange(3),
            [builder.append(rng.choice([GateKind.ZERO, GateKind.ONE]))],
        )
        for place in range(rng.randint(1, width)):
            x, y = (inverted(each * width + place) for each in (first, second))
            before = inverted(carries[-1])
            if kind == 0:
                sides = [builder.append(GateKind.XOR, each, before) for each in (x, y)]
                made = builder.append(GateKind.XOR, builder.append(GateKind.AND, *sides), before)
            elif kind == 1:
                differ = builder.append(GateKind.XOR, x, y)
                made = builder.append(GateKind.MUX, differ, before, y)
            else:
                both, either = (builder.append(each, x, y) for each in (GateKind.AND, GateKind.OR))
                through = builder.append(GateKind.AND, either, before)
                made = builder.append(GateKind.OR, both, through)
            carries.append(made)
        return carries

    values: list[int] = []
    for _ in range(rng.randint(1, 4)):
        carries = comparison()
        values.append(carries[-1])
        if rng.random() < 0.3:
            values.append(rng.choice(carries))
    for _ in range(rng.randint(0, 4)):
        kind = rng.choice([GateKind.AND, GateKind.OR, GateKind.XOR])
        values.append(builder.append(kind, inverted(rng.choice(values)), rng.choice(values)))
    builder.output(Port("y", "bits", len(values)), values)
    return builder.finish()


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


MADE = st.sampled_from([trees, compared])


@given(MADE, st.integers(0, 2**32), st.sampled_from([3, 4, 5]), st.integers(0, 2**32))
@settings(deadline=None, max_examples=part(200))
def test_networks_compute_the_same(
    make: Callable[[int], GateProgram], seed: int, message_bits: int, bits_seed: int
) -> None:
    network = with_fewer_ands(network_of(make(seed)))
    wide = with_tests(network, message_bits)
    rng = random.Random(bits_seed)
    for _ in range(8):
        bits = [rng.randrange(2) for _ in range(network.input_count)]
        all_bits = bits.copy()
        for test in wide.tests:
            all_bits.append(bit_of(test, all_bits, message_bits))
        assert outputs_of(wide.network, all_bits) == outputs_of(network, bits)


@given(MADE, st.integers(0, 2**32), st.sampled_from([1, 2, 64]), st.sampled_from([64, 128]))
@settings(deadline=None, max_examples=part(100))
def test_programs_compute_the_same(
    make: Callable[[int], GateProgram], seed: int, threads: int, failure_bits: int
) -> None:
    gates = make(seed)
    mapped = map_gates(gates, stated_sets(failure_bits), threads)
    require_same(gates, mapped.program)
    assert mapped.failure.worst <= -failure_bits


def test_a_test_that_is_too_noisy_is_refused() -> None:
    noise = noised(SIXTEEN, "noisy", bootstrap_variance=SIXTEEN.noise.budget(4, 1) / 2).noise
    wide = with_tests(network_of(circuits.equal(32)), 4)
    made = cover(wide.network, Abilities(1, 1, 1), 0.0, generous=False)
    with pytest.raises(NoiseBudgetError, match="'noisy': a test"):
        program_of_cover(circuits.equal(32), wide, made, noise)


def test_a_conjunction_leaves_in_the_encoding_of_its_use() -> None:
    gates = circuits.equal(16)
    made = map_gates(gates, stated_sets(128), 1).program
    assert made.output_encodings.tolist() == [HALF]
    assert made.tables.max() == HALF
    assert failure_of(made, stated_sets(128)[-1].noise).worst <= -128

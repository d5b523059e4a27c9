"""Networks of AND and XOR: few ANDs, and the same functions."""

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.plan.boolean.fewer_ands_by_cuts import with_fewer_ands
from cloakwork.plan.boolean.tables import fewest_ands
from cloakwork.plan.boolean.xag import XorAndGraph, and_count, network_of
from cloakwork.programs.gates import GateProgram
from tests.plan.boolean import circuits
from tests.programs.random_gates import evaluated, gate_programs


def outputs_of(network: XorAndGraph, bits: list[int]) -> list[int]:
    """The outputs, node by node."""
    values = [0, *bits]
    for node in range(len(values), len(network)):
        a, b = network.operands[node] or (0, 0)
        if network.is_and[node]:
            values.append((values[a >> 1] ^ a & 1) & (values[b >> 1] ^ b & 1))
        else:
            values.append(values[a] ^ values[b])
    return [values[literal >> 1] ^ literal & 1 for literal in network.outputs]


@given(gate_programs(), st.integers(0, 2**32))
@settings(deadline=None)
def test_networks_compute_what_gates_do(gates: GateProgram, seed: int) -> None:
    network = network_of(gates)
    fewer = with_fewer_ands(network)
    assert and_count(fewer) <= and_count(network)
    rng = random.Random(seed)
    for _ in range(4):
        bits = [rng.randrange(2) for _ in range(gates.input_bits)]
        assert outputs_of(network, bits) == outputs_of(fewer, bits) == evaluated(gates, bits)


def test_ands_of_tables_of_three_bits() -> None:
    # A function of degree d takes d - 1 ANDs at least: 16 are affine, 112 of degree 2.
    assert Counter(fewest_ands(table, 3) for table in range(256)) == {0: 16, 1: 112, 2: 128}


@given(
    st.integers(1, 6).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, 2**2**size - 1)))
)
@settings(deadline=None, max_examples=30)
def test_tables(case: tuple[int, int]) -> None:
    size, table = case
    network = XorAndGraph(size)
    network.outputs = [network.table(table, network.inputs())]
    for row, bits in enumerate(itertools.product((0, 1), repeat=size)):
        assert outputs_of(network, list(bits[::-1])) == [table >> row & 1]


@pytest.mark.parametrize(
    ("gates", "ands"),
    [(circuits.adder(64), 64), (circuits.multiplier(8), 120), (circuits.sbox(), 32)],
    ids=["adder", "multiplier", "sbox"],
)
def test_ands_of_known_circuits(gates: GateProgram, ands: int) -> None:
    assert and_count(with_fewer_ands(network_of(gates))) == ands


def test_forms_longer_than_followed() -> None:
    network = XorAndGraph(500)
    total = 0
    for literal in network.inputs():
        total = network.xor(total, literal)
    network.outputs = [network.land(total, network.inputs()[0]), total]
    bits = [number * number % 7 % 2 for number in range(500)]
    assert outputs_of(network, bits) == [sum(bits) & bits[0] & 1, sum(bits) & 1]

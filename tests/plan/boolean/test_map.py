"""Gate programs mapped to bootstraps: the same results, little noise, few bootstraps."""

import dataclasses
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.boolean.layers import layered_seconds
from cloakwork.errors import InvalidArgumentError, NoiseBudgetError
from cloakwork.plan.boolean.cover import Abilities, cover, is_also_of
from cloakwork.plan.boolean.emit import program_of_cover
from cloakwork.plan.boolean.fewer_ands_by_cuts import with_fewer_ands
from cloakwork.plan.boolean.gate_by_gate import gate_by_gate
from cloakwork.plan.boolean.lookup import chosen_entry
from cloakwork.plan.boolean.map import map_gates
from cloakwork.plan.boolean.wide_network import WideNetwork
from cloakwork.plan.boolean.xag import network_of
from cloakwork.plan.cost.tfhe import BitCosts, data_flow_seconds, stated_sets
from cloakwork.programs.bootstraps import BootstrapProgram, bootstrap_statistics_of
from cloakwork.programs.gates import ARITIES, GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port
from cloakwork.schemes.clear_bits import run_clear_bootstraps
from cloakwork.schemes.clear_gates import ClearGates
from cloakwork.schemes.tfhe_noise import BitNoise, failure_of
from tests.frontends.boolean.aes_sbox import sbox as sbox_table
from tests.plan.boolean import circuits
from tests.plan.cost.published import published_costs
from tests.programs.bootstrap_facts import facts
from tests.programs.random_gates import gate_programs
from tests.thoroughness import part

PUBLISHED = published_costs()
NOISE = PUBLISHED.noise


def noised(costs: BitCosts, name: str, **changed: Any) -> BitCosts:
    """The same costs with other noise."""
    return dataclasses.replace(costs, noise=dataclasses.replace(costs.noise, name=name, **changed))


# Sums of some ten outputs must be refreshed here; on the last one bootstraps have four outputs.
NOISY = noised(PUBLISHED, "noisy", bootstrap_variance=NOISE.budget(2, 2) / 40)
FOURFOLD = noised(PUBLISHED, "fourfold", switch_variance=(NOISE.switch_variance[0],) * 3)
# As published, with less noise on the way in: ANDs share bootstraps, in twos, in threes.
EIGHT, SIXTEEN = (
    dataclasses.replace(
        noised(
            PUBLISHED,
            f"message space {1 << message_bits}",
            max_message_bits=message_bits,
            switch_variance=tuple(each / 4 ** (message_bits - 2) for each in NOISE.switch_variance),
        ),
        bootstrap_seconds=(seconds,) * 3,
    )
    for message_bits, seconds in ((3, 0.024), (4, 0.03))
)
# Half as noisy as can be: what bootstraps with a larger message space take must be refreshed.
NOISY_EIGHT = noised(
    EIGHT, "message space 8, noisy", bootstrap_variance=EIGHT.noise.budget(3, 1) / 64
)
SETS = (PUBLISHED, NOISY, FOURFOLD, EIGHT, SIXTEEN, NOISY_EIGHT)
MIXES = (
    list(GateKind),
    [GateKind.AND, GateKind.XOR, GateKind.XOR, GateKind.XOR],
    [GateKind.AND, GateKind.OR, GateKind.XOR, GateKind.XNOR, GateKind.NOT],
    [GateKind.MUX, GateKind.XOR, GateKind.LUT3],
)


def random_program(seed: int) -> GateProgram:
    """Up to 300 gates that mostly use values near before them."""
    rng = random.Random(seed)
    builder = GateBuilder("random", (Port("a", "bits", rng.randint(1, 12)),))
    kinds, near = rng.choice(MIXES), rng.choice([8, 30, 300])
    for _ in range(rng.randint(1, 300)):
        kind = rng.choice(kinds)
        first = max(0, len(builder) - near)
        operands = [rng.randrange(first, len(builder)) for _ in range(int(ARITIES[kind]))]
        table = rng.getrandbits(1 << len(operands)) if kind >= GateKind.LUT1 else 0
        builder.append(kind, *operands, table=table)
    outputs = [rng.randrange(len(builder)) for _ in range(rng.randint(1, 10))]
    builder.output(Port("y", "bits", len(outputs)), outputs)
    return builder.finish()


def require_same(gates: GateProgram, made: BootstrapProgram, runs: int = 32) -> None:
    inputs = np.random.default_rng(1).integers(0, 2, (runs, gates.input_bits)).astype(np.uint8)
    np.testing.assert_array_equal(run_clear_bootstraps(made, inputs), ClearGates(gates).run(inputs))


def made_by(gates: GateProgram, costs: BitCosts, slack: float, generous: bool) -> BootstrapProgram:
    """By shared bootstraps where the parameters can do them."""
    noise = costs.noise
    network = with_fewer_ands(network_of(gates))
    chain = max(0, noise.doublings(2) - 1)
    abilities = Abilities(noise.most_tables(2), chain, max(1, noise.most_message_bits() - 1))
    return program_of_cover(
        gates, WideNetwork(network), cover(network, abilities, slack, generous=generous), noise
    )


@given(
    st.integers(0, 2**32),
    st.sampled_from(SETS),
    st.sampled_from([0.0, 2.0, math.inf]),
    st.booleans(),
)
@example(79, SETS[-1], 2.0, False)
@settings(deadline=None, max_examples=part(60))
def test_every_way_computes_the_same_within_the_noise(
    seed: int, costs: BitCosts, slack: float, generous: bool
) -> None:
    gates = random_program(seed)
    try:
        made = made_by(gates, costs, slack, generous)
    except NoiseBudgetError:
        # Where one way takes more noise than there is room for, another does not.
        made = map_gates(gates, costs, 1).program
    require_same(gates, made)
    assert failure_of(made, costs.noise).worst <= -64


@given(gate_programs())
@settings(deadline=None)
def test_all_kinds_and_ports(gates: GateProgram) -> None:
    mapped = map_gates(gates, PUBLISHED, 2)
    require_same(gates, mapped.program)
    assert mapped.program.outputs == gates.outputs
    assert mapped.seconds <= data_flow_seconds(gate_by_gate(gates), PUBLISHED, 2)


def test_gates_that_no_output_needs_take_no_bootstrap() -> None:
    builder = GateBuilder("", (Port("a", "unsigned", 1), Port("b", "bytes", 8)))
    builder.append(GateKind.ZERO)
    used = builder.append(GateKind.OR, 0, 1)
    builder.append(GateKind.MUX, 0, 0, 0)
    builder.output(Port("out", "unsigned", 1), [used])
    gates = builder.finish()
    assert gate_by_gate(gates).bootstrap_count == 1
    # Counted, the others had it left untried, and the mapping was slower by a sum.
    mapped = map_gates(gates, PUBLISHED, 2)
    assert mapped.seconds <= data_flow_seconds(gate_by_gate(gates), PUBLISHED, 2)
    require_same(gates, mapped.program)


@given(st.integers(0, 2**32), st.integers(1, 64))
@settings(deadline=None, max_examples=part(20))
def test_never_more_than_gate_by_gate(seed: int, threads: int) -> None:
    gates = random_program(seed)
    mapped = map_gates(gates, SETS, threads)
    plain = gate_by_gate(gates)
    require_same(gates, plain)
    require_same(gates, mapped.program)
    assert mapped.program.bootstrap_count <= plain.bootstrap_count or threads > 1
    assert mapped.failure.worst <= -64
    assert mapped.failure.total >= mapped.failure.worst


@pytest.mark.parametrize(
    ("gates", "bootstraps", "one_by_one"),
    [
        (circuits.adder(64), 64, 317),
        (circuits.multiplier(8), 130, 320),
        (circuits.less(32), 32, 94),
        (circuits.look_up(), 120, 240),
        (circuits.sbox(), 38, 115),
    ],
    ids=lambda case: case.title if isinstance(case, GateProgram) else str(case),
)
def test_bootstraps_of_known_circuits(gates: GateProgram, bootstraps: int, one_by_one: int) -> None:
    mapped = map_gates(gates, PUBLISHED, 1)
    require_same(gates, mapped.program, 256)
    assert mapped.program.bootstrap_count <= bootstraps
    assert gate_by_gate(gates).bootstrap_count == one_by_one


@pytest.mark.parametrize(
    ("gates", "by_message_bits"),
    [
        # 16 times 7 ANDs with a sign.
        (circuits.rectifier(16, 8), {2: 112, 3: 64, 4: 48}),
        # 16 times 12 ANDs with one of 16 lines, which take 13 or 10 bootstraps themselves.
        (circuits.retrieval(16, 4, 12), {2: 205, 3: 106, 4: 74}),
        (circuits.sbox(), {2: 38, 3: 31, 4: 31}),
    ],
    ids=lambda case: case.title if isinstance(case, GateProgram) else "",
)
def test_ands_that_share_an_operand_share_bootstraps(
    gates: GateProgram, by_message_bits: dict[int, int]
) -> None:
    for costs in (PUBLISHED, EIGHT, SIXTEEN):
        made = made_by(gates, costs, math.inf, generous=True)
        require_same(gates, made)
        assert failure_of(made, costs.noise).worst <= -64
        assert made.bootstrap_count <= by_message_bits[costs.noise.max_message_bits], costs.name


def test_a_larger_message_space_is_taken_where_it_pays() -> None:
    cheap, expensive = (
        dataclasses.replace(EIGHT, bootstrap_seconds=(factor * PUBLISHED.seconds(1),) * 3)
        for factor in (1.7, 1.8)
    )
    gates = circuits.rectifier(1, 8)
    assert map_gates(gates, [PUBLISHED, cheap], 1).costs is cheap
    assert map_gates(gates, [PUBLISHED, expensive], 1).costs is PUBLISHED


def test_the_sbox_is_that_of_aes() -> None:
    runs = (np.arange(256)[:, np.newaxis] >> np.arange(8) & 1).astype(np.uint8)
    made = run_clear_bootstraps(map_gates(circuits.sbox(), PUBLISHED, 1).program, runs)
    assert (made @ (1 << np.arange(8))).tolist() == sbox_table()


def test_more_threads_take_shallower_programs() -> None:
    gates = circuits.rounds_of_aes(1)
    few, many = (map_gates(gates, PUBLISHED, threads) for threads in (1, 1000))
    assert few.program.bootstrap_count < many.program.bootstrap_count
    depths = [bootstrap_statistics_of(each.program).depth for each in (few, many)]
    assert depths[1] < depths[0]
    for each in (few, many):
        require_same(gates, each.program, 4)


@pytest.mark.slow
def test_many_threads_seldom_wait_for_a_layer() -> None:
    gates = circuits.rounds_of_aes(2)
    mapped = map_gates(gates, EIGHT, 64)
    require_same(gates, mapped.program, 4)
    # With no slack at all it would take 1424, and 4 % more time.
    assert mapped.program.bootstrap_count <= 1348
    assert mapped.seconds <= 22.1 * EIGHT.seconds(1)
    assert layered_seconds(mapped.program, EIGHT, 64) >= 1.45 * mapped.seconds


def test_the_faster_parameters_are_taken() -> None:
    faster = dataclasses.replace(
        noised(PUBLISHED, "faster"), bootstrap_seconds=(0.001, 0.001, 0.001)
    )
    assert map_gates(circuits.adder(4), [PUBLISHED, faster], 1).costs is faster


def test_too_noisy_parameters_are_refused_or_passed_over() -> None:
    hopeless = noised(PUBLISHED, "hopeless", switch_variance=(0.01, 0.01, 0.01))
    with pytest.raises(NoiseBudgetError, match="hopeless"):
        map_gates(circuits.adder(4), hopeless, 1)
    assert map_gates(circuits.adder(4), [hopeless, PUBLISHED], 1).costs is PUBLISHED
    with pytest.raises(InvalidArgumentError, match="expected a parameter set"):
        map_gates(circuits.adder(4), [], 1)


def test_long_sums_are_refreshed() -> None:
    width = 150
    builder = GateBuilder("sum of products", (Port("a", "bits", 2 * width + 1),))
    total = builder.append(GateKind.ZERO)
    for bit in range(width):
        product = builder.append(GateKind.AND, bit, width + bit)
        total = builder.append(GateKind.XOR, total, product)
    last = builder.append(GateKind.AND, total, 2 * width)
    builder.output(Port("y", "bits", 1), [last])
    gates = builder.finish()
    quiet, noisy = (made_by(gates, costs, 0.0, False) for costs in (PUBLISHED, NOISY))
    assert noisy.bootstrap_count > quiet.bootstrap_count
    assert failure_of(noisy, NOISY.noise).worst <= -64 < failure_of(quiet, NOISY.noise).worst
    require_same(gates, noisy)


def test_sums_of_a_table_are_one_node_each() -> None:
    draw = random.Random(3)
    entries = [draw.randrange(1 << 8) for _ in range(1 << 8)]
    builder = GateBuilder("table", (Port("x", "unsigned", 8),))
    builder.output(Port("y", "unsigned", 8), chosen_entry(builder, range(8), entries, 8))
    gates = builder.finish()
    made = map_gates(gates, PUBLISHED, 1).program
    # A sum for each bootstrap and one for each bit of the result, at most.
    assert len(made.kinds) <= 2 * made.bootstrap_count + 2 * 8
    require_same(gates, made)
    assert map_gates(gates, [PUBLISHED, EIGHT, SIXTEEN], 1).program.bootstrap_count == 55


def test_a_cover_that_shares_nothing_is_made_once() -> None:
    more, less = Abilities(4, 5, 3), Abilities(2, 5, 1)
    network = network_of(circuits.less(8))
    made = cover(network, more, math.inf, generous=True)
    assert is_also_of(made, more, less)
    assert made.steps == cover(network, less, math.inf, generous=True).steps
    assert not is_also_of(made, less, more)
    assert not is_also_of(made, more, Abilities(1, 5, 1))
    assert not is_also_of(made, more, Abilities(2, 0, 1))


@pytest.mark.slow
def test_aes() -> None:
    gates = circuits.rounds_of_aes(10)
    mapped = map_gates(gates, PUBLISHED, 1)
    assert mapped.program.bootstrap_count <= 7893
    # FIPS 197, appendix C.1.
    key, block = bytes(range(16)), bytes(0x11 * byte for byte in range(16))
    runs = np.unpackbits(np.frombuffer(key + block, np.uint8), bitorder="little")[np.newaxis]
    made = np.packbits(run_clear_bootstraps(mapped.program, runs), bitorder="little")
    assert made.tobytes().hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


@pytest.mark.parametrize("seed", range(part(100)))
def test_sets_that_bear_no_two_outputs_are_passed_over_for_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates, sets = random_program(seed), stated_sets(128)
    made = map_gates(gates, sets, 1)
    monkeypatch.setattr(BitNoise, "most_outputs_summed", 2)
    tried = map_gates(gates, sets, 1)
    assert (made.costs, facts(made.program)) == (tried.costs, facts(tried.program))


def test_a_set_that_bears_one_output_takes_ands_of_inputs() -> None:
    (least,) = (costs for costs in stated_sets(128) if costs.noise.most_outputs_summed < 2)
    assert map_gates(circuits.less(1), stated_sets(128), 1).costs == least
    assert map_gates(circuits.equal(4), stated_sets(128), 1).costs != least
